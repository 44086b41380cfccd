// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The counters that cookies are made of: one for each CPU, of all clients of a
 * machine, whatever group they are in or whether in any. They are pinned beside
 * the groups and stay when the last client goes: whoever has them may outlive
 * their name, and two sets of them would give the same cookies.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cookie.h"
#include "event/fail.h"
#include "kernel/share-priv.h"

/* The number is of core/cookie.h's layout: another has counters of its own. */
#define PIN "cookies-1"

static bool are_counters(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &size) &&
	       info.type == BPF_MAP_TYPE_PERCPU_ARRAY && info.key_size == 4 &&
	       info.value_size == 8 && info.max_entries == 1 && !info.map_flags;
}

static void pin_path(int dir_fd, char *ret, size_t size)
{
	snprintf(ret, size, "/proc/self/fd/%d/" PIN, dir_fd);
}

static int get(int dir_fd, struct seam_errinfo *reterr)
{
	char path[64];
	int fd = seam_share_check_pin(dir_fd, "", PIN, reterr);

	if (fd)
		return fd;
	pin_path(dir_fd, path, sizeof(path));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return seam_fail(reterr, -errno,
				 SEAM_SHARE_FOLDER "/" PIN
						   " cannot be opened (%s): "
						   "remove it",
				 strerror(errno));
	if (are_counters(fd))
		return fd;
	close(fd);
	return seam_fail(reterr, -EINVAL,
			 SEAM_SHARE_FOLDER "/" PIN
					   " is none of seam's: remove it");
}

int seam_share_cookies_begin(int fd)
{
	int n = libbpf_num_possible_cpus();
	uint32_t zero = 0;
	uint64_t first, *all;
	int err;

	if (n < 0)
		return n;
	if (getrandom(&first, sizeof(first), 0) != sizeof(first))
		return -EIO;
	all = calloc((size_t)n, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		all[i] = first & SEAM_COOKIE_COUNT_MASK;
	err = bpf_map_update_elem(fd, &zero, all, BPF_ANY) ? -errno : 0;
	free(all);
	return err;
}

/* With the folder's lock. */
static int make(int dir_fd)
{
	char path[64];
	int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "cookies", 4, 8, 1,
				NULL);
	int err;

	if (fd < 0)
		return -errno;
	pin_path(dir_fd, path, sizeof(path));
	err = seam_share_cookies_begin(fd);
	if (!err && bpf_obj_pin(fd, path))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int seam_share_cookies(struct seam_errinfo *reterr)
{
	int dir_fd = seam_share_meet(reterr), fd;

	if (dir_fd < 0)
		return dir_fd;
	fd = get(dir_fd, reterr);
	if (fd == -ENOENT) {
		fd = seam_share_lock(dir_fd, reterr);
		if (!fd)
			fd = get(dir_fd, reterr);
		if (fd == -ENOENT)
			fd = make(dir_fd);
		flock(dir_fd, LOCK_UN);
	}
	close(dir_fd);
	return fd;
}
