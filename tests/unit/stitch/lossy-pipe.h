/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Recordings of struct lossy by a pipe, in slices, with any window and any room
 * for what waits: whoever uses it is linked with -Wl,--wrap=read. LOSSY_CHECK()
 * is as in lossy-judge.h.
 */
#ifndef SEAM_TESTS_LOSSY_PIPE_H
#define SEAM_TESTS_LOSSY_PIPE_H

#include <unistd.h>

#include "lossy-judge.h"
#include "perfdata/stream.h"

/* What is read of fd, instead of the pipe that it is of. */
struct pipe_source {
	int fd; /* 0: none */
	const uint8_t *p;
	size_t left;
	unsigned slice; /* bytes a time at most, and one less each time */
	unsigned n_reads;
};

static struct pipe_source pipe_source;

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);

ssize_t __wrap_read(int fd, void *p, size_t n)
{
	struct pipe_source *s = &pipe_source;
	size_t slice;

	if (!s->fd || fd != s->fd)
		return __real_read(fd, p, n);
	slice = s->slice - s->n_reads++ % s->slice;
	if (n > slice)
		n = slice;
	if (n > s->left)
		n = s->left;
	if (n)
		memcpy(p, s->p, n);
	s->p += n;
	s->left -= n;
	return (ssize_t)n;
}

struct pipe_how {
	unsigned slice;
	uint64_t window_ns;
	size_t held; /* bytes at most; 0: as many as there are */
	unsigned round; /* records between the marks of rounds; 0: none */
};

/* Return: as seam_pd_open_stream(). */
static inline int pipe_open(const struct pipe_how *how, const void *data,
			    size_t size, struct seam_pd_reader **ret)
{
	static int fds[2];
	static size_t max;
	struct seam_pd_stream_opts opts = {.window_ns = how->window_ns};

	if (!max) {
		max = seam_pd_stream_max;
		LOSSY_CHECK(!pipe(fds));
	}
	opts.fd = fds[0];
	pipe_source = (struct pipe_source){fds[0], data, size, how->slice, 0};
	seam_pd_stream_max = how->held ? how->held : max;
	return seam_pd_open_stream(&opts, ret, NULL);
}

/* All is there before anything is used, so that it is as of a file. */
static inline void judge_pipe_whole(const struct lossy *l, unsigned slice)
{
	const struct pipe_how how = {.slice = slice, .window_ns = UINT64_MAX};
	struct seam_pd_reader *r;

	LOSSY_CHECK(!pipe_open(&how, l->words, 8 * l->n_words, &r));
	judge_reader(l, SEAM_JOIN_COOKIE, r);
}

/* The recording with marks of rounds. Return: words. */
static inline size_t pipe_words(const struct lossy *l, unsigned round,
				uint64_t *ret)
{
	struct perf_event_header h = {PD_FINISHED_ROUND, 0, sizeof(h)};
	size_t at = 2, n = 2;

	memcpy(ret, l->words, 16);
	for (size_t i = 0; at < l->n_words; i++) {
		size_t words = ((const struct perf_event_header *)&l->words[at])
				       ->size /
			       8;

		memcpy(&ret[n], &l->words[at], 8 * words);
		n += words;
		at += words;
		if (round && i % round == round - 1)
			memcpy(&ret[n++], &h, sizeof(h));
	}
	return n;
}

/* What came of one sample. */
struct pipe_fate {
	uint64_t stack, half, end;
};

/* Lost ones have one too; no byte makes two records. */
#define PIPE_BYTES_MAX 4096
#define PIPE_SERIALS (2 * PIPE_BYTES_MAX)

struct pipe_verdict {
	const struct lossy *l;
	const struct lossy_rec *by_serial[PIPE_SERIALS];
	unsigned copies[PIPE_SERIALS]; /* that have not come yet, by serial */
	bool serves[LOSSY_RECS]; /* stacks, by place */
	uint64_t n[LOSSY_LOST + 1], n_serve;
	struct pipe_fate fates[LOSSY_RECS];
	size_t n_fates;
	uint64_t missing;
};

static inline void pipe_verdict_init(struct pipe_verdict *v,
				     const struct lossy *l)
{
	memset(v, 0, sizeof(*v));
	v->l = l;
	for (size_t i = 0; i < l->n; i++) {
		v->n[l->v[i].kind]++;
		LOSSY_CHECK(l->v[i].serial < PIPE_SERIALS);
		v->by_serial[l->v[i].serial] = &l->v[i];
		v->copies[l->v[i].serial]++;
	}
}

/* Whether any stack of that entry and cookie is the sample's, by its thread or
 * else its process. */
static inline bool pipe_may_have(const struct pipe_verdict *v,
				 const struct lossy_rec *sample, uint64_t entry)
{
	for (size_t i = 0; i < v->l->n; i++) {
		const struct lossy_rec *stack = &v->l->v[i];

		if (stack->kind == LOSSY_STACK && stack->entry == entry &&
		    stack->cookie == sample->cookie &&
		    (!v->l->has_tid || stack->pid == sample->pid))
			return true;
	}
	return false;
}

static inline void pipe_joined(struct pipe_verdict *v,
			       const struct lossy_rec *sample,
			       const struct seam_stitched *s)
{
	uint64_t entry = s->frames[1].ip >> 20;

	LOSSY_CHECK(s->half == SEAM_HALF_JOINED || s->half == SEAM_HALF_LATE);
	LOSSY_CHECK((s->half == SEAM_HALF_LATE) == (s->stack < s->place));
	LOSSY_CHECK(s->n_frames == 1 + LOSSY_FRAMES);
	for (size_t i = 0; i < LOSSY_FRAMES; i++)
		LOSSY_CHECK(s->frames[1 + i].ip == (entry << 20 | i));
	LOSSY_CHECK(pipe_may_have(v, sample, entry));
	if (v->l->cookies == LOSSY_OF_ALL || v->l->cookies == LOSSY_OF_THREAD)
		LOSSY_CHECK(entry == sample->entry);
	LOSSY_CHECK(s->stack < LOSSY_RECS);
	v->n_serve += !v->serves[s->stack];
	v->serves[s->stack] = true;
}

/* No more than there are come, each with its own stack or a reason. */
static inline void pipe_sample(struct pipe_verdict *v,
			       const struct seam_stitched *s)
{
	uint64_t serial = s->rec->sample.ip - LOSSY_KERNEL;
	const struct lossy_rec *rec;

	LOSSY_CHECK(serial < PIPE_SERIALS && v->copies[serial]);
	v->copies[serial]--;
	rec = v->by_serial[serial];
	LOSSY_CHECK((rec->kind == LOSSY_PLAIN) == (s->half == SEAM_HALF_NONE));
	v->fates[v->n_fates++] =
		(struct pipe_fate){s->stack, s->half, (uint64_t)s->end};
	if (rec->kind == LOSSY_PLAIN)
		return;
	LOSSY_CHECK(rec->kind == LOSSY_SAMPLE && s->cookie == rec->cookie);
	if (s->half == SEAM_HALF_MISSING)
		v->missing++;
	else
		pipe_joined(v, rec, s);
}

/* What came of all that were judged, for who wants to know that there was
 * something to be judged. */
static uint64_t pipe_n_window, pipe_n_late, pipe_n_disordered;

static inline void pipe_stats(const struct pipe_verdict *v,
			      const struct seam_stitch_stats *st)
{
	uint64_t joined = v->n[LOSSY_SAMPLE] - v->missing;

	LOSSY_CHECK(st->samples == v->n[LOSSY_SAMPLE] + v->n[LOSSY_PLAIN]);
	LOSSY_CHECK(st->samples == v->n_fates);
	LOSSY_CHECK(st->wanted == v->n[LOSSY_SAMPLE]);
	LOSSY_CHECK(st->half[SEAM_HALF_NONE] == v->n[LOSSY_PLAIN]);
	LOSSY_CHECK(st->half[SEAM_HALF_MISSING] == v->missing);
	LOSSY_CHECK(st->half[SEAM_HALF_JOINED] + st->half[SEAM_HALF_LATE] ==
		    joined);
	LOSSY_CHECK(st->end[SEAM_LOST] + st->end[SEAM_PENDING] +
			    st->end[SEAM_WINDOW] ==
		    v->missing);
	LOSSY_CHECK(st->stacks == v->n[LOSSY_STACK]);
	LOSSY_CHECK(st->stacks_unused + v->n_serve == st->stacks);
	LOSSY_CHECK(st->unused_repeated + st->unused_lost + st->unused_foreign +
			    st->unused_late ==
		    st->stacks_unused);
	LOSSY_CHECK(st->lost_records == v->n[LOSSY_LOST]);
	LOSSY_CHECK(st->by_cookie_alone == (v->l->has_tid ? 0 : joined));
	LOSSY_CHECK(st->disordered <= v->l->n);
	LOSSY_CHECK(st->stacks_repeated <= st->stacks);
	pipe_n_window += st->end[SEAM_WINDOW];
	pipe_n_late += st->unused_late;
	pipe_n_disordered += st->disordered;
}

static inline void judge_pipe_once(const struct lossy *l,
				   const struct pipe_how *how,
				   struct pipe_verdict *v)
{
	static uint64_t words[LOSSY_WORDS + LOSSY_RECS];
	size_t n = pipe_words(l, how->round, words);
	struct seam_pd_reader *r;
	struct seam_stitched out;
	struct seam_stitch *s;
	int rc;

	pipe_verdict_init(v, l);
	LOSSY_CHECK(!pipe_open(how, words, 8 * n, &r));
	LOSSY_CHECK(!seam_stitch_new(r, &s));
	while ((rc = seam_stitch_next(s, &out)) > 0)
		pipe_sample(v, &out);
	LOSSY_CHECK(!rc);
	LOSSY_CHECK(!seam_pd_damage(r)->damaged);
	LOSSY_CHECK(seam_pd_n_records(r) == l->n);
	pipe_stats(v, seam_stitch_stats(s));
	seam_stitch_free(s);
	seam_pd_close(r);
}

/* Whatever is too late: all is counted, and nothing depends on the slices. */
static inline void judge_pipe(const struct lossy *l, const struct pipe_how *how)
{
	static struct pipe_verdict v, other;
	struct pipe_how otherwise = *how;

	judge_pipe_once(l, how, &v);
	otherwise.slice = UINT32_MAX;
	judge_pipe_once(l, &otherwise, &other);
	LOSSY_CHECK(v.n_fates == other.n_fates);
	LOSSY_CHECK(
		!memcmp(v.fates, other.fates, v.n_fates * sizeof(v.fates[0])));
}

#endif
