/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is true of every recording that the reader opens: records come in the
 * order of time, every sample comes out once, and what the counters say adds
 * up. The same with user stacks merged into the samples is a sound recording
 * with as many samples, and merged again the same bytes; also when user stacks
 * had records of their own in between.
 */
#ifndef SEAM_FUZZ_RECORDING_H
#define SEAM_FUZZ_RECORDING_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/uapi.h"
#include "inject/inject.h"
#include "inject/unmerge.h"
#include "perfdata/reader.h"
#include "report/text.h"
#include "stitch/stitch.h"

/* Each byte of what describes tracepoints, so that one outside is seen. */
static volatile uint8_t seen;

/* Text of everything would only cost time. */
#define MAX_TEXTS 16

static inline void check(int is_true)
{
	if (!is_true)
		abort();
}

static inline void see(void *ctx, const char *text, size_t size)
{
	(void)ctx;
	for (size_t i = 0; i < size; i++)
		seen ^= (uint8_t)text[i];
}

static inline void see_format(void *ctx, const char *system, const char *text,
			      size_t size)
{
	see(ctx, system, strlen(system));
	see(ctx, text, size);
}

/* libtraceevent, which reads the texts, is not ours to fuzz. */
static inline void read_formats(const struct seam_pd_reader *r)
{
	const struct seam_pd_format_ops ops = {see, see_format, NULL};

	seam_pd_formats(r, &ops);
}

static inline uint64_t read_records(const struct seam_pd_reader *r)
{
	uint64_t samples = 0, last = 0;
	struct seam_pd_rec rec;

	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		seam_pd_record(r, i, &rec);
		check(rec.time_ns >= last);
		check(rec.event >= 0 &&
		      (size_t)rec.event < seam_pd_n_events(r));
		last = rec.time_ns;
		samples += rec.type == PERF_RECORD_SAMPLE;
	}
	check(samples == seam_pd_count(r, PERF_RECORD_SAMPLE));
	return samples;
}

static inline void print(const struct seam_stitched *out,
			 const struct seam_pd_reader *r)
{
	struct seam_name *names = calloc(out->n_frames + 1, sizeof(*names));
	struct seam_strbuf b = {0};
	struct seam_text t = {
		.sample = out,
		.names = names,
		.attr = seam_pd_event(r, (size_t)out->rec->event),
		.opts = {.max_stack = 64},
	};

	check(names != NULL);
	for (size_t i = 0; i < out->n_frames; i++)
		if (out->frames[i].map)
			names[i].dso = out->frames[i].map->path;
	seam_text_perf(&b, &t);
	seam_text_json(&b, &t);
	seam_text_folded(&b, &t);
	check(!b.err);
	seam_strbuf_fini(&b);
	free(names);
}

/* All counts add up, whatever comes in whatever order. */
static inline void check_counts(const struct seam_stitch_stats *st)
{
	uint64_t ends = 0, halves = 0;

	for (int i = 0; i < SEAM_END_MAX; i++)
		ends += st->end[i];
	for (int i = 0; i <= SEAM_HALF_MISSING; i++)
		halves += st->half[i];
	check(ends == st->wanted && halves == st->samples);
	check(st->wanted + st->half[SEAM_HALF_NONE] == st->samples);
	check(st->stacks_unused <= st->stacks);
	check(st->stacks_unused ==
	      st->unused_repeated + st->unused_lost + st->unused_foreign);
	check(st->by_time + st->by_process + st->by_cookie_alone <=
	      st->half[SEAM_HALF_JOINED] + st->half[SEAM_HALF_LATE] +
		      st->unmoved);
	check(st->forgotten <= st->samples + st->unmoved);
	check(st->other_task <= st->half[SEAM_HALF_MISSING] + st->unmoved);
}

static inline void stitch(struct seam_pd_reader *r, uint64_t samples,
			  enum seam_join rule)
{
	const struct seam_stitch_stats *stats;
	struct seam_stitched out;
	struct seam_stitch *s;
	uint64_t n = 0;

	check(!seam_stitch_new(r, &s));
	check(!seam_stitch_join_by(s, rule));
	while (seam_stitch_next(s, &out) > 0) {
		check(out.n_kernel <= out.n_frames);
		if (n++ < MAX_TEXTS)
			print(&out, r);
	}
	stats = seam_stitch_stats(s);
	check(n == stats->samples);
	check(n + stats->unmoved == samples + stats->shared);
	check_counts(stats);
	seam_stitch_free(s);
}

struct made {
	int fd;
	void *p;
	size_t size;
	struct seam_pd_reader *r;
};

static inline int make_file(void)
{
	int fd = memfd_create("made", 0);

	check(fd >= 0);
	return fd;
}

/* What was written is a sound recording. */
static inline void read_made(int fd, struct made *ret)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct seam_errinfo err;

	check(size > 0);
	ret->fd = fd;
	ret->size = (size_t)size;
	ret->p = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(ret->p != MAP_FAILED);
	check(!seam_pd_open_mem(ret->p, ret->size, &ret->r, &err));
	check(!seam_pd_damage(ret->r)->damaged);
	check(!seam_pd_damage(ret->r)->n_malformed);
}

static inline void merge_to(struct seam_pd_reader *r, bool to_file,
			    struct seam_injected *n, struct made *ret)
{
	const struct seam_inject_opts opts = {.to_file = to_file};
	int fd = make_file();

	check(!seam_inject(r, fd, &opts, n));
	read_made(fd, ret);
}

static inline void merge(struct seam_pd_reader *r, struct seam_injected *n,
			 struct made *ret)
{
	merge_to(r, false, n, ret);
}

/* Whether all its attributes can be of the size that every perf knows. */
static inline bool can_merge(struct seam_pd_reader *r, bool to_file)
{
	const struct seam_inject_opts opts = {.to_file = to_file};
	struct seam_injected n;
	int fd = make_file(), rc = seam_inject(r, fd, &opts, &n);

	check(!rc || rc == -EOPNOTSUPP);
	close(fd);
	return !rc;
}

static inline void unmerge(struct seam_pd_reader *r, struct seam_unmerged *n,
			   struct made *ret)
{
	int fd = make_file();

	check(!seam_unmerge(r, fd, false, n));
	read_made(fd, ret);
}

static inline void made_free(struct made *m)
{
	seam_pd_close(m->r);
	munmap(m->p, m->size);
	close(m->fd);
}

/* What the recording says of its events and of itself. */
static inline void check_front(const struct seam_pd_reader *r,
			       const struct seam_pd_reader *s)
{
	check(seam_pd_n_events(r) == seam_pd_n_events(s));
	for (size_t i = 0; i < seam_pd_n_events(r); i++) {
		const struct seam_pd_attr *a = seam_pd_event(r, i);
		const struct seam_pd_attr *b = seam_pd_event(s, i);

		check(a->attr.sample_type == b->attr.sample_type);
		check(a->n_ids == b->n_ids);
		check(!a->n_ids || !memcmp(a->ids, b->ids, 8 * a->n_ids));
	}
	check(!seam_pd_info(r)->tracing || seam_pd_info(s)->tracing);
}

static inline void inject(struct seam_pd_reader *r, bool to_file)
{
	struct seam_injected n, again;
	struct seam_unmerged n_apart;
	struct made once, apart, twice;

	if (!can_merge(r, to_file))
		return;
	merge_to(r, to_file, &n, &once);
	check_front(r, once.r);
	for (uint32_t t = 1; t < SEAM_RECORD_CALLCHAIN_DEFERRED; t++)
		check(seam_pd_count(r, t) == seam_pd_count(once.r, t));
	check(!seam_inject_needed(once.r));
	merge(once.r, &again, &twice);
	check(!again.merged && !again.missing && !again.cut);
	check(twice.size == once.size && !memcmp(twice.p, once.p, once.size));
	made_free(&twice);
	unmerge(once.r, &n_apart, &apart);
	check(seam_pd_count(apart.r, SEAM_RECORD_CALLCHAIN_DEFERRED) ==
	      n_apart.stacks);
	merge(apart.r, &again, &twice);
	check(again.merged == n_apart.stacks && !again.missing && !again.cut);
	check(twice.size == once.size && !memcmp(twice.p, once.p, once.size));
	made_free(&twice);
	made_free(&apart);
	made_free(&once);
}

static inline void check_recording(struct seam_pd_reader *r)
{
	uint64_t samples;

	/* Files that it names are opened; no table of them is kept. */
	setenv("XDG_CACHE_HOME", "/proc", 1);
	read_formats(r);
	samples = read_records(r);
	stitch(r, samples, SEAM_JOIN_COOKIE);
	stitch(r, samples, SEAM_JOIN_ORDER);
	inject(r, false);
	if (seam_pd_info(r)->pipe)
		inject(r, true);
}

#endif
