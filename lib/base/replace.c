// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_path(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* Renaming over a device or a pipe would take it away from others. */
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -EINVAL;
}

static int begin(const char *path, struct seam_replace *r)
{
	int rc = check_path(path);

	if (rc)
		return rc;
	r->path = strdup(path);
	if (!r->path || asprintf(&r->temp, "%s.XXXXXX", path) < 0) {
		free(r->path);
		return -ENOMEM;
	}
	r->fd = mkostemp(r->temp, O_CLOEXEC);
	if (r->fd >= 0)
		return 0;
	rc = -errno;
	free(r->path);
	free(r->temp);
	return rc;
}

int seam_replace_begin(const char *path, struct seam_replace *ret)
{
	const int saved_errno = errno;
	struct seam_replace r = {.fd = -1};
	int rc = begin(path, &r);

	if (!rc)
		*ret = r;
	errno = saved_errno;
	return rc;
}

static int set_mode(int fd, int like_fd)
{
	mode_t mode = 0666, mask;
	struct stat st;

	if (like_fd < 0) {
		mask = umask(0);
		umask(mask);
		return fchmod(fd, mode & ~mask) ? -errno : 0;
	}
	if (fstat(like_fd, &st))
		return -errno;
	mode = st.st_mode & 07777;
	if (fchown(fd, st.st_uid, st.st_gid))
		mode &= 0777;
	return fchmod(fd, mode) ? -errno : 0;
}

static void done(struct seam_replace *r)
{
	close(r->fd);
	free(r->path);
	free(r->temp);
}

int seam_replace_commit(struct seam_replace *r, int like_fd)
{
	const int saved_errno = errno;
	int rc = set_mode(r->fd, like_fd);

	/* The name must not be on disk before the bytes are. */
	if (!rc && fsync(r->fd))
		rc = -errno;
	if (!rc && rename(r->temp, r->path))
		rc = -errno;
	if (rc)
		unlink(r->temp);
	done(r);
	errno = saved_errno;
	return rc;
}

void seam_replace_abort(struct seam_replace *r)
{
	const int saved_errno = errno;

	unlink(r->temp);
	done(r);
	errno = saved_errno;
}
