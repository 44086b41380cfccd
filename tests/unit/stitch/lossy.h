/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A world of tasks, and a recording of it that lost, repeated, delayed and
 * shuffled records. Bytes decide all of it: they come from a seed or from a
 * fuzzer.
 *
 * A task enters the kernel, is sampled there, once or more, and leaves, when
 * its stack is taken; a sample may come behind that. It may end, and another
 * get its number.
 */
#ifndef SEAM_TESTS_LOSSY_H
#define SEAM_TESTS_LOSSY_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "core/uapi.h"
#include "perfdata/format.h"

#define LOSSY_RECS 1000
#define LOSSY_TASKS 8
#define LOSSY_WORDS (64 + 16 * LOSSY_RECS)
#define LOSSY_TICK 1024 /* ns: more than there are records */
#define LOSSY_FRAMES 3
#define LOSSY_KERNEL 0xffffffff81000000ULL

enum lossy_kind {
	LOSSY_SAMPLE, /* wants a stack */
	LOSSY_PLAIN, /* a sample that does not */
	LOSSY_STACK,
	LOSSY_STACKS_END, /* no more stacks come */
	LOSSY_FORK,
	LOSSY_EXIT,
	LOSSY_LOST,
};

/* Which cookies there are. */
enum lossy_cookies {
	LOSSY_OF_ALL, /* no two entries have the same */
	LOSSY_OF_THREAD, /* no two of a thread */
	LOSSY_REPEATED, /* an ended task's come again */
	LOSSY_ONE, /* all entries have the same, or one of two */
	LOSSY_COOKIES,
};

struct lossy_rec {
	enum lossy_kind kind;
	uint32_t pid, tid;
	uint32_t entry; /* of SAMPLE and STACK; no two have the same */
	uint32_t serial; /* copies of a record have the same */
	uint64_t cookie, time_ns;
};

struct lossy {
	enum lossy_cookies cookies;
	bool has_tid, has_time;
	struct lossy_rec v[LOSSY_RECS]; /* as the file has them */
	size_t n;
	uint64_t words[LOSSY_WORDS]; /* the file: a pipe's stream */
	size_t n_words;
	/* While it is made: */
	const uint8_t *bytes;
	size_t n_bytes;
	uint64_t tick;
	uint32_t entries, serial;
	struct {
		uint32_t entry; /* 0: none yet */
		uint64_t cookie, n_cookies;
		bool inside;
	} tasks[LOSSY_TASKS];
};

static inline unsigned lossy_byte(struct lossy *l)
{
	if (!l->n_bytes)
		return 0;
	l->n_bytes--;
	return *l->bytes++;
}

static inline void lossy_add(struct lossy *l, const struct lossy_rec *rec)
{
	if (l->n < LOSSY_RECS)
		l->v[l->n++] = *rec;
}

/* A byte says what becomes of a record on its way. */
static inline void lossy_put(struct lossy *l, struct lossy_rec rec)
{
	unsigned fate = lossy_byte(l);

	rec.serial = l->serial++;
	rec.time_ns = l->tick * LOSSY_TICK + rec.serial % LOSSY_TICK;
	if (fate >= 160 && fate < 200) /* it is lost */
		return;
	if (fate >= 200 && fate < 216) /* it comes twice */
		lossy_add(l, &rec);
	if (fate >= 216 && fate < 232) { /* its time is another's */
		uint64_t by = lossy_byte(l) * LOSSY_TICK;

		rec.time_ns += fate % 2 || by > rec.time_ns ? by : -by;
	}
	lossy_add(l, &rec);
	if (fate >= 232 && l->n > fate - 230) { /* it was overtaken */
		struct lossy_rec *a = &l->v[l->n - 1], *b = a - (fate - 231);

		rec = *a;
		*a = *b;
		*b = rec;
	}
}

static inline void lossy_enter(struct lossy *l, unsigned i)
{
	uint64_t own = ++l->tasks[i].n_cookies;

	l->tasks[i].entry = ++l->entries;
	l->tasks[i].inside = true;
	l->tasks[i].cookie = l->cookies == LOSSY_OF_ALL ? l->entries : own;
	if (l->cookies == LOSSY_ONE)
		l->tasks[i].cookie = own % 16 ? 1 : 2;
}

/* What a byte says that a task does. */
static inline void lossy_do(struct lossy *l, unsigned what)
{
	unsigned i = what % LOSSY_TASKS;
	/* Processes have two threads, where these do not have each other's
	 * stacks, or do: as behind an exec, which changes the tid. */
	uint32_t tid = 100 + i;
	bool several = l->cookies == LOSSY_OF_ALL || l->cookies == LOSSY_ONE;
	uint32_t pid = several ? tid & ~1u : tid;
	struct lossy_rec rec = {.pid = pid, .tid = tid};

	l->tick++;
	switch (what / LOSSY_TASKS % 8) {
	case 0:
	case 1:
	case 2:
		if (!l->tasks[i].inside)
			lossy_enter(l, i);
		rec.kind = LOSSY_SAMPLE;
		break;
	case 3: /* behind the stack */
		rec.kind = l->tasks[i].entry ? LOSSY_SAMPLE : LOSSY_PLAIN;
		break;
	case 4:
	case 5:
		if (!l->tasks[i].inside)
			return;
		l->tasks[i].inside = false;
		rec.kind = LOSSY_STACK;
		break;
	case 6:
		rec.kind = i ? LOSSY_PLAIN : LOSSY_LOST;
		break;
	default:
		rec.kind = LOSSY_EXIT;
		lossy_put(l, rec);
		l->tasks[i].inside = false;
		l->tasks[i].entry = 0;
		if (l->cookies == LOSSY_REPEATED)
			l->tasks[i].n_cookies = 0;
		rec.kind = LOSSY_FORK;
	}
	if (rec.kind == LOSSY_SAMPLE || rec.kind == LOSSY_STACK) {
		rec.entry = l->tasks[i].entry;
		rec.cookie = l->tasks[i].cookie;
	}
	lossy_put(l, rec);
}

static inline void lossy_word(struct lossy *l, uint64_t word)
{
	l->words[l->n_words++] = word;
}

static inline void lossy_pair(struct lossy *l, uint32_t lo, uint32_t hi)
{
	lossy_word(l, lo | (uint64_t)hi << 32);
}

static inline void lossy_ids(struct lossy *l, const struct lossy_rec *rec)
{
	if (l->has_tid)
		lossy_pair(l, rec->pid, rec->tid);
	if (l->has_time)
		lossy_word(l, rec->time_ns);
}

static inline void lossy_sample(struct lossy *l, const struct lossy_rec *rec)
{
	lossy_word(l, LOSSY_KERNEL + rec->serial);
	lossy_ids(l, rec);
	lossy_word(l, rec->kind == LOSSY_SAMPLE ? 4 : 2);
	lossy_word(l, (uint64_t)PERF_CONTEXT_KERNEL);
	lossy_word(l, LOSSY_KERNEL + rec->serial);
	if (rec->kind == LOSSY_SAMPLE) {
		lossy_word(l, SEAM_CONTEXT_USER_DEFERRED);
		lossy_word(l, rec->cookie);
	}
}

static inline void lossy_stack(struct lossy *l, const struct lossy_rec *rec)
{
	size_t n = rec->kind == LOSSY_STACK ? LOSSY_FRAMES : 0;

	lossy_word(l, rec->cookie);
	lossy_word(l, n);
	for (size_t i = 0; i < n; i++)
		lossy_word(l, (uint64_t)rec->entry << 20 | i);
	lossy_ids(l, rec);
}

static inline void lossy_write(struct lossy *l, const struct lossy_rec *rec)
{
	static const uint16_t types[] = {
		[LOSSY_SAMPLE] = PERF_RECORD_SAMPLE,
		[LOSSY_PLAIN] = PERF_RECORD_SAMPLE,
		[LOSSY_STACK] = SEAM_RECORD_CALLCHAIN_DEFERRED,
		[LOSSY_STACKS_END] = SEAM_RECORD_CALLCHAIN_DEFERRED,
		[LOSSY_FORK] = PERF_RECORD_FORK,
		[LOSSY_EXIT] = PERF_RECORD_EXIT,
		[LOSSY_LOST] = PERF_RECORD_LOST,
	};
	struct perf_event_header h = {.type = types[rec->kind]};
	size_t at = l->n_words++;

	h.misc = h.type == PERF_RECORD_SAMPLE ? PERF_RECORD_MISC_KERNEL
					      : PERF_RECORD_MISC_USER;
	if (h.type == PERF_RECORD_SAMPLE) {
		lossy_sample(l, rec);
	} else if (h.type == SEAM_RECORD_CALLCHAIN_DEFERRED) {
		lossy_stack(l, rec);
	} else if (h.type == PERF_RECORD_LOST) {
		lossy_word(l, 0);
		lossy_word(l, 1);
		lossy_ids(l, rec);
	} else {
		lossy_pair(l, rec->pid, 1);
		lossy_pair(l, rec->tid, 1);
		lossy_word(l, l->has_time ? rec->time_ns : 0);
		lossy_ids(l, rec);
	}
	h.size = (uint16_t)(8 * (l->n_words - at));
	memcpy(&l->words[at], &h, sizeof(h));
}

/* One event, which samples are of and all records say what it says. */
static inline void lossy_front(struct lossy *l)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
			       (l->has_tid ? PERF_SAMPLE_TID : 0) |
			       (l->has_time ? PERF_SAMPLE_TIME : 0),
		.sample_id_all = 1,
	};
	struct perf_event_header h = {PD_HEADER_ATTR, 0,
				      sizeof(h) + sizeof(attr) + 8};

	lossy_word(l, PD_MAGIC);
	lossy_word(l, PD_PIPE_HEADER_SIZE);
	memcpy(&l->words[l->n_words++], &h, sizeof(h));
	memcpy(&l->words[l->n_words], &attr, sizeof(attr));
	l->n_words += sizeof(attr) / 8;
	lossy_word(l, 100);
}

static inline void lossy_make(struct lossy *l, const uint8_t *bytes, size_t n)
{
	struct lossy_rec end = {.kind = LOSSY_STACKS_END};
	unsigned kind;

	memset(l, 0, sizeof(*l));
	l->bytes = bytes;
	l->n_bytes = n;
	kind = lossy_byte(l);
	l->cookies = kind % 4 % LOSSY_COOKIES;
	l->has_tid = kind & 4 || l->cookies == LOSSY_OF_THREAD ||
		     l->cookies == LOSSY_REPEATED;
	l->has_time = kind & (8 | 16);
	while (l->n_bytes)
		lossy_do(l, lossy_byte(l));
	if (kind & 32)
		lossy_put(l, end);
	if (kind & 64) /* as from another end of a buffer */
		for (size_t i = 0; i < l->n / 2; i++) {
			struct lossy_rec rec = l->v[i];

			l->v[i] = l->v[l->n - 1 - i];
			l->v[l->n - 1 - i] = rec;
		}
	lossy_front(l);
	for (size_t i = 0; i < l->n; i++)
		lossy_write(l, &l->v[i]);
}

#endif
