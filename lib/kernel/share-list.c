// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Who shares, as anybody can see it who may look: no lock is taken for that. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/proc-stat.h"
#include "kernel/share.h"

/* Who holds the lock of a folder; 0: nobody. */
static uint32_t locked_by(const struct stat *st)
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[160];
	uint32_t found = 0;

	while (locks && !found && fgets(line, sizeof(line), locks)) {
		unsigned pid, major_nr, minor_nr;
		unsigned long ino;

		if (sscanf(line, "%*s FLOCK %*s WRITE %u %x:%x:%lu", &pid,
			   &major_nr, &minor_nr, &ino) == 4 &&
		    ino == st->st_ino && major_nr == major(st->st_dev) &&
		    minor_nr == minor(st->st_dev))
			found = pid;
	}
	if (locks)
		fclose(locks);
	return found;
}

uint32_t seam_share_holder(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : locked_by(&st);
}

bool seam_share_is_stopped(uint32_t pid)
{
	struct seam_proc_stat its;

	return seam_proc_stat_read(pid, &its) &&
	       (its.state == 'T' || its.state == 't');
}

static uint32_t owner_of(const char *group, const char *folder)
{
	struct stat st;
	char path[128];

	snprintf(path, sizeof(path), SEAM_SHARE_FOLDER "/%.32s/%s", group,
		 folder);
	return lstat(path, &st) ? 0 : locked_by(&st);
}

/* Its own choice: neither a terminal nor JSON takes all of it. */
void seam_share_name_of(uint32_t pid, char ret[static 16])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(ret, 16, f))
		ret[strcspn(ret, "\n")] = '\0';
	else
		ret[0] = '\0';
	for (char *c = ret; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (f)
		fclose(f);
}

static void list_group(const char *group, struct seam_share_list *ret)
{
	struct seam_share_group *g = &ret->groups[ret->n_groups];
	uint32_t before = ret->n, owner;

	/* There are as many groups as clients at most. */
	if (ret->n == SEAM_SHARE_LISTED)
		return;
	owner = owner_of(group, SEAM_SHARE_OWNER);
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++) {
		struct seam_share_client *c = &ret->clients[ret->n];
		char number[16];
		uint32_t pid;

		if (ret->n == SEAM_SHARE_LISTED)
			break;
		snprintf(number, sizeof(number), "%u", i);
		pid = owner_of(group, number);
		if (!pid)
			continue;
		c->pid = pid;
		c->group = ret->n_groups;
		c->number = i;
		c->owns = pid == owner;
		seam_share_name_of(pid, c->name);
		ret->n++;
	}
	if (ret->n == before)
		return;
	snprintf(g->name, sizeof(g->name), "%.23s", group);
	g->owner = owner;
	ret->n_groups++;
}

int seam_share_list(struct seam_share_list *ret)
{
	DIR *dir = opendir(SEAM_SHARE_FOLDER);
	const struct dirent *entry;

	*ret = (struct seam_share_list){0};
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			list_group(entry->d_name, ret);
	closedir(dir);
	return 0;
}
