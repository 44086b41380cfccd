// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/laid-out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "table/cache-priv.h"
#include "table/folder.h"

/* Of the layout; the tables' own version is in the name as well. */
#define VERSION (SEAM_CACHE_VERSION * 1000 + 1)
#define MAGIC "seamlay"
#define SETTLED_S 3

struct header {
	char magic[8];
	uint64_t hash; /* of what follows, header and table */
	uint64_t dev, ino, size;
	int64_t ctime_s, ctime_ns;
	struct seam_lookup lookup;
};

static void describe(const struct seam_laid_out *of, struct header *ret)
{
	*ret = (struct header){
		.magic = MAGIC,
		.dev = of->st->st_dev,
		.ino = of->st->st_ino,
		.size = (uint64_t)of->st->st_size,
		.ctime_s = of->st->st_ctim.tv_sec,
		.ctime_ns = of->st->st_ctim.tv_nsec,
	};
}

static uint64_t hash_of(const struct header *h, const uint8_t *bytes)
{
	size_t from = offsetof(struct header, dev);
	uint64_t hash = seam_cache_hash(0, (const uint8_t *)h + from,
					sizeof(*h) - from);

	return seam_cache_hash(hash, bytes, h->lookup.size);
}

/* --- that no look-up leads out of it --- */

static bool is_placed(const struct seam_lookup *l)
{
	struct seam_lookup placed = *l;

	return l->shift >= SEAM_LOOKUP_MIN_SHIFT &&
	       l->shift <= SEAM_LOOKUP_MAX_SHIFT &&
	       l->num_rules <= SEAM_LOOKUP_MAX_RULES &&
	       seam_lookup_place(&placed) == l->size &&
	       !memcmp(&placed, l, sizeof(placed));
}

static bool is_sound_bucket(const struct seam_lookup *l, const uint8_t *at)
{
	uint64_t first = seam_load_u32(at + SEAM_BUCKET_FIRST_ROW);
	uint64_t n = seam_load_u16(at + SEAM_BUCKET_NUM_ROWS);

	if (n && first + n <= l->num_rows)
		return true;
	for (unsigned int i = 0; i < SEAM_BUCKET_ROWS; i++)
		if (seam_load_u16(at + SEAM_BUCKET_SHORTS + 2 * i) ==
		    SEAM_SHORT_IN_ROWS)
			return false;
	return true;
}

static bool is_sound_page(const struct seam_lookup *l, const uint8_t *at)
{
	uint32_t lo = seam_load_u32(at), hi = seam_load_u32(at + 4);

	return lo < hi && hi <= l->num_rows;
}

static bool is_sound(const struct seam_lookup *l, const uint8_t *table)
{
	bool buckets = seam_lookup_has_buckets(l);
	const uint8_t *at = table + l->pages;

	for (uint32_t i = 0; i < l->num_pages; i++) {
		if (buckets ? !is_sound_bucket(l, at) : !is_sound_page(l, at))
			return false;
		at += buckets ? SEAM_BUCKET_SIZE : 4;
	}
	at = table + l->rows;
	for (uint32_t i = 0; i < l->num_rows; i++)
		if ((seam_load_u32(at + 4ULL * i) & 0xffff) >
		    l->num_rules + l->num_wide)
			return false;
	return true;
}

/* --- on disk --- */

static int take(int fd, uint64_t file_size, const struct seam_laid_out *of,
		uint64_t max, struct header *h, uint8_t **ret_bytes)
{
	const size_t identity =
		offsetof(struct header, lookup) - offsetof(struct header, dev);
	struct header wanted;
	uint8_t *bytes;

	describe(of, &wanted);
	if (seam_cache_read_all(fd, h, sizeof(*h)) ||
	    memcmp(h->magic, MAGIC, 8) ||
	    memcmp(&h->dev, &wanted.dev, identity) || !is_placed(&h->lookup) ||
	    h->lookup.size > max || file_size != sizeof(*h) + h->lookup.size)
		return -EINVAL;
	bytes = malloc(h->lookup.size ? h->lookup.size : 1);
	if (!bytes)
		return -ENOMEM;
	if (seam_cache_read_all(fd, bytes, h->lookup.size) ||
	    h->hash != hash_of(h, bytes) || !is_sound(&h->lookup, bytes)) {
		free(bytes);
		return -EINVAL;
	}
	*ret_bytes = bytes;
	return 0;
}

int seam_laid_out_load(const struct seam_table_cache *cache,
		       const struct seam_laid_out *of, uint64_t max,
		       struct seam_lookup *ret, uint8_t **ret_bytes)
{
	char name[SEAM_CACHE_NAME_SIZE];
	struct header h;
	struct stat st;
	int fd, rc;

	if (!of->build_id_len)
		return -ENOENT;
	seam_cache_name(name, of->build_id, of->build_id_len, 'l', VERSION);
	fd = seam_cache_read(cache->dir, name, &st);
	if (fd < 0)
		return fd;
	rc = take(fd, (uint64_t)st.st_size, of, max, &h, ret_bytes);
	if (!rc)
		futimens(fd, NULL); /* used now */
	close(fd);
	if (!rc)
		*ret = h.lookup;
	return rc;
}

static bool is_settled(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_ctim.tv_sec < now.tv_sec - SETTLED_S;
}

void seam_laid_out_store(struct seam_table_cache *cache,
			 const struct seam_laid_out *of,
			 const struct seam_lookup *lookup, const uint8_t *bytes)
{
	char name[SEAM_CACHE_NAME_SIZE];
	struct header h;
	struct iovec parts[] = {{&h, sizeof(h)}, {(void *)bytes, lookup->size}};

	if (!of->build_id_len || !is_settled(of->st) ||
	    lookup->size > SEAM_TABLE_CACHE_MAX - sizeof(h))
		return;
	describe(of, &h);
	h.lookup = *lookup;
	h.hash = hash_of(&h, bytes);
	seam_cache_name(name, of->build_id, of->build_id_len, 'l', VERSION);
	if (!seam_cache_write(cache->dir, name, parts, 2))
		seam_cache_stored(cache, sizeof(h) + lookup->size);
}
