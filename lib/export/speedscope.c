// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * speedscope's own format: JSON, a list of frames that all share, and a
 * profile of each thread, which says of each sample the numbers of its frames,
 * root first.
 * Source: https://www.speedscope.app/file-format-schema.json
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "export/private.h"

#define ull unsigned long long /* what printf takes */

struct speedscope {
	struct seam_model *m;
	struct seam_out *out;
	uint32_t *frames; /* of a stack, leaf first */
	size_t cap;
};

/* "file" is that of the source, or else the one that was run. */
static void frame(struct speedscope *p, size_t i)
{
	const struct seam_model *m = p->m;
	struct seam_strbuf *b = &p->out->b, name = {0};
	const struct seam_model_frame *f = &SEAM_MODEL_GET(frame, m->frames, i);
	const struct seam_model_func *func =
		&SEAM_MODEL_GET(func, m->funcs, f->func);
	uint32_t file = func->file;

	if (!file)
		file = SEAM_MODEL_GET(module, m->modules, func->module).path;
	seam_model_marked(m, func, &name);
	seam_strbuf_puts(b, i ? ",\n{\"name\":" : "{\"name\":");
	if (name.err)
		b->err = name.err;
	else
		seam_json_string(b, name.s);
	if (file) {
		seam_strbuf_puts(b, ",\"file\":");
		seam_json_string(b, seam_model_string(m, file));
	}
	if (func->file && f->line)
		seam_strbuf_printf(b, ",\"line\":%u", f->line);
	seam_strbuf_puts(b, "}");
	seam_strbuf_fini(&name);
}

/* The numbers of its frames, root first. */
static bool stack(struct speedscope *p, uint32_t node)
{
	struct seam_model *m = p->m;
	const struct seam_model_levels *l;
	size_t n = 0;

	for (; node; node = seam_model_node(m, node)->caller) {
		uint32_t at = seam_model_levels_at(m, node);

		for (; at; at = l->outer) {
			l = &SEAM_MODEL_GET(levels, m->levels, at);
			if (seam_grow(&p->frames, n + 1, &p->cap,
				      sizeof(*p->frames))) {
				p->out->err = -ENOMEM;
				return false;
			}
			p->frames[n++] = l->frame;
		}
	}
	seam_strbuf_puts(&p->out->b, "[");
	while (n-- > 0)
		seam_strbuf_printf(&p->out->b, n ? "%u," : "%u", p->frames[n]);
	seam_strbuf_puts(&p->out->b, "]");
	return seam_out_piece(p->out);
}

static void profile(struct speedscope *p, size_t i)
{
	struct seam_model *m = p->m;
	const struct seam_model_sample *sample;
	const struct seam_model_track *t = &SEAM_MODEL_GET(track, m->tracks, i);
	struct seam_strbuf *b = &p->out->b, name = {0};
	const char *comma = "";

	seam_strbuf_printf(&name, "%s %d/%d %s", seam_model_string(m, t->comm),
			   (int)t->pid, (int)t->tid,
			   seam_model_track_event(m, (uint32_t)i));
	seam_strbuf_puts(b, i ? ",\n{" : "{");
	seam_strbuf_puts(b, "\"type\":\"sampled\",\"name\":");
	if (name.err)
		b->err = name.err;
	else
		seam_json_string(b, name.s);
	seam_strbuf_fini(&name);
	seam_strbuf_printf(b,
			   ",\"unit\":\"%s\",\"startValue\":0,"
			   "\"endValue\":%llu,\n\"samples\":[",
			   seam_model_in_ns(m, t->event) ? "nanoseconds"
							 : "none",
			   (ull)m->of_track[i].weight);
	for (uint32_t s = m->of_track[i].first; s; s = sample->next) {
		sample = seam_model_sample(m, s - 1);
		seam_strbuf_puts(b, comma);
		comma = ",\n";
		if (!stack(p, sample->node))
			return;
	}
	seam_strbuf_puts(b, "],\n\"weights\":[");
	comma = "";
	for (uint32_t s = m->of_track[i].first; s; s = sample->next) {
		sample = seam_model_sample(m, s - 1);
		seam_strbuf_printf(b, "%s%llu", comma, (ull)sample->weight);
		comma = ",";
		if (!seam_out_piece(p->out))
			return;
	}
	seam_strbuf_puts(b, "]}");
}

void seam_export_speedscope(struct seam_export *e, struct seam_out *out)
{
	struct speedscope p = {.m = &e->model, .out = out};
	struct seam_strbuf *b = &out->b;

	seam_strbuf_puts(b, "{\"$schema\":\"https://www.speedscope.app/"
			    "file-format-schema.json\",\n\"exporter\":"
			    "\"seam " SEAM_VERSION "\",\"name\":");
	seam_json_string(b, e->name);
	seam_strbuf_puts(b, ",\n\"shared\":{\"frames\":[");
	for (size_t i = 0; i < p.m->frames.n && seam_out_piece(out); i++)
		frame(&p, i);
	seam_strbuf_puts(b, "]},\n\"profiles\":[");
	for (size_t i = 0; i < p.m->tracks.n && seam_out_piece(out); i++)
		profile(&p, i);
	seam_strbuf_puts(b, "]}\n");
	free(p.frames);
}
