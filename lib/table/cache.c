// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The disk cache: a folder of files BUILDID.kN, N the version of their
 * content. Nothing in it is believed because of its name: a file has to be
 * ours, whole, made from these very bytes of CFI, and valid SFrame.
 */
#include "table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sframe/verify.h"
#include "table/fingerprint.h"
#include "table/tidy.h"

/* Raise it whenever the converter makes different tables. */
#define CACHE_VERSION 4
#define CACHE_MAGIC "seamtab"
/* A recording that stores much makes room meanwhile. */
#define SHRINK_EVERY (SEAM_TABLE_CACHE_MAX / 16)
#define NAME_SIZE (2 * SEAM_BUILD_ID_MAX + 16)

struct seam_table_cache {
	int dir;
	uint64_t stored; /* bytes since the folder was last made smaller */
};

struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t crc; /* of what follows, header and table */
	uint64_t length; /* of the table behind the header */
	struct seam_fingerprint source;
	struct seam_table_stats stats;
};

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

int seam_table_cache_open(const char *dir, struct seam_table_cache **ret)
{
	struct seam_table_cache *cache;
	char *path = NULL;
	int r, fd = -1;

	r = dir ? copy_path(dir, &path) : default_dir(&path);
	if (!r)
		r = open_dir(path, &fd);
	free(path);
	if (r)
		return r;
	cache = malloc(sizeof(*cache));
	if (!cache) {
		close(fd);
		return -ENOMEM;
	}
	cache->dir = fd;
	cache->stored = 0;
	seam_cache_remove_stale(fd);
	*ret = cache;
	return 0;
}

struct seam_table_cache *seam_table_cache_close(struct seam_table_cache *cache)
{
	if (cache) {
		if (cache->stored)
			seam_cache_shrink(cache->dir, SEAM_TABLE_CACHE_MAX);
		close(cache->dir);
		free(cache);
	}
	return NULL;
}

/* Return: false if the file has no build-id, which is the name here. */
static bool make_name(const struct seam_elf *elf, char name[static NAME_SIZE])
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_elf_build_id(elf, id);

	for (size_t i = 0; i < len; i++)
		sprintf(name + 2 * i, "%02x", id[i]);
	if (len)
		sprintf(name + 2 * len, ".k%d", CACHE_VERSION);
	return len > 0;
}

static int read_all(int fd, void *to, size_t size)
{
	uint8_t *p = to;

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

static uint32_t table_crc(const struct cache_header *h, const uint8_t *bytes)
{
	size_t from = offsetof(struct cache_header, length);
	uint32_t crc;

	crc = seam_crc32(0, (const uint8_t *)h + from, sizeof(*h) - from);
	return seam_crc32(crc, bytes, h->length);
}

/* The table of an opened cache file, if there is every reason to trust it. */
static int read_table(int fd, const struct seam_elf *elf,
		      const struct seam_fingerprint *source,
		      struct cache_header *h, uint8_t **ret_bytes)
{
	struct seam_sframe_limits limits = {
		.flags = SEAM_SFRAME_VERIFY_KERNEL,
	};
	struct stat st;
	uint8_t *bytes;
	size_t size;

	seam_elf_bytes(elf, &size);
	limits.text_end = size;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_ours(&st) ||
	    read_all(fd, h, sizeof(*h)))
		return -EINVAL;
	if (memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) ||
	    h->version != CACHE_VERSION || h->length > SEAM_TABLE_CACHE_MAX ||
	    (uint64_t)st.st_size != sizeof(*h) + h->length ||
	    memcmp(&h->source, source, sizeof(*source)))
		return -EINVAL;
	bytes = malloc(h->length ? h->length : 1);
	if (!bytes)
		return -ENOMEM;
	if (read_all(fd, bytes, h->length) || h->crc != table_crc(h, bytes) ||
	    seam_sframe_verify(bytes, h->length, &limits, NULL)) {
		free(bytes);
		return -EINVAL;
	}
	*ret_bytes = bytes;
	return 0;
}

static int load(const struct seam_table_cache *cache, const char *name,
		const struct seam_elf *elf,
		const struct seam_fingerprint *source, struct cache_header *h,
		uint8_t **ret_bytes)
{
	/* O_NONBLOCK: a fifo of this name must not hold us up. */
	int fd = openat(cache->dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = read_table(fd, elf, source, h, ret_bytes);
	if (!r)
		futimens(fd, NULL); /* used now; who may not say so reads on */
	close(fd);
	return r;
}

/* A name that no other process, and no other call here, uses now. */
static int create_private(const struct seam_table_cache *cache,
			  char name[static 64])
{
	static unsigned int counter;

	for (int i = 0; i < 100; i++) {
		unsigned int n =
			__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		int fd;

		snprintf(name, 64, SEAM_CACHE_TMP "%d-%u", getpid(), n);
		fd = openat(cache->dir, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/*
 * Without fsync: a file that a crash cuts short is not believed. Failing is
 * no error: the next run converts again.
 */
static void store(struct seam_table_cache *cache, const char *name,
		  struct cache_header *h, const uint8_t *bytes)
{
	char tmp[64];
	int fd = create_private(cache, tmp);
	int r;

	if (fd < 0)
		return;
	h->crc = table_crc(h, bytes);
	r = write_all(fd, h, sizeof(*h));
	if (!r)
		r = write_all(fd, bytes, h->length);
	if (close(fd) && !r)
		r = -errno;
	if (r || renameat(cache->dir, tmp, cache->dir, name)) {
		unlinkat(cache->dir, tmp, 0);
		return;
	}
	if (__atomic_add_fetch(&cache->stored, sizeof(*h) + h->length,
			       __ATOMIC_RELAXED) < SHRINK_EVERY)
		return;
	__atomic_store_n(&cache->stored, 0, __ATOMIC_RELAXED);
	seam_cache_shrink(cache->dir, SEAM_TABLE_CACHE_MAX);
}

int seam_table_load_kernel(struct seam_table_cache *cache,
			   const struct seam_elf *elf, uint8_t **ret_bytes,
			   size_t *ret_size, struct seam_table_stats *ret_stats,
			   struct seam_errinfo *reterr)
{
	struct seam_fingerprint source;
	struct seam_table_stats stats;
	struct cache_header h;
	char name[NAME_SIZE];
	int r;

	if (!cache || !make_name(elf, name))
		return seam_table_build_kernel(elf, ret_bytes, ret_size,
					       ret_stats, reterr);
	seam_fingerprint(elf, &source);
	r = load(cache, name, elf, &source, &h, ret_bytes);
	if (!r) {
		*ret_size = h.length;
		if (ret_stats)
			*ret_stats = h.stats;
		return 0;
	}
	r = seam_table_build_kernel(elf, ret_bytes, ret_size, &stats, reterr);
	if (r)
		return r;
	memset(&h, 0, sizeof(h));
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	h.version = CACHE_VERSION;
	h.length = *ret_size;
	h.source = source;
	h.stats = stats;
	if (*ret_size < SEAM_TABLE_CACHE_MAX - sizeof(h))
		store(cache, name, &h, *ret_bytes);
	if (ret_stats)
		*ret_stats = stats;
	return 0;
}
