/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The mappings of a world, each for as long as one of its spaces has it. One
 * that a sample's frames were shown with stays for SEAM_STITCH_KEPT samples
 * more, as these may still be printed.
 */
#ifndef SEAM_LIB_STITCH_MAPS_H
#define SEAM_LIB_STITCH_MAPS_H

#include "base/index.h"
#include "base/ranges.h"
#include "stitch/stitch.h"

struct held_map;

/* What is mapped, each of it once: what caches ask of a mapping depends on
 * that, on where it lies and on nothing else. Files are few, also where
 * processes are many. */
struct map_numbers {
	struct seam_stitch_map *v; /* what they have in common, by number */
	size_t n, cap;
	struct seam_index index; /* of v */
	uint64_t n_ids; /* ever */
};

struct maps {
	struct held_map **blocks;
	size_t n_blocks, cap_blocks;
	struct held_map *unused;
	/* In no space any more, but shown; the oldest first. */
	struct held_map *first, *last;
	const uint64_t *now; /* samples so far; NULL: none is shown */
};

/* Return: one that is put once; NULL: no memory. */
struct seam_stitch_map *seam_maps_new(struct maps *maps);
void seam_maps_put(struct seam_stitch_map *map);
/* A frame has it, which is delivered. */
void seam_maps_show(const struct seam_stitch_map *map);
/* How spaces hold them. */
extern const struct seam_range_ops seam_maps_ops;
/* No space may have any. */
void seam_maps_fini(struct maps *maps);

/* Gives the mapping, which is whole but for that, its number and id. Return: 0
 * or -errno. */
int seam_maps_number(struct map_numbers *numbers, struct seam_stitch_map *map);
/* Makes map one of that number, with a new id; where it lies and whose it is is
 * left. */
void seam_maps_again(struct map_numbers *numbers, uint32_t number,
		     struct seam_stitch_map *map);
void seam_maps_numbers_fini(struct map_numbers *numbers);

#endif
