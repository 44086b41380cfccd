// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/populate.h"

#define BITS_MIN 10
#define BITS_MAX 18
#define TEXT_EACH 96 /* bytes: what a line has, on average, and some more */

/* Lines have places anywhere; of the text, what nobody takes is not touched. */
int seam_lines_init(struct seam_lines *ls, size_t n)
{
	struct seam_lines lines = {.bits = BITS_MIN};

	while (lines.bits < BITS_MAX && (1UL << lines.bits) < n)
		lines.bits++;
	lines.n_max = (1UL << lines.bits) / 4 * 3;
	lines.size = lines.n_max * TEXT_EACH;
	lines.room = calloc((1UL << lines.bits) + 1, sizeof(*lines.v));
	lines.text = malloc(lines.size + SEAM_LINE_PIECE);
	if (!lines.room || !lines.text) {
		seam_lines_fini(&lines);
		return -ENOMEM;
	}
	seam_populate(lines.room, sizeof(*lines.v) << lines.bits);
	lines.v = (void *)(((uintptr_t)lines.room + sizeof(*lines.v) - 1) &
			   -sizeof(*lines.v));
	*ls = lines;
	return 0;
}

void seam_lines_fini(struct seam_lines *ls)
{
	free(ls->room);
	free(ls->text);
	*ls = (struct seam_lines){0};
}

void seam_lines_forget(struct seam_lines *ls)
{
	memset(ls->v, 0, sizeof(*ls->v) << ls->bits);
	ls->n = ls->used = 0;
}

const struct seam_line *seam_lines_add(struct seam_lines *ls,
				       const struct seam_line *line,
				       const char *text)
{
	const struct seam_line_key key = {line->off, line->of, line->flags};
	size_t at = seam_lines_place(ls, &key), mask = (1UL << ls->bits) - 1;
	struct seam_line *to;

	if (ls->n == ls->n_max || line->len > ls->size - ls->used)
		return NULL;
	while (ls->v[at].len)
		at = (at + 1) & mask;
	memcpy(ls->text + ls->used, text, line->len);
	to = &ls->v[at];
	to->off = line->off;
	to->of = line->of;
	to->flags = line->flags;
	to->running = line->running;
	to->text = ls->text + ls->used;
	ls->used += line->len;
	ls->n++;
	__atomic_store_n(&to->len, line->len, __ATOMIC_RELEASE);
	return to;
}
