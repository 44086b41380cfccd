// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "truth/private.h"

static void name_place(struct seam_check *c, struct seam_truth_place *p,
		       uint64_t pc)
{
	const struct seam_truth_mapping *map = seam_space_find(&c->space, pc);

	if (map && map->file) {
		p->file = strdup(map->file->path);
		seam_space_svma(map, pc, &p->svma);
	}
	p->symbol = seam_confirm_symbol(&c->confirm, c->stepper->pid, pc,
					&p->symbol_off);
	seam_stepper_read(c->stepper, pc - sizeof(p->code) / 2, p->code,
			  sizeof(p->code));
	p->no_fde = !seam_confirm_has_fde(&c->confirm, c->stepper->pid, pc);
}

const struct seam_known_bad *seam_check_known_at(const struct seam_check *c,
						 uint64_t pc)
{
	const struct seam_truth_mapping *map = seam_space_find(&c->space, pc);
	uint64_t svma;

	if (!map || !seam_space_svma(map, pc, &svma))
		return NULL;
	return seam_known_bad_at(map->file->elf, map->file->cfi,
				 map->file->path, svma);
}

static struct seam_truth_place *find_place(struct seam_check *c,
					   const struct seam_outcome *o,
					   uint64_t pc, uint64_t callee_pc)
{
	const struct seam_truth_mapping *map = seam_space_find(&c->space, pc);
	const char *file = map && map->file ? map->file->path : NULL;
	uint64_t svma = pc;
	struct seam_truth_place *p;

	if (map)
		seam_space_svma(map, pc, &svma);
	for (p = c->places; p; p = p->next)
		if (p->svma == svma && p->what == o->what && p->who == o->who &&
		    !p->file == !file && (!file || !strcmp(p->file, file)))
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->what = (uint8_t)o->what;
	p->who = (uint8_t)o->who;
	p->svma = svma;
	p->is = o->is;
	p->end = o->end;
	p->said_ip = o->said_ip;
	p->said_sp = o->said_sp;
	p->said_fp = o->said_fp;
	name_place(c, p, pc);
	p->known = seam_check_known_at(c, pc);
	if (!p->known && callee_pc)
		p->known = seam_check_known_at(c, callee_pc);
	p->next = c->places;
	c->places = p;
	return p;
}

/* Whether elfutils, too, does not find the frame that was not found here. */
static bool is_alike(struct seam_check *c, const struct seam_outcome *o)
{
	struct seam_shadow_iter it = seam_shadow_begin(&c->shadow);
	const struct seam_shadow_frame *is = NULL;
	size_t n = seam_confirm_stack(&c->confirm, c->stepper->pid, c->ips,
				      SEAM_CHECK_MAX_FRAMES);

	for (size_t i = 0; i <= o->index; i++) {
		is = seam_shadow_next(&it);
		/* Wrong before that: another matter. */
		if (i < o->index &&
		    (!is || i + 1 >= n || c->ips[i + 1] != is->ip))
			return false;
	}
	if (!is)
		return n > o->index + 1;
	return n <= o->index + 1 || c->ips[o->index + 1] != is->ip;
}

static int note(struct seam_check *c, const struct seam_outcome *o, bool by_fp)
{
	bool is_leaf = by_fp ? !o->fp_index : !o->index;
	struct seam_truth_place *p =
		by_fp ? find_place(c, o, o->fp_pc, o->fp_callee_pc)
		      : find_place(c, o, o->pc, o->callee_pc);

	if (!p)
		return -ENOMEM;
	p->count++;
	p->as_leaf += is_leaf;
	if (o->what < SEAM_TRUTH_FILLED && p->asked < SEAM_CHECK_CONFIRM) {
		p->asked++;
		p->alike += is_alike(c, o);
	}
	return 0;
}

/* A stack that goes wrong behind a wrong FP went wrong there. */
int seam_check_note(struct seam_check *c, struct seam_outcome *o)
{
	if (o->what == SEAM_TRUTH_RIGHT && o->fp_pc)
		o->what = SEAM_TRUTH_FP;
	return o->what == SEAM_TRUTH_RIGHT ? 0 : note(c, o, o->fp_pc != 0);
}

void seam_check_free_places(struct seam_check *c)
{
	while (c->places) {
		struct seam_truth_place *p = c->places;

		c->places = p->next;
		free(p->file);
		free(p->symbol);
		free(p);
	}
}
