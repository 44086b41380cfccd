// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The same way through the data as the reader's, up to where that came. */
#include "perfdata/copy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "perfdata/copy-priv.h"

#define WRITE_BYTES (1u << 20) /* at a time */

int seam_pd_copy_flush(struct pd_copy *c)
{
	int rc = seam_pd_write_at(c->fd, c->out.p, c->out.len, c->written);

	if (rc)
		return rc;
	c->written += c->out.len;
	c->out.len = 0;
	return 0;
}

/* Bytes of the file are read here, so that their pages need not stay. */
int seam_pd_copy_add(struct pd_copy *c, const void *p, size_t len)
{
	const uint8_t *from = p;

	while (len) {
		size_t n = len < WRITE_BYTES ? len : WRITE_BYTES;
		int rc;

		seam_pd_buf_add(&c->out, from, n);
		if (c->out.err)
			return c->out.err;
		seam_pd_touch(c->r, n);
		from += n;
		len -= n;
		rc = c->out.len < WRITE_BYTES ? 0 : seam_pd_copy_flush(c);
		if (rc)
			return rc;
	}
	return 0;
}

int seam_pd_copy_add_u64(struct pd_copy *c, uint64_t v)
{
	if (c->r->swap)
		v = __builtin_bswap64(v);
	return seam_pd_copy_add(c, &v, sizeof(v));
}

static int kernel_record(struct pd_copy *c, struct span s, uint32_t type)
{
	struct seam_pd_bytes now = {s.p, s.left};
	struct seam_pd_rec rec;
	int edit = SEAM_PD_KEEP;

	if (seam_pd_wanted(type)) {
		/* The reader has counted it. It does without what lies before
		 * an attribute, though with that it could be read. */
		if ((c->r->info.pipe && c->n_attrs < c->r->n_events) ||
		    !seam_pd_parse(c->r, s.p, &rec))
			return 0;
		edit = c->editor->edit(c->editor->ctx, s.p, &rec, &now);
	}
	if (edit < 0)
		return edit;
	return edit == SEAM_PD_LEAVE_OUT ? 0
					 : seam_pd_copy_add(c, now.p, now.len);
}

/* {header; u64 bit; attributes} */
static int desc_record(struct pd_copy *c, struct span s)
{
	uint8_t *copy = malloc(s.left);
	int rc;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, s.p, s.left);
	seam_pd_copy_desc(c, copy + 16, s.left - 16);
	rc = seam_pd_copy_add(c, copy, s.left);
	free(copy);
	return rc;
}

/* {header; u64 bit; body} */
static int header_feature(struct pd_copy *c, struct span s)
{
	uint64_t bit = s.left < 16 ? PD_FEAT_MAX : pd_u64(s.p + 8, s.swap);

	if (bit == PD_FEAT_EVENT_DESC)
		return desc_record(c, s);
	if (bit < PD_FEAT_MAX && !seam_pd_copy_keeps((unsigned)bit))
		return 0;
	return seam_pd_copy_add(c, s.p, s.left);
}

static int note_moved(struct pd_copy *c, uint64_t from)
{
	if (seam_grow(&c->moved, c->n_moved + 1, &c->cap_moved,
		      sizeof(*c->moved)))
		return -ENOMEM;
	c->moved[c->n_moved++] = (struct pd_moved){from, pd_copy_at(c)};
	return 0;
}

static int records(struct pd_copy *c, struct span s, size_t part, int depth);

static int next_chunk(struct pd_copy *c, size_t part)
{
	const struct pd_chunk *chunk = &c->r->chunks[c->chunk++];
	struct span s = pd_span(c->r, chunk->p, chunk->walked);
	size_t n = c->behind < s.left ? (size_t)c->behind : s.left;
	int rc = seam_pd_copy_add(c, s.p, n);

	c->behind -= n;
	span_take(&s, n);
	return rc ? rc : records(c, s, part, 1);
}

static bool has_chunk(const struct pd_copy *c, size_t part)
{
	return c->chunk < c->r->n_chunks && c->r->chunks[c->chunk].part == part;
}

/* s: the record with the bytes behind it. */
static int user_record(struct pd_copy *c, uint32_t type, struct span s,
		       size_t part, int depth)
{
	const uint8_t *begin = c->r->parts[part].p;
	uint64_t at = depth ? 0 : (uint64_t)(s.p - begin);
	int rc = c->filed ? seam_pd_filed_record(c, type, s, depth) : 0;

	c->n_attrs += type == PD_HEADER_ATTR;
	if (rc)
		return rc < 0 ? rc : 0;
	switch (type) {
	case PD_COMPRESSED:
	case PD_COMPRESSED2:
		if (!depth && has_chunk(c, part) &&
		    c->r->chunks[c->chunk].offset == at)
			return next_chunk(c, part);
		return 0; /* it held nothing */
	case PD_FINISHED_ROUND:
		if (c->r->n_parts > 1)
			return 0;
		break;
	case PD_HEADER_ATTR:
		return seam_pd_copy_attr_record(c, s);
	case PD_HEADER_FEATURE:
		return header_feature(c, s);
	case PD_HEADER_TRACING_DATA:
		return seam_pd_copy_tracing_record(c, s);
	case PD_AUXTRACE:
		if (!part && !depth)
			rc = note_moved(c, at);
		break;
	}
	return rc ? rc : seam_pd_copy_add(c, s.p, s.left);
}

static int records(struct pd_copy *c, struct span s, size_t part, int depth)
{
	struct perf_event_header h;
	int rc = 0;

	while (!rc && s.left >= sizeof(h)) {
		struct span rec = s;
		uint64_t behind;

		h = pd_record_header(s.p, s.swap);
		if (h.size < sizeof(h) || h.size > s.left)
			break;
		rec.left = h.size;
		behind = h.type < PD_USER_RECORD_FIRST
				 ? 0
				 : seam_pd_bytes_behind(h.type, rec);
		if (behind > s.left - h.size) {
			if (!depth)
				break; /* the recording ends within them */
			c->behind = behind - (s.left - h.size);
			behind = s.left - h.size;
		}
		rec.left += behind;
		span_take(&s, rec.left);
		rc = h.type < PD_USER_RECORD_FIRST
			     ? kernel_record(c, rec, h.type)
			     : user_record(c, h.type, rec, part, depth);
	}
	return rc;
}

/* The last chunk's record may be damaged further on, and not have been
 * walked over. */
static int one_part(struct pd_copy *c, size_t i)
{
	const struct pd_part *p = &c->r->parts[i];
	int rc = 0;

	c->behind = 0; /* the part before may have ended in the middle */
	if (p->p)
		rc = records(c, pd_span(c->r, p->p + p->begin, p->walked), i,
			     0);
	while (!rc && has_chunk(c, i))
		rc = next_chunk(c, i);
	return rc;
}

/* A size of 0 is that of a recorder that died: something must be there. */
static int some_data(struct pd_copy *c)
{
	struct perf_event_header h = {PD_FINISHED_ROUND, 0, sizeof(h)};

	if (c->r->swap) {
		h.type = __builtin_bswap32(h.type);
		h.size = __builtin_bswap16(h.size);
	}
	return seam_pd_copy_add(c, &h, sizeof(h));
}

/* Of what has no events there is no file. */
static int copy(struct pd_copy *c)
{
	int rc = seam_pd_copy_tracing(c);
	uint64_t begin;
	bool pipe;

	c->filed = c->editor->to_file && c->r->info.pipe && c->r->n_events;
	pipe = c->r->info.pipe && !c->filed;
	if (!rc)
		rc = pipe ? seam_pd_copy_add(c, c->r->file, PD_PIPE_HEADER_SIZE)
			  : seam_pd_copy_front(c);
	begin = pd_copy_at(c);

	for (size_t i = 0; !rc && i < c->r->n_parts; i++)
		rc = one_part(c, i);
	if (!rc && !pipe && pd_copy_at(c) == begin)
		rc = some_data(c);
	c->header.data.offset = begin;
	c->header.data.size = pd_copy_at(c) - begin;
	if (!rc && !pipe)
		rc = seam_pd_copy_back(c);
	return rc ? rc : seam_pd_copy_flush(c);
}

static int copy_over(struct pd_copy *c)
{
	int rc = copy(c);

	seam_pd_buf_fini(&c->tracing);
	seam_pd_buf_fini(&c->desc);
	seam_pd_buf_fini(&c->build_ids);
	seam_pd_buf_fini(&c->out);
	free(c->moved);
	return rc;
}

int seam_pd_copy(struct seam_pd_reader *r, int fd,
		 const struct seam_pd_editor *editor)
{
	struct pd_copy c = {.r = r, .editor = editor, .fd = fd};

	return copy_over(&c);
}

static int keep(void *ctx, const uint8_t *bytes, const struct seam_pd_rec *rec,
		struct seam_pd_bytes *ret)
{
	(void)ctx;
	(void)bytes;
	(void)rec;
	(void)ret;
	return SEAM_PD_KEEP;
}

int seam_pd_copy_plain(struct seam_pd_reader *r, int fd, bool to_file,
		       bool defers, uint64_t *ret_cut)
{
	const struct seam_pd_editor editor = {.edit = keep,
					      .as_it_was = true,
					      .defers = defers,
					      .to_file = to_file};
	struct pd_copy c = {.r = r, .editor = &editor, .fd = fd};
	int rc = r->n_parts > 1 ? -EISDIR : copy_over(&c);

	*ret_cut = c.attrs_cut;
	return rc;
}

/* Of a pipe, with its attributes cut; what the reader did not get through is
 * copied too. */
static int copy_stream(struct pd_copy *c)
{
	struct span s = pd_span(c->r, c->r->file, c->r->size);
	int rc = seam_pd_copy_add(c, s.p, PD_PIPE_HEADER_SIZE);

	span_take(&s, PD_PIPE_HEADER_SIZE);
	while (!rc && s.left >= sizeof(struct perf_event_header)) {
		struct perf_event_header h = pd_record_header(s.p, s.swap);
		struct span rec = s;
		uint64_t behind;

		if (h.size < sizeof(h) || h.size > s.left)
			break;
		rec.left = h.size;
		behind = h.type < PD_USER_RECORD_FIRST
				 ? 0
				 : seam_pd_bytes_behind(h.type, rec);
		if (behind > s.left - h.size)
			break;
		rec.left += behind;
		span_take(&s, rec.left);
		rc = h.type == PD_HEADER_ATTR
			     ? seam_pd_copy_attr_record(c, rec)
			     : seam_pd_copy_add(c, rec.p, rec.left);
	}
	return rc ? rc : seam_pd_copy_add(c, s.p, s.left);
}

int seam_pd_copy_bytes(struct seam_pd_reader *r, int fd, bool cut,
		       uint64_t *ret_cut)
{
	struct pd_copy c = {.r = r, .fd = fd};
	int rc;

	if (r->n_parts > 1)
		return -EISDIR;
	rc = cut && r->info.pipe ? copy_stream(&c)
				 : seam_pd_copy_add(&c, r->file, r->size);
	if (!rc)
		rc = seam_pd_copy_flush(&c);
	if (!rc && cut && !r->info.pipe)
		rc = seam_pd_copy_cut_attrs(&c);
	seam_pd_buf_fini(&c.out);
	*ret_cut = c.attrs_cut;
	return rc;
}
