/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A recording as a file and as a pipe, compressed or not, of which it is known
 * where its records are; and what the reader, by file and by pipe, has to say
 * of it when it is cut off or damaged. */
#ifndef SEAM_TESTS_MADE_H
#define SEAM_TESTS_MADE_H

#include <errno.h>
#include <zstd.h>

#include "perfdata/format.h"
#include "perfdata/stream.h"
#include "recording.h"

#define RECORDS 42 /* that are used, in each recording */
#define MARKS_MAX 256

/* A recording and where its records are. */
struct made {
	uint8_t *p;
	size_t size;
	size_t attrs_end; /* before, it is no recording */
	size_t begin, end; /* of its data; a file has more behind it */
	bool is_pipe;
	/* Where records begin, the last one where data ends; and how many that
	 * are used lie before, also in compressed ones. */
	size_t marks[MARKS_MAX];
	int64_t used[MARKS_MAX];
	size_t n;
};

static inline bool is_used(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_MMAP2 ||
	       type == SEAM_RECORD_CALLCHAIN_DEFERRED;
}

/* How many of the whole records are used. */
static inline int64_t used_in(const uint8_t *p, size_t size, size_t *ret_rest)
{
	struct perf_event_header h;
	int64_t n = 0;

	while (size >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		if (h.size > size)
			break;
		n += is_used(h.type);
		p += h.size;
		size -= h.size;
	}
	*ret_rest = size;
	return n;
}

/* Decompressed apart from the reader, and all of it anew each time. */
struct inflated {
	ZSTD_DStream *z;
	uint8_t p[1 << 16];
	size_t len;
};

static inline void inflate(struct inflated *f, const uint8_t *p, size_t size)
{
	ZSTD_inBuffer in = {p, size, 0};
	ZSTD_outBuffer out = {f->p, sizeof(f->p), f->len};

	while (in.pos < in.size)
		assert_false(
			ZSTD_isError(ZSTD_decompressStream(f->z, &out, &in)));
	f->len = out.pos;
}

static inline void mark(struct made *m)
{
	static struct inflated f;
	size_t at = m->begin, rest;
	int64_t plain = 0;

	f.z = ZSTD_createDStream();
	f.len = 0;
	while (at < m->end) {
		struct perf_event_header h;

		assert_true(m->n < MARKS_MAX - 1);
		m->marks[m->n] = at;
		m->used[m->n++] = plain + used_in(f.p, f.len, &rest);
		memcpy(&h, m->p + at, sizeof(h));
		if (h.type == PD_COMPRESSED)
			inflate(&f, m->p + at + 8, h.size - 8u);
		plain += is_used(h.type);
		at += h.size;
	}
	assert_int_equal(at, m->end);
	m->marks[m->n] = at;
	m->used[m->n] = plain + used_in(f.p, f.len, &rest);
	assert_int_equal(m->used[m->n], RECORDS);
	assert_int_equal(rest, 0);
	ZSTD_freeDStream(f.z);
}

static inline struct made make_file(int zstd)
{
	struct made m = {.is_pipe = false};
	struct seam_pd_writer *w;
	struct pd_header h;
	struct folder f;

	folder_make(&f);
	w = open_writer(f.file, zstd);
	put_comm(w, 5, 100, "prog", true);
	put_map(w, 5, 110, 0x400000, 0x1000, "/bin/prog");
	for (uint64_t i = 1; i <= 20; i++) {
		put_sample(w, 5, 1000 * i, i);
		put_stack(w, 5, 1000 * i + 10, i, 0x400010, 1, 0);
		if (i % 5 == 0)
			assert_int_equal(seam_pd_flush(w), 0);
	}
	assert_int_equal(seam_pd_writer_close(w), 0);
	m.size = slurp_file(f.file, &m.p);
	folder_remove(&f);
	memcpy(&h, m.p, sizeof(h));
	m.attrs_end = h.attrs.offset + h.attrs.size;
	m.begin = h.data.offset;
	m.end = h.data.offset + h.data.size;
	mark(&m);
	return m;
}

static inline size_t put_bytes(uint8_t *to, size_t at, const void *p,
			       size_t size)
{
	memcpy(to + at, p, size);
	return at + size;
}

/* The same records as a pipe's, behind its attributes as records. */
static inline struct made make_pipe(int zstd)
{
	struct made f = make_file(zstd), m = {.is_pipe = true};
	const uint64_t front[] = {PD_MAGIC, PD_PIPE_HEADER_SIZE};
	struct pd_header h;
	size_t size;

	memcpy(&h, f.p, sizeof(h));
	size = h.attr_size - sizeof(struct pd_section);
	m.p = malloc(f.size + 4096);
	assert_non_null(m.p);
	m.begin = put_bytes(m.p, 0, front, sizeof(front));
	m.attrs_end = m.end = m.begin;
	for (size_t i = 0; i < h.attrs.size / h.attr_size; i++) {
		const uint8_t *attr = f.p + h.attrs.offset + i * h.attr_size;
		struct perf_event_header rec = {PD_HEADER_ATTR, 0, 0};
		struct pd_section ids;

		memcpy(&ids, attr + size, sizeof(ids));
		rec.size = (uint16_t)(sizeof(rec) + size + ids.size);
		m.end = put_bytes(m.p, m.end, &rec, sizeof(rec));
		m.end = put_bytes(m.p, m.end, attr, size);
		m.end = put_bytes(m.p, m.end, f.p + ids.offset, ids.size);
	}
	m.end = put_bytes(m.p, m.end, f.p + f.begin, f.end - f.begin);
	m.size = m.end;
	free(f.p);
	mark(&m);
	return m;
}

static inline void each_kind(void (*check)(struct made *m))
{
	for (int zstd = 0; zstd < 2; zstd++)
		for (int pipe = 0; pipe < 2; pipe++) {
			struct made m =
				pipe ? make_pipe(zstd) : make_file(zstd);

			check(&m);
			free(m.p);
		}
}

/* Return: records, or -errno. */
static inline int64_t count_of(struct seam_pd_reader *r,
			       struct seam_pd_damage *ret)
{
	int64_t n = (int64_t)seam_pd_n_records(r);
	struct seam_pd_rec rec;

	for (int64_t i = 0; i < n; i++)
		seam_pd_record(r, (size_t)i, &rec);
	*ret = *seam_pd_damage(r);
	seam_pd_close(r);
	return n;
}

/* Reads a copy that ends where its allocation does. */
static inline int64_t count(const uint8_t *data, size_t size,
			    struct seam_pd_damage *ret)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	int64_t n;

	assert_non_null(copy);
	memcpy(copy, data, size);
	n = seam_pd_open_mem(copy, size, &r, &err);
	if (n)
		assert_true(err.reason[0] && err.where[0]);
	else
		n = count_of(r, ret);
	free(copy);
	return n;
}

/* The same by a pipe that is read while it comes. It holds all of it. */
static inline int64_t count_stream(const uint8_t *data, size_t size,
				   struct seam_pd_damage *ret)
{
	struct seam_pd_stream_opts opts = {.window_ns = UINT64_MAX};
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	int fds[2];
	int64_t n;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], data, size), size);
	close(fds[1]);
	opts.fd = fds[0];
	n = seam_pd_open_stream(&opts, &r, &err);
	while (!n && seam_pd_is_stream(r) && (n = seam_pd_stream_more(r)) > 0)
		n = 0;
	if (!n)
		n = count_of(r, ret);
	close(fds[0]);
	return n;
}

/* Where and why reading stops, and how many records there are before. */
struct stop {
	int64_t n;
	size_t offset;
	const char *reason; /* NULL: nothing is damaged */
};

static inline void expect(const struct made *m, size_t size,
			  const struct stop *stop)
{
	for (int stream = 0; stream < 1 + m->is_pipe; stream++) {
		struct seam_pd_damage d = {0};

		assert_int_equal(stream ? count_stream(m->p, size, &d)
					: count(m->p, size, &d),
				 stop->n);
		assert_int_equal(d.n_malformed, 0);
		assert_int_equal(d.damaged, stop->reason != NULL);
		if (!stop->reason)
			continue;
		assert_int_equal(d.err.offset, stop->offset);
		assert_string_equal(d.err.reason, stop->reason);
		assert_string_equal(d.err.where, "data");
	}
}

#endif
