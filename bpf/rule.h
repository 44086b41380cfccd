/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Finds rules in tables. */
#ifndef SEAM_BPF_RULE_H
#define SEAM_BPF_RULE_H

#include "bpf/maps.h"

/* A program that touches the arena must name it. */
static __always_inline void arena_use(void)
{
	asm volatile("" ::"r"(&arena));
}

/*
 * The rule at an address of a mapping that has a table: *ret_packed, or where
 * that is 0 *ret_wide. Return: 0 or SEAM_NO_RULE. Global, so that the
 * verifier walks it once.
 */
__noinline int seam_rule_find(const struct mapping *map ARG_NONNULL,
			      uint64_t pc, uint64_t *ret_packed ARG_NONNULL,
			      struct seam_rule *ret_wide ARG_NONNULL)
{
	const uint8_t SEAM_TABLE *table =
		(const uint8_t SEAM_TABLE *)(uint64_t)map->offset;

	arena_use();
	return seam_lookup_find(&map->lookup, table, pc + map->delta,
				ret_packed, ret_wide);
}

#endif
