// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/jit-registry.h"

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
	r->side = malloc(size);
	if (!r->side)
		return -ENOMEM;
	to = r->side;
	for (size_t i = 0; i < n; i++) {
		memcpy(to, &side[i].time_ns, sizeof(side[i].time_ns));
		to += sizeof(side[i].time_ns);
		memcpy(to, side[i].header, side[i].header->size);
		to += side[i].header->size;
	}
	r->side_size = size;
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
	free(r->side);
	free(r);
}

/* What is added, user space finds later, or the kernel refused it. */
static bool ends_tables(const struct seam_wire_jit *jit)
{
	return jit->what != SEAM_WIRE_JIT_ADD &&
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
		const struct seam_wire_jit *jit = (const void *)rec;

		if (rec->type != SEAM_WIRE_JIT || size < sizeof(*jit) ||
		    !ends_tables(jit))
			continue;
		err = seam_idmap_put(&r->untold, rec->pid, &any);
		if (rec->time_ns > r->untold_ns)
			r->untold_ns = rec->time_ns;
	}
	return err;
}
