// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/sidequeue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* The tail that SEAM_PD_SAMPLE_TYPE gives a record: tid | time | cpu | id. */
#define TAIL_TIME 24
/* A task that is not let run stays in its exit, and is sampled there. Less than
 * the time between two flushes: readers that sort in rounds take an EXIT that
 * is one round late. */
#define EXIT_NS 200000000ULL

int seam_sidequeue_add(struct seam_sidequeue *q,
		       const struct perf_event_header *record)
{
	if (seam_grow(&q->bytes, q->used + record->size, &q->room, 1))
		return -ENOMEM;
	memcpy(q->bytes + q->used, record, record->size);
	q->used += record->size;
	return 0;
}

/* The thread whose exec or exit a record belongs to; 0: none. */
static uint32_t tid_of(const struct perf_event_header *h)
{
	uint32_t words[3];

	if (h->size < sizeof(*h) + sizeof(words) + TAIL_TIME)
		return 0;
	memcpy(words, h + 1, sizeof(words));
	switch (h->type) {
	case PERF_RECORD_EXIT:
		return words[2];
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP2:
		return words[1];
	}
	return 0;
}

static void stamp(uint8_t *record, const struct seam_sidequeue_ops *ops)
{
	const struct perf_event_header *h = (const void *)record;
	uint32_t tid = tid_of(h);
	uint64_t time, tail;

	if (!tid)
		return;
	memcpy(&time, record + h->size - TAIL_TIME, sizeof(time));
	tail = ops->tail_of(ops->ctx, tid, time, h->type == PERF_RECORD_EXIT);
	/* Behind the last sample and its stack, which has the next number. */
	if (tail)
		time = tail + 2;
	memcpy(record + h->size - TAIL_TIME, &time, sizeof(time));
}

/* Tids, or what has the same last digits. */
struct tids {
	uint64_t bits[16];
};

static uint64_t *word_of(struct tids *t, uint32_t tid)
{
	return &t->bits[tid / 64 % (sizeof(t->bits) / sizeof(t->bits[0]))];
}

/*
 * Whether a record is to wait: an EXIT that its task may still be in, and what
 * comes behind it under the same tid, which an exec has given to another. That
 * is stamped with the same knowledge, so as to stay behind it.
 */
static bool must_wait(const uint8_t *record, uint64_t now_ns,
		      struct tids *waiting)
{
	const struct perf_event_header *h = (const void *)record;
	uint32_t tid = tid_of(h);
	uint64_t bit = (uint64_t)1 << tid % 64, time;

	if (!tid)
		return false;
	if (*word_of(waiting, tid) & bit)
		return true;
	if (h->type != PERF_RECORD_EXIT)
		return false;
	memcpy(&time, record + h->size - TAIL_TIME, sizeof(time));
	if (time <= now_ns && now_ns - time >= EXIT_NS)
		return false;
	*word_of(waiting, tid) |= bit;
	return true;
}

int seam_sidequeue_turn(struct seam_sidequeue *q, uint64_t now_ns,
			const struct seam_sidequeue_ops *ops)
{
	struct tids waiting = {0};
	size_t at, to = 0;
	uint16_t size;
	int err = 0;

	for (at = 0; at < q->used; at += size) {
		uint8_t *record = q->bytes + at;
		int e;

		size = ((const struct perf_event_header *)(void *)record)->size;
		if (at >= q->old || must_wait(record, now_ns, &waiting)) {
			memmove(q->bytes + to, record, size);
			to += size;
			continue;
		}
		stamp(record, ops);
		e = ops->write(ops->ctx, (const void *)record);
		if (!err)
			err = e;
	}
	q->used = to;
	q->old = to;
	return err;
}

int seam_sidequeue_end(struct seam_sidequeue *q,
		       const struct seam_sidequeue_ops *ops)
{
	q->old = q->used;
	return seam_sidequeue_turn(q, UINT64_MAX, ops);
}

void seam_sidequeue_fini(struct seam_sidequeue *q)
{
	free(q->bytes);
	*q = (struct seam_sidequeue){0};
}
