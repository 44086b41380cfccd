// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The part of the file that never changes: header, attributes, ids and the
 * bodies of the features, which so need not be repeated behind the data;
 * and the feature tables, which are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/uapi.h"
#include "perfdata/writer-priv.h"

#define NAME_ALIGN 64 /* perf pads its strings to this */
#define DATA_ALIGN 8

static const uint8_t zeros[NAME_ALIGN];

static void add_u32(struct pd_buf *b, uint32_t v)
{
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void add_u64(struct pd_buf *b, uint64_t v)
{
	seam_pd_buf_add(b, &v, sizeof(v));
}

static void align(struct pd_buf *b, size_t to)
{
	seam_pd_buf_add(b, zeros, (to - b->len % to) % to);
}

/* A part of from, which may be b itself, and moves as it grows then. */
static void add_copy(struct pd_buf *b, const struct pd_buf *from,
		     struct pd_section at)
{
	uint8_t *copy = malloc(at.size);

	if (copy)
		memcpy(copy, from->p + at.offset, at.size);
	else
		b->err = -ENOMEM;
	seam_pd_buf_add(b, copy, at.size);
	free(copy);
}

static void add_string(struct pd_buf *b, const char *s)
{
	size_t len = strlen(s) + 1;
	size_t pad = (NAME_ALIGN - len % NAME_ALIGN) % NAME_ALIGN;

	add_u32(b, (uint32_t)(len + pad));
	seam_pd_buf_add(b, s, len);
	seam_pd_buf_add(b, zeros, pad);
}

/* The attribute as the file has it; see struct seam_pd_event. */
void seam_pd_add_attr(struct pd_buf *b, const struct seam_pd_event *ev)
{
	union {
		struct perf_event_attr attr;
		uint8_t bytes[SEAM_ATTR_SIZE];
	} u = {.attr = ev->attr};
	uint64_t flags;

	u.attr.size = SEAM_ATTR_SIZE;
	u.attr.sample_type = SEAM_PD_SAMPLE_TYPE |
			     (ev->attr.sample_type &
			      (PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER));
	u.attr.sample_id_all = 1;
	u.attr.use_clockid = 1;
	u.attr.clockid = CLOCK_MONOTONIC;
	memcpy(&flags, u.bytes + SEAM_ATTR_FLAGS_OFFSET, sizeof(flags));
	flags |= 1ULL << SEAM_ATTR_DEFER_CALLCHAIN;
	memcpy(u.bytes + SEAM_ATTR_FLAGS_OFFSET, &flags, sizeof(flags));
	seam_pd_buf_add(b, u.bytes, SEAM_ATTR_SIZE);
}

static void add_attrs(struct seam_pd_writer *w, const struct seam_pd_opts *o,
		      struct pd_buf *b)
{
	uint64_t ids = b->len;

	for (size_t i = 0; i < o->n_events; i++)
		seam_pd_buf_add(b, o->events[i].ids, 8 * o->events[i].n_ids);
	w->header.attr_size = SEAM_ATTR_SIZE + sizeof(struct pd_section);
	w->header.attrs.offset = b->len;
	w->header.attrs.size = o->n_events * w->header.attr_size;
	for (size_t i = 0; i < o->n_events; i++) {
		seam_pd_add_attr(b, &o->events[i]);
		add_u64(b, ids);
		add_u64(b, 8 * o->events[i].n_ids);
		ids += 8 * o->events[i].n_ids;
	}
}

static void body_uname(struct pd_buf *b, unsigned bit)
{
	struct utsname u;

	if (uname(&u))
		memset(&u, 0, sizeof(u));
	add_string(b, bit == PD_FEAT_HOSTNAME	 ? u.nodename
		      : bit == PD_FEAT_OSRELEASE ? u.release
						 : u.machine);
}

static void body_nrcpus(struct pd_buf *b)
{
	long conf = sysconf(_SC_NPROCESSORS_CONF);
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	add_u32(b, conf > 0 ? (uint32_t)conf : 1);
	add_u32(b, online > 0 ? (uint32_t)online : 1);
}

static void body_cmdline(struct pd_buf *b, const struct seam_pd_opts *o)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	add_u32(b, (uint32_t)o->argc + 1);
	add_string(b, self);
	for (int i = 0; i < o->argc; i++)
		add_string(b, o->argv[i]);
}

static void body_event_desc(struct pd_buf *b, const struct seam_pd_opts *o)
{
	add_u32(b, (uint32_t)o->n_events);
	add_u32(b, SEAM_ATTR_SIZE);
	for (size_t i = 0; i < o->n_events; i++) {
		const struct seam_pd_event *ev = &o->events[i];

		seam_pd_add_attr(b, ev);
		add_u32(b, (uint32_t)ev->n_ids);
		add_string(b, ev->name ? ev->name : "unknown");
		seam_pd_buf_add(b, ev->ids, 8 * ev->n_ids);
	}
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void body_clockid(struct pd_buf *b)
{
	struct timespec res = {.tv_nsec = 1};

	clock_getres(CLOCK_MONOTONIC, &res);
	add_u64(b, (uint64_t)res.tv_nsec);
}

static void body_clock_data(struct pd_buf *b)
{
	add_u32(b, 1); /* version */
	add_u32(b, CLOCK_MONOTONIC);
	add_u64(b, clock_ns(CLOCK_REALTIME));
	add_u64(b, clock_ns(CLOCK_MONOTONIC));
}

static void body_compressed(struct pd_buf *b, int level)
{
	add_u32(b, 1); /* version */
	add_u32(b, 1); /* zstd */
	add_u32(b, (uint32_t)level);
	add_u32(b, 1); /* ratio: not known, and only ever printed */
	add_u32(b, 2 * PD_COMPRESS_CHUNK);
}

/* perf has no place for the engine. */
static void body_version(struct pd_buf *b, const char *engine)
{
	char text[NAME_ALIGN];

	snprintf(text, sizeof(text), "seam " SEAM_VERSION "%s%s",
		 engine ? ", engine " : "", engine ? engine : "");
	add_string(b, text);
}

static void add_body(struct pd_buf *b, unsigned bit,
		     const struct seam_pd_opts *o)
{
	switch (bit) {
	case PD_FEAT_TRACING_DATA:
		seam_pd_tracing(o, b);
		break;
	case PD_FEAT_HOSTNAME:
	case PD_FEAT_OSRELEASE:
	case PD_FEAT_ARCH:
		body_uname(b, bit);
		break;
	case PD_FEAT_VERSION:
		body_version(b, o->engine);
		break;
	case PD_FEAT_NRCPUS:
		body_nrcpus(b);
		break;
	case PD_FEAT_CMDLINE:
		body_cmdline(b, o);
		break;
	case PD_FEAT_EVENT_DESC:
		body_event_desc(b, o);
		break;
	case PD_FEAT_CLOCKID:
		body_clockid(b);
		break;
	case PD_FEAT_COMPRESSED:
		body_compressed(b, o->zstd_level);
		break;
	case PD_FEAT_CLOCK_DATA:
		body_clock_data(b);
		break;
	}
}

static const uint8_t feature_bits[] = {
	PD_FEAT_TRACING_DATA, PD_FEAT_HOSTNAME,	  PD_FEAT_OSRELEASE,
	PD_FEAT_VERSION,      PD_FEAT_ARCH,	  PD_FEAT_NRCPUS,
	PD_FEAT_CMDLINE,      PD_FEAT_EVENT_DESC, PD_FEAT_SAMPLE_TIME,
	PD_FEAT_CLOCKID,      PD_FEAT_COMPRESSED, PD_FEAT_CLOCK_DATA,
};
static_assert(sizeof(feature_bits) <= PD_MAX_FEATS, "feats holds them");

void seam_pd_features(struct seam_pd_writer *w, const struct seam_pd_opts *o,
		      struct pd_buf *b)
{
	for (size_t i = 0; i < sizeof(feature_bits); i++) {
		unsigned bit = feature_bits[i];
		struct pd_feat_entry *f = &w->feats[w->n_feats];

		if ((bit == PD_FEAT_COMPRESSED && !o->zstd_level) ||
		    (bit == PD_FEAT_TRACING_DATA && !seam_pd_has_tracing(o)))
			continue;
		f->bit = bit;
		f->at.offset = b->len;
		add_body(b, bit, o);
		f->at.size = b->len - f->at.offset;
		w->header.features[0] |= 1ULL << bit;
		w->n_feats++;
		align(b, DATA_ALIGN);
	}
}

void seam_pd_feature_records(const struct seam_pd_writer *w,
			     const struct pd_buf *from, struct pd_buf *b)
{
	for (size_t i = 0; i < w->n_feats; i++) {
		const struct pd_feat_entry *f = &w->feats[i];
		size_t size = 16 + (f->at.size + 7) / 8 * 8;
		struct perf_event_header h = {
			.type = PD_HEADER_FEATURE,
			.size = (uint16_t)size,
		};

		if (!f->at.size || size > UINT16_MAX || b->err || from->err ||
		    f->bit == PD_FEAT_TRACING_DATA)
			continue;
		seam_pd_buf_add(b, &h, sizeof(h));
		add_u64(b, f->bit);
		add_copy(b, from, f->at);
		align(b, DATA_ALIGN);
	}
}

/*
 * The data begins with the features as records, which perf reads as well.
 * They serve the moments without a feature table, see publish(). What does
 * not fit a record is left to the table, and so is the description of
 * tracepoints, which perf would want from elsewhere.
 */
static void begin_data(struct seam_pd_writer *w, struct pd_buf *b)
{
	w->header.data.offset = b->len;
	seam_pd_feature_records(w, b, b);
	w->header.data.size = b->len - w->header.data.offset;
}

int seam_pd_front(struct seam_pd_writer *w, const struct seam_pd_opts *opts,
		  struct pd_buf *ret_front)
{
	struct pd_buf *b = ret_front;

	w->header.magic = PD_MAGIC;
	w->header.size = sizeof(w->header);
	seam_pd_buf_add(b, &w->header, sizeof(w->header));
	add_attrs(w, opts, b);
	seam_pd_features(w, opts, b);
	begin_data(w, b);
	seam_pd_feature_table(w, b->len, b);
	if (b->err)
		return b->err;
	memcpy(b->p, &w->header, sizeof(w->header));
	return 0;
}

void seam_pd_feature_table(const struct seam_pd_writer *w, uint64_t at,
			   struct pd_buf *out)
{
	struct pd_section times = {at + w->n_feats * sizeof(times), 16};

	for (size_t i = 0; i < w->n_feats; i++) {
		const struct pd_feat_entry *f = &w->feats[i];

		seam_pd_buf_add(out,
				f->bit == PD_FEAT_SAMPLE_TIME ? &times : &f->at,
				sizeof(times));
	}
	add_u64(out, w->first_ns);
	add_u64(out, w->last_ns);
}
