// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The disk cache: a folder of files BUILDID.kN, N the version of their
 * content, and what laid-out.h adds. Nothing in it is believed because of its
 * name: a file has to be ours, whole, made from these very bytes of CFI, and
 * valid SFrame.
 */
#include "table/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sframe/verify.h"
#include "table/cache-priv.h"
#include "table/fingerprint.h"
#include "table/folder.h"
#include "table/tidy.h"

#define CACHE_MAGIC "seamtab"
/* A recording that stores much makes room meanwhile. */
#define SHRINK_EVERY (SEAM_TABLE_CACHE_MAX / 16)
struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t crc; /* of what follows, header and table */
	uint64_t length; /* of the table behind the header */
	struct seam_fingerprint source;
	struct seam_table_stats stats;
};

int seam_table_cache_open(const char *dir, struct seam_table_cache **ret)
{
	struct seam_table_cache *cache;
	int fd, r = seam_cache_folder(dir, &fd);

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

void seam_cache_name(char name[static SEAM_CACHE_NAME_SIZE], const uint8_t *id,
		     size_t id_len, char kind, int version)
{
	for (size_t i = 0; i < id_len; i++)
		sprintf(name + 2 * i, "%02x", id[i]);
	sprintf(name + 2 * id_len, ".%c%d", kind, version);
}

/* Return: false if the file has no build-id, which is the name here. */
static bool make_name(const struct seam_elf *elf,
		      char name[static SEAM_CACHE_NAME_SIZE])
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = seam_elf_build_id(elf, id);

	if (len)
		seam_cache_name(name, id, len, 'k', SEAM_CACHE_VERSION);
	return len > 0;
}

static uint32_t table_crc(const struct cache_header *h, const uint8_t *bytes)
{
	size_t from = offsetof(struct cache_header, length);
	uint32_t crc;

	crc = seam_crc32(0, (const uint8_t *)h + from, sizeof(*h) - from);
	return seam_crc32(crc, bytes, h->length);
}

/* The table of an opened cache file, if there is every reason to trust it. */
static int read_table(int fd, uint64_t file_size, const struct seam_elf *elf,
		      const struct seam_fingerprint *source,
		      struct cache_header *h, uint8_t **ret_bytes)
{
	struct seam_sframe_limits limits = {
		.flags = SEAM_SFRAME_VERIFY_KERNEL,
	};
	uint8_t *bytes;
	size_t size;

	seam_elf_bytes(elf, &size);
	limits.text_end = size;
	if (seam_cache_read_all(fd, h, sizeof(*h)))
		return -EINVAL;
	if (memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) ||
	    h->version != SEAM_CACHE_VERSION ||
	    h->length > SEAM_TABLE_CACHE_MAX ||
	    file_size != sizeof(*h) + h->length ||
	    memcmp(&h->source, source, sizeof(*source)))
		return -EINVAL;
	bytes = malloc(h->length ? h->length : 1);
	if (!bytes)
		return -ENOMEM;
	if (seam_cache_read_all(fd, bytes, h->length) ||
	    h->crc != table_crc(h, bytes) ||
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
	struct stat st;
	int fd = seam_cache_read(cache->dir, name, &st);
	int r;

	if (fd < 0)
		return fd;
	r = read_table(fd, (uint64_t)st.st_size, elf, source, h, ret_bytes);
	if (!r)
		futimens(fd, NULL); /* used now; who may not say so reads on */
	close(fd);
	return r;
}

void seam_cache_stored(struct seam_table_cache *cache, uint64_t bytes)
{
	if (__atomic_add_fetch(&cache->stored, bytes, __ATOMIC_RELAXED) <
	    SHRINK_EVERY)
		return;
	__atomic_store_n(&cache->stored, 0, __ATOMIC_RELAXED);
	seam_cache_shrink(cache->dir, SEAM_TABLE_CACHE_MAX);
}

/* Failing is no error: the next run converts again. */
static void store(struct seam_table_cache *cache, const char *name,
		  struct cache_header *h, const uint8_t *bytes)
{
	struct iovec parts[] = {{h, sizeof(*h)}, {(void *)bytes, h->length}};

	h->crc = table_crc(h, bytes);
	if (!seam_cache_write(cache->dir, name, parts, 2))
		seam_cache_stored(cache, sizeof(*h) + h->length);
}

int seam_table_load_kernel(struct seam_table_cache *cache,
			   const struct seam_elf *elf, uint8_t **ret_bytes,
			   size_t *ret_size, struct seam_table_stats *ret_stats,
			   struct seam_errinfo *reterr)
{
	struct seam_fingerprint source;
	struct seam_table_stats stats;
	struct cache_header h;
	char name[SEAM_CACHE_NAME_SIZE];
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
	h.version = SEAM_CACHE_VERSION;
	h.length = *ret_size;
	h.source = source;
	h.stats = stats;
	if (*ret_size < SEAM_TABLE_CACHE_MAX - sizeof(h))
		store(cache, name, &h, *ret_bytes);
	if (ret_stats)
		*ret_stats = stats;
	return 0;
}
