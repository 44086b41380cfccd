// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/printed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/lines.h"
#include "report/tail.h"
#include "seam/tracer.h"

#define LEN_MAX 4096 /* a longer text is printed anew each time */
#define BLOCK 16 /* frames whose lines are fetched together */
#define OWN 32768 /* lines */
#define TAILS 8 /* of threads */

enum {
	KERNEL = 1 << 0,
	EXACT = 1 << 1,
	GUESSED = 1 << 2,
};

struct seam_printed_lines {
	struct seam_lines lines;
	pthread_mutex_t lock; /* of who adds */
};

/* A generation ends when it is full. What is printed again in the next one
 * moves there, the rest is let go. */
struct seam_printed {
	struct seam_resolver *resolver;
	pthread_mutex_t *lock;
	struct seam_printed_lines *shared; /* NULL: there are none */
	struct seam_lines v[2]; /* what the shared have no room for */
	struct seam_lines *now, *before; /* NULL: not needed yet */
	/* By a user mapping's number, what its lines are of: see key_of(); 0:
	 * it was not asked for. */
	uint32_t *of;
	size_t n_of, cap_of;
	struct seam_tail tails[TAILS];
	size_t begin[SEAM_TAIL_FRAMES]; /* of frames that are not in one */
	uint8_t flags[SEAM_TAIL_FRAMES];
};

struct frame {
	struct seam_line_key key;
	const struct seam_line *line; /* NULL: it is not among the shared */
};

struct seam_printed_lines *seam_printed_lines_new(size_t n)
{
	struct seam_printed_lines *ls = malloc(sizeof(*ls));

	if (ls && seam_lines_init(&ls->lines, n)) {
		free(ls);
		return NULL;
	}
	if (ls)
		pthread_mutex_init(&ls->lock, NULL);
	return ls;
}

struct seam_printed_lines *
seam_printed_lines_free(struct seam_printed_lines *ls)
{
	if (!ls)
		return NULL;
	seam_lines_fini(&ls->lines);
	pthread_mutex_destroy(&ls->lock);
	free(ls);
	return NULL;
}

struct seam_printed *seam_printed_new(struct seam_resolver *r,
				      pthread_mutex_t *lock,
				      struct seam_printed_lines *shared)
{
	struct seam_printed *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->resolver = r;
	p->lock = lock;
	p->shared = shared;
	return p;
}

struct seam_printed *seam_printed_free(struct seam_printed *p)
{
	if (!p)
		return NULL;
	seam_lines_fini(&p->v[0]);
	seam_lines_fini(&p->v[1]);
	free(p->of);
	free(p);
	return NULL;
}

/* --- which line a frame has --- */

static void lock(const struct seam_printed *p)
{
	if (p->lock)
		pthread_mutex_lock(p->lock);
}

static void unlock(const struct seam_printed *p)
{
	if (p->lock)
		pthread_mutex_unlock(p->lock);
}

/* Of the kernel, of the vDSO, of which there is one for 32-bit programs under
 * the same name, and of what JIT compilers made. Such mappings are few: they
 * have even numbers, as what has none. */
static uint32_t of_mapping(const struct seam_stitch_map *map)
{
	return map->number * 2 + 2;
}

static int ask_of(struct seam_printed *p, const struct seam_stitch_map *map)
{
	int file;

	if (seam_grow(&p->of, (size_t)map->number + 1, &p->cap_of,
		      sizeof(*p->of)))
		return -ENOMEM;
	for (; p->n_of < p->cap_of; p->n_of++)
		p->of[p->n_of] = 0;
	if (!strcmp(map->path, "[vdso]") || seam_resolver_is_jit(map)) {
		p->of[map->number] = of_mapping(map);
		return 0;
	}
	lock(p);
	file = seam_resolver_file(p->resolver, map);
	unlock(p);
	if (file < 0)
		return file;
	p->of[map->number] = ((uint32_t)file + 1) * 2 + 1;
	return 0;
}

/* By a place in a file or in what else is mapped. */
static int key_of(struct seam_printed *p, const struct seam_frame *f,
		  uint8_t flags, struct seam_line_key *ret)
{
	const struct seam_stitch_map *map = f->map;
	int rc = 0;

	*ret = (struct seam_line_key){f->ip, 0, flags};
	if (!map)
		return 0;
	if (flags & KERNEL) {
		ret->of = of_mapping(map);
		return 0;
	}
	if (map->number >= p->n_of || !p->of[map->number])
		rc = ask_of(p, map);
	if (rc)
		return rc;
	ret->of = p->of[map->number];
	ret->off = f->ip - map->start + map->pgoff;
	return 0;
}

/* --- the lines --- */

static int begin(struct seam_printed *p)
{
	struct seam_lines *next = p->now == &p->v[0] ? &p->v[1] : &p->v[0];
	int rc = 0;

	if (next->v)
		seam_lines_forget(next);
	else
		rc = seam_lines_init(next, OWN);
	if (rc)
		return rc;
	p->before = p->now;
	p->now = next;
	return 0;
}

static const struct seam_line *
keep_own(struct seam_printed *p, const struct seam_line *line, const char *text)
{
	const struct seam_line *kept =
		p->now ? seam_lines_add(p->now, line, text) : NULL;

	if (kept || begin(p))
		return kept;
	return seam_lines_add(p->now, line, text);
}

/* Where there is no memory it is printed anew each time. */
static void keep(struct seam_printed *p, const struct seam_line *line,
		 const char *text)
{
	const struct seam_line_key key = {line->off, line->of, line->flags};
	struct seam_printed_lines *to = p->shared;
	bool is_kept = false;

	if (to) {
		pthread_mutex_lock(&to->lock);
		is_kept = seam_lines_find(&to->lines, &key) ||
			  seam_lines_add(&to->lines, line, text);
		pthread_mutex_unlock(&to->lock);
	}
	if (!is_kept)
		keep_own(p, line, text);
}

/* Return: NULL: it is not kept. */
static const struct seam_line *find(struct seam_printed *p,
				    const struct seam_line_key *key)
{
	const struct seam_line *line =
		p->shared ? seam_lines_find(&p->shared->lines, key) : NULL;

	if (line || !p->now)
		return line;
	line = seam_lines_find(p->now, key);
	if (line || !p->before)
		return line;
	line = seam_lines_find(p->before, key);
	/* Not into one that takes the place of what it is in. */
	return line ? seam_lines_add(p->now, line, line->text) : NULL;
}

/* As a line has it. Return: false: it is too long to be kept. */
static bool make_text(const struct seam_text *t, const struct seam_name *name,
		      struct seam_strbuf *b)
{
	for (size_t i = 0; i < seam_name_levels(name); i++) {
		const struct seam_name level = seam_name_level(name, i);
		const size_t at = b->len;
		uint16_t len = 0;

		seam_strbuf_add(b, (const char *)&len, sizeof(len));
		seam_text_level(b, &t->opts, &level);
		if (b->err || b->len > LEN_MAX)
			return false;
		len = (uint16_t)(b->len - at - sizeof(len));
		memcpy(b->s + at, &len, sizeof(len));
	}
	/* A piece more is read. */
	return !seam_strbuf_room(b, SEAM_LINE_PIECE);
}

/* What is copied is mostly a piece or two, and then a call takes longer. Both
 * have room for what is too much. */
static char *copy(char *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i += SEAM_LINE_PIECE)
		memcpy(to + i, text + i, SEAM_LINE_PIECE);
	return to + len;
}

static void print_kept(struct seam_strbuf *b, const char *text, size_t len,
		       uint64_t ip, bool has_chain)
{
	char address[SEAM_TEXT_ADDRESS], *to;
	const char *end = text + len;

	seam_hex16(address, ip);
	while (text < end) {
		uint16_t n;

		memcpy(&n, text, sizeof(n));
		text += sizeof(n);
		if (seam_strbuf_room(b,
				     1 + sizeof(address) + n + SEAM_LINE_PIECE))
			return;
		to = b->s + b->len;
		*to = '\t';
		to += has_chain;
		memcpy(to, address, sizeof(address));
		to = copy(to + sizeof(address), text, n);
		*to = '\0';
		b->len = (size_t)(to - b->s);
		text += n;
	}
}

/* Appends the lines of one that is not kept, and keeps them. */
static int print_anew(struct seam_printed *p, const struct seam_text *t,
		      const struct seam_frame *f,
		      const struct seam_line_key *key, struct seam_strbuf *b,
		      bool *ret_running)
{
	struct seam_strbuf text = {0};
	struct seam_name name;
	int rc;

	lock(p);
	rc = seam_resolve_frame(p->resolver, f, key->flags & EXACT, &name,
				ret_running);
	unlock(p);
	if (rc)
		return rc;
	if (make_text(t, &name, &text)) {
		print_kept(b, text.s, text.len, f->ip, seam_text_has_chain(t));
		keep(p,
		     &(struct seam_line){.off = key->off,
					 .of = key->of,
					 .flags = key->flags,
					 .len = (uint16_t)text.len,
					 .running = *ret_running},
		     text.s);
	} else {
		seam_text_frame(b, t, f, &name);
	}
	rc = b->err ? b->err : text.err;
	seam_strbuf_fini(&text);
	return rc;
}

static uint8_t flags_of(const struct seam_frame *f, bool exact)
{
	return (uint8_t)((f->kernel ? KERNEL : 0) | (exact ? EXACT : 0) |
			 (f->method == SEAM_METHOD_GUESS ? GUESSED : 0));
}

/* The lines of a block's frames are mostly in no cache yet, and neither is
 * their text: all are asked for at once. What a frame tells of the next one,
 * which is rare, is not known yet. */
static int fetch(struct seam_printed *p, const struct seam_frame *f,
		 size_t from, size_t to, struct frame *ret)
{
	const struct seam_lines *shared =
		p->shared ? &p->shared->lines : p->now;

	for (size_t i = from; i < to; i++) {
		uint8_t flags = flags_of(&f[i], seam_frame_exact(f, i, false));
		int rc = key_of(p, &f[i], flags, &ret[i - from].key);

		if (rc)
			return rc;
		ret[i - from].line = NULL;
		if (shared)
			seam_lines_fetch(shared, &ret[i - from].key);
	}
	for (size_t i = from; p->shared && i < to; i++) {
		const struct seam_line *line =
			seam_lines_find(shared, &ret[i - from].key);

		if (!line)
			continue;
		__builtin_prefetch(line->text);
		__builtin_prefetch(line->text + 64);
		ret[i - from].line = line;
	}
	return 0;
}

static int print_frame(struct seam_printed *p, const struct seam_text *t,
		       size_t i, struct frame *frame, bool *running,
		       struct seam_strbuf *b)
{
	const struct seam_frame *f = &t->sample->frames[i];

	if (*running && !(frame->key.flags & EXACT)) {
		frame->key.flags |= EXACT;
		frame->line = NULL;
	}
	if (i < SEAM_TAIL_FRAMES) {
		p->begin[i] = b->len;
		p->flags[i] = frame->key.flags;
	}
	if (!frame->line)
		frame->line = find(p, &frame->key);
	if (!frame->line)
		return print_anew(p, t, f, &frame->key, b, running);
	print_kept(b, frame->line->text, frame->line->len, f->ip,
		   seam_text_has_chain(t));
	*running = frame->line->running;
	return b->err;
}

static int print_some(struct seam_printed *p, const struct seam_text *t,
		      size_t from, size_t n, bool *running,
		      struct seam_strbuf *b)
{
	struct frame frames[BLOCK];
	int rc = 0;

	for (; !rc && from < n; from += BLOCK) {
		size_t to = n - from < BLOCK ? n : from + BLOCK;

		rc = fetch(p, t->sample->frames, from, to, frames);
		for (size_t i = from; !rc && i < to; i++)
			rc = print_frame(p, t, i, &frames[i - from], running,
					 b);
	}
	return rc;
}

/* Frames that are the same as before, from the root on, were printed with the
 * same flags if the first of them was: what is running is told by the one
 * before each. */
void seam_printed_frames(struct seam_printed *p, const struct seam_text *t,
			 size_t n, struct seam_strbuf *b)
{
	struct seam_tail *tail = &p->tails[t->sample->rec->tid % TAILS];
	const struct seam_frame *f = t->sample->frames;
	const bool has_chain = seam_text_has_chain(t);
	size_t k = seam_tail_common(tail, has_chain, f, n), end;
	bool running = false;
	int rc = print_some(p, t, 0, n - k, &running, b);

	for (; !rc && k &&
	       seam_tail_flags(tail, k) !=
		       flags_of(&f[n - k], seam_frame_exact(f, n - k, running));
	     k--)
		rc = print_some(p, t, n - k, n - k + 1, &running, b);
	end = b->len;
	if (!rc)
		seam_tail_print(tail, k, b);
	if (!rc && !b->err && n <= SEAM_TAIL_FRAMES)
		seam_tail_keep(
			tail, k,
			&(struct seam_tail_new){f, n - k, p->begin, p->flags},
			has_chain, b, end);
	if (rc && !b->err)
		b->err = rc;
}
