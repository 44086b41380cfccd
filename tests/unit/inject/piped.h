/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A pipe's recording with all that pipes alone have in records, laid out byte
 * by byte, in either byte order. */
#ifndef SEAM_TESTS_PIPED_H
#define SEAM_TESTS_PIPED_H

#include "perfdata/format.h"
#include "tests/unit/perfdata/recording.h"

#define TYPE                                                                   \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |           \
	 PERF_SAMPLE_TIME)
#define LAST_FEATURE 35 /* a mark of perf 7.3's: it knows none such */
#define PATH "/bin/of-table"

struct bytes {
	uint8_t b[8192];
	size_t n;
	bool swap; /* the byte order is the other one */
};

static inline void raw(struct bytes *o, const void *p, size_t len)
{
	assert_true(len <= sizeof(o->b) - o->n);
	memcpy(o->b + o->n, p, len);
	o->n += len;
}

static inline void u16(struct bytes *o, uint16_t v)
{
	v = o->swap ? __builtin_bswap16(v) : v;
	raw(o, &v, sizeof(v));
}

static inline void u32(struct bytes *o, uint32_t v)
{
	v = o->swap ? __builtin_bswap32(v) : v;
	raw(o, &v, sizeof(v));
}

static inline void u64(struct bytes *o, uint64_t v)
{
	v = o->swap ? __builtin_bswap64(v) : v;
	raw(o, &v, sizeof(v));
}

static inline void text(struct bytes *o, const char *s)
{
	char padded[64] = "";

	memcpy(padded, s, strlen(s));
	raw(o, padded, sizeof(padded));
}

static inline void header(struct bytes *o, uint32_t type, size_t size)
{
	u32(o, type);
	u16(o, 0);
	u16(o, (uint16_t)size);
}

/* size: that it says and has; 0: it says none. */
static inline void add_attr(struct bytes *o, uint32_t size, uint64_t last,
			    uint64_t id, size_t n_ids)
{
	size_t has = size ? size : PERF_ATTR_SIZE_VER0, at;

	header(o, PD_HEADER_ATTR, 8 + has + 8 * n_ids);
	at = o->n;
	u32(o, PERF_TYPE_SOFTWARE);
	u32(o, size);
	u64(o, id); /* config */
	u64(o, 4000);
	u64(o, TYPE);
	u64(o, 0);
	/* sample_id_all, bit 18. */
	u64(o, o->swap ? 1ULL << (40 + 5) : 1ULL << 18);
	while (o->n - at < has - 8)
		u64(o, 0);
	u64(o, last);
	for (size_t i = 0; i < n_ids; i++)
		u64(o, id + i);
}

static inline void add_name(struct bytes *o, uint64_t type, uint64_t id,
			    const char *name)
{
	header(o, PD_EVENT_UPDATE, 24 + 64);
	u64(o, type);
	u64(o, id);
	text(o, name);
}

static inline void add_feature(struct bytes *o, unsigned bit, const char *s)
{
	header(o, PD_HEADER_FEATURE, 16 + 8 + (s ? 64 : 0));
	u64(o, bit);
	u32(o, s ? 64 : 2);
	if (s)
		text(o, s);
	u32(o, 0);
}

static inline void add_build_id(struct bytes *o, const char *path,
				uint8_t first)
{
	uint8_t id[24] = {first, 2, 3};

	header(o, PD_HEADER_BUILD_ID, 36 + 64);
	u32(o, (uint32_t)-1);
	raw(o, id, sizeof(id));
	text(o, path);
}

static inline void add_sample(struct bytes *o, uint64_t id, uint64_t time_ns)
{
	header(o, PERF_RECORD_SAMPLE, 40);
	u64(o, id);
	u64(o, 0x401000);
	u32(o, 5);
	u32(o, 6);
	u64(o, time_ns);
}

static inline void add_comm(struct bytes *o, uint64_t id, uint64_t time_ns)
{
	header(o, PERF_RECORD_COMM, 48);
	u32(o, 5);
	u32(o, 6);
	raw(o, "program", 8);
	u32(o, 5);
	u32(o, 6);
	u64(o, time_ns);
	u64(o, id);
}

static inline void add_tracing(struct bytes *o)
{
	static const uint8_t data[24] = "what lies behind it";

	header(o, PD_HEADER_TRACING_DATA, 12);
	u32(o, 20);
	raw(o, data, sizeof(data));
}

static inline void add_unknown(struct bytes *o)
{
	header(o, 99, 16);
	u64(o, 4711);
}

/* Its attributes are long as perf 7.3.4's, short, and as old as can be. */
static inline void begin(struct bytes *o, bool swap)
{
	memset(o, 0, sizeof(*o));
	o->swap = swap;
	u64(o, PD_MAGIC);
	u64(o, PD_PIPE_HEADER_SIZE);
	add_attr(o, 144, 0, 100, 2);
	add_attr(o, 128, 7, 200, 1);
	add_attr(o, 0, 0, 300, 0);
	add_attr(o, 72, 9, 400, 3);
}

static inline void add_data(struct bytes *o)
{
	add_name(o, 0, 100, "its unit");
	add_feature(o, PD_FEAT_HOSTNAME, "a host");
	add_feature(o, PD_FEAT_OSRELEASE, "6.18");
	add_feature(o, PD_FEAT_NRCPUS, NULL);
	add_feature(o, PD_FEAT_COMPRESSED, "at one time");
	header(o, PD_HEADER_FEATURE, 16);
	u64(o, LAST_FEATURE);
	add_tracing(o);
	add_comm(o, 200, 1000);
	add_build_id(o, PATH, 1);
	add_sample(o, 201, 1400); /* of no event: it is left out */
	add_sample(o, 200, 1300);
	add_unknown(o);
	header(o, PD_FINISHED_ROUND, 8);
	add_sample(o, 402, 1200);
	add_build_id(o, "/bin/other", 9);
	add_build_id(o, PATH, 4); /* the last one counts */
	add_sample(o, 101, 1100);
}

static inline void whole(struct bytes *o, bool swap)
{
	begin(o, swap);
	add_name(o, 2, 100, "first");
	add_name(o, 2, 200, "");
	add_name(o, 2, 200, "second");
	add_name(o, 2, 401, "fourth");
	add_data(o);
}

#endif
