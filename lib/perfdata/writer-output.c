// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The file that a recording is written to, in the place of what was there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "perfdata/writer-priv.h"

#define PROC "/proc/"

/* Linux's numbers of devices without memory (devices.txt). */
enum { MEM_MAJOR = 1, MEM_NULL = 3, MEM_ZERO = 5, MEM_FULL = 7 };

static int refuse(struct seam_errinfo *err, int rc, const char *reason)
{
	if (err) {
		memset(err, 0, sizeof(*err));
		snprintf(err->where, sizeof(err->where), "output");
		snprintf(err->reason, sizeof(err->reason), "%s", reason);
	}
	return rc;
}

static int fail(struct seam_errinfo *err, int rc, const char *what)
{
	char reason[160];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(-rc));
	return refuse(err, rc, reason);
}

/* A file gives way to path.old, as with perf. */
static int keep_old(const char *path)
{
	char *old;
	int rc;

	if (asprintf(&old, "%s.old", path) < 0)
		return -ENOMEM;
	rc = rename(path, old) ? -errno : 0;
	free(old);
	return rc;
}

/* /dev/stdout and its like lead there, and are not ours to rename. */
static bool is_stream(const char *path)
{
	char to[sizeof(PROC) - 1];

	return readlink(path, to, sizeof(to)) == sizeof(to) &&
	       !memcmp(to, PROC, sizeof(to));
}

/* It can be written at any place, and keeps nothing that could be harmed: of
 * other devices that is not known (/dev/mem, a disk). */
static bool keeps_nothing(const struct stat *st)
{
	unsigned minor = minor(st->st_rdev);

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == MEM_MAJOR &&
	       (minor == MEM_NULL || minor == MEM_ZERO || minor == MEM_FULL);
}

/* Return: 1: there is nothing; 0: what is there is in *ret; or -errno. */
static int look(const char *path, struct stat *ret)
{
	/* Whatever else is wrong, making the file says better. */
	if (lstat(path, ret))
		return 1;
	if (!S_ISLNK(ret->st_mode))
		return 0;
	/* A symbolic link to nothing gives way as the file that it is. */
	if (is_stream(path))
		return -EINVAL;
	if (stat(path, ret))
		ret->st_mode = S_IFLNK;
	return 0;
}

/* The header is rewritten as the file grows. So what cannot go back takes a
 * stream only, by "-". */
int seam_pd_output_open(const char *path, struct seam_errinfo *err)
{
	struct stat st;
	int rc = look(path, &st), fd;

	if (!rc && keeps_nothing(&st)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? fail(err, -errno, "it cannot be opened") : fd;
	}
	if (!rc && S_ISDIR(st.st_mode))
		return refuse(err, -EISDIR, "it is a folder");
	if (rc < 0 || (!rc && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return refuse(err, -EINVAL,
			      "it is no regular file; '-o -' writes to "
			      "standard output, which may be led there");
	rc = rc ? 0 : keep_old(path);
	if (rc)
		return fail(err, rc,
			    "the file that is there cannot be renamed");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? fail(err, -errno, "it cannot be created") : fd;
}
