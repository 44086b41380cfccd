// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* A line of a run: how often, and the text with its '\0'. */
#define COUNT sizeof(uint64_t)

/* Merging has a page of each run in memory, and since Linux 6.18 the megabyte
 * or so around it that the page cache has as one: few runs are less. */
size_t seam_fold_most = 16 << 20;

/* Return: the line's number, or -errno. */
static int64_t line_of(struct seam_fold *f, const char *text, size_t len)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, text, len);
	uint32_t i;
	int err;

	for (size_t at = 0; seam_index_next(&f->index, hash, &at, &i);)
		if (!strcmp(f->text + f->v[i].at, text))
			return i;
	if (seam_grow(&f->text, f->len + len, &f->cap, 1) ||
	    seam_grow(&f->v, f->n + 1, &f->cap_v, sizeof(*f->v)))
		return -ENOMEM;
	err = seam_index_add(&f->index, hash, f->n);
	if (err)
		return err;
	memcpy(f->text + f->len, text, len);
	f->v[f->n] = (struct seam_fold_kept){.at = f->len};
	f->len += len;
	return (int64_t)f->n++;
}

static int by_text(const void *a, const void *b, void *text)
{
	const struct seam_fold_kept *x = a, *y = b;

	return strcmp((char *)text + x->at, (char *)text + y->at);
}

/* What is in memory becomes a run, in its order. */
static int make_run(struct seam_fold *f)
{
	size_t len = f->n * COUNT + f->len;
	char *to;

	f->room.from = seam_fold_most; /* one run alone stays in memory */
	if (seam_grow(&f->runs, f->n_runs + 1, &f->cap_runs,
		      sizeof(*f->runs)) ||
	    seam_spill_grow(&f->room, f->used + len, 1))
		return -ENOMEM;
	qsort_r(f->v, f->n, sizeof(*f->v), by_text, f->text);
	f->runs[f->n_runs++] = (struct seam_fold_run){f->used, f->used + len};
	to = (char *)f->room.p + f->used;
	for (size_t i = 0; i < f->n; i++) {
		const char *text = f->text + f->v[i].at;

		memcpy(to, &f->v[i].count, COUNT);
		to = stpcpy(to + COUNT, text) + 1;
	}
	f->used += len;
	f->len = 0;
	f->n = 0;
	seam_index_fini(&f->index);
	seam_spill_let_go(&f->room);
	return 0;
}

int seam_fold_add(struct seam_fold *f, const char *text, uint64_t count)
{
	size_t len = strlen(text) + 1;
	int64_t i;
	int rc = 0;

	if (f->n && f->len + len + f->n * sizeof(*f->v) > seam_fold_most)
		rc = make_run(f);
	i = rc ? rc : line_of(f, text, len);
	if (i < 0)
		return (int)i;
	f->v[i].count += count;
	return 0;
}

static const char *first_text(const struct seam_fold *f, size_t run)
{
	return (char *)f->room.p + f->runs[run].at + COUNT;
}

/* Puts the run at a place of the heap where it belongs below that. */
static void sift(struct seam_fold *f, size_t i)
{
	for (size_t least = i;; i = least) {
		struct seam_fold_run run = f->runs[i];

		for (size_t child = 2 * i + 1;
		     child <= 2 * i + 2 && child < f->n_runs; child++)
			if (strcmp(first_text(f, child), first_text(f, least)) <
			    0)
				least = child;
		if (least == i)
			return;
		f->runs[i] = f->runs[least];
		f->runs[least] = run;
	}
}

int seam_fold_begin(struct seam_fold *f)
{
	int rc = f->n ? make_run(f) : 0;

	if (rc)
		return rc;
	free(f->text);
	free(f->v);
	f->text = NULL;
	f->v = NULL;
	f->cap = f->cap_v = 0;
	for (size_t i = f->n_runs / 2; i-- > 0;)
		sift(f, i);
	return 0;
}

/* The least line that there is, out of its run. */
static struct seam_fold_line take(struct seam_fold *f)
{
	struct seam_fold_line line = {.text = first_text(f, 0)};
	size_t len = COUNT + strlen(line.text) + 1;

	memcpy(&line.count, line.text - COUNT, COUNT);
	f->runs[0].at += len;
	f->given += len;
	if (f->runs[0].at == f->runs[0].end)
		f->runs[0] = f->runs[--f->n_runs];
	if (f->n_runs)
		sift(f, 0);
	return line;
}

bool seam_fold_next(struct seam_fold *f, struct seam_fold_line *ret)
{
	if (!f->n_runs)
		return false;
	if (f->given > seam_fold_most) {
		f->given = 0;
		seam_spill_let_go(&f->room);
	}
	*ret = take(f);
	while (f->n_runs && !strcmp(first_text(f, 0), ret->text))
		ret->count += take(f).count;
	return true;
}

void seam_fold_fini(struct seam_fold *f)
{
	free(f->text);
	free(f->v);
	free(f->runs);
	seam_index_fini(&f->index);
	seam_spill_fini(&f->room);
	*f = (struct seam_fold){0};
}
