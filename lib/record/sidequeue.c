// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/sidequeue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* The tail that SEAM_PD_SAMPLE_TYPE gives a record: tid | time | cpu | id. */
#define TAIL_TIME 24

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

int seam_sidequeue_turn(struct seam_sidequeue *q, int all,
			const struct seam_sidequeue_ops *ops)
{
	size_t end = all ? q->used : q->old, at = 0;
	int err = 0;

	while (at < end) {
		uint8_t *record = q->bytes + at;
		int e;

		stamp(record, ops);
		e = ops->write(ops->ctx, (const void *)record);
		if (!err)
			err = e;
		at += ((const struct perf_event_header *)(void *)record)->size;
	}
	q->used -= end;
	if (q->used)
		memmove(q->bytes, q->bytes + end, q->used);
	q->old = q->used;
	return err;
}

void seam_sidequeue_fini(struct seam_sidequeue *q)
{
	free(q->bytes);
	*q = (struct seam_sidequeue){0};
}
