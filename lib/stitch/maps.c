// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "symbol/perf-map.h"

/* They are made in blocks, as some recordings have them by the million. */
#define BLOCK 256

struct held_map {
	struct seam_stitch_map map;
	struct maps *of;
	struct held_map *next; /* unused, or shown */
	uint64_t until; /* samples; of one that is in no space */
	unsigned refs;
	bool is_shown;
};

static void put_away(struct maps *maps, struct held_map *m)
{
	m->next = maps->unused;
	maps->unused = m;
}

/* Nobody looks any more at those that were shown so many samples ago. */
static void reuse_shown(struct maps *maps)
{
	while (maps->first && maps->first->until <= *maps->now) {
		struct held_map *m = maps->first;

		maps->first = m->next;
		put_away(maps, m);
	}
}

static int add_block(struct maps *maps)
{
	struct held_map *block;

	if (seam_grow(&maps->blocks, maps->n_blocks + 1, &maps->cap_blocks,
		      sizeof(*maps->blocks)))
		return -ENOMEM;
	block = malloc(BLOCK * sizeof(*block));
	if (!block)
		return -ENOMEM;
	maps->blocks[maps->n_blocks++] = block;
	for (size_t i = BLOCK; i-- > 0;)
		put_away(maps, &block[i]);
	return 0;
}

struct seam_stitch_map *seam_maps_new(struct maps *maps)
{
	struct held_map *m;

	reuse_shown(maps);
	if (!maps->unused && add_block(maps))
		return NULL;
	m = maps->unused;
	maps->unused = m->next;
	*m = (struct held_map){.of = maps, .refs = 1};
	return &m->map;
}

static void *get(const void *map)
{
	struct held_map *m = (struct held_map *)map;

	m->refs++;
	return m;
}

static void put(void *map)
{
	struct held_map *m = map;
	struct maps *maps = m->of;

	if (--m->refs)
		return;
	if (!m->is_shown) {
		put_away(maps, m);
		return;
	}
	m->until = *maps->now + SEAM_STITCH_KEPT;
	m->next = NULL;
	if (maps->first)
		maps->last->next = m;
	else
		maps->first = m;
	maps->last = m;
}

const struct seam_range_ops seam_maps_ops = {.copy = get, .release = put};

void seam_maps_put(struct seam_stitch_map *map)
{
	put(map);
}

/* Mostly it was before: who prints has it in another CPU's cache. */
void seam_maps_show(const struct seam_stitch_map *map)
{
	struct held_map *m = (struct held_map *)map;

	if (!m->is_shown)
		m->is_shown = true;
}

void seam_maps_fini(struct maps *maps)
{
	for (size_t i = 0; i < maps->n_blocks; i++)
		free(maps->blocks[i]);
	free(maps->blocks);
	*maps = (struct maps){0};
}

/* --- numbers --- */

/* What caches may take for the same. What a JIT compiler wrote is a process's
 * own, and named by address; a vDSO that lies low is that of 32-bit programs;
 * and a symbol's name is that of one place. */
static struct seam_stitch_map in_common(const struct seam_stitch_map *map)
{
	struct seam_stitch_map c = {
		.path = map->path,
		.build_id = map->build_id,
		.build_id_len = map->build_id_len,
		.kernel = map->kernel,
		.symbol = map->symbol,
	};

	if (map->symbol || seam_perf_map_has(map->path)) {
		c.start = map->start;
		c.pgoff = map->pgoff;
		c.pid = map->pid;
		c.began_ns = map->began_ns;
	} else if (!strcmp(map->path, "[vdso]")) {
		c.start = map->start <= UINT32_MAX;
	}
	return c;
}

static bool is_same(const struct seam_stitch_map *a,
		    const struct seam_stitch_map *b)
{
	return a->start == b->start && a->pgoff == b->pgoff &&
	       a->pid == b->pid && a->began_ns == b->began_ns &&
	       a->kernel == b->kernel && a->symbol == b->symbol &&
	       a->build_id_len == b->build_id_len &&
	       (!a->build_id_len ||
		!memcmp(a->build_id, b->build_id, a->build_id_len)) &&
	       !strcmp(a->path, b->path);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* By words: each record of a mapping asks. */
static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mix(hash, word);
	}
	word = len;
	memcpy(&word, p, len);
	return mix(hash, word);
}

static uint64_t hash_of(const struct seam_stitch_map *c)
{
	uint64_t hash = mix(mix(c->start, c->began_ns), c->pid);

	hash = mix_bytes(hash, c->path, strlen(c->path));
	return c->build_id_len ? mix_bytes(hash, c->build_id, c->build_id_len)
			       : hash;
}

int seam_maps_number(struct map_numbers *ns, struct seam_stitch_map *map)
{
	struct seam_stitch_map c = in_common(map);
	uint64_t hash = hash_of(&c);
	uint32_t i;
	int rc;

	map->id = ++ns->n_ids;
	for (size_t at = 0; seam_index_next(&ns->index, hash, &at, &i);)
		if (is_same(&ns->v[i], &c)) {
			map->number = i;
			return 0;
		}
	if (seam_grow(&ns->v, ns->n + 1, &ns->cap, sizeof(*ns->v)))
		return -ENOMEM;
	rc = seam_index_add(&ns->index, hash, ns->n);
	if (rc)
		return rc;
	map->number = (uint32_t)ns->n;
	ns->v[ns->n++] = c;
	return 0;
}

void seam_maps_again(struct map_numbers *ns, uint32_t number,
		     struct seam_stitch_map *map)
{
	*map = ns->v[number];
	map->number = number;
	map->id = ++ns->n_ids;
}

void seam_maps_numbers_fini(struct map_numbers *ns)
{
	free(ns->v);
	seam_index_fini(&ns->index);
	*ns = (struct map_numbers){0};
}
