// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "process/target.h"

#define PASSES_MAX 16

struct found {
	uint32_t *ids;
	size_t n;
	bool more; /* since this was last looked at */
};

static bool has(const struct found *f, uint32_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->ids[i] == pid)
			return true;
	return false;
}

static int add(struct found *f, uint32_t pid)
{
	uint32_t *ids = realloc(f->ids, (f->n + 1) * sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	f->ids = ids;
	f->ids[f->n++] = pid;
	f->more = true;
	return 0;
}

static uint32_t parent_of(uint32_t pid)
{
	char path[48], line[128];
	uint32_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PPid: %u", &parent) == 1)
			break;
	if (f)
		fclose(f);
	return parent;
}

/* One that ends meanwhile is nobody's. */
static bool is_of_user(const struct found *f, uint32_t pid, uid_t uid)
{
	char path[32];
	struct stat st;

	(void)f;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &st) && st.st_uid == uid;
}

static bool is_below(const struct found *f, uint32_t pid, uid_t uid)
{
	(void)uid;
	return !has(f, pid) && has(f, parent_of(pid));
}

static bool is_any(const struct found *f, uint32_t tid, uid_t uid)
{
	(void)f, (void)tid, (void)uid;
	return true;
}

static int look(struct found *f, const char *where, uid_t uid,
		bool (*is_one)(const struct found *f, uint32_t pid, uid_t uid))
{
	DIR *dir = opendir(where);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_one(f, pid, uid))
			err = add(f, pid);
	}
	closedir(dir);
	return err;
}

int processes_of_user(uid_t uid, uint32_t **ids, size_t *n)
{
	struct found f = {.ids = *ids, .n = *n};
	int err = look(&f, "/proc", uid, is_of_user);

	*ids = f.ids;
	*n = f.n;
	return err;
}

int processes_below(uint32_t pid, uint32_t **ids, size_t *n)
{
	struct found f = {.ids = *ids, .n = *n};
	int err = add(&f, pid);

	/* Numbers begin anew, so that a child's may come before its parent's;
	 * and what it starts while we look is found the next time. One that
	 * starts processes all the time is not caught up with. */
	for (int i = 0; !err && f.more && i < PASSES_MAX; i++) {
		f.more = false;
		err = look(&f, "/proc", 0, is_below);
	}
	*ids = f.ids;
	*n = f.n;
	return err;
}

int processes_threads(uint32_t pid, uint32_t **ids, size_t *n)
{
	struct found f = {.ids = *ids, .n = *n};
	char path[32];
	int err;

	/* Of a thread's number there is that folder too. */
	if (seam_task_process(pid) != pid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	err = look(&f, path, 0, is_any);
	*ids = f.ids;
	*n = f.n;
	return err == -ENOENT || (!err && !f.more) ? -ESRCH : err;
}

bool processes_drop_ended(uint32_t *ids, size_t *n)
{
	size_t left = 0;
	bool any;

	for (size_t i = 0; i < *n; i++)
		if (!seam_task_gone(ids[i]))
			ids[left++] = ids[i];
	any = left < *n;
	*n = left;
	return any;
}
