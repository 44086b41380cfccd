// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * pprof's profile.proto, written out as it goes: a gzip stream of fields, each
 * of which is whole by itself, so that no more than one of them is in memory.
 * profile.proto here beside it says what the numbers are.
 * Source: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/private.h"
#include "export/proto.h"

/* Field numbers. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_COMMENT = 13,
};

/* A sample has a value for each type, of which most are 0: where more events
 * than that were sampled, they have one type together, and their label. */
#define MAX_TYPES 32

struct pprof {
	struct seam_model *m;
	struct seam_out *out;
	z_stream z;
	/* Messages as they are made: their fields' bytes, without a length. */
	struct seam_strbuf msg, inner;
	uint32_t types[MAX_TYPES]; /* events */
	size_t n_types; /* MAX_TYPES + 1: too many */
};

/* What is in msg goes on its way. */
static bool deflated(struct pprof *p, int flush)
{
	char room[16384];

	if (p->msg.err && !p->out->err)
		p->out->err = p->msg.err;
	p->z.next_in = (void *)p->msg.s;
	p->z.avail_in = (uInt)p->msg.len;
	do {
		p->z.next_out = (void *)room;
		p->z.avail_out = sizeof(room);
		deflate(&p->z, flush);
		seam_strbuf_add(&p->out->b, room,
				sizeof(room) - p->z.avail_out);
	} while (!p->z.avail_out && seam_out_piece(p->out));
	seam_strbuf_reset(&p->msg);
	return seam_out_piece(p->out);
}

/* A part of a profile, whole in inner. */
static bool part(struct pprof *p, unsigned field)
{
	seam_proto_message(&p->msg, field, &p->inner);
	return deflated(p, Z_NO_FLUSH);
}

static uint64_t text(struct pprof *p, const char *s)
{
	int64_t i = seam_model_text(p->m, s);

	if (i < 0 && !p->out->err)
		p->out->err = (int)i;
	return i < 0 ? 0 : (uint64_t)i;
}

static bool value_type(struct pprof *p, unsigned field, const char *type,
		       const char *unit)
{
	seam_proto_number(&p->inner, 1, text(p, type));
	seam_proto_number(&p->inner, 2, text(p, unit));
	return part(p, field);
}

static size_t type_of(const struct pprof *p, uint32_t event)
{
	size_t i = 0;

	while (i < p->n_types && i < MAX_TYPES && p->types[i] != event)
		i++;
	return i;
}

static void find_types(struct pprof *p)
{
	for (size_t i = 0; i < p->m->tracks.n && p->n_types <= MAX_TYPES; i++) {
		uint32_t event = SEAM_MODEL_GET(track, p->m->tracks, i).event;
		size_t at = type_of(p, event);

		if (at < p->n_types)
			continue;
		if (at < MAX_TYPES)
			p->types[at] = event;
		p->n_types++;
	}
}

/* The number of samples, then the weights of each event. */
static void sample_types(struct pprof *p)
{
	bool on = value_type(p, PROFILE_SAMPLE_TYPE, "samples", "count");

	find_types(p);
	if (p->n_types > MAX_TYPES)
		value_type(p, PROFILE_SAMPLE_TYPE, "weight", "count");
	for (size_t i = 0; on && p->n_types <= MAX_TYPES && i < p->n_types; i++)
		on = value_type(p, PROFILE_SAMPLE_TYPE,
				seam_pd_event(p->m->reader, p->types[i])->name,
				seam_model_in_ns(p->m, p->types[i])
					? "nanoseconds"
					: "count");
}

static void values(struct pprof *p, struct seam_strbuf *sample,
		   const struct seam_model_sample *s)
{
	uint32_t event = SEAM_MODEL_GET(track, p->m->tracks, s->track).event;
	size_t n = p->n_types > MAX_TYPES ? 1 : p->n_types;
	size_t at = p->n_types > MAX_TYPES ? 0 : type_of(p, event);

	seam_proto_varint(&p->inner, s->count);
	for (size_t i = 0; i < n; i++)
		seam_proto_varint(&p->inner,
				  i == at ? seam_proto_most(s->weight) : 0);
	seam_proto_message(sample, 2, &p->inner);
}

static void label(struct pprof *p, struct seam_strbuf *sample, const char *key,
		  const char *value)
{
	seam_proto_number(&p->inner, 1, text(p, key));
	seam_proto_number(&p->inner, 2, text(p, value));
	seam_proto_message(sample, 3, &p->inner);
}

static void text_label(struct pprof *p, struct seam_strbuf *sample,
		       const char *key, uint32_t value)
{
	seam_proto_number(&p->inner, 1, text(p, key));
	seam_proto_number(&p->inner, 2, value);
	seam_proto_message(sample, 3, &p->inner);
}

static void number_label(struct pprof *p, struct seam_strbuf *sample,
			 const char *key, uint32_t value)
{
	/* A 0 is not there in the bytes, and a label of nothing is dropped. */
	if (!value) {
		label(p, sample, key, "0");
		return;
	}
	seam_proto_number(&p->inner, 1, text(p, key));
	seam_proto_number(&p->inner, 3, (uint64_t)(int32_t)value);
	seam_proto_message(sample, 3, &p->inner);
}

static void labels(struct pprof *p, struct seam_strbuf *sample,
		   const struct seam_model_sample *s)
{
	/* A copy: adding a text may move the others. */
	const struct seam_model_track t =
		SEAM_MODEL_GET(track, p->m->tracks, s->track);

	text_label(p, sample, "comm", t.comm);
	number_label(p, sample, "pid", t.pid);
	number_label(p, sample, "tid", t.tid);
	text_label(p, sample, "event", p->m->of_track[s->track].event_name);
	if (s->end)
		label(p, sample, "end", seam_err_name((int)s->end));
}

static bool sample(struct pprof *p, const struct seam_model_sample *s)
{
	struct seam_strbuf made = {0};

	for (uint32_t at = s->node; at;) {
		const struct seam_model_node *node = seam_model_node(p->m, at);

		seam_proto_varint(&p->inner, node->spot + 1ULL);
		at = node->caller;
	}
	if (s->node)
		seam_proto_message(&made, 1, &p->inner);
	values(p, &made, s);
	labels(p, &made, s);
	seam_proto_message(&p->msg, PROFILE_SAMPLE, &made);
	seam_strbuf_fini(&made);
	return deflated(p, Z_NO_FLUSH);
}

static bool mapping(struct pprof *p, size_t i)
{
	const struct seam_model_module *mod =
		&SEAM_MODEL_GET(module, p->m->modules, i);
	uint64_t start = p->m->module_start[i];

	seam_proto_number(&p->inner, 1, i);
	seam_proto_number(&p->inner, 2, start);
	seam_proto_number(&p->inner, 3, start + mod->len);
	seam_proto_number(&p->inner, 4, mod->pgoff);
	seam_proto_number(&p->inner, 5, mod->path);
	seam_proto_number(&p->inner, 6, mod->build_id);
	seam_proto_number(&p->inner, 7,
			  1); /* functions, files, lines, inlined: */
	seam_proto_number(&p->inner, 8,
			  1); /* there is no use in looking again */
	seam_proto_number(&p->inner, 9, 1);
	seam_proto_number(&p->inner, 10, 1);
	return part(p, PROFILE_MAPPING);
}

/* Viewers take the first one's name for that of the program. Which it is the
 * recording does not say; names of threads are often a file's, cut off. */
static size_t main_module(const struct seam_model *m)
{
	const char *comm, *path;

	if (!m->tracks.n)
		return 0;
	comm = seam_model_string(m, SEAM_MODEL_GET(track, m->tracks, 0).comm);
	for (size_t i = 1; i < m->modules.n; i++) {
		path = seam_model_string(
			m, SEAM_MODEL_GET(module, m->modules, i).path);
		path = strrchr(path, '/') ?: path;
		if (*path == '/' && !strncmp(path + 1, comm, strlen(comm)))
			return i;
	}
	return 0;
}

/* Where the first process had it: of files and other mappings. */
static uint64_t address_of(const struct seam_model *m,
			   const struct seam_model_spot *spot)
{
	const struct seam_model_module *mod =
		&SEAM_MODEL_GET(module, m->modules, spot->module);

	if (!spot->module || mod->kernel)
		return spot->off;
	return m->module_start[spot->module] + spot->off - mod->pgoff;
}

static bool location(struct pprof *p, size_t i)
{
	const struct seam_model_spot *spot =
		&SEAM_MODEL_GET(spot, p->m->spots, i);
	struct seam_strbuf made = {0};

	seam_proto_number(&made, 1, i + 1);
	seam_proto_number(&made, 2, spot->module);
	seam_proto_number(&made, 3, address_of(p->m, spot));
	for (uint32_t at = spot->levels; at;) {
		const struct seam_model_levels *l =
			&SEAM_MODEL_GET(levels, p->m->levels, at);
		const struct seam_model_frame *f =
			&SEAM_MODEL_GET(frame, p->m->frames, l->frame);

		seam_proto_number(&p->inner, 1, f->func + 1ULL);
		seam_proto_number(&p->inner, 2, f->line);
		seam_proto_message(&made, 4, &p->inner);
		at = l->outer;
	}
	seam_proto_message(&p->msg, PROFILE_LOCATION, &made);
	seam_strbuf_fini(&made);
	return deflated(p, Z_NO_FLUSH);
}

static bool function(struct pprof *p, size_t i)
{
	const struct seam_model_func *f = &SEAM_MODEL_GET(func, p->m->funcs, i);

	seam_proto_number(&p->inner, 1, i + 1);
	seam_proto_number(&p->inner, 2, f->name);
	seam_proto_number(&p->inner, 3, f->symbol);
	seam_proto_number(&p->inner, 4, f->file);
	return part(p, PROFILE_FUNCTION);
}

static void times(struct pprof *p)
{
	const struct seam_pd_info *info = seam_pd_info(p->m->reader);
	const struct seam_model *m = p->m;

	/* Samples' clock is no wall clock; some recordings join the two. */
	if (info->wall_clock_ns)
		seam_proto_number(&p->msg, PROFILE_TIME_NANOS,
				  seam_proto_most(info->wall_clock_ns +
						  m->first_ns -
						  info->clockid_ns));
	seam_proto_number(&p->msg, PROFILE_DURATION_NANOS,
			  seam_proto_most(m->last_ns - m->first_ns));
}

static void profile(struct pprof *p, const char *name)
{
	struct seam_model *m = p->m;
	size_t main = main_module(m);
	bool on = true;

	sample_types(p);
	for (size_t i = 0; on && i < m->n_samples; i++)
		on = sample(p, seam_model_sample(m, i));
	on = on && (!main || mapping(p, main));
	for (size_t i = 1; on && i < m->modules.n; i++)
		on = i == main || mapping(p, i);
	for (size_t i = 0; on && i < m->spots.n; i++)
		on = location(p, i);
	for (size_t i = 0; on && i < m->funcs.n; i++)
		on = function(p, i);
	times(p);
	seam_proto_number(&p->msg, PROFILE_COMMENT, text(p, name));
	/* Last, when no text is added any more. */
	for (uint32_t i = 0; on && i < m->texts.n; i++) {
		const char *s = seam_model_string(m, i);

		seam_proto_bytes(&p->msg, PROFILE_STRING, s, strlen(s));
		on = deflated(p, Z_NO_FLUSH);
	}
	deflated(p, Z_FINISH);
}

void seam_export_pprof(struct seam_export *e, struct seam_out *out)
{
	struct pprof p = {.m = &e->model, .out = out};

	/* 16 more than the largest window: with gzip's header. */
	if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		out->err = -ENOMEM;
		return;
	}
	profile(&p, e->name);
	deflateEnd(&p.z);
	seam_strbuf_fini(&p.msg);
	seam_strbuf_fini(&p.inner);
}
