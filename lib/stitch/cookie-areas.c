// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/cookie-areas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "perfdata/writer.h"

static int by_place(const void *a, const void *b)
{
	const struct seam_range *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/* The areas that the addresses are in, each of them once, in order. */
static size_t find_hit(const struct seam_range **hit, const struct space *space,
		       struct seam_pd_words ips)
{
	size_t n = 0, n_apart = 0;

	for (size_t i = 0; i < ips.n; i++) {
		const struct seam_range *r =
			seam_ranges_find(&space->areas, seam_pd_word(ips, i));

		if (r && (!n || r != hit[n - 1]))
			hit[n++] = r;
	}
	qsort(hit, n, sizeof(*hit), by_place);
	for (size_t i = 0; i < n; i++)
		if (!n_apart || hit[i] != hit[n_apart - 1])
			hit[n_apart++] = hit[i];
	return n_apart;
}

static int keep(struct cookie_index *ix, const struct space *space,
		struct seam_pd_words ips, size_t *ret_n)
{
	struct space_area *v;
	size_t n;

	if (seam_grow(&ix->hit, ips.n, &ix->cap_hit, sizeof(*ix->hit)))
		return -ENOMEM;
	n = find_hit(ix->hit, space, ips);
	if (n && seam_spill_grow(&ix->area_room, ix->n_areas + n, sizeof(*v)))
		return -ENOMEM;
	v = ix->area_room.p;
	for (size_t i = 0; i < n; i++)
		v[ix->n_areas + i] = seam_space_area(ix->hit[i]);
	ix->n_areas += n;
	*ret_n = n;
	return 0;
}

/* A stack that does not say that it may be of before is of after the exec. */
int seam_cookie_keep(struct cookie_index *ix, struct cookie_entry *e,
		     const struct process *p,
		     const struct seam_pd_rec_stack *stack)
{
	const struct space *before =
		stack->flags & SEAM_PD_STACK_EXEC ? p->before[0] : NULL;
	size_t n = 0;
	int rc = 0;

	e->areas = ix->areas_gone + ix->n_areas;
	if (p->space)
		rc = keep(ix, p->space, stack->ips, &n);
	e->has_space = p->space != NULL;
	e->n_space = n & 0x1fff; /* a record has room for fewer frames */
	n = 0;
	if (!rc && before)
		rc = keep(ix, before, stack->ips, &n);
	e->has_before = before != NULL;
	e->n_before = n & 0x1fff;
	return rc;
}

int seam_cookie_spaces(const struct cookie_index *ix,
		       const struct cookie_entry *e, struct world *w,
		       struct space *ret[static 2])
{
	const struct space_area *v = ix->area_room.p;
	struct space *space = NULL, *before = NULL;
	size_t at = e->areas - ix->areas_gone;
	int rc = 0;

	if (e->has_space)
		rc = seam_space_make(w, v + at, e->n_space, &space);
	if (!rc && e->has_before)
		rc = seam_space_make(w, v + at + e->n_space, e->n_before,
				     &before);
	if (rc) {
		seam_space_put(space);
		return rc;
	}
	ret[0] = space;
	ret[1] = before;
	return 0;
}

/* They are in the order in which entries came, and so these go. */
void seam_cookie_drop_areas(struct cookie_index *ix)
{
	struct space_area *v = ix->area_room.p;
	size_t first = ix->areas_gone + ix->n_areas, n;

	for (size_t i = 0; i < ix->n; i++)
		if ((ix->v[i].has_space || ix->v[i].has_before) &&
		    ix->v[i].areas < first)
			first = ix->v[i].areas;
	n = first - ix->areas_gone;
	if (!n || n < ix->n_areas / 2)
		return;
	memmove(v, v + n, (ix->n_areas - n) * sizeof(*v));
	ix->n_areas -= n;
	ix->areas_gone = first;
}
