// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Return: the line's number, or -errno. */
static int64_t line_of(struct seam_fold *f, const char *text)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, text, strlen(text));
	struct seam_fold_line *l;
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&f->index, hash, &at, &i);)
		if (!strcmp(f->v[i].text, text))
			return i;
	if (seam_grow(&f->v, f->n + 1, &f->cap, sizeof(*f->v)))
		return -ENOMEM;
	l = &f->v[f->n];
	*l = (struct seam_fold_line){.text = strdup(text)};
	if (!l->text)
		return -ENOMEM;
	err = seam_index_add(&f->index, hash, f->n);
	if (err) {
		free(l->text);
		return err;
	}
	return (int64_t)f->n++;
}

int seam_fold_add(struct seam_fold *f, const char *text, uint64_t count)
{
	int64_t i = line_of(f, text);

	if (i < 0)
		return (int)i;
	f->v[i].count += count;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	const struct seam_fold_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void seam_fold_sort(struct seam_fold *f)
{
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_text);
}

void seam_fold_fini(struct seam_fold *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].text);
	free(f->v);
	seam_index_fini(&f->index);
	*f = (struct seam_fold){0};
}
