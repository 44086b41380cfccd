// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Whether a true stack would be taken for one of another moment, by what it
 * says that its leaf was called from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/entered.h"
#include "truth/private.h"

/* So many are printed. */
#define SHOWN 20

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	const struct seam_space *space = ctx;

	(void)when;
	return seam_stepper_read(space->stepper, avma, to, size);
}

static bool area_at(void *ctx, size_t i, struct seam_entered_area *ret)
{
	const struct seam_space *space = ctx;
	const struct seam_truth_mapping *map = &space->v[i];

	if (i >= space->n)
		return false;
	*ret = (struct seam_entered_area){map->start, map->end, map->off, NULL};
	if (map->file && map->file->path[0] == '/')
		ret->file = map->file;
	return true;
}

static const struct seam_links *links_of(void *ctx, void *file)
{
	const struct seam_truth_file *f = file;

	(void)ctx;
	return f->links;
}

static void print(struct seam_check *c, uint64_t ip, uint64_t ra)
{
	uint64_t off[2] = {0, 0};
	char *in =
		seam_confirm_symbol(&c->confirm, c->stepper->pid, ip, &off[0]);
	char *by = seam_confirm_symbol(&c->confirm, c->stepper->pid, ra - 1,
				       &off[1]);

	printf("# doubted: %#" PRIx64 " in %s+%#" PRIx64
	       ", called by %s+%#" PRIx64 "\n",
	       ip, in ? in : "?", off[0], by ? by : "?", off[1]);
	free(in);
	free(by);
}

void seam_check_entered(struct seam_check *c, struct seam_check_code *code,
			bool exact)
{
	struct seam_shadow_iter it = seam_shadow_begin(&c->shadow);
	const struct seam_shadow_frame *is = seam_shadow_next(&it);
	const struct seam_entered e = {seam_space_dump_find, read_code,
				       &c->space, area_at, links_of};
	uint64_t ip = c->stepper->regs.rip;
	bool by_maps;

	if (!is || (exact && code->entered_from == is->ip))
		return;
	c->entered++;
	if (seam_entered_otherwise(&e, ip - !exact, is->ip, &by_maps)) {
		if (c->doubted++ < SHOWN)
			print(c, ip, is->ip);
	}
	c->entered_by_maps += by_maps;
	if (exact)
		code->entered_from = is->ip;
}
