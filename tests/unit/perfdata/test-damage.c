// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what is damaged inside compressed records, or says more than it
 * holds, is told by where it is, and all before it, or beside it, is read. */
#include "made.h"

static uint32_t type_at(const struct made *m, size_t i)
{
	struct perf_event_header h;

	memcpy(&h, m->p + m->marks[i], sizeof(h));
	return h.type;
}

/* A block of a kind that is none, in one compressed record after the other. The
 * first one's lies behind the frame's header of 6 bytes. */
static void bad_block_anywhere(struct made *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct stop stop = {m->used[i], m->marks[i],
				    "a compressed record is damaged"};
		size_t at = m->marks[i] + 8 + (n ? 0 : 6);
		uint8_t was = m->p[at];

		if (type_at(m, i) != PD_COMPRESSED)
			continue;
		n++;
		m->p[at] |= 3 << 1;
		expect(m, m->size, &stop);
		m->p[at] = was;
	}
	assert_true(n > 3);
}

static void test_bad_block(void **state)
{
	struct made m = make_file(1);

	(void)state;
	bad_block_anywhere(&m);
	free(m.p);
	m = make_pipe(1);
	bad_block_anywhere(&m);
	free(m.p);
}

/* The samples of a test that compresses them itself. */
struct plain {
	uint8_t p[4096];
	size_t n;
};

static void put_plain(struct plain *o, size_t times)
{
	const uint64_t sample[] = {
		PERF_RECORD_SAMPLE | (uint64_t)(16 << 16) << 32, 7};

	while (times--)
		o->n = put_bytes(o->p, o->n, sample, sizeof(sample));
}

/* A stream that has one compressed record, of a block for each of the parts of
 * what is plain that end there. */
static struct made make_blocks(const struct plain *plain, const size_t *ends,
			       size_t n, size_t *ret_blocks)
{
	const struct perf_event_attr attr = {.size = sizeof(attr),
					     .sample_type = PERF_SAMPLE_IP};
	struct perf_event_header h = {PD_HEADER_ATTR, 0,
				      sizeof(h) + sizeof(attr) + 8};
	const uint64_t front[] = {PD_MAGIC, PD_PIPE_HEADER_SIZE}, id = 100;
	struct made m = {.is_pipe = true, .p = calloc(1, 8192)};
	ZSTD_CStream *z = ZSTD_createCStream();
	ZSTD_outBuffer out;
	size_t from = 0;

	assert_true(m.p && z);
	m.end = put_bytes(m.p, 0, front, sizeof(front));
	m.end = put_bytes(m.p, m.end, &h, sizeof(h));
	m.end = put_bytes(m.p, m.end, &attr, sizeof(attr));
	m.end = put_bytes(m.p, m.end, &id, sizeof(id));
	m.begin = m.end;
	out = (ZSTD_outBuffer){m.p, 8192, m.begin + sizeof(h)};
	for (size_t i = 0; i < n; i++) {
		ZSTD_inBuffer in = {plain->p + from, ends[i] - from, 0};

		ret_blocks[i] = out.pos;
		assert_int_equal(
			ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush), 0);
		from = ends[i];
	}
	h = (struct perf_event_header){PD_COMPRESSED, 0,
				       (uint16_t)(out.pos - m.begin)};
	put_bytes(m.p, m.begin, &h, sizeof(h));
	m.size = m.end = out.pos;
	ZSTD_freeCStream(z);
	return m;
}

/* What was decompressed before the damage is read. */
static void test_second_block(void **state)
{
	struct plain plain = {.n = 0};
	size_t blocks[3], ends[3];
	struct stop stop = {0};
	struct made m;

	(void)state;
	put_plain(&plain, 30);
	ends[0] = 10 * 16;
	ends[1] = 15 * 16 + 8; /* inside a record */
	ends[2] = plain.n;
	m = make_blocks(&plain, ends, 3, blocks);
	stop.n = 30;
	expect(&m, m.size, &stop);
	stop = (struct stop){15, m.begin, "a compressed record is damaged"};
	m.p[blocks[2]] |= 3 << 1;
	expect(&m, m.size, &stop);
	stop.n = 10;
	m.p[blocks[1]] |= 3 << 1;
	expect(&m, m.size, &stop);
	free(m.p);
}

/* What is compressed is whole, and lies. */
static void test_inside(void **state)
{
	static const char cut[] = "the compressed data ends inside a record";
	struct plain plain = {.n = 0};
	struct seam_pd_damage d;
	struct stop stop;
	struct made m;
	size_t block;

	(void)state;
	put_plain(&plain, 20);
	plain.p[16 * 12 + 6] = 0; /* a size */
	m = make_blocks(&plain, &plain.n, 1, &block);
	stop = (struct stop){12, m.begin, "a compressed record is damaged"};
	expect(&m, m.size, &stop);
	free(m.p);

	plain.p[16 * 12 + 6] = 16;
	plain.n -= 4;
	m = make_blocks(&plain, &plain.n, 1, &block);
	stop = (struct stop){19, m.end, cut};
	expect(&m, m.size, &stop);
	free(m.p);

	plain.n += 4;
	plain.p[16 * 11 + 6] = 8; /* without its ip; what follows is ignored */
	plain.p[16 * 11 + 8] = 0x90; /* a record of a type that is none */
	plain.p[16 * 11 + 14] = 8;
	m = make_blocks(&plain, &plain.n, 1, &block);
	assert_int_equal(count(m.p, m.size, &d), 19);
	assert_false(d.damaged);
	assert_int_equal(d.n_malformed, 1);
	assert_int_equal(d.malformed_offset, m.begin);
	assert_string_equal(d.malformed_where, "data");
	free(m.p);
}

/* Records whose fields say more than they hold are left out; where the first
 * one is is said. */
static void fields_anywhere(struct made *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const uint64_t many = UINT32_MAX;
		size_t at = m->marks[i] + 8 + 8; /* behind a stack's cookie */
		uint64_t was;

		if (type_at(m, i) != SEAM_RECORD_CALLCHAIN_DEFERRED)
			continue;
		memcpy(&was, m->p + at, sizeof(was));
		put_bytes(m->p, at, &many, sizeof(many));
		for (int stream = 0; stream < 1 + m->is_pipe; stream++) {
			struct seam_pd_damage d;

			assert_int_equal(
				stream ? count_stream(m->p, m->size, &d)
				       : count(m->p, m->size, &d),
				RECORDS - 1);
			assert_false(d.damaged);
			assert_int_equal(d.n_malformed, 1);
			assert_int_equal(d.malformed_offset, m->marks[i]);
			assert_string_equal(d.malformed_where, "data");
		}
		put_bytes(m->p, at, &was, sizeof(was));
	}
}

static void test_fields(void **state)
{
	(void)state;
	each_kind(fields_anywhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_block),
		cmocka_unit_test(test_second_block),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
