// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "lib/report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct seam_fold_line *slot(struct seam_fold_line *v, size_t cap,
				   const char *text)
{
	uint64_t h = 0xcbf29ce484222325;
	size_t i;

	for (const char *p = text; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	i = (h >> 20) & (cap - 1);
	while (v[i].text && strcmp(v[i].text, text) != 0)
		i = (i + 1) & (cap - 1);
	return &v[i];
}

static int grow(struct seam_fold *f)
{
	size_t cap = f->cap ? f->cap * 2 : 1024;
	struct seam_fold_line *v = calloc(cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < f->cap; i++)
		if (f->v[i].text)
			*slot(v, cap, f->v[i].text) = f->v[i];
	free(f->v);
	f->v = v;
	f->cap = cap;
	return 0;
}

int seam_fold_add(struct seam_fold *f, const char *text, uint64_t count)
{
	struct seam_fold_line *l;

	if (f->n >= f->cap / 2 && grow(f))
		return -ENOMEM;
	l = slot(f->v, f->cap, text);
	if (!l->text) {
		l->text = strdup(text);
		if (!l->text)
			return -ENOMEM;
		f->n++;
	}
	l->count += count;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	const struct seam_fold_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void seam_fold_sort(struct seam_fold *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->cap; i++)
		if (f->v[i].text)
			f->v[n++] = f->v[i];
	for (size_t i = n; i < f->cap; i++)
		f->v[i].text = NULL;
	if (n)
		qsort(f->v, n, sizeof(*f->v), by_text);
}

void seam_fold_fini(struct seam_fold *f)
{
	for (size_t i = 0; i < f->cap; i++)
		free(f->v[i].text);
	free(f->v);
	*f = (struct seam_fold){0};
}
