// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Who records by BPF and is in no folder: since it could share with nobody,
 * since its engine shares nothing, or since it shares where this cannot be
 * seen, as in a container. Each client has a map of rings, so who holds one is
 * a client.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/share.h"

#define RINGS "client_rings"
#define A_MAP "anon_inode:bpf-map"

static bool is_rings(uint32_t id)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);
	bool is = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
		  !strcmp(info.name, RINGS);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Of the map that a process holds under a descriptor; 0: it is none. */
static uint32_t map_of(uint32_t pid, const char *fd)
{
	char path[64], to[sizeof(A_MAP)] = "", line[64];
	uint32_t id = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/%u/fd/%.16s", pid, fd);
	if (readlink(path, to, sizeof(to)) != sizeof(A_MAP) - 1 ||
	    memcmp(to, A_MAP, sizeof(A_MAP) - 1))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.16s", pid, fd);
	info = fopen(path, "re");
	while (info && !id && fgets(line, sizeof(line), info))
		(void)!sscanf(line, "map_id: %u", &id);
	if (info)
		fclose(info);
	return id;
}

static bool has_rings(uint32_t pid)
{
	const struct dirent *entry;
	char path[32];
	bool has = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	fds = opendir(path);
	while (fds && !has && (entry = readdir(fds))) {
		uint32_t id = map_of(pid, entry->d_name);

		has = id && is_rings(id);
	}
	if (fds)
		closedir(fds);
	return has;
}

static bool is_listed(const struct seam_share_list *list, uint32_t pid)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->clients[i].pid == pid)
			return true;
	return false;
}

void seam_share_find_alone(struct seam_share_list *list)
{
	/* Who is not listed for want of room would seem to be alone. */
	DIR *dir = list->n < SEAM_SHARE_LISTED ? opendir("/proc") : NULL;
	const struct dirent *entry;

	while (dir && list->n_alone < SEAM_SHARE_LISTED &&
	       (entry = readdir(dir))) {
		struct seam_share_alone *a = &list->alone[list->n_alone];
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		if (*end || !pid || is_listed(list, (uint32_t)pid) ||
		    !has_rings((uint32_t)pid))
			continue;
		a->pid = (uint32_t)pid;
		seam_share_name_of(a->pid, a->name);
		list->n_alone++;
	}
	if (dir)
		closedir(dir);
}
