/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Lines of frames that were printed, by all that they are made of but the
 * address itself: so processes that run the same program share them, wherever
 * it is mapped. What was added stays until all of it is let go, and is found
 * without a lock: several threads may look while one adds.
 */
#ifndef SEAM_LIB_REPORT_LINES_H
#define SEAM_LIB_REPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_LINE_PIECE 32

struct seam_line_key {
	uint64_t off; /* in the file; else the address */
	uint32_t of; /* the file, or the mapping: see printed.c */
	uint8_t flags;
};

struct seam_line {
	uint64_t off;
	/* For each level what is behind the address, and before that, in two
	 * bytes, how long this is. A piece may be read behind its end. */
	const char *text;
	uint32_t of;
	uint16_t len; /* 0: the place is free; written last */
	uint8_t flags;
	bool running; /* as seam_resolve_frame() says it */
} __attribute__((aligned(32))); /* within what a cache has at once */

struct seam_lines {
	struct seam_line *v; /* in room */
	void *room;
	unsigned bits; /* of the number of places */
	size_t n, n_max;
	char *text;
	size_t used, size;
};

/* For about so many lines. Return: 0 or -ENOMEM. */
int seam_lines_init(struct seam_lines *ls, size_t n);
void seam_lines_fini(struct seam_lines *ls);
/* Nobody else may look meanwhile. */
void seam_lines_forget(struct seam_lines *ls);
/* Nobody else may add meanwhile. Others may look: behind the text that they
 * find they may read a piece that is being written, and is no part of it. *line
 * is what is found, but for its text, of len bytes. Return: the line; NULL: it
 * is full. */
const struct seam_line *seam_lines_add(struct seam_lines *ls,
				       const struct seam_line *line,
				       const char *text);

static inline size_t seam_lines_place(const struct seam_lines *ls,
				      const struct seam_line_key *key)
{
	uint64_t hash = (key->off ^ (uint64_t)key->of << 32 ^
			 (uint64_t)key->flags << 29) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> (64 - ls->bits));
}

/* What find() reads first. */
static inline void seam_lines_fetch(const struct seam_lines *ls,
				    const struct seam_line_key *key)
{
	__builtin_prefetch(&ls->v[seam_lines_place(ls, key)]);
}

/* Return: NULL: there is none. */
static inline const struct seam_line *
seam_lines_find(const struct seam_lines *ls, const struct seam_line_key *key)
{
	size_t at = seam_lines_place(ls, key), mask = (1UL << ls->bits) - 1;

	for (;; at = (at + 1) & mask) { /* some places stay free */
		const struct seam_line *line = &ls->v[at];

		if (!__atomic_load_n(&line->len, __ATOMIC_ACQUIRE))
			return NULL;
		if (line->off == key->off && line->of == key->of &&
		    line->flags == key->flags)
			return line;
	}
}

#endif
