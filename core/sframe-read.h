/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reads SFrame V1, V2 and V3, of every ABI: from a section's bytes and a pc to
 * the rule that holds there. Safe in signal handlers; sframe-section.h says
 * what is checked when.
 *
 *	struct seam_sframe sf;
 *	struct seam_rule rule;
 *	int err = seam_sframe_open(&sf, bytes, size);
 *	if (!err)
 *		err = seam_sframe_find(&sf, svma - section_svma, &rule);
 *
 * In BPF a section lies at the beginning of a map's value (Linux 6.9), or in
 * an arena (6.18; 6.12 cannot extend signs there): see env-bpf.h. Each of the
 * two calls is to stand in a global function, as in
 * tests/unit/core/read.bpf.c: together they are too many paths for the
 * verifier. A look-up goes round its loops 32 times where functions are
 * sorted, else once for each function; and once for each row of the one it
 * finds. BPF leaves loops after 8,388,608 rounds, which takes a section of
 * 14 MiB or more; newer kernels instead after a quarter of a second, which
 * they look at every 65,535 rounds. Then the answer is by what was seen till
 * there, and may be wrong.
 */
#ifndef SEAM_CORE_SFRAME_READ_H
#define SEAM_CORE_SFRAME_READ_H

#include "core/sframe-row.h"
#include "core/sframe-section.h"

/* The size of function i, below num_fdes. */
SEAM_INLINE uint32_t seam_sframe_size(const struct seam_sframe *sf, uint32_t i)
{
	uint64_t field = sf->fdes + (uint64_t)i * sf->fde_size;

	return seam_sframe_u32(sf,
			       field + (sf->version == SEAM_SFRAME_V3
						? 8
						: SEAM_SFRAME_FDE_FUNC_SIZE));
}

/* In sorted functions: the last that starts at or before pc. */
SEAM_INLINE uint32_t seam_sframe_search_sorted(const struct seam_sframe *sf,
					       uint64_t pc)
{
	uint32_t lo = 0, hi = sf->num_fdes;
	uint64_t start;

	/* hi - lo halves: at most 32 rounds. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		SEAM_LOOP_GUARD;
		mid = seam_unknown(mid);
		if ((int64_t)seam_sframe_start(sf, mid) <= (int64_t)pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return sf->num_fdes;
	lo--;
	start = seam_sframe_start(sf, lo);
	/* Empty functions have the same start as the one behind them, in any
	 * order: at most num_fdes rounds. */
	while (lo && pc - start >= seam_sframe_size(sf, lo) &&
	       seam_sframe_start(sf, lo - 1) == start) {
		SEAM_LOOP_GUARD;
		lo = seam_unknown(lo - 1);
	}
	return lo;
}

/* The same in unsorted ones, as assemblers leave them: num_fdes rounds. */
SEAM_INLINE uint32_t seam_sframe_search_all(const struct seam_sframe *sf,
					    uint64_t pc)
{
	uint32_t found = sf->num_fdes;
	int64_t best = INT64_MIN;

	for (uint32_t i = 0; i < sf->num_fdes; i++) {
		int64_t start;

		SEAM_LOOP_GUARD;
		i = seam_unknown(i);
		start = (int64_t)seam_sframe_start(sf, i);
		if (start > (int64_t)pc || start < best)
			continue;
		if (start > best || found == sf->num_fdes ||
		    pc - (uint64_t)start < seam_sframe_size(sf, i)) {
			best = start;
			found = i;
		}
	}
	return found;
}

/*
 * The last function that starts at or before pc; of those with one start,
 * one that covers it.
 * Return: its index, or num_fdes if there is none.
 */
SEAM_INLINE uint32_t seam_sframe_search(const struct seam_sframe *sf,
					uint64_t pc)
{
	return sf->is_sorted ? seam_sframe_search_sorted(sf, pc)
			     : seam_sframe_search_all(sf, pc);
}

/*
 * Finds the function for a pc, and the pc's offset from its start or, where
 * it repeats itself in blocks, from that of the block.
 * Return: 0, SEAM_NO_RULE or SEAM_SFRAME_FUNC.
 */
SEAM_INLINE int seam_sframe_find_func(const struct seam_sframe *sf, uint64_t pc,
				      struct seam_sframe_func *ret,
				      uint32_t *ret_off)
{
	uint32_t i = seam_sframe_search(sf, pc);
	uint64_t off;

	if (i >= sf->num_fdes)
		return SEAM_NO_RULE;
	if (seam_sframe_func_at(sf, i, ret))
		return SEAM_SFRAME_FUNC;
	off = pc - ret->start;
	if (off >= ret->size)
		return SEAM_NO_RULE;
	/* V1 has no size of blocks: see seam_sframe_scan. */
	if (ret->info & SEAM_SFRAME_INFO_PCMASK &&
	    sf->version != SEAM_SFRAME_V1) {
		if (!ret->rep_size)
			return SEAM_SFRAME_FUNC;
		off %= ret->rep_size;
	}
	*ret_off = (uint32_t)off;
	return SEAM_OK;
}

/*
 * Finds the last row that starts at or before off. Rows are walked in order:
 * num_rows at most. In blocks of V1 a row's start is a mask as well: it holds
 * where all of its bits are set in off. That is right at least where
 * instructions begin, in the procedure linkage tables that linkers wrote so.
 * Return: 0; SEAM_NO_RULE; SEAM_SFRAME_ROW if rows do not lie in the section.
 */
SEAM_INLINE int seam_sframe_scan(const struct seam_sframe *sf,
				 const struct seam_sframe_func *func,
				 uint32_t off, struct seam_sframe_row *ret)
{
	bool is_mask = sf->version == SEAM_SFRAME_V1 &&
		       func->info & SEAM_SFRAME_INFO_PCMASK;
	struct seam_sframe_row row = {.next = func->rows};
	uint32_t left = func->num_rows;
	int found = SEAM_NO_RULE;

	while (left > 0) {
		SEAM_LOOP_GUARD;
		if (seam_sframe_row_at(sf, func, row.next, &row))
			return SEAM_SFRAME_ROW;
		if (row.start > off)
			break;
		if (!is_mask || (off & row.start) == row.start) {
			*ret = row;
			found = SEAM_OK;
		}
		left--;
	}
	return found;
}

/*
 * The rule for a pc.
 * Return: 0; SEAM_NO_RULE if no function or row covers it; SEAM_SFRAME_FUNC
 * or SEAM_SFRAME_ROW if what covers it is malformed.
 */
SEAM_INLINE int seam_sframe_find(const struct seam_sframe *sf, uint64_t pc,
				 struct seam_rule *ret)
{
	struct seam_sframe_func func;
	struct seam_sframe_row row = {0};
	uint32_t off;
	int err = seam_sframe_find_func(sf, pc, &func, &off);

	if (err)
		return err;
	if (!func.num_rows)
		return seam_sframe_empty_rule(sf, &func, ret);
	err = seam_sframe_scan(sf, &func, off, &row);
	return err ? err : seam_sframe_rule(sf, &func, &row, ret);
}

#endif
