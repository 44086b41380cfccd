// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/spares.h"

void seam_spares_put(struct seam_spares *s, struct seam_batch *from)
{
	if (!from->bytes || s->n == SEAM_SPARES ||
	    from->room > SEAM_SPARES_BYTES - s->bytes)
		return;
	seam_batch_clear(from);
	s->v[s->n++] = *from;
	s->bytes += from->room;
	*from = (struct seam_batch){0};
}

void seam_spares_take(struct seam_spares *s, struct seam_batch *to)
{
	size_t most = 0;

	if (!s->n)
		return;
	for (size_t i = 1; i < s->n; i++)
		if (s->v[i].room > s->v[most].room)
			most = i;
	to->bytes = s->v[most].bytes;
	to->room = s->v[most].room;
	s->bytes -= to->room;
	s->v[most] = s->v[--s->n];
}

void seam_spares_fini(struct seam_spares *s)
{
	while (s->n)
		seam_batch_fini(&s->v[--s->n]);
	s->bytes = 0;
}
