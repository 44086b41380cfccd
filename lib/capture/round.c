// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/jit-registry.h"

const struct perf_event_header *seam_side_at(const struct seam_side *side,
					     size_t at, uint64_t *ret_time_ns)
{
	memcpy(ret_time_ns, side->bytes + at, sizeof(*ret_time_ns));
	return (const void *)(side->bytes + at + sizeof(*ret_time_ns));
}

uint64_t seam_side_count(const struct seam_side *side)
{
	uint64_t n = 0, time_ns;

	for (size_t at = 0; at < side->size; n++)
		at += sizeof(time_ns) + seam_side_at(side, at, &time_ns)->size;
	return n;
}

int seam_side_merge(const struct seam_side *a, const struct seam_side *b,
		    struct seam_side *ret)
{
	const struct seam_side *const from[] = {a, b};
	size_t at[] = {0, 0}, size;
	uint64_t time[2];

	ret->size = 0;
	ret->bytes = malloc(a->size + b->size);
	if (!ret->bytes)
		return -ENOMEM;
	while (at[0] < a->size || at[1] < b->size) {
		int i;

		for (i = 0; i < 2; i++)
			if (at[i] < from[i]->size)
				(void)seam_side_at(from[i], at[i], &time[i]);
		i = at[0] >= a->size || (at[1] < b->size && time[1] < time[0]);
		size = sizeof(time[i]) +
		       seam_side_at(from[i], at[i], &time[i])->size;
		memcpy(ret->bytes + ret->size, from[i]->bytes + at[i], size);
		ret->size += size;
		at[i] += size;
	}
	return 0;
}

/* The sideband as one piece of memory of the round's own. */
static int keep_side(struct seam_round *r, const struct seam_worker_side *from)
{
	const struct seam_side_record *side = from->records;
	size_t size = 0, n = from->n;
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		size += sizeof(side[i].time_ns) + side[i].header->size;
	if (!size)
		return 0;
	r->side.bytes = malloc(size);
	if (!r->side.bytes)
		return -ENOMEM;
	to = r->side.bytes;
	for (size_t i = 0; i < n; i++) {
		memcpy(to, &side[i].time_ns, sizeof(side[i].time_ns));
		to += sizeof(side[i].time_ns);
		memcpy(to, side[i].header, side[i].header->size);
		to += side[i].header->size;
	}
	r->side.size = size;
	return 0;
}

struct seam_round *seam_round_new(const struct seam_worker_side *side)
{
	struct seam_round *r = calloc(1, sizeof(*r));

	if (!r || keep_side(r, side)) {
		free(r);
		return NULL;
	}
	r->until_ns = side->until_ns;
	return r;
}

void seam_round_free(struct seam_round *r)
{
	seam_batch_fini(&r->copies);
	seam_held_fini(&r->held);
	seam_idmap_fini(&r->untold, NULL);
	free(r->side.bytes);
	free(r);
}

/* What is added, user space finds later, or the kernel refused it. */
bool seam_round_ends_tables(const struct seam_wire *rec, size_t size)
{
	const struct seam_wire_jit *jit = (const void *)rec;

	return rec->type == SEAM_WIRE_JIT && size >= sizeof(*jit) &&
	       jit->what != SEAM_WIRE_JIT_ADD &&
	       (jit->what != SEAM_WIRE_JIT_LISTED ||
		jit->args[0] != SEAM_JIT_ADDED);
}

int seam_round_untold(struct seam_round *r, const struct seam_batch *copies)
{
	static char any;
	const struct seam_wire *rec;
	size_t at = 0, size;
	int err = 0;

	while (!err && (rec = seam_batch_next(copies, &at, &size))) {
		if (!seam_round_ends_tables(rec, size))
			continue;
		err = seam_idmap_put(&r->untold, rec->pid, &any);
		if (rec->time_ns > r->untold_ns)
			r->untold_ns = rec->time_ns;
	}
	return err;
}
