// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Chrome's trace event format: JSON, a tree of stack frames, a list of samples
 * that lead into it, and events, for viewers that show nothing else: one for
 * each sample, at a moment, since how long its stack was there nobody knows.
 * Source: the Trace Event Format document, of 2016, sections on stack frames,
 * samples, metadata and instant events
 */
#include "export/private.h"

#define ull unsigned long long /* what printf takes */

struct chrome {
	struct seam_model *m;
	struct seam_out *out;
};

/* Of the innermost function at a stack's leaf, from 1. Callers have lower
 * numbers, and so lower rows. */
static uint32_t leaf_row(const struct chrome *p, uint32_t node)
{
	return seam_model_leaf_row(p->m, node) + 1;
}

static void string(struct chrome *p, const struct seam_strbuf *s)
{
	if (s->err)
		p->out->b.err = s->err;
	else
		seam_json_string(&p->out->b, s->len ? s->s : "");
}

static void frame(struct chrome *p, const struct seam_model_frame *f,
		  uint32_t row, uint32_t parent)
{
	const struct seam_model *m = p->m;
	const struct seam_model_func *func =
		&SEAM_MODEL_GET(func, m->funcs, f->func);
	struct seam_strbuf *b = &p->out->b, name = {0};
	uint32_t path = SEAM_MODEL_GET(module, m->modules, func->module).path;

	seam_model_marked(m, func, &name);
	seam_strbuf_printf(b, "\"%u\":{\"name\":", row);
	string(p, &name);
	seam_strbuf_fini(&name);
	seam_strbuf_puts(b, ",\"category\":");
	seam_json_string(b, seam_model_string(m, path));
	if (func->file) {
		seam_strbuf_puts(b, ",\"file\":");
		seam_json_string(b, seam_model_string(m, func->file));
		seam_strbuf_printf(b, ",\"line\":%u", f->line);
	}
	if (parent)
		seam_strbuf_printf(b, ",\"parent\":\"%u\"", parent);
	seam_strbuf_puts(b, "}");
}

static void frames(struct chrome *p)
{
	struct seam_model *m = p->m;
	const char *comma = "";

	for (uint32_t i = 1; i < m->nodes.n; i++) {
		uint32_t caller = seam_model_node(m, i)->caller;
		uint32_t outermost = caller ? leaf_row(p, caller) : 0;
		uint32_t row = leaf_row(p, i);

		for (uint32_t at = seam_model_levels_at(m, i); at; row--) {
			const struct seam_model_levels *l =
				&SEAM_MODEL_GET(levels, m->levels, at);

			seam_strbuf_puts(&p->out->b, comma);
			comma = ",\n";
			frame(p, &SEAM_MODEL_GET(frame, m->frames, l->frame),
			      row, l->outer ? row - 1 : outermost);
			at = l->outer;
			if (!seam_out_piece(p->out))
				return;
		}
	}
}

/* A process has that of its main thread, if it was sampled. */
static void thread_name(struct chrome *p, const struct seam_model_track *t,
			const char *what)
{
	struct seam_strbuf *b = &p->out->b;

	seam_strbuf_printf(b,
			   "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,"
			   "\"tid\":%d,\"args\":{\"name\":",
			   what, (int)t->pid, (int)t->tid);
	seam_json_string(b, seam_model_string(p->m, t->comm));
	seam_strbuf_puts(b, "}}");
}

/* Microseconds, none of the nanoseconds lost. */
static void moment(struct chrome *p, uint64_t time_ns)
{
	seam_strbuf_printf(&p->out->b, "%llu.%03llu", (ull)(time_ns / 1000),
			   (ull)(time_ns % 1000));
}

static void sample_head(struct chrome *p, const struct seam_model_sample *s)
{
	const struct seam_model_track *t =
		&SEAM_MODEL_GET(track, p->m->tracks, s->track);
	struct seam_strbuf *b = &p->out->b;

	seam_strbuf_puts(b, "\"name\":");
	seam_json_string(b, seam_model_track_event(p->m, s->track));
	seam_strbuf_printf(b, ",\"pid\":%d,\"tid\":%d,\"ts\":", (int)t->pid,
			   (int)t->tid);
	moment(p, s->time_ns);
	if (s->node)
		seam_strbuf_printf(b, ",\"sf\":\"%u\"", leaf_row(p, s->node));
}

static void events(struct chrome *p)
{
	struct seam_model *m = p->m;
	struct seam_strbuf *b = &p->out->b;
	const char *comma = "";

	for (size_t i = 0; i < m->tracks.n && seam_out_piece(p->out); i++) {
		const struct seam_model_track *t =
			&SEAM_MODEL_GET(track, m->tracks, i);

		seam_strbuf_puts(b, comma);
		comma = ",\n";
		thread_name(p, t, "thread_name");
		if (t->pid != t->tid)
			continue;
		seam_strbuf_puts(b, comma);
		thread_name(p, t, "process_name");
	}
	for (size_t i = 0; i < m->n_samples && seam_out_piece(p->out); i++) {
		const struct seam_model_sample *s = seam_model_sample(m, i);
		const struct seam_model_track *t =
			&SEAM_MODEL_GET(track, m->tracks, s->track);

		seam_strbuf_puts(b, comma);
		seam_strbuf_puts(b, "{\"ph\":\"i\",\"s\":\"t\",\"cat\":"
				    "\"sample\",");
		sample_head(p, s);
		seam_strbuf_puts(b, ",\"args\":{\"comm\":");
		seam_json_string(b, seam_model_string(m, t->comm));
		seam_strbuf_printf(b, ",\"period\":%llu", (ull)s->weight);
		if (s->end)
			seam_strbuf_printf(b, ",\"end\":\"%s\"",
					   seam_err_name((int)s->end));
		seam_strbuf_puts(b, "}}");
	}
}

static void samples(struct chrome *p)
{
	struct seam_model *m = p->m;
	struct seam_strbuf *b = &p->out->b;
	const char *comma = "{";

	for (size_t i = 0; i < m->n_samples && seam_out_piece(p->out); i++) {
		const struct seam_model_sample *s = seam_model_sample(m, i);

		/* There is nothing to show of one without a stack. */
		if (!s->node)
			continue;
		seam_strbuf_puts(b, comma);
		comma = ",\n{";
		sample_head(p, s);
		seam_strbuf_printf(b, ",\"weight\":%llu}", (ull)s->weight);
	}
}

static void files(struct chrome *p)
{
	const struct seam_model *m = p->m;
	struct seam_strbuf *b = &p->out->b;
	const char *comma = "";

	for (size_t i = 1; i < m->modules.n && seam_out_piece(p->out); i++) {
		const struct seam_model_module *mod =
			&SEAM_MODEL_GET(module, m->modules, i);

		if (!mod->build_id)
			continue;
		seam_strbuf_puts(b, comma);
		comma = ",\n";
		seam_strbuf_puts(b, "{\"path\":");
		seam_json_string(b, seam_model_string(m, mod->path));
		seam_strbuf_puts(b, ",\"build_id\":");
		seam_json_string(b, seam_model_string(m, mod->build_id));
		seam_strbuf_printf(b, ",\"start\":\"0x%llx\",\"pgoff\":%llu}",
				   (ull)m->module_start[i], (ull)mod->pgoff);
	}
}

void seam_export_chrome(struct seam_export *e, struct seam_out *out)
{
	struct chrome p = {.m = &e->model, .out = out};
	struct seam_strbuf *b = &out->b;

	seam_strbuf_puts(b, "{\"displayTimeUnit\":\"ns\",\n"
			    "\"traceEvents\":[");
	events(&p);
	seam_strbuf_puts(b, "],\n\"stackFrames\":{");
	frames(&p);
	seam_strbuf_puts(b, "},\n\"samples\":[");
	samples(&p);
	seam_strbuf_puts(b, "],\n\"otherData\":{\"exporter\":"
			    "\"seam " SEAM_VERSION "\",\"recording\":");
	seam_json_string(b, e->name);
	seam_strbuf_puts(b, ",\"files\":[");
	files(&p);
	seam_strbuf_puts(b, "]}}\n");
}
