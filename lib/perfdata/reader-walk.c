// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* From record to record through the data, into what is compressed too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/grow.h"
#include "core/uapi.h"
#include "perfdata/reader-priv.h"

/* What a file may grow to when decompressed: a bomb is not a recording. Copies
 * of a stack that hardly changes, 64 KiB each, have been 2,700 times as large
 * as what perf's zstd made of them; zstd itself ends at some 30,000 times. */
#define INFLATE_MIN (64ULL << 20)
#define INFLATE_RATIO 4096
#define ANOTHER_FRAME 5 /* bytes that say how long its header is */
#define BLOCK_HEADER 3

struct pd_inflate {
	ZSTD_DStream *stream;
	size_t asked; /* bytes that it wants next */
	uint8_t *buf; /* what a chunk is made in */
	size_t cap;
	const uint8_t *rest; /* the beginning of a record, ends with a chunk */
	size_t rest_len;
	uint64_t behind; /* of what comes, bytes that belong to a record before
			  */
};

void seam_pd_inflate_free(struct pd_inflate *z)
{
	if (!z)
		return;
	ZSTD_freeDStream(z->stream);
	free(z->buf);
	free(z);
}

static int inflate_init(struct seam_pd_reader *r)
{
	if (r->zstd)
		return 0;
	r->zstd = calloc(1, sizeof(*r->zstd));
	if (!r->zstd)
		return -ENOMEM;
	r->zstd->stream = ZSTD_createDStream();
	r->zstd->asked = ANOTHER_FRAME;
	return r->zstd->stream ? 0 : -ENOMEM;
}

bool seam_pd_wanted(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_LOST:
	case PERF_RECORD_COMM:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_KSYMBOL:
	case SEAM_RECORD_CALLCHAIN_DEFERRED:
		return true;
	}
	return false;
}

static bool is_map(const struct seam_pd_rec *rec)
{
	return rec->type == PERF_RECORD_MMAP || rec->type == PERF_RECORD_MMAP2;
}

static bool is_data(const struct seam_pd_rec *rec)
{
	return is_map(rec) && (rec->misc & PERF_RECORD_MISC_MMAP_DATA);
}

static int add_index(struct seam_pd_reader *r, const uint8_t *rec,
		     const struct seam_pd_rec *parsed)
{
	struct pd_index ix;
	bool is_sample = parsed->type == PERF_RECORD_SAMPLE;
	bool no_cookie =
		is_sample && !seam_pd_chain_deferred(parsed->sample.chain);

	r->n_asking += is_sample && !no_cookie;
	if (parsed->type == SEAM_RECORD_CALLCHAIN_DEFERRED)
		r->is_complete |= !parsed->stack.cookie;
	if (is_map(parsed))
		r->maps_have_ids |= parsed->map.build_id_len > 0;
	if (parsed->has_time)
		r->last_ns = parsed->time_ns;
	ix = (struct pd_index){
		.time_ns = r->last_ns,
		.no_cookie = no_cookie,
		.is_sample = is_sample,
		.is_data = is_data(parsed),
		.rec = (uintptr_t)rec,
	};
	if (r->stream)
		return seam_pd_stream_add(r, &ix);
	if (seam_spill_grow(&r->index_room, r->n_index + 1, sizeof(ix)))
		return -ENOMEM;
	r->index = r->index_room.p;
	r->index[r->n_index++] = ix;
	return 0;
}

static void count_type(struct seam_pd_reader *r, uint32_t type)
{
	if (type < PD_COUNTED_TYPES)
		r->counts[type]++;
	else
		r->n_beyond++;
}

static uint64_t offset_of(const struct seam_pd_reader *r, const uint8_t *p)
{
	if (r->is_inside)
		return r->inside_offset;
	return (r->stream ? r->stream->base : 0) + (uint64_t)(p - r->part->p);
}

static void count_malformed(struct seam_pd_reader *r, const uint8_t *rec)
{
	struct seam_pd_damage *d = &r->damage;

	d->lacks_records = true;
	if (d->n_malformed++)
		return;
	d->malformed_offset = offset_of(r, rec);
	snprintf(d->malformed_where, sizeof(d->malformed_where), "%s",
		 r->part->name);
}

/* The kernel's word, or perf's for what its filter in BPF left out. */
static void add_lost_samples(struct seam_pd_reader *r,
			     const struct seam_pd_rec *rec)
{
	if (rec->misc & PD_MISC_LOST_SAMPLES_BPF)
		r->filtered_samples += rec->lost;
	else
		r->lost_samples += rec->lost;
}

static int kernel_record(struct seam_pd_reader *r, const uint8_t *rec,
			 uint32_t type)
{
	struct seam_pd_rec parsed;

	if (seam_pd_wanted(type)) {
		if (!seam_pd_parse(r, rec, &parsed)) {
			count_malformed(r, rec);
			return 0;
		}
		if (add_index(r, rec, &parsed))
			return -ENOMEM;
		if (type == PERF_RECORD_LOST)
			r->lost_records += parsed.lost;
		else if (type == PERF_RECORD_LOST_SAMPLES)
			add_lost_samples(r, &parsed);
	}
	count_type(r, type);
	return 0;
}

/* Pipe mode: attributes come as records, before all that they describe.
 * Files made from a stream may still have them, where they say nothing new. */
static int header_attr(struct seam_pd_reader *r, struct span s)
{
	const uint8_t *rec = s.p;
	struct span attr, ids;
	uint32_t size;
	int rc;

	if (!r->info.pipe)
		return 0;
	if (r->stream ? r->stream->n_added : r->n_index)
		return -EBADMSG;
	span_take(&s, 8);
	if (s.left < 64)
		return -EBADMSG;
	size = pd_u32(s.p + 4, r->swap);
	attr = pd_span(r, NULL, size ? size : 64);
	attr.p = span_take(&s, attr.left);
	ids = s;
	if (!attr.p)
		return -EBADMSG;
	if (r->n_events >= PD_EVENTS_MAX) {
		seam_pd_set_damage(r, offset_of(r, rec), PD_TOO_MANY_EVENTS);
		return -EBADMSG;
	}
	rc = seam_pd_add_event(r, attr, ids);
	seam_pd_plan_ids(r);
	return rc;
}

/* {header; u64 type; u64 id; name}; type 2 is a name. */
static void event_update(struct seam_pd_reader *r, struct span s)
{
	uint64_t type, id;
	int event;

	if (!span_take(&s, 8) || !span_u64(&s, &type) || !span_u64(&s, &id))
		return;
	event = seam_pd_event_by_id(r, id);
	if (type == 2 && event >= 0)
		seam_pd_set_name(r, (size_t)event, (const char *)s.p, s.left);
}

static void header_feature(struct seam_pd_reader *r, struct span s)
{
	uint64_t bit;

	if (span_take(&s, 8) && span_u64(&s, &bit) && bit < PD_FEAT_MAX)
		seam_pd_read_feature(r, (unsigned)bit, s);
}

/* libzstd asks for a block with the header of the next. A call that fails tells
 * nothing of what it made before: each gets one of these. */
static size_t asked_for(size_t rc)
{
	if (!rc)
		return ANOTHER_FRAME;
	return rc > BLOCK_HEADER ? rc - BLOCK_HEADER : rc;
}

/* Behind the first *len bytes of the buffer. */
static int inflate_to(struct seam_pd_reader *r, struct span in, size_t *len)
{
	const uint64_t most = INFLATE_MIN + INFLATE_RATIO * r->total_size;
	/* Which is had in memory. */
	const uint64_t record_most = INFLATE_MIN + INFLATE_RATIO * in.left;
	ZSTD_inBuffer i = {in.p, 0, 0};
	struct pd_inflate *z = r->zstd;

	for (;;) {
		ZSTD_outBuffer o;
		size_t rc;

		if (seam_grow(&z->buf, *len + ZSTD_DStreamOutSize(), &z->cap,
			      1))
			return -ENOMEM;
		o = (ZSTD_outBuffer){z->buf, z->cap, *len};
		i.size =
			z->asked < in.left - i.pos ? i.pos + z->asked : in.left;
		rc = ZSTD_decompressStream(z->stream, &o, &i);
		if (ZSTD_isError(rc))
			return -EBADMSG;
		z->asked = asked_for(rc);
		*len = o.pos;
		/* Of a stream what one record has in it is all that is there.
		 */
		if (*len > record_most ||
		    (!r->stream && r->inflated + *len > most))
			return -EFBIG;
		if (o.pos < o.size && i.pos == in.left)
			return 0;
	}
}

static int walk(struct seam_pd_reader *r, struct span *data, int depth);

static size_t part_number(const struct seam_pd_reader *r)
{
	return (size_t)(r->part - r->parts);
}

/* Return: as inflating it did, the chunk has what there was before; -ENOMEM. */
static int make_chunk(struct seam_pd_reader *r, struct span in,
		      struct pd_chunk *c)
{
	struct pd_inflate *z = r->zstd;
	size_t len = z->rest_len;
	int rc, err = 0;

	if (seam_grow(&z->buf, len, &z->cap, 1))
		return -ENOMEM;
	if (len)
		memcpy(z->buf, z->rest, len);
	rc = inflate_to(r, in, &len);
	if (len)
		err = seam_pd_keep(r, z->buf, len, c);
	return err ? err : rc;
}

/* A stream's records are copies, so that of its chunks the last one will do. */
static int add_chunk(struct seam_pd_reader *r, const struct pd_chunk *c)
{
	struct pd_chunk *chunks;

	if (r->stream && r->n_chunks) {
		free(r->chunks[0].p);
		r->chunks[0] = *c;
		return 0;
	}
	chunks = realloc(r->chunks, (r->n_chunks + 1) * sizeof(*chunks));
	if (!chunks) {
		if (c->allocated)
			free(c->p);
		return -ENOMEM;
	}
	r->chunks = chunks;
	r->chunks[r->n_chunks++] = *c;
	r->inflated += r->stream ? 0 : c->len;
	return 0;
}

/* What lies behind a record may be longer than a chunk: it is passed over as it
 * comes, and not kept to be looked at whole. */
static void pass_behind(struct pd_inflate *z, struct span *s)
{
	size_t n = z->behind < s->left ? (size_t)z->behind : s->left;

	span_take(s, n);
	z->behind -= n;
}

/* Adds a chunk that begins with what the last one left over. Its records
 * point into it, so it moves no more once it is full. Of what is damaged there
 * is a chunk too, as far as it can be decompressed. */
static int compressed(struct seam_pd_reader *r, struct span in, uint64_t offset)
{
	struct pd_chunk c = {.offset = offset, .part = part_number(r)};
	struct span s;
	int damage, rc = inflate_init(r);

	if (rc)
		return rc;
	damage = make_chunk(r, in, &c);
	if (!c.len)
		return damage;
	if (add_chunk(r, &c) || damage == -ENOMEM)
		return -ENOMEM;
	r->info.compressed = true;
	s = pd_span(r, c.p, c.len);
	pass_behind(r->zstd, &s);
	r->is_inside = true;
	r->inside_offset = offset;
	rc = walk(r, &s, 1);
	r->is_inside = false;
	r->chunks[r->n_chunks - 1].walked = (size_t)(s.p - c.p);
	r->zstd->rest = s.p;
	r->zstd->rest_len = s.left;
	return rc ? rc : damage;
}

static int compressed_record(struct seam_pd_reader *r, uint32_t type,
			     struct span s, uint64_t offset)
{
	uint64_t size = 0;
	int rc;

	span_take(&s, 8);
	if (type == PD_COMPRESSED2) {
		r->info.newly_compressed = true;
		if (!span_u64(&s, &size) || size > s.left)
			return -EBADMSG;
		s.left = size;
	}
	rc = compressed(r, s, offset);
	if (rc == -EFBIG)
		seam_pd_set_damage(r, offset,
				   "it decompresses to more than a recording "
				   "can");
	else if (rc == -EBADMSG)
		seam_pd_set_damage(r, offset, "a compressed record is damaged");
	return rc;
}

uint64_t seam_pd_bytes_behind(uint32_t type, struct span s)
{
	uint64_t n64;
	uint32_t n32;

	span_take(&s, 8);
	if (type == PD_AUXTRACE && span_u64(&s, &n64))
		return n64;
	if (type == PD_HEADER_TRACING_DATA && span_u32(&s, &n32))
		return ((uint64_t)n32 + 7) / 8 * 8;
	return 0;
}

/* What the reader's tables are to point to, of a record with what is behind it:
 * a stream's does not stay. Return: false: there is no room. */
static bool kept(struct seam_pd_reader *r, struct span *s, size_t behind)
{
	if (r->stream)
		s->p = seam_pd_stream_keep(r, s->p, s->left + behind);
	return s->p;
}

/* Of a pipe; it lies behind the record. */
static void tracing_data(struct seam_pd_reader *r, struct span s)
{
	const uint8_t *behind = s.p + s.left, *end = r->file + r->size;
	size_t left = (size_t)(end - behind);
	uint64_t size = seam_pd_bytes_behind(PD_HEADER_TRACING_DATA, s);

	/* Not in what was decompressed. */
	if (behind < r->file || behind > end || size > left)
		return;
	if (!kept(r, &s, (size_t)size))
		return;
	r->info.tracing = s.p + s.left;
	r->info.tracing_len = (size_t)size;
}

/* Return: 0; -EBADMSG, -EFBIG: reading ends here; -ENOMEM. */
static int user_record(struct seam_pd_reader *r, uint32_t type, struct span s,
		       int depth)
{
	int rc = 0;

	switch (type) {
	case PD_HEADER_ATTR:
		rc = header_attr(r, s);
		break;
	case PD_EVENT_UPDATE:
		event_update(r, s);
		break;
	case PD_HEADER_FEATURE:
		if (kept(r, &s, 0))
			header_feature(r, s);
		break;
	case PD_HEADER_TRACING_DATA:
		tracing_data(r, s);
		break;
	case PD_HEADER_BUILD_ID:
		if (kept(r, &s, 0))
			seam_pd_add_build_id(r, s);
		break;
	case PD_FINISHED_ROUND:
		if (r->stream)
			rc = seam_pd_stream_round(r);
		break;
	case PD_COMPRESSED:
	case PD_COMPRESSED2:
		/* Compressed in compressed would be a way to recurse. */
		rc = depth ? -EBADMSG
			   : compressed_record(r, type, s, offset_of(r, s.p));
		break;
	}
	count_type(r, type);
	return rc;
}

/* Consumes whole records; what is left is the beginning of one. */
static int walk(struct seam_pd_reader *r, struct span *data, int depth)
{
	struct perf_event_header h;

	while (data->left >= sizeof(h)) {
		const uint8_t *rec = data->p;
		struct span s;
		int rc;

		if (!depth)
			seam_pd_bring(r, rec);
		h = pd_record_header(rec, r->swap);
		if (h.size < sizeof(h))
			return -EBADMSG;
		if (h.size > data->left)
			return 0;
		s = pd_span(r, span_take(data, h.size), h.size);
		/* Stack copies are mostly of one size: the one behind the next
		 * is looked for where it would begin then. */
		if (h.size < data->left)
			pd_prefetch_record(data->p + h.size);
		seam_pd_touch(r, h.size);
		if (h.type < PD_USER_RECORD_FIRST) {
			rc = kernel_record(r, rec, h.type);
		} else {
			uint64_t behind = seam_pd_bytes_behind(h.type, s);

			if (behind > data->left && !depth) {
				data->left += (size_t)(data->p - rec);
				data->p = rec;
				return 0;
			}
			rc = user_record(r, h.type, s, depth);
			if (!rc && depth)
				r->zstd->behind = behind;
			if (!rc && depth)
				pass_behind(r->zstd, data);
			else if (!rc)
				span_take(data, behind);
		}
		if (rc) {
			data->p = rec;
			return rc;
		}
	}
	return 0;
}

int seam_pd_one(struct seam_pd_reader *r, const uint8_t *rec,
		struct perf_event_header h)
{
	return h.type < PD_USER_RECORD_FIRST
		       ? kernel_record(r, rec, h.type)
		       : user_record(r, h.type, pd_span(r, rec, h.size), 0);
}

void seam_pd_walk_end(struct seam_pd_reader *r, uint64_t at, int rc,
		      size_t left)
{
	bool rest = r->zstd && (r->zstd->rest_len || r->zstd->behind);
	const char *cut = r->part->cut;

	if (rc)
		seam_pd_set_damage(r, at, "a record is malformed");
	else if (*cut)
		seam_pd_set_damage(r, at, "%s%s", cut,
				   left || rest ? "; the last record is cut"
						: "");
	else if (left)
		seam_pd_set_damage(r, at, "the data ends inside a record");
	else if (rest)
		seam_pd_set_damage(r, at,
				   "the compressed data ends inside a record");
	seam_pd_inflate_free(r->zstd); /* each part has a stream of its own */
	r->zstd = NULL;
}

int seam_pd_walk(struct seam_pd_reader *r, struct span data)
{
	struct pd_part *part = &r->parts[part_number(r)];
	const uint8_t *begin = data.p;
	uint64_t at;
	int rc;

	seam_pd_bring_begin(r, begin);
	rc = walk(r, &data, 0);
	seam_pd_bring_end(r);
	at = data.p ? offset_of(r, data.p) : 0;
	if (begin) {
		part->begin = (size_t)(begin - part->p);
		part->walked = (size_t)(data.p - begin);
	}
	if (rc == -ENOMEM)
		return rc;
	seam_pd_walk_end(r, at, rc, data.left);
	return 0;
}
