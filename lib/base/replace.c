// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PROC "/proc/"

static int check_path(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	/* /dev/stdout and its like lead there, and are not ours to replace. */
	if (S_ISLNK(st.st_mode)) {
		char to[sizeof(PROC) - 1];

		if (readlink(path, to, sizeof(to)) == sizeof(to) &&
		    !memcmp(to, PROC, sizeof(to)))
			return -EINVAL;
		if (stat(path, &st))
			return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* Renaming over a device or a pipe would take it away from others. */
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* Where a standard stream was closed, what is meant for it would go into the
 * file that has its number. Return: a descriptor or -errno. */
static int make_temp(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC), higher = fd;

	if (fd >= 0 && fd <= STDERR_FILENO)
		higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (higher < 0)
		higher = -errno;
	if (fd >= 0 && higher != fd)
		close(fd);
	if (fd >= 0 && higher < 0)
		unlink(path);
	return higher;
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
	r->fd = make_temp(r->temp);
	if (r->fd >= 0)
		return 0;
	rc = r->fd;
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

struct like {
	int fd;
	seam_replace_lost_fn *lost;
	void *ctx;
};

static void keep_attribute(int fd, const struct like *like, const char *name,
			   void *value)
{
	ssize_t n;

	if (!strcmp(name, "security.ima") || !strcmp(name, "security.evm"))
		return;
	n = fgetxattr(like->fd, name, value, XATTR_SIZE_MAX);
	if (n < 0 || fsetxattr(fd, name, value, (size_t)n, 0))
		like->lost(like->ctx, name, -errno);
}

/* Return: 0 or -errno; where there are none at all 0. */
static int keep_attributes(int fd, const struct like *like)
{
	char *names = malloc(XATTR_LIST_MAX + XATTR_SIZE_MAX);
	ssize_t n;

	if (!names)
		return -ENOMEM;
	n = flistxattr(like->fd, names, XATTR_LIST_MAX);
	if (n < 0 && errno != ENOTSUP)
		like->lost(like->ctx, "all", -errno);
	for (char *name = names; name < names + n; name += strlen(name) + 1)
		keep_attribute(fd, like, name, names + XATTR_LIST_MAX);
	free(names);
	return 0;
}

/* Capabilities are lost by a change of the owner, and what an access list has
 * of the permissions is set by the latter. */
static int set_like(int fd, const struct like *like)
{
	struct stat st;
	mode_t mode;
	int rc;

	if (fstat(like->fd, &st))
		return -errno;
	mode = st.st_mode & 07777;
	if (fchown(fd, st.st_uid, st.st_gid))
		mode &= 0777;
	rc = keep_attributes(fd, like);
	if (!rc && fchmod(fd, mode))
		rc = -errno;
	return rc;
}

static int set_new(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fd, 0666 & ~mask) ? -errno : 0;
}

static void done(struct seam_replace *r)
{
	close(r->fd);
	free(r->path);
	free(r->temp);
}

int seam_replace_commit(struct seam_replace *r, int like_fd,
			seam_replace_lost_fn *lost, void *ctx)
{
	const struct like like = {like_fd, lost, ctx};
	const int saved_errno = errno;
	int rc = like_fd < 0 ? set_new(r->fd) : set_like(r->fd, &like);

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
