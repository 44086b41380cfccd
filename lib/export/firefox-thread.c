// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A thread of the Firefox Profiler's format: its tables, column by column. */
#include <errno.h>

#include "base/grow.h"
#include "export/firefox.h"

#define ull unsigned long long /* what printf takes */

enum { USER, KERNEL, OTHER }; /* places in meta's categories */

void seam_firefox_ms(struct seam_strbuf *b, uint64_t ns)
{
	seam_strbuf_printf(b, "%llu.%06llu", (ull)(ns / 1000000),
			   (ull)(ns % 1000000));
}

/* A column of a table: a row of one thing after the other. put writes what
 * is in row j of thing i; levels are counted from the outermost. */
typedef void put_fn(struct seam_firefox *p, uint32_t i, uint32_t at,
		    uint32_t j);

struct column {
	put_fn *put;
	const char *comma;
};

static struct column begin_column(struct seam_firefox *p, const char *name,
				  put_fn *put)
{
	seam_strbuf_printf(&p->out->b, ",\n\"%s\":[", name);
	return (struct column){put, ""};
}

static void put_row(struct seam_firefox *p, struct column *c, uint32_t i,
		    uint32_t at, uint32_t j)
{
	seam_strbuf_puts(&p->out->b, c->comma);
	c->comma = ",";
	c->put(p, i, at, j);
}

/* A row for each of a spot's functions, outermost first. */
static bool put_levels(struct seam_firefox *p, struct column *c, uint32_t i,
		       uint32_t spot)
{
	uint32_t n = seam_model_n_levels(p->m, spot), left = n;

	if (seam_grow(&p->path, n, &p->cap_path, sizeof(*p->path))) {
		p->out->err = -ENOMEM;
		return false;
	}
	for (uint32_t at = SEAM_MODEL_GET(spot, p->m->spots, spot).levels; at;
	     at = seam_firefox_level(p, at)->outer)
		p->path[--left] = at;
	for (uint32_t j = 0; j < n; j++)
		put_row(p, c, i, p->path[j], j);
	return seam_out_piece(p->out);
}

static void column(struct seam_firefox *p, const struct seam_firefox_own *own,
		   const char *name, put_fn *put)
{
	struct column c = begin_column(p, name, put);

	for (size_t k = 0; k < own->n && seam_out_piece(p->out); k++)
		put_row(p, &c, own->v[k], 0, 0);
	seam_strbuf_puts(&p->out->b, "]");
}

static void spot_column(struct seam_firefox *p, const char *name, put_fn *put)
{
	struct column c = begin_column(p, name, put);

	for (size_t k = 0; k < p->spots.n; k++)
		if (!put_levels(p, &c, p->spots.v[k], p->spots.v[k]))
			return;
	seam_strbuf_puts(&p->out->b, "]");
}

static void node_column(struct seam_firefox *p, const char *name, put_fn *put)
{
	struct column c = begin_column(p, name, put);
	uint32_t i = p->m->of_track[p->thread - 1].first_node;

	while (i && put_levels(p, &c, i, seam_model_node(p->m, i)->spot))
		i = seam_model_node(p->m, i)->next;
	seam_strbuf_puts(&p->out->b, "]");
}

static void put_number(struct seam_firefox *p, uint64_t v)
{
	seam_strbuf_dec(&p->out->b, v, 1, ' ');
}

static void put_null(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)i, (void)at, (void)j;
	seam_strbuf_puts(&p->out->b, "null");
}

static void put_zero(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)i, (void)at, (void)j;
	put_number(p, 0);
}

static void put_one(struct seam_firefox *p, uint32_t i, uint32_t at, uint32_t j)
{
	(void)i, (void)at, (void)j;
	put_number(p, 1);
}

static void put_false(struct seam_firefox *p, uint32_t i, uint32_t at,
		      uint32_t j)
{
	(void)i, (void)at, (void)j;
	seam_strbuf_puts(&p->out->b, "false");
}

static void put_category(struct seam_firefox *p, uint32_t i, uint32_t at,
			 uint32_t j)
{
	uint32_t flags =
		SEAM_MODEL_GET(func, p->m->funcs, seam_firefox_func(p, at))
			.flags;

	(void)i, (void)j;
	put_number(p, flags & SEAM_FUNC_KERNEL ? KERNEL
		      : flags & SEAM_FUNC_END  ? OTHER
					       : USER);
}

static void put_prefix(struct seam_firefox *p, uint32_t i, uint32_t at,
		       uint32_t j)
{
	uint32_t caller = seam_model_node(p->m, i)->caller;

	(void)at;
	if (j)
		put_number(p, seam_model_node(p->m, i)->row + j - 1);
	else if (caller)
		put_number(p, seam_model_leaf_row(p->m, caller));
	else
		put_null(p, 0, 0, 0);
}

static void put_frame(struct seam_firefox *p, uint32_t i, uint32_t at,
		      uint32_t j)
{
	(void)at;
	put_number(p, p->spots.row[seam_model_node(p->m, i)->spot] + j);
}

/* In the file, or -1. */
static void put_address(struct seam_firefox *p, uint32_t i, uint32_t at,
			uint32_t j)
{
	const struct seam_model_spot *spot =
		&SEAM_MODEL_GET(spot, p->m->spots, i);
	const struct seam_model_module *mod =
		&SEAM_MODEL_GET(module, p->m->modules, spot->module);

	(void)at, (void)j;
	if (!spot->module || mod->kernel)
		seam_strbuf_puts(&p->out->b, "-1");
	else
		put_number(p, spot->off);
}

static void put_depth(struct seam_firefox *p, uint32_t i, uint32_t at,
		      uint32_t j)
{
	(void)i, (void)at;
	put_number(p, j);
}

static void put_func(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)i, (void)j;
	put_number(p, p->funcs.row[seam_firefox_func(p, at)]);
}

static void put_line(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	uint32_t line = SEAM_MODEL_GET(frame, p->m->frames,
				       seam_firefox_level(p, at)->frame)
				.line;

	(void)i, (void)j;
	if (line)
		put_number(p, line);
	else
		put_null(p, 0, 0, 0);
}

static void put_name(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)at, (void)j;
	put_number(p, p->texts.row[SEAM_MODEL_GET(func, p->m->funcs, i).name]);
}

static void put_file(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	uint32_t file = SEAM_MODEL_GET(func, p->m->funcs, i).file;

	(void)at, (void)j;
	if (file)
		put_number(p, p->texts.row[file]);
	else
		put_null(p, 0, 0, 0);
}

static void put_resource(struct seam_firefox *p, uint32_t i, uint32_t at,
			 uint32_t j)
{
	uint32_t module = SEAM_MODEL_GET(func, p->m->funcs, i).module;

	(void)at, (void)j;
	if (module)
		put_number(p, p->modules.row[module]);
	else
		seam_strbuf_puts(&p->out->b, "-1");
}

static void put_lib(struct seam_firefox *p, uint32_t i, uint32_t at, uint32_t j)
{
	(void)at, (void)j;
	put_number(p, p->lib_of[i]);
}

static void put_path(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)at, (void)j;
	put_number(p,
		   p->texts.row[SEAM_MODEL_GET(module, p->m->modules, i).path]);
}

static void put_text(struct seam_firefox *p, uint32_t i, uint32_t at,
		     uint32_t j)
{
	(void)at, (void)j;
	seam_json_string(&p->out->b, seam_model_string(p->m, i));
}

static void table(struct seam_firefox *p, const char *name, uint32_t n)
{
	seam_strbuf_printf(&p->out->b, ",\n\"%s\":{\"length\":%u", name, n);
}

static void end_table(struct seam_firefox *p)
{
	seam_strbuf_puts(&p->out->b, "}");
}

static void tables(struct seam_firefox *p)
{
	table(p, "stackTable", p->m->of_track[p->thread - 1].n_rows);
	node_column(p, "frame", put_frame);
	node_column(p, "prefix", put_prefix);
	node_column(p, "category", put_category);
	node_column(p, "subcategory", put_zero);
	end_table(p);
	table(p, "frameTable", p->spots.n_rows);
	spot_column(p, "address", put_address);
	spot_column(p, "inlineDepth", put_depth);
	spot_column(p, "category", put_category);
	spot_column(p, "subcategory", put_zero);
	spot_column(p, "func", put_func);
	spot_column(p, "nativeSymbol", put_null);
	spot_column(p, "innerWindowID", put_null);
	spot_column(p, "implementation", put_null);
	spot_column(p, "line", put_line);
	spot_column(p, "column", put_null);
	end_table(p);
	table(p, "funcTable", p->funcs.n_rows);
	column(p, &p->funcs, "name", put_name);
	column(p, &p->funcs, "isJS", put_false);
	column(p, &p->funcs, "relevantForJS", put_false);
	column(p, &p->funcs, "resource", put_resource);
	column(p, &p->funcs, "fileName", put_file);
	column(p, &p->funcs, "lineNumber", put_null);
	column(p, &p->funcs, "columnNumber", put_null);
	end_table(p);
	table(p, "resourceTable", p->modules.n_rows);
	column(p, &p->modules, "lib", put_lib);
	column(p, &p->modules, "name", put_path);
	column(p, &p->modules, "host", put_null);
	column(p, &p->modules, "type", put_one);
	end_table(p);
	table(p, "nativeSymbols", 0);
	column(p, &p->none, "libIndex", put_null);
	column(p, &p->none, "address", put_null);
	column(p, &p->none, "name", put_null);
	column(p, &p->none, "functionSize", put_null);
	end_table(p);
	column(p, &p->texts, "stringArray", put_text);
}

static uint64_t since_start(const struct seam_model *m, uint64_t time_ns)
{
	return time_ns - m->first_ns;
}

/* Weights are periods: milliseconds of clocks, else numbers of events. */
static void samples(struct seam_firefox *p, size_t track)
{
	struct seam_model *m = p->m;
	struct seam_strbuf *b = &p->out->b;
	bool in_ns = seam_model_in_ns(
		m, SEAM_MODEL_GET(track, m->tracks, track).event);
	const uint32_t first = m->of_track[track].first;
	const struct seam_model_sample *s;

	seam_strbuf_printf(b, ",\n\"samples\":{\"length\":%llu",
			   (ull)m->of_track[track].n);
	seam_strbuf_printf(b, ",\"weightType\":\"%s\",\n\"stack\":[",
			   in_ns ? "tracing-ms" : "samples");
	for (uint32_t i = first; i && seam_out_piece(p->out); i = s->next) {
		s = seam_model_sample(m, i - 1);
		seam_strbuf_puts(b, i == first ? "" : ",");
		if (s->node)
			put_number(p, seam_model_leaf_row(m, s->node));
		else
			put_null(p, 0, 0, 0);
	}
	seam_strbuf_puts(b, "],\n\"time\":[");
	for (uint32_t i = first; i && seam_out_piece(p->out); i = s->next) {
		s = seam_model_sample(m, i - 1);
		seam_strbuf_puts(b, i == first ? "" : ",");
		seam_firefox_ms(b, since_start(m, s->time_ns));
	}
	seam_strbuf_puts(b, "],\n\"weight\":[");
	for (uint32_t i = first; i && seam_out_piece(p->out); i = s->next) {
		s = seam_model_sample(m, i - 1);
		seam_strbuf_puts(b, i == first ? "" : ",");
		if (in_ns)
			seam_firefox_ms(b, s->weight);
		else
			put_number(p, s->weight);
	}
	seam_strbuf_puts(b, "]}");
}

/* One of the columns of LOST and LOST_SAMPLES records, all of them. */
static void lost_column(struct seam_firefox *p, const char *name,
			void (*put)(struct seam_firefox *p,
				    const struct seam_pd_rec *rec))
{
	size_t n = seam_pd_n_records(p->m->reader);
	const char *comma = "";
	struct seam_pd_rec rec;

	seam_strbuf_printf(&p->out->b, ",\n\"%s\":[", name);
	for (size_t i = 0; i < n && p->marks && seam_out_piece(p->out); i++) {
		seam_pd_record(p->m->reader, i, &rec);
		if (rec.type != PERF_RECORD_LOST &&
		    rec.type != PERF_RECORD_LOST_SAMPLES)
			continue;
		seam_strbuf_puts(&p->out->b, comma);
		comma = ",";
		put(p, &rec);
	}
	seam_strbuf_puts(&p->out->b, "]");
}

/* The kernel says both, of the same loss. */
static void mark_data(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	seam_strbuf_printf(&p->out->b, "{\"type\":\"Lost\",\"%s\":%llu}",
			   rec->type == PERF_RECORD_LOST ? "records"
							 : "samples",
			   (ull)rec->lost);
}

/* Those before the first sample are at the start. */
static void mark_time(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	seam_firefox_ms(&p->out->b, rec->time_ns < p->m->first_ns
					    ? 0
					    : since_start(p->m, rec->time_ns));
}

static void mark_name(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	(void)rec;
	put_number(p, p->texts.row[p->lost]);
}

static void mark_null(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	(void)rec;
	put_null(p, 0, 0, 0);
}

static void mark_zero(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	(void)rec;
	put_number(p, 0);
}

static void mark_other(struct seam_firefox *p, const struct seam_pd_rec *rec)
{
	(void)rec;
	put_number(p, OTHER);
}

/* What was lost is nobody's: the first thread has all of it. */
static void markers(struct seam_firefox *p)
{
	table(p, "markers", p->marks);
	lost_column(p, "name", mark_name);
	lost_column(p, "data", mark_data);
	lost_column(p, "category", mark_other);
	lost_column(p, "startTime", mark_time);
	lost_column(p, "endTime", mark_null);
	lost_column(p, "phase", mark_zero);
	end_table(p);
}

static void head(struct seam_firefox *p, size_t track)
{
	const struct seam_model *m = p->m;
	const struct seam_model_track *t =
		&SEAM_MODEL_GET(track, m->tracks, track);
	const char *comm = seam_model_string(m, t->comm);
	struct seam_strbuf *b = &p->out->b, name = {0};

	seam_strbuf_printf(&name, "%s %s", comm,
			   seam_model_track_event(m, track));
	seam_strbuf_puts(b, "{\"name\":");
	if (name.err)
		b->err = name.err;
	else
		seam_json_string(b, name.s);
	seam_strbuf_fini(&name);
	seam_strbuf_puts(b, ",\"processName\":");
	seam_json_string(b, comm);
	/* Of several main threads of a process, one for each name and event,
	 * the viewer would show the last alone. */
	seam_strbuf_printf(
		b,
		",\"pid\":\"%d\",\"tid\":%d,\"isMainThread\":false,"
		"\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"showMarkersInTimeline\":true,"
		"\"pausedRanges\":[]",
		(int)t->pid, (int)t->tid);
}

void seam_firefox_thread(struct seam_firefox *p, size_t track)
{
	int rc = seam_firefox_take(p, track);

	if (rc) {
		p->out->err = rc;
		return;
	}
	p->marks = track ? 0
			 : (uint32_t)(seam_pd_count(p->m->reader,
						    PERF_RECORD_LOST) +
				      seam_pd_count(p->m->reader,
						    PERF_RECORD_LOST_SAMPLES));
	head(p, track);
	samples(p, track);
	markers(p);
	tables(p);
	seam_strbuf_puts(&p->out->b, "}");
}
