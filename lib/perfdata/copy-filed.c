// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A pipe's recording as a file: what its records say that perf makes for pipes
 * alone. All of them were read, so the attributes, which records may bring up
 * to the first of the kernel's, are known before the data; what features there
 * are, behind them.
 *
 * Names of events are one list in a file. It is made where the recording has a
 * name for each; else what it says of some stays as it is. So do build-ids
 * beside those of mappings: perf takes a file's table of them for all.
 */
#include <errno.h>

#include "perfdata/copy-priv.h"

#define UPDATE_NAME 2 /* of an EVENT_UPDATE record */
#define NAME_ALIGN 64 /* perf pads its strings to this */
#define BUILD_ID_HEAD 36 /* before the path: header, pid, id */

static void add_u32(struct pd_copy *c, struct pd_buf *b, size_t value)
{
	uint32_t v = (uint32_t)value;

	if (c->r->swap)
		v = __builtin_bswap32(v);
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void add_name(struct pd_copy *c, struct pd_buf *b, const char *name)
{
	static const char zeros[NAME_ALIGN];
	size_t len = strlen(name) + 1;
	size_t pad = (NAME_ALIGN - len % NAME_ALIGN) % NAME_ALIGN;

	add_u32(c, b, len + pad);
	seam_pd_buf_add(b, name, len);
	seam_pd_buf_add(b, zeros, pad);
}

static bool all_named(const struct seam_pd_reader *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!r->events[i].named)
			return false;
	return true;
}

/* See seam_pd_copy_desc. */
int seam_pd_filed_begin(struct pd_copy *c)
{
	const size_t size = c->header.attr_size - sizeof(struct pd_section);
	uint8_t attr[PD_ATTR_SIZE_MAX];
	struct pd_buf *b = &c->desc;

	if (!all_named(c->r))
		return 0;
	add_u32(c, b, c->r->n_events);
	add_u32(c, b, size);
	for (size_t i = 0; i < c->r->n_events; i++) {
		const struct pd_event *ev = &c->r->events[i];

		seam_pd_copy_event(c, ev, attr);
		seam_pd_buf_add(b, attr, size);
		add_u32(c, b, ev->pub.n_ids);
		add_name(c, b, ev->name);
		seam_pd_buf_add(b, ev->raw_ids.p, 8 * ev->pub.n_ids);
	}
	return b->err;
}

static void set_body(struct pd_copy *c, uint64_t bit, const void *p,
		     size_t size, bool is_made)
{
	c->bodies[bit] = (struct pd_body){p, size, is_made};
	c->header.features[0] |= 1ULL << bit;
}

/* {header; u64 bit; body}. perf ends them with one that has no body and, for
 * its bit, the first that it does not know: a newer one would miss a feature.
 */
static int feature(struct pd_copy *c, struct span s)
{
	uint64_t bit;

	if (!span_take(&s, 8) || !span_u64(&s, &bit))
		return 0;
	if (!s.left)
		return 1;
	if (!bit || bit >= PD_FEAT_MAX)
		return 0;
	if (bit == PD_FEAT_BUILD_ID && c->r->maps_have_ids)
		return 0;
	if (bit == PD_FEAT_BUILD_ID)
		seam_pd_buf_add(&c->build_ids, s.p, seam_pd_build_ids_len(s));
	else if (seam_pd_copy_keeps((unsigned)bit))
		set_body(c, bit, s.p, s.left, false);
	return c->build_ids.err ? c->build_ids.err : 1;
}

/* A table's are the same, but for the type, which they do not say. */
static int build_id(struct pd_copy *c, struct span s)
{
	const uint32_t type = 0;
	struct pd_buf *b = &c->build_ids;

	if (c->r->maps_have_ids || s.left <= BUILD_ID_HEAD ||
	    !memchr(s.p + BUILD_ID_HEAD, 0, s.left - BUILD_ID_HEAD))
		return 0;
	seam_pd_buf_add(b, &type, sizeof(type));
	seam_pd_buf_add(b, s.p + sizeof(type), s.left - sizeof(type));
	return b->err ? b->err : 1;
}

/* {header; u64 type; u64 id; ...}: a name of an event is in the list. */
static int event_update(struct pd_copy *c, struct span s)
{
	uint64_t type, id;

	if (!c->desc.len || !span_take(&s, 8) || !span_u64(&s, &type) ||
	    !span_u64(&s, &id))
		return 0;
	return type == UPDATE_NAME && seam_pd_event_by_id(c->r, id) >= 0;
}

int seam_pd_filed_record(struct pd_copy *c, uint32_t type, struct span s,
			 int depth)
{
	switch (type) {
	case PD_HEADER_ATTR:
		return 1;
	case PD_EVENT_UPDATE:
		return event_update(c, s);
	case PD_HEADER_FEATURE:
		return feature(c, s);
	case PD_HEADER_BUILD_ID:
		return build_id(c, s);
	case PD_HEADER_TRACING_DATA:
		return !depth; /* the reader has none that was compressed */
	}
	return 0;
}

void seam_pd_filed_end(struct pd_copy *c)
{
	const struct seam_pd_info *info = seam_pd_info(c->r);

	if (c->desc.len)
		set_body(c, PD_FEAT_EVENT_DESC, c->desc.p, c->desc.len, true);
	if (c->build_ids.len)
		set_body(c, PD_FEAT_BUILD_ID, c->build_ids.p, c->build_ids.len,
			 true);
	if (info->tracing)
		set_body(c, PD_FEAT_TRACING_DATA, info->tracing,
			 info->tracing_len, true);
}
