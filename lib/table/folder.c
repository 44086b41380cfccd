// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/populate.h"
#include "table/tidy.h"

/* Another user who could write here could make us believe anything. */
static bool is_ours(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* mkdir -p, private. path is changed and put back. */
static int make_dirs(char *path)
{
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) && errno != EEXIST) {
			int r = -errno;

			*p = c;
			return r;
		}
		*p = c;
		if (!c)
			return 0;
	}
}

/* The XDG base directory rules; a relative path in a variable counts not.
 * Return: 0, and the caller frees *ret; -ENOENT; -ENOMEM. */
static int default_dir(char **ret)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int n;

	if (xdg && xdg[0] == '/')
		n = asprintf(&path, "%s/seam", xdg);
	else if (geteuid() == 0)
		n = asprintf(&path, "/var/cache/seam");
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.cache/seam", home);
	else
		return -ENOENT;
	if (n < 0)
		return -ENOMEM;
	*ret = path;
	return 0;
}

static int copy_path(const char *path, char **ret)
{
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

static int open_dir(char *path, int *ret_fd)
{
	struct stat st;
	int r, fd;

	if (!path[0])
		return -EINVAL;
	r = make_dirs(path);
	if (r)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	*ret_fd = fd;
	return 0;
}

int seam_cache_folder(const char *dir, int *ret_fd)
{
	char *path = NULL;
	int r = dir ? copy_path(dir, &path) : default_dir(&path);

	if (!r)
		r = open_dir(path, ret_fd);
	free(path);
	return r;
}

int seam_cache_read(int dir, const char *name, struct stat *ret_st)
{
	/* O_NONBLOCK: a fifo of this name must not hold us up. */
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	*ret_st = st;
	return fd;
}

int seam_cache_read_all(int fd, void *to, size_t size)
{
	uint8_t *p = to;

	seam_populate(to, size);
	while (size) {
		ssize_t n = read(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_all(int fd, const void *from, size_t size)
{
	const uint8_t *p = from;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* A name that no other process, and no other call here, uses now. */
static int create_private(int dir, char name[static 64])
{
	static unsigned int counter;

	for (int i = 0; i < 100; i++) {
		unsigned int n =
			__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		int fd;

		snprintf(name, 64, SEAM_CACHE_TMP "%d-%u", getpid(), n);
		fd = openat(dir, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

int seam_cache_write(int dir, const char *name, struct iovec *parts, int n)
{
	char tmp[64];
	int fd = create_private(dir, tmp);
	int r = 0;

	if (fd < 0)
		return fd;
	for (int i = 0; !r && i < n; i++)
		r = write_all(fd, parts[i].iov_base, parts[i].iov_len);
	if (close(fd) && !r)
		r = -errno;
	if (!r && renameat(dir, tmp, dir, name))
		r = -errno;
	if (r)
		unlinkat(dir, tmp, 0);
	return r;
}

/* --- */

#define LANES 8
#define STRIDE (LANES * sizeof(uint64_t))

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 32;
}

/* Tens of megabytes are read whenever a table is taken from the cache, so
 * speed matters: as many words at once as a processor multiplies. */
uint64_t seam_cache_hash(uint64_t h, const void *bytes, size_t size)
{
	uint64_t lanes[LANES], words[LANES] = {0};
	const uint8_t *p = bytes;
	size_t left = size;

	for (unsigned int i = 0; i < LANES; i++)
		lanes[i] = i;
	for (; left >= STRIDE; p += STRIDE, left -= STRIDE) {
		memcpy(words, p, STRIDE);
#pragma GCC unroll 8
		for (unsigned int i = 0; i < LANES; i++)
			lanes[i] = mix(lanes[i], words[i]);
	}
	memset(words, 0, sizeof(words));
	if (left)
		memcpy(words, p, left);
	h = mix(h, size);
	for (unsigned int i = 0; i < LANES; i++)
		h = mix(h, mix(lanes[i], words[i]));
	return h;
}
