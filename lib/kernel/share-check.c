// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Whether what clients share is root's alone: whoever else could change it
 * would have programs of the kernel's read what he likes, and be given others'
 * stacks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/fail.h"
#include "kernel/share-priv.h"

#define OTHERS 077

static bool is_roots(const struct stat *st)
{
	return !st->st_uid && !(st->st_mode & OTHERS);
}

/* name: behind the folder's, with its slash. */
static int refuse(const struct stat *st, const char *name, const char *what,
		  struct seam_errinfo *reterr)
{
	return seam_fail(reterr, -EPERM,
			 SEAM_SHARE_FOLDER
			 "%s is of user %u with mode %04o, not root's alone: "
			 "remove %s",
			 name, st->st_uid, st->st_mode & 0777, what);
}

int seam_share_check_folder(int fd, const char *group,
			    struct seam_errinfo *reterr)
{
	char name[32];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (is_roots(&st))
		return 0;
	snprintf(name, sizeof(name), "%s%s", group[0] ? "/" : "", group);
	return refuse(&st, name, "it", reterr);
}

int seam_share_check_pin(int dir_fd, const char *group, const char *pin,
			 struct seam_errinfo *reterr)
{
	char name[64];
	struct stat st;

	if (fstatat(dir_fd, pin, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (is_roots(&st))
		return 0;
	snprintf(name, sizeof(name), "%s%s/%.32s", group[0] ? "/" : "", group,
		 pin);
	/* Without one of its pins a group is none of ours. */
	return refuse(&st, name, group[0] ? "its folder" : "it", reterr);
}

/* A folder and what is pinned in it; not what else there is, which goes with
 * its group. */
static int judge_folder(const char *path, const char *group,
			struct seam_errinfo *reterr)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int err;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	err = seam_share_check_folder(dirfd(dir), group, reterr);
	while (!err && (entry = readdir(dir)))
		if (entry->d_type == DT_REG)
			err = seam_share_check_pin(dirfd(dir), group,
						   entry->d_name, reterr);
	closedir(dir);
	/* It has just ended. */
	return err == -ENOENT ? 0 : err;
}

int seam_share_judge(const struct seam_share_list *list,
		     struct seam_errinfo *reterr)
{
	int err = judge_folder(SEAM_SHARE_FOLDER, "", reterr);
	char path[64];

	for (uint32_t i = 0; !err && i < list->n_groups; i++) {
		const char *group = list->groups[i].name;

		snprintf(path, sizeof(path), SEAM_SHARE_FOLDER "/%s", group);
		err = judge_folder(path, group, reterr);
	}
	return err;
}
