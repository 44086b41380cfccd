// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/space.h"

#include <errno.h>
#include <stdlib.h>

struct space *seam_space_put(struct space *s)
{
	if (s && --s->refs == 0) {
		*s->live -= s->areas.cap;
		seam_ranges_fini(&s->areas, &seam_maps_ops);
		free(s);
	}
	return NULL;
}

struct space *seam_space_get(struct space *s)
{
	if (s)
		s->refs++;
	return s;
}

uint32_t seam_space_version(const struct space *s)
{
	return s ? s->version : 0;
}

static uint32_t next_version(struct world *w)
{
	return w->n_versions == UINT32_MAX ? 0 : ++w->n_versions;
}

/* A space that is only one's own grows, one that was shared mostly takes in
 * little more: there may be one for each child. */
static size_t room_for_more(const struct space *s)
{
	const size_t n = s ? s->areas.n : 0;

	return (s && s->refs > 1 ? n / 16 : n / 2) + 16;
}

/* Whether it can be changed as it is. */
static bool is_own(const struct space *s)
{
	return s && s->refs == 1 &&
	       s->areas.cap - s->areas.n >= SEAM_RANGES_PUT;
}

/* Makes *ps one that nobody else sees, with room for one more mapping, and
 * another version, as it is about to change. */
static int own(struct world *w, struct space **ps)
{
	static const struct seam_ranges none;
	struct space *old = *ps, *s;

	if (is_own(old)) {
		old->version = next_version(w);
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (seam_ranges_copy(&s->areas, old ? &old->areas : &none,
			     room_for_more(old), &seam_maps_ops)) {
		free(s);
		return -ENOMEM;
	}
	s->live = &w->n_areas;
	w->n_areas += s->areas.cap;
	s->refs = 1;
	s->version = next_version(w);
	seam_space_put(old);
	*ps = s;
	return 0;
}

bool seam_space_has_room(const struct world *w, const struct space *s)
{
	const size_t areas = s ? s->areas.n : 0;

	return is_own(s) ||
	       (w->n_areas < w->max_areas &&
		areas + room_for_more(s) <= w->max_areas - w->n_areas);
}

struct space_area seam_space_area(const struct seam_range *range)
{
	const struct seam_stitch_map *map = range->value;

	return (struct space_area){
		.start = range->start,
		.end = range->end,
		.map_start = map->start,
		.map_end = map->end,
		.pgoff = map->pgoff,
		.began_ns = map->began_ns,
		.pid = map->pid,
		.number = map->number,
	};
}

static int add_area(struct world *w, struct space *s,
		    const struct space_area *a)
{
	struct seam_stitch_map *m = seam_maps_new(&w->maps);
	struct seam_range range = {a->start, a->end, m};

	if (!m)
		return -ENOMEM;
	seam_maps_again(w->numbers, a->number, m);
	m->start = a->map_start;
	m->end = a->map_end;
	m->pgoff = a->pgoff;
	m->pid = a->pid;
	m->began_ns = a->began_ns;
	if (!seam_ranges_put(&s->areas, &range, &seam_maps_ops))
		return 0;
	seam_maps_put(m);
	return -ENOMEM;
}

int seam_space_make(struct world *w, const struct space_area *v, size_t n,
		    struct space **ret)
{
	struct space *s = calloc(1, sizeof(*s));
	int rc = s ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		rc = add_area(w, s, &v[i]);
	if (rc) {
		if (s)
			seam_ranges_fini(&s->areas, &seam_maps_ops);
		free(s);
		return rc;
	}
	s->live = &w->n_areas;
	w->n_areas += s->areas.cap;
	s->refs = 1;
	*ret = s;
	return 0;
}

const struct seam_stitch_map *seam_space_find(const struct space *s,
					      uint64_t ip)
{
	const struct seam_range *r = s ? seam_ranges_find(&s->areas, ip) : NULL;

	return r ? r->value : NULL;
}

const struct seam_stitch_map *
seam_space_next(struct space_near *near, const struct space *space, uint64_t ip)
{
	const struct seam_range *r =
		space ? seam_ranges_find(&space->areas, ip) : NULL;

	if (!r)
		return NULL;
	*near = (struct space_near){space, r};
	return r->value;
}

int seam_space_insert(struct world *w, struct space **ps,
		      struct seam_stitch_map *map)
{
	struct seam_range range = {map->start, map->end, map};
	int rc = seam_maps_number(w->numbers, map);

	if (!rc)
		rc = own(w, ps);
	if (!rc)
		rc = seam_ranges_put(&(*ps)->areas, &range, &seam_maps_ops);
	if (rc)
		seam_maps_put(map);
	return rc;
}
