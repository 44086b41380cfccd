// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/precise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 20

struct place {
	struct seam_precise *p;
	struct seam_space *space;
};

int seam_precise_init(struct seam_precise *p)
{
	/* Nothing of what others have made. */
	setenv("XDG_CACHE_HOME", "/proc", 1);
	return seam_offline_init(&p->o);
}

void seam_precise_fini(struct seam_precise *p)
{
	seam_offline_fini(&p->o);
}

static bool find(void *ctx, uint64_t avma, struct seam_offline_file **ret,
		 uint64_t *ret_off)
{
	const struct place *place = ctx;
	const struct seam_truth_mapping *map =
		seam_space_find(place->space, avma);

	*ret = NULL;
	if (!map)
		return false;
	*ret_off = avma - map->start + map->off;
	if (map->file)
		*ret = seam_offline_file(&place->p->o.files, map->file->path,
					 NULL, 0);
	return true;
}

/* A copy that is too short has another name here, or that of what else CFI
 * wanted. */
static bool ends_alike(const struct seam_offline_stack *s,
		       const struct seam_precise_want *want)
{
	if (s->end == SEAM_UNREADABLE)
		return want->end != SEAM_OUTERMOST &&
		       want->end != SEAM_MAX_STACK;
	return s->end == want->end && s->skid.fate == want->skid->fate;
}

static bool is_same(const struct seam_offline_stack *s,
		    const struct seam_precise_want *want)
{
	return s->n == want->n && ends_alike(s, want) &&
	       s->skid.kind == want->skid->kind &&
	       !memcmp(s->ips, want->ips, s->n * sizeof(*s->ips));
}

static size_t count_same(const struct seam_offline_stack *s,
			 const struct seam_precise_want *want)
{
	size_t n = s->n < want->n ? s->n : want->n, i = 0;

	while (i < n && s->ips[i] == want->ips[i])
		i++;
	return i;
}

static void print_both(const struct seam_precise *p, uint64_t ip,
		       const struct seam_precise_want *want)
{
	const struct seam_offline_stack *s = &p->stack;

	printf("# by tables, ip %#" PRIx64 ": %zu frames and not %zu, the same "
	       "%zu; end %s and not %s, fate %d and not %d, %s and not %s\n",
	       ip, s->n, want->n, count_same(s, want), seam_err_name(s->end),
	       seam_err_name(want->end), s->skid.fate, want->skid->fate,
	       seam_skid_kind_name(s->skid.kind),
	       seam_skid_kind_name(want->skid->kind));
}

void seam_precise_compare(struct seam_precise *p, struct seam_space *space,
			  uint64_t ip, const struct seam_dump *dump,
			  const struct seam_precise_want *want)
{
	struct place place = {p, space};
	const struct seam_offline_copy copy = {
		.ip = ip,
		.is_precise = true,
		.find = find,
		.ctx = &place,
		.maps = {space->generation, 1},
		.steps = &p->steps,
	};
	struct seam_dump own = *dump;

	/* Readers take the registers for those behind the instruction there, as
	 * of a `rep` that goes on. */
	if (want->skid->fate == SEAM_SKID_SAME || want->n > SEAM_OFFLINE_FRAMES)
		return;
	p->pairs++;
	own.methods = p->stack.methods;
	if (!seam_offline_precise(&p->o, &copy, &own, &p->stack))
		return;
	p->by_tables++;
	if (!is_same(&p->stack, want) && p->differ++ < SHOWN)
		print_both(p, ip, want);
}
