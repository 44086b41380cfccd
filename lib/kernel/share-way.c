// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What makes a group: its name is a hash of the build and of how it unwinds. So
 * what it is is found by trying all that it may be, of this build.
 */
#include "kernel/share-way.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/index.h"
#include "event/order.h"
#include "kernel/share.h"

/* Of a megabyte at each start: by words. */
static uint64_t hash_object(const void *object, size_t size)
{
	const uint8_t *bytes = object;
	const size_t whole = size / 8 * 8;
	uint64_t hash = 0, word;

	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return seam_hash(hash, bytes + whole, size - whole);
}

uint64_t seam_share_build(const void *object, size_t size)
{
	return seam_hash(hash_object(object, size), seam_shares_as,
			 strlen(seam_shares_as));
}

uint64_t seam_share_group_of(uint64_t build, uint32_t methods,
			     uint32_t stack_copy,
			     enum seam_tables_from tables_from)
{
	const uint64_t ways[] = {methods, stack_copy, tables_from};

	return seam_hash(build, ways, sizeof(ways));
}

/* All that there are, the likeliest first. */
static const char *const orders[] = {
	SEAM_DEFAULT_ORDER,
	"sframe",
	"fp",
	"fp,sframe",
	"guess",
	"guess-all",
	"sframe,guess",
	"sframe,guess-all",
	"fp,guess",
	"fp,guess-all",
	"sframe,fp,guess",
	"sframe,fp,guess-all",
	"fp,sframe,guess",
	"fp,sframe,guess-all",
};

static bool try_copy(uint64_t build, uint64_t group, uint32_t stack_copy,
		     struct seam_share_way *ret)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		uint32_t methods = 0;

		seam_order_parse(orders[i], &methods);
		for (int from = 0; from <= SEAM_TABLES_MAPPED; from++) {
			if (seam_share_group_of(build, methods, stack_copy,
						(enum seam_tables_from)from) !=
			    group)
				continue;
			*ret = (struct seam_share_way){
				orders[i], stack_copy,
				(enum seam_tables_from)from};
			return true;
		}
	}
	return false;
}

bool seam_share_way_of(uint64_t build, const char *name,
		       struct seam_share_way *ret)
{
	uint64_t group;

	if (sscanf(name, "%16" SCNx64, &group) != 1)
		return false;
	/* The usual first. */
	for (uint32_t copy = SEAM_MAX_COPY; copy; copy--)
		if (try_copy(build, group, copy, ret))
			return true;
	return false;
}
