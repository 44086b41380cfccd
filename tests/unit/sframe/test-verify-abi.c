// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: sections of each version and ABI are accepted as they are, and
 * refused for what that version or ABI does not allow, by offset.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/err.h"
#include "sframe/verify.h"
#include "tests/unit/core/section.h"

#define BE 1
#define LE 2
#define AMD64 3
#define S390X 4

/* Where the first function's rows are, in sections with one. */
#define ROWS1 (28 + 17)
#define ROWS2 (28 + 20)
#define ROWS3 (28 + 16 + 5)

struct sample {
	const char *what;
	uint8_t version, abi, info, info2, rep_size;
	uint8_t num_rows, size;
	uint8_t rows[40];
	/* What is said about it; 0: nothing. */
	int code;
	uint64_t offset;
};

#define ROW SEAM_SFRAME_ROW
#define FUNC SEAM_SFRAME_FUNC

/* clang-format off */
static const struct sample samples[] = {
	{"V1", 1, AMD64, 0, 0, 0, 3, 11,
	 {0, 3, 8, 1, 5, 16, 0xf0, 4, 4, 16, 0xf0}, 0, 0},
	{"V2", 2, AMD64, 0, 0, 0, 2, 5, {0, 3, 8, 1, 0}, 0, 0},
	{"V2 blocks", 2, AMD64, 0x10, 0, 16, 2, 6, {0, 3, 8, 11, 3, 16}, 0, 0},
	{"V1 blocks", 1, AMD64, 0x10, 0, 0, 2, 6, {0, 3, 8, 11, 3, 16}, 0, 0},
	{"V1 outermost", 1, AMD64, 0, 0, 0, 2, 5, {0, 3, 8, 1, 0},
	 ROW, ROWS1 + 3},
	{"V1 signal bit", 1, AMD64, 0x80, 0, 0, 1, 3, {0, 3, 8}, FUNC, 28 + 16},
	{"V2 signal bit", 2, AMD64, 0x80, 0, 0, 1, 3, {0, 3, 8}, FUNC, 28 + 16},
	{"V2 unused bit", 2, LE, 0x40, 0, 0, 1, 3, {0, 3, 8}, FUNC, 28 + 16},
	{"V2 key of amd64", 2, AMD64, 0x20, 0, 0, 1, 3, {0, 3, 8},
	 FUNC, 28 + 16},
	{"V2 key", 2, LE, 0x20, 0, 0, 1, 3, {0, 0x83, 8}, 0, 0},
	{"V3 key", 3, BE, 0x20, 0, 0, 1, 3, {0, 0x83, 8}, 0, 0},
	{"V2 start size", 2, BE, 3, 0, 0, 1, 3, {0, 3, 8}, FUNC, 28 + 16},
	{"V2 block size 0", 2, AMD64, 0x10, 0, 0, 1, 3, {0, 3, 8},
	 FUNC, 28 + 17},
	{"V2 block size", 2, AMD64, 0x10, 0, 65, 1, 3, {0, 3, 8},
	 FUNC, 28 + 17},
	{"V2 no blocks", 2, AMD64, 0, 0, 16, 1, 3, {0, 3, 8}, 0, 0},
	{"V1 row past function", 1, AMD64, 0, 0, 0, 2, 6,
	 {0, 3, 8, 65, 3, 16}, ROW, ROWS1 + 3},
	{"V1 row at its end", 1, AMD64, 0, 0, 0, 2, 6,
	 {0, 3, 8, 64, 3, 16}, 0, 0},
	{"V2 rows past the end", 2, AMD64, 0, 0, 0, 2, 5, {0, 3, 8, 1, 3},
	 ROW, ROWS2 + 3},
	{"V2 more rows than bytes", 2, AMD64, 0, 0, 0, 9, 3, {0, 3, 8},
	 FUNC, 28 + 12},
	{"V2 word size", 2, AMD64, 0, 0, 0, 1, 3, {0, 0x63, 8}, ROW, ROWS2 + 1},
	{"amd64 3 words", 2, AMD64, 0, 0, 0, 1, 5, {0, 7, 8, 0xf8, 0xf0},
	 ROW, ROWS2 + 4},
	{"amd64 mangled", 1, AMD64, 0, 0, 0, 1, 3, {0, 0x83, 8},
	 ROW, ROWS1 + 1},
	{"s390x mangled", 3, S390X, 0, 0, 0, 1, 3, {0, 0x83, 0},
	 ROW, ROWS3 + 1},
	{"aarch64 3 words", 1, BE, 0, 0, 0, 1, 5, {0, 0x87, 8, 0xf8, 0xf0},
	 0, 0},
	{"aarch64 4 words", 1, LE, 0, 0, 0, 1, 6, {0, 9, 8, 0xf8, 0xf0, 0},
	 ROW, ROWS1 + 5},
	{"s390x 3 words", 3, S390X, 0, 0, 0, 1, 5, {0, 7, 0, 0, 0xb8}, 0, 0},
	{"s390x 4 words", 3, S390X, 0, 0, 0, 1, 6, {0, 9, 0, 0, 0xb8, 0},
	 ROW, ROWS3 + 5},
	{"s390x registers", 2, S390X, 0, 0, 0, 1, 5, {0, 7, 0, 33, 63}, 0, 0},
	{"s390x register 32", 2, S390X, 0, 0, 0, 1, 5, {0, 7, 0, 33, 65},
	 ROW, ROWS2 + 4},
	{"s390x register below 0", 2, S390X, 0, 0, 0, 1, 5, {0, 7, 0, 0xff, 0},
	 ROW, ROWS2 + 3},
	{"s390x odd in V3", 3, S390X, 0, 0, 0, 1, 5, {0, 7, 0, 0xff, 65}, 0, 0},
	{"s390x cfa too large", 2, S390X, 0, 0, 0, 1, 6,
	 {0, 0x43, 0x10, 0, 0, 0}, ROW, ROWS2 + 2},
	{"s390x flex cfa too large", 3, S390X, 0, 1, 0, 1, 10,
	 {0, 0x44, 0, 0, 0, 0x79, 0x80, 0, 0, 0}, ROW, ROWS3 + 6},
	{"s390x flex", 3, S390X, 0, 1, 0, 2, 14,
	 {0, 0x0c, 0x79, 0x14, 2, 0xd0, 2, 0xb8, 4, 8, 0x79, 0, 0x81, 0},
	 0, 0},
	{"s390x flex f15", 3, S390X, 0, 1, 0, 1, 6, {4, 8, 0x79, 0, 0xf9, 0},
	 0, 0},
	{"s390x register 32, flex", 3, S390X, 0, 1, 0, 1, 10,
	 {4, 0x28, 0, 0x79, 0, 0, 1, 0x01, 0, 0}, ROW, ROWS3 + 6},
	{"aarch64 flex", 3, LE, 0, 1, 0, 1, 8,
	 {0, 0x8c, 0xf9, 16, 2, 0xf8, 2, 0xf0}, 0, 0},
	{"aarch64 register of no meaning", 3, LE, 0, 1, 0, 1, 22,
	 {0, 0x4a, 0xf9, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0,
	  0xfb, 0xff, 0xff, 0xff, 0, 0, 0, 0}, ROW, ROWS3 + 14},
	{"amd64 r31", 3, AMD64, 0, 1, 0, 1, 6, {0, 0x24, 0x89, 4, 8, 0}, 0, 0},
	{"amd64 xmm0", 3, AMD64, 0, 1, 0, 1, 4, {0, 0x04, 0x89, 8},
	 ROW, ROWS3 + 2},
	{"amd64 lone padding", 3, AMD64, 0, 1, 0, 1, 5, {0, 6, 0x39, 8, 0},
	 0, 0},
	{"flex type 2", 3, LE, 0, 2, 0, 1, 3, {0, 3, 8}, FUNC, ROWS3 - 2},
	{"seam's own type", 3, LE, 0, 31, 0, 1, 3, {0, 3, 8}, FUNC, ROWS3 - 2},
	{"no rows", 2, LE, 0, 0, 0, 0, 0, {0}, 0, 0},
	{"signal without rows", 3, LE, 0x80, 0, 0, 0, 0, {0}, 0, 0},
};
/* clang-format on */

static void make(const struct sample *t, struct section *s)
{
	struct func_in func = {
		.start = 0x1000,
		.size = 64,
		.num_rows = t->num_rows,
		.info = t->info,
		.info2 = t->info2,
		.rep_size = t->rep_size,
	};

	put_one(s, t->version, t->abi, &func, t->rows, t->size);
}

/* In a heap block of the exact size, so that a read behind it is seen. */
static int verify(const struct section *s,
		  const struct seam_sframe_limits *limits,
		  struct seam_errinfo *err)
{
	uint8_t *bytes = malloc(s->size);
	int r;

	assert_non_null(bytes);
	memcpy(bytes, s->bytes, s->size);
	memset(err, 0, sizeof(*err));
	r = seam_sframe_verify(bytes, s->size, limits, err);
	free(bytes);
	return r;
}

static void expect(const char *what, const struct section *s,
		   const struct seam_sframe_limits *limits, int code,
		   uint64_t offset)
{
	struct seam_errinfo err;
	int r = verify(s, limits, &err);

	if (r != (code ? -EINVAL : 0) || err.code != code ||
	    err.offset != offset || !code != !err.reason[0])
		fail_msg("%s: %d, %s at %lu (%s), not %s at %lu", what, r,
			 seam_err_name(err.code), (unsigned long)err.offset,
			 err.reason, seam_err_name(code),
			 (unsigned long)offset);
}

static void each_sample(void **state)
{
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		const struct sample *t = &samples[i];

		make(t, &s);
		expect(t->what, &s, NULL, t->code, t->offset);
	}
}

/* What is accepted reads without a fault; the reader refuses the rest where
 * it would not know what to make of it. */
static void reader_agrees(void **state)
{
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct seam_sframe sf;
		struct seam_rule rule;

		make(&samples[i], &s);
		assert_int_equal(seam_sframe_open(&sf, s.bytes, s.size), 0);
		for (uint64_t pc = 0xfff; pc <= 0x1041; pc++) {
			int err = seam_sframe_find(&sf, pc, &rule);

			if (!samples[i].code && err && err != SEAM_NO_RULE)
				fail_msg("%s: at %#lx: %s", samples[i].what,
					 (unsigned long)pc, seam_err_name(err));
		}
	}
}

static const struct func_in one_row = {
	.start = 0x1000, .size = 64, .num_rows = 1};
static const uint8_t row[] = {0, 3, 8};

static void headers(void **state)
{
	static const struct {
		int version, abi;
		uint16_t at;
		uint8_t value;
		int code;
	} cases[] = {
		{1, LE, 3, 0x04, SEAM_SFRAME_FLAGS}, /* V1 has no PCREL */
		{1, LE, 3, 0x02, 0}, /* every function keeps FP */
		{2, LE, 3, 0x07, 0},
		{2, LE, 3, 0x08, SEAM_SFRAME_FLAGS},
		{3, LE, 3, 0x07, SEAM_SFRAME_FLAGS},
		{3, LE, 3, 0x01, SEAM_SFRAME_FLAGS},
		{1, BE, 4, S390X, SEAM_SFRAME_ABI}, /* V1 has none */
		{2, BE, 4, S390X, 0},
		{2, BE, 4, LE, SEAM_SFRAME_ABI}, /* the other byte order */
		{2, LE, 4, BE, SEAM_SFRAME_ABI},
		{2, LE, 4, 5, SEAM_SFRAME_ABI},
		{2, LE, 5, 0xf0, SEAM_SFRAME_ABI},
		{2, LE, 6, 0xf8, SEAM_SFRAME_ABI},
		{2, AMD64, 6, 0, SEAM_SFRAME_ABI},
		{2, AMD64, 6, 0xf0, SEAM_SFRAME_ABI},
		{2, AMD64, 12, 7, 0}, /* the number of rows is only told */
	};
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		put_one(&s, cases[i].version, cases[i].abi, &one_row, row,
			sizeof(row));
		s.bytes[cases[i].at] = cases[i].value;
		expect("header", &s, NULL, cases[i].code,
		       cases[i].code ? cases[i].at : 0);
	}
	put_one(&s, 2, LE, &one_row, row, sizeof(row));
	s.bytes[28 + 18] = 1;
	expect("padding", &s, NULL, SEAM_SFRAME_FUNC, 28 + 18);
	put_one(&s, 2, LE, &one_row, row, sizeof(row));
	s.bytes[28 + 8] = 3;
	expect("rows at the end", &s, NULL, SEAM_SFRAME_FUNC, 28 + 8);
	s.bytes[28 + 12] = 0;
	expect("no rows at the end", &s, NULL, 0, 0);
	s.bytes[28 + 8] = 4;
	expect("no rows behind it", &s, NULL, SEAM_SFRAME_FUNC, 28 + 8);
}

/* Every length of every sample but the whole is refused. */
static void cut(void **state)
{
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		size_t size;

		make(&samples[i], &s);
		for (size = s.size; s.size-- > 1;)
			expect(samples[i].what, &s, NULL,
			       s.size < 28 ? SEAM_SFRAME_SHORT
					   : SEAM_SFRAME_LAYOUT,
			       s.size < 28     ? s.size
			       : s.size < size ? 16
					       : 0);
	}
}

static void limits(void **state)
{
	struct seam_sframe_limits kernel = {.flags = SEAM_SFRAME_VERIFY_KERNEL};
	struct seam_sframe_limits loader = {.flags = SEAM_SFRAME_VERIFY_LOADER};
	struct seam_sframe_limits strict = {.flags = SEAM_SFRAME_VERIFY_STRICT};
	struct seam_sframe_limits abi = {.abi = LE};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		int code = version < 3 ? SEAM_SFRAME_VERSION : 0;

		put_one(&s, version, AMD64, &one_row, row, sizeof(row));
		expect("kernel", &s, &kernel, code, code ? 2 : 0);
		expect("loader", &s, &loader, code, code ? 2 : 0);
		expect("strict", &s, &strict, 0, 0);
		expect("abi", &s, &abi, SEAM_SFRAME_ABI, 4);
		s.bytes[12]++;
		expect("strict", &s, &strict, SEAM_SFRAME_LAYOUT, 12);
	}
	put_one(&s, 3, LE, &one_row, row, sizeof(row));
	expect("kernel", &s, &kernel, SEAM_SFRAME_ABI, 4);
	expect("loader", &s, &loader, 0, 0);
	expect("abi", &s, &abi, 0, 0);
	s.bytes[12] = 0;
	expect("loader", &s, &loader, SEAM_SFRAME_LAYOUT, 12);
	put_header(&s, 3, 5, LE, 0, 1, 0);
	expect("empty", &s, NULL, 0, 0);
	expect("loader", &s, &loader, SEAM_SFRAME_LAYOUT, 8);
	put_one(&s, 3, LE, &one_row, row, sizeof(row));
	s.bytes[3] = 4;
	expect("unsorted", &s, NULL, 0, 0);
	expect("loader", &s, &loader, SEAM_SFRAME_FLAGS, 3);
}

/* Where an object file's functions are depends on what it is said to be. */
static void relocatable(void **state)
{
	struct seam_sframe_limits l = {
		.section_addr = 0x10000,
		.text_start = 0x11000 + 28,
		.text_end = 0x11040 + 28,
		.flags = SEAM_SFRAME_VERIFY_RELOCATABLE,
	};
	struct section s;

	(void)state;
	for (int version = 1; version <= 2; version++) {
		put_header(&s, version, 0, AMD64, 1, 1, sizeof(row));
		put_func(&s, version, &one_row);
		put_bytes(&s, row, sizeof(row));
		l.flags = SEAM_SFRAME_VERIFY_RELOCATABLE;
		expect("relocatable", &s, &l, 0, 0);
		l.flags = 0;
		expect("linked", &s, &l, SEAM_SFRAME_FUNC, 28);
		l.text_start -= 28;
		expect("linked", &s, &l, 0, 0);
		l.text_start += 28;
	}
}

/* Empty functions share their start with a neighbour, on either side. */
static void order(void **state)
{
	static const struct {
		int32_t start[3];
		uint32_t size[3];
		int bad, bad_loader; /* 1, 2: the function that is refused */
	} cases[] = {
		{{0x100, 0x108, 0x110}, {8, 8, 8}, 0, 0},
		{{0x100, 0x108, 0x108}, {8, 0, 8}, 0, 2},
		{{0x100, 0x108, 0x108}, {8, 8, 0}, 0, 2},
		{{-16, -8, 0x108}, {8, 8, 8}, 0, 0},
		{{0x100, 0x107, 0x110}, {8, 8, 8}, 1, 1},
		{{0x100, 0x104, 0x108}, {8, 0, 8}, 1, 1},
		{{0x100, 0x100, 0x104}, {8, 0, 8}, 2, 1},
		{{0x100, 0x110, 0x108}, {8, 8, 8}, 2, 2},
		{{0x100, -8, 0x108}, {8, 8, 8}, 1, 1},
	};
	struct seam_sframe_limits any = {.section_addr = 0x10000};
	struct seam_sframe_limits loader = {.section_addr = 0x10000,
					    .flags = SEAM_SFRAME_VERIFY_LOADER};
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int bad = cases[i].bad, bad_loader = cases[i].bad_loader;

		put_header(&s, 3, 5, AMD64, 3, 3, 8);
		for (int j = 0; j < 3; j++)
			put_func(&s, 3,
				 &(struct func_in){.start = cases[i].start[j] -
							    28 - 16 * j,
						   .size = cases[i].size[j]});
		put_bytes(&s, (const uint8_t[]){1, 0, 0, 0, 0, 0, 3, 8}, 8);
		expect("order", &s, &any, bad ? SEAM_SFRAME_ORDER : 0,
		       bad ? 28 + 16 * (uint64_t)bad : 0);
		expect("order", &s, &loader, bad_loader ? SEAM_SFRAME_ORDER : 0,
		       bad_loader ? 28 + 16 * (uint64_t)bad_loader : 0);
		s.bytes[3] = 4;
		expect("unsorted", &s, &any, 0, 0);
	}
}

/* 30,000 functions that share 255 rows would be 7 million of them: the work
 * ends where the section's bytes cannot hold so many. */
static void shared_rows(void **state)
{
	enum { FUNCS = 30000, ROWS = 15000, SIZE = 28 + FUNCS * 20 + 2 * ROWS };
	struct section head;
	struct seam_errinfo err;
	uint8_t *bytes = calloc(1, SIZE), *p = bytes + 28;

	(void)state;
	assert_non_null(bytes);
	put_header(&head, 2, 4, AMD64, FUNCS, 0, 2 * ROWS);
	memcpy(bytes, head.bytes, 28);
	for (uint32_t i = 0; i < FUNCS; i++, p += 20) {
		uint32_t fields[] = {256 * i, 255, 0, 255};

		memcpy(p, fields, sizeof(fields));
	}
	for (uint32_t i = 0; i < 255; i++)
		p[2 * i] = (uint8_t)i;
	assert_int_equal(seam_sframe_verify(bytes, SIZE, NULL, &err), -EINVAL);
	assert_int_equal(err.code, SEAM_SFRAME_FUNC);
	assert_int_equal(err.offset, 28 + ROWS / 255 * 20 + 12);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample), cmocka_unit_test(reader_agrees),
		cmocka_unit_test(headers),     cmocka_unit_test(cut),
		cmocka_unit_test(limits),      cmocka_unit_test(relocatable),
		cmocka_unit_test(order),       cmocka_unit_test(shared_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
