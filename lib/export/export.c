// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "export/private.h"

static const struct {
	void (*write)(struct seam_export *e, struct seam_out *out);
	bool add_up, by_track; /* as the model has it */
} formats[] = {
	[SEAM_EXPORT_FOLDED] = {seam_export_folded, true, false},
	[SEAM_EXPORT_PPROF] = {seam_export_pprof, true, false},
	[SEAM_EXPORT_FIREFOX] = {seam_export_firefox, false, true},
	[SEAM_EXPORT_CHROME] = {seam_export_chrome, false, false},
	[SEAM_EXPORT_SPEEDSCOPE] = {seam_export_speedscope, false, false},
};

int seam_export_new(enum seam_export_format format,
		    struct seam_pd_reader *reader, struct seam_export **ret)
{
	struct seam_export *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return -ENOMEM;
	e->format = format;
	rc = seam_model_init(&e->model, reader);
	if (rc) {
		free(e);
		return rc;
	}
	e->model.add_up = formats[format].add_up;
	e->model.by_track = formats[format].by_track;
	*ret = e;
	return 0;
}

struct seam_export *seam_export_free(struct seam_export *e)
{
	if (!e)
		return NULL;
	seam_model_fini(&e->model);
	seam_fold_fini(&e->fold);
	seam_strbuf_fini(&e->line);
	free(e);
	return NULL;
}

static void count(struct seam_export_counts *c, const struct seam_stitched *s)
{
	c->samples++;
	if (s->end == SEAM_OUTERMOST)
		c->whole++;
	else if (s->end == SEAM_NO_USER)
		c->no_user++;
	else
		c->end[s->end > 0 && s->end < SEAM_END_MAX ? s->end : 0]++;
}

int seam_export_add(struct seam_export *e, const struct seam_text *t)
{
	int rc = e->format == SEAM_EXPORT_FOLDED ? seam_export_folded_add(e, t)
						 : seam_model_add(&e->model, t);

	if (!rc)
		count(&e->counts, t->sample);
	e->counts.cut_names = e->model.cut_names;
	return rc;
}

int seam_export_finish(struct seam_export *e, const char *name,
		       seam_export_write *write, void *ctx)
{
	struct seam_out out = {.write = write, .ctx = ctx};

	e->name = name;
	formats[e->format].write(e, &out);
	return seam_out_finish(&out);
}

const struct seam_export_counts *seam_export_counts(const struct seam_export *e)
{
	return &e->counts;
}
