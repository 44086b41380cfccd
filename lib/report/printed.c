// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/printed.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "seam/tracer.h"

/* A generation ends when three quarters of its lines are taken, or its text is.
 * What is printed again in the next one moves there, the rest is let go. */
#define BITS 15
#define N_LINES (1U << BITS)
#define N_TAKEN (N_LINES / 4 * 3)
#define TEXT (2U << 20)
#define LEN_MAX 4096 /* a longer text is printed anew each time */
#define NEAR 6 /* frames ahead, whose lines are mostly in no cache yet */

enum {
	KERNEL = 1 << 0,
	EXACT = 1 << 1,
	GUESSED = 1 << 2,
	CHAIN = 1 << 3,
};

struct line {
	uint64_t ip;
	const struct seam_stitch_map *map;
	uint32_t at; /* in text */
	uint16_t len; /* 0: the line is free */
	uint8_t flags;
	bool running; /* as seam_resolve_frame() says it */
} __attribute__((aligned(32))); /* within what a cache has at once */

struct generation {
	size_t n, used; /* lines; bytes of text */
	struct line lines[N_LINES];
	char text[TEXT];
};

struct seam_printed {
	struct seam_resolver *resolver;
	pthread_mutex_t *lock;
	struct generation *now, *before;
	struct generation v[2];
};

/* Pages of lines that nobody takes are not touched: of text, and of all of the
 * other generation. */
static struct generation *begin(struct generation *g)
{
	memset(g->lines, 0, sizeof(g->lines));
	g->n = g->used = 0;
	return g;
}

struct seam_printed *seam_printed_new(struct seam_resolver *r,
				      pthread_mutex_t *lock)
{
	struct seam_printed *p;

	if (posix_memalign((void **)&p, alignof(struct line), sizeof(*p)))
		return NULL;
	p->resolver = r;
	p->lock = lock;
	p->before = &p->v[1];
	p->before->n = 0;
	p->now = begin(&p->v[0]);
	return p;
}

struct seam_printed *seam_printed_free(struct seam_printed *p)
{
	free(p);
	return NULL;
}

static uint32_t place_of(const struct seam_frame *f, uint8_t flags)
{
	uint64_t hash = (f->ip ^ (uintptr_t)f->map << 20 ^ flags) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> (64 - BITS));
}

static void fetch_line(const struct generation *g, const struct seam_frame *f,
		       uint8_t flags)
{
	__builtin_prefetch(&g->lines[place_of(f, flags)]);
}

/* Where the frame's line is, or would be. */
static struct line *line_of(struct generation *g, const struct seam_frame *f,
			    uint8_t flags)
{
	uint32_t at = place_of(f, flags);

	for (;; at = (at + 1) % N_LINES) {
		struct line *line = &g->lines[at];

		if (!line->len || (line->ip == f->ip && line->map == f->map &&
				   line->flags == flags))
			return line;
	}
}

static bool is_full(const struct generation *g, size_t len)
{
	return g->n == N_TAKEN || len > TEXT - g->used;
}

static const struct line *keep(struct seam_printed *p,
			       const struct seam_frame *f, struct line line,
			       const char *text)
{
	struct generation *g = p->now;
	struct line *to;

	if (is_full(g, line.len)) {
		g = p->before;
		p->before = p->now;
		p->now = begin(g);
	}
	line.at = (uint32_t)g->used;
	memcpy(g->text + line.at, text, line.len);
	g->used += line.len;
	g->n++;
	to = line_of(g, f, line.flags);
	*to = line;
	return to;
}

/* Return: NULL: it is not kept. */
static const struct line *find(struct seam_printed *p,
			       const struct seam_frame *f, uint8_t flags)
{
	const struct line *line = line_of(p->now, f, flags);

	if (line->len)
		return line;
	line = p->before->n ? line_of(p->before, f, flags) : line;
	if (!line->len)
		return NULL;
	/* Not from one that this begins anew. */
	if (is_full(p->now, line->len))
		return NULL;
	return keep(p, f, *line, p->before->text + line->at);
}

/* Appends the lines of one that is not kept. */
static int print_anew(struct seam_printed *p, const struct seam_text *t,
		      const struct seam_frame *f, uint8_t flags,
		      struct seam_strbuf *b, bool *ret_running)
{
	const size_t begin = b->len;
	struct seam_name name;
	int rc;

	if (p->lock)
		pthread_mutex_lock(p->lock);
	rc = seam_resolve_frame(p->resolver, f, flags & EXACT, &name,
				ret_running);
	if (p->lock)
		pthread_mutex_unlock(p->lock);
	if (rc)
		return rc;
	seam_text_frame(b, t, f, &name);
	if (b->err || b->len - begin > LEN_MAX)
		return b->err;
	keep(p, f,
	     (struct line){.ip = f->ip,
			   .map = f->map,
			   .len = (uint16_t)(b->len - begin),
			   .flags = flags,
			   .running = *ret_running},
	     b->s + begin);
	return 0;
}

static uint8_t flags_of(const struct seam_frame *f, bool exact)
{
	return (uint8_t)((f->kernel ? KERNEL : 0) | (exact ? EXACT : 0) |
			 (f->method == SEAM_METHOD_GUESS ? GUESSED : 0));
}

void seam_printed_frames(struct seam_printed *p, const struct seam_text *t,
			 size_t n, struct seam_strbuf *b)
{
	const struct seam_frame *f = t->sample->frames;
	const uint8_t chain = seam_text_has_chain(t) ? CHAIN : 0;
	bool running = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		bool exact = seam_frame_exact(f, i, running);
		uint8_t flags = flags_of(&f[i], exact) | chain;
		const struct line *line;

		if (i + NEAR < n)
			fetch_line(p->now, &f[i + NEAR],
				   flags_of(&f[i + NEAR], false) | chain);
		line = find(p, &f[i], flags);
		if (line) {
			seam_strbuf_add(b, p->now->text + line->at, line->len);
			running = line->running;
		} else {
			rc = print_anew(p, t, &f[i], flags, b, &running);
		}
	}
	if (rc && !b->err)
		b->err = rc;
}
