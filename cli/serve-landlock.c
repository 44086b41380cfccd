// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/serve-landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "table/folder.h"

/* Newer than the headers of Debian 12's oldest kernel. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define CACHE                                                                  \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |  \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)
/* Pins and folders, that are locked or removed; files are not made there. */
#define MEETING                                                                \
	(LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR)

/* All that can be refused, by the version of the kernel's interface. */
static uint64_t handled(long abi)
{
	uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

	if (abi >= 2)
		all |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		all |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		all |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return all;
}

static int allow(int rules, int folder, uint64_t access)
{
	const struct landlock_path_beneath_attr rule = {
		.allowed_access = access,
		.parent_fd = folder,
	};

	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		       &rule, 0)
		       ? -errno
		       : 0;
}

static int allow_path(int rules, const char *path, uint64_t access)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = allow(rules, fd, access);
	close(fd);
	return err;
}

/* Where it cannot be had, tables are not kept on disk. */
static int allow_cache(int rules, const char *cache)
{
	int fd, err = seam_cache_folder(cache, &fd);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = allow(rules, fd, CACHE);
	close(fd);
	return err;
}

static int restrict_to(int rules, const char *cache, const char *meeting)
{
	int err = allow_cache(rules, cache);

	if (!err)
		err = allow_path(rules, meeting, MEETING);
	if (!err)
		err = allow_path(rules, "/proc", READ);
	if (!err && syscall(SYS_landlock_restrict_self, rules, 0))
		err = -errno;
	return err;
}

int serve_landlock(const char *cache, const char *meeting)
{
	const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
				 LANDLOCK_CREATE_RULESET_VERSION);
	const struct landlock_ruleset_attr all = {
		.handled_access_fs = handled(abi),
	};
	int rules, err;

	if (abi < 0)
		return -EOPNOTSUPP;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (rules < 0)
		return -errno;
	err = restrict_to(rules, cache, meeting);
	close(rules);
	return err;
}
