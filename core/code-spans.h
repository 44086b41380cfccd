/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the code lies that a process made, by pages, as memory is unmapped:
 * spans in order, that neither meet nor touch. So long as they are no more
 * than there is room for they are exact; beyond that the two that are nearest
 * become one, with what is between.
 */
#ifndef SEAM_CORE_CODE_SPANS_H
#define SEAM_CORE_CODE_SPANS_H

#include "core/env.h"

#define SEAM_CODE_SPANS 512 /* a power of two */
#define SEAM_CODE_PAGE 4096ULL

struct seam_code_span {
	uint64_t start, end;
};

/* All zero: none. */
struct seam_code_spans {
	uint64_t n;
	struct seam_code_span v[SEAM_CODE_SPANS];
};

/* By its number, which the compiler shall not make a pointer of that runs
 * along: clang 19, "invalid access to map value". */
SEAM_INLINE struct seam_code_span *seam_code_span(struct seam_code_spans *s,
						  uint64_t i)
{
	__asm__ volatile("" : "+r"(i));
	return &s->v[i & (SEAM_CODE_SPANS - 1)];
}

/* The first that ends behind an address; or, if touching counts, at it. hi - lo
 * halves: at most ten rounds. */
SEAM_INLINE uint32_t seam_code_spans_find(struct seam_code_spans *s,
					  uint64_t addr, bool touch)
{
	uint32_t lo = seam_unknown(0), hi = (uint32_t)s->n;

	while (lo < hi) {
		uint32_t mid = seam_unknown(lo + (hi - lo) / 2);
		uint64_t end = seam_code_span(s, mid)->end;

		SEAM_LOOP_GUARD;
		if (end < addr || (end == addr && !touch))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first that starts behind an address; or, unless touching counts, at it.
 * Likewise. */
SEAM_INLINE uint32_t seam_code_spans_behind(struct seam_code_spans *s,
					    uint64_t addr, bool touch)
{
	uint32_t lo = seam_unknown(0), hi = (uint32_t)s->n;

	while (lo < hi) {
		uint32_t mid = seam_unknown(lo + (hi - lo) / 2);
		uint64_t start = seam_code_span(s, mid)->start;

		SEAM_LOOP_GUARD;
		if (start < addr || (start == addr && touch))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whether there may be code in [start, end). */
SEAM_INLINE bool seam_code_spans_meet(struct seam_code_spans *s, uint64_t start,
				      uint64_t end)
{
	uint32_t i = seam_code_spans_find(s, start, false);

	return i < s->n && seam_code_span(s, i)->start < end;
}

/* Takes out those from lo on and before hi. */
SEAM_INLINE void seam_code_spans_drop(struct seam_code_spans *s, uint32_t lo,
				      uint32_t hi)
{
	uint32_t gone = hi - lo, i;

	for (i = seam_unknown(hi); i < s->n; i++) {
		uint32_t at = seam_unknown(i);

		SEAM_LOOP_GUARD;
		*seam_code_span(s, at - gone) = *seam_code_span(s, at);
	}
	s->n -= gone;
}

/* Puts one in; there is room. */
SEAM_INLINE void seam_code_spans_insert(struct seam_code_spans *s, uint32_t at,
					uint64_t start, uint64_t end)
{
	uint32_t i;

	for (i = seam_unknown((uint32_t)s->n); i > at; i--) {
		uint32_t to = seam_unknown(i);

		SEAM_LOOP_GUARD;
		*seam_code_span(s, to) = *seam_code_span(s, to - 1);
	}
	seam_code_span(s, at)->start = start;
	seam_code_span(s, at)->end = end;
	s->n++;
}

/* The first of the two with the least between them. There are two. */
SEAM_INLINE uint32_t seam_code_spans_nearest(struct seam_code_spans *s,
					     uint64_t *ret_gap)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = 0, i;

	for (i = seam_unknown(1); i < s->n; i++) {
		uint32_t at = seam_unknown(i);
		uint64_t gap = seam_code_span(s, at)->start -
			       seam_code_span(s, at - 1)->end;

		SEAM_LOOP_GUARD;
		if (gap < least) {
			least = gap;
			best = at - 1;
		}
	}
	*ret_gap = least;
	return best;
}

/* One more at a place of its own, where there is no room. */
SEAM_INLINE void seam_code_spans_squeeze(struct seam_code_spans *s, uint32_t at,
					 uint64_t start, uint64_t end)
{
	uint64_t before = UINT64_MAX, behind = UINT64_MAX, gap;
	uint32_t pair = seam_unknown(seam_code_spans_nearest(s, &gap));

	if (at)
		before = start - seam_code_span(s, at - 1)->end;
	if (at < s->n)
		behind = seam_code_span(s, at)->start - end;
	if (before <= gap && before <= behind) {
		seam_code_span(s, at - 1)->end = end;
	} else if (behind <= gap) {
		seam_code_span(s, at)->start = start;
	} else {
		seam_code_span(s, pair)->end = seam_code_span(s, pair + 1)->end;
		seam_code_spans_drop(s, pair + 1, pair + 2);
		seam_code_spans_insert(s, at > pair ? at - 1 : at, start, end);
	}
}

/* There is code in [start, end) from now on. */
SEAM_INLINE void seam_code_spans_add(struct seam_code_spans *s, uint64_t start,
				     uint64_t end)
{
	uint32_t lo, hi;

	start &= ~(SEAM_CODE_PAGE - 1);
	end = (end + SEAM_CODE_PAGE - 1) & ~(SEAM_CODE_PAGE - 1);
	if (start >= end)
		return;
	lo = seam_unknown(seam_code_spans_find(s, start, true));
	hi = seam_unknown(seam_code_spans_behind(s, end, true));
	if (lo < hi) {
		struct seam_code_span *first = seam_code_span(s, lo);

		if (end < seam_code_span(s, hi - 1)->end)
			end = seam_code_span(s, hi - 1)->end;
		if (start < first->start)
			first->start = start;
		first->end = end;
		if (hi - lo > 1)
			seam_code_spans_drop(s, lo + 1, hi);
	} else if (s->n < SEAM_CODE_SPANS) {
		seam_code_spans_insert(s, lo, start, end);
	} else {
		seam_code_spans_squeeze(s, lo, start, end);
	}
}

/* There is none in [start, end) any more. Whole pages; where there is no room
 * for what is left on both sides of it, it stays. */
SEAM_INLINE void seam_code_spans_cut(struct seam_code_spans *s, uint64_t start,
				     uint64_t end)
{
	uint32_t lo = seam_unknown(seam_code_spans_find(s, start, false));
	uint32_t hi = seam_unknown(seam_code_spans_behind(s, end, false));
	struct seam_code_span *first, *last;
	uint64_t rest;

	if (lo >= hi)
		return;
	first = seam_code_span(s, lo);
	last = seam_code_span(s, hi - 1);
	rest = last->end;
	if (first->start < start && rest > end && lo + 1 == hi) {
		if (s->n == SEAM_CODE_SPANS)
			return;
		first->end = start;
		seam_code_spans_insert(s, hi, end, rest);
		return;
	}
	if (first->start < start) {
		first->end = start;
		lo++;
	}
	if (rest > end) {
		last->start = end;
		hi--;
	}
	if (lo < hi)
		seam_code_spans_drop(s, lo, hi);
}

#endif
