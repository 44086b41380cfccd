// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the SFrame builder writes the bytes that binutils' assembler
 * writes for the same rows, and whatever it writes reads back as the rules
 * that were given, by core's reader and by another.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/sframe-read.h"
#include "sframe/encode.h"
#include "sframe/verify.h"
#include "tests/unit/sframe/mini.h"

#define FP 6
#define SP 7
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct in_row {
	uint32_t off;
	struct seam_rule rule;
};

#define REG(r, o)                                                              \
	{                                                                      \
		.kind = SEAM_REG_OFF, .reg = (r), .off = (o)                   \
	}
#define MEM(r, o)                                                              \
	{                                                                      \
		.kind = SEAM_REG_DEREF, .reg = (r), .off = (o)                 \
	}
#define SLOT(o)                                                                \
	{                                                                      \
		.kind = SEAM_CFA_DEREF, .off = (o)                             \
	}
#define OUTERMOST                                                              \
	{                                                                      \
		.flags = SEAM_RULE_OUTERMOST                                   \
	}

static struct seam_sframe_builder *new_builder(uint32_t flags,
					       uint32_t max_rows)
{
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new(flags, max_rows, &b), 0);
	return b;
}

static void add(struct seam_sframe_builder *b,
		struct seam_sframe_builder_func func, uint32_t size,
		const struct in_row *rows, size_t num)
{
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	for (size_t i = 0; i < num; i++)
		assert_int_equal(
			seam_sframe_builder_row(b, rows[i].off, &rows[i].rule),
			0);
	assert_int_equal(seam_sframe_builder_end(b, size), 0);
}

static uint8_t *finish(struct seam_sframe_builder *b, uint64_t addr,
		       size_t *ret_size,
		       struct seam_sframe_builder_totals *totals)
{
	uint8_t *bytes = NULL;

	assert_int_equal(
		seam_sframe_builder_finish(b, addr, &bytes, ret_size, totals),
		0);
	seam_sframe_builder_free(b);
	return bytes;
}

/* The one function's attributes and rows are these bytes. */
static void check_golden(const struct in_row *rows, size_t num, uint32_t size,
			 bool signal, const uint8_t *want, size_t want_len)
{
	static const uint8_t header[] = {0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0};
	struct seam_sframe_builder *b = new_builder(0, 0);
	struct seam_sframe_builder_func func = {.start = 0x1000,
						.signal = signal};
	size_t len;
	uint8_t *bytes;

	add(b, func, size, rows, num);
	bytes = finish(b, 0x400, &len, NULL);
	assert_int_equal(len, 28 + 16 + want_len);
	assert_memory_equal(bytes, header, sizeof(header));
	assert_int_equal(mini_int(bytes + 8, 4, false), 1);
	assert_int_equal(mini_int(bytes + 12, 4, false), num);
	assert_int_equal(mini_int(bytes + 16, 4, false), want_len);
	assert_int_equal(mini_int(bytes + 20, 4, false), 0);
	assert_int_equal(mini_int(bytes + 24, 4, false), 16);
	assert_int_equal(mini_int(bytes + 28, 8, true), 0x1000 - 0x400 - 28);
	assert_int_equal(mini_int(bytes + 36, 4, false), size);
	assert_int_equal(mini_int(bytes + 40, 4, false), 0);
	assert_memory_equal(bytes + 44, want, want_len);
	free(bytes);
}

static void test_golden_default(void **state)
{
	static const struct in_row rows[] = {
		{0x00, {.cfa = REG(SP, 8)}},
		{0x01, {.cfa = REG(SP, 16), .fp = SLOT(-16)}},
		{0x08, OUTERMOST},
		{0x0b, {.cfa = REG(SP, 5024)}},
		{0x0f, {.cfa = REG(FP, 16), .fp = SLOT(-16)}},
		{0x11, {.cfa = REG(SP, 500016)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		6, 0, 0, 0, 0, /* attributes */
		0x00, 0x03, 0x08,
		0x01, 0x05, 0x10, 0xf0,
		0x08, 0x00,
		0x0b, 0x23, 0xa0, 0x13,
		0x0f, 0x04, 0x10, 0xf0,
		0x11, 0x43, 0x30, 0xa1, 0x07, 0x00,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

/* A realigned stack, as GCC compiles it: one such row makes all FLEX. */
static void test_golden_drap(void **state)
{
	static const struct in_row rows[] = {
		{0x00, {.cfa = REG(SP, 8)}},
		{0x05, {.cfa = REG(10, 0)}},
		{0x11, {.cfa = REG(10, 0), .fp = MEM(FP, 0)}},
		{0x13, {.cfa = MEM(FP, -8), .fp = MEM(FP, 0)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		4, 0, 0, 1, 0, /* attributes */
		0x00, 0x04, 0x39, 0x08,
		0x05, 0x04, 0x51, 0x00,
		0x11, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,
		0x13, 0x0a, 0x33, 0xf8, 0x00, 0x33, 0x00,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

static void test_golden_ra(void **state)
{
	static const struct in_row rows[] = {
		{0x01, {.cfa = REG(SP, 0), .ra = REG(2, 0)}},
		{0x02, {.cfa = REG(SP, 8), .ra = SLOT(-16)}},
		/* RA in its usual place needs no words. */
		{0x03, {.cfa = REG(SP, 8), .ra = SLOT(-8)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		3, 0, 0, 1, 0, /* attributes */
		0x01, 0x08, 0x39, 0x00, 0x11, 0x00,
		0x02, 0x08, 0x39, 0x08, 0x02, 0xf0,
		0x03, 0x04, 0x39, 0x08,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

static void test_golden_signal(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	static const uint8_t want[] = {1, 0, 0x80, 0, 0, 0, 3, 8};

	(void)state;
	check_golden(rows, 1, 9, true, want, sizeof(want));
}

/* 200 does not fit a signed byte, so the control words grow as well. */
static void test_golden_wide_control(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = MEM(SP, 200)}}};
	static const uint8_t want[] = {1, 0, 0, 1, 0, 0, 0x24, 0x3b, 0, 200, 0};

	(void)state;
	check_golden(rows, 1, 9, false, want, sizeof(want));
}

/* The size of row starts follows the size of the function. */
static void test_start_size(void **state)
{
	static const uint32_t sizes[] = {255, 256, 65535, 65536};
	static const uint8_t types[] = {0, 1, 1, 2};
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct seam_sframe_builder *b = new_builder(0, 0);
		uint8_t *bytes;

		add(b, (struct seam_sframe_builder_func){.start = 1}, sizes[i],
		    rows, 1);
		bytes = finish(b, 0, &len, NULL);
		assert_int_equal(bytes[44 + 2], types[i]);
		free(bytes);
	}
}

static void test_refused(void **state)
{
	static const struct seam_rule bad[] = {
		{.cfa = SLOT(8)},
		{.cfa = {.kind = SEAM_SAME}},
		{.cfa = REG(16, 8)},
		{.cfa = REG(SP, 8), .fp = {.kind = SEAM_CFA_OFF}},
		{.cfa = REG(SP, 8), .ra = {.kind = SEAM_CFA_OFF}},
		{.cfa = MEM(SP, 8), .cfa_add = 8}, /* not in a file */
		{.cfa = REG(SP, 8), .flags = SEAM_RULE_MANGLED},
	};
	static const struct seam_rule good = {.cfa = REG(SP, 8)};
	struct seam_sframe_builder *b = new_builder(0, 0);
	struct seam_sframe_builder_func func = {.start = 0};

	(void)state;
	assert_int_equal(seam_sframe_builder_row(b, 0, &good), -EINVAL);
	assert_int_equal(seam_sframe_builder_end(b, 1), -EINVAL);
	seam_sframe_builder_begin(b, &func);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(seam_sframe_builder_row(b, 0, &bad[i]),
				 -EINVAL);
	assert_int_equal(seam_sframe_builder_row(b, 4, &good), 0);
	assert_int_equal(seam_sframe_builder_row(b, 4, &good), -EINVAL);
	assert_int_equal(seam_sframe_builder_row(b, 3, &good), -EINVAL);
	seam_sframe_builder_free(b);
}

static void test_empty(void **state)
{
	struct seam_sframe_builder *b = new_builder(0, 0);
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	struct seam_sframe_builder_func func = {.start = 0};
	struct seam_sframe sf = {0};
	uint8_t *bytes;
	size_t len;

	(void)state;
	add(b, func, 10, rows, 0);
	add(b, func, 0, rows, 1);
	bytes = finish(b, 0, &len, NULL);
	assert_int_equal(len, 28);
	assert_int_equal(seam_sframe_verify(bytes, len, NULL, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, len), 0);
	free(bytes);
}

static void assert_rule_equal(const struct seam_rule *a,
			      const struct seam_rule *b)
{
	const struct seam_value *va[] = {&a->cfa, &a->ra, &a->fp};
	const struct seam_value *vb[] = {&b->cfa, &b->ra, &b->fp};

	assert_int_equal(a->flags, b->flags);
	if (a->flags & SEAM_RULE_OUTERMOST)
		return;
	assert_int_equal(a->cfa_add, b->cfa_add);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(va[i]->kind, vb[i]->kind);
		if (va[i]->kind == SEAM_SAME)
			continue;
		assert_int_equal(va[i]->off, vb[i]->off);
		if (va[i]->kind >= SEAM_REG_OFF)
			assert_int_equal(va[i]->reg, vb[i]->reg);
	}
}

/* want NULL: no row holds at pc. */
static void check_at(const uint8_t *bytes, size_t len, uint64_t addr,
		     uint64_t pc, const struct seam_rule *want)
{
	struct mini mini = {bytes, addr};
	struct seam_rule got = {0};
	struct seam_sframe sf = {0};

	assert_int_equal(seam_sframe_open(&sf, bytes, len), 0);
	if (!want) {
		assert_false(mini_find(&mini, pc, &got));
		assert_int_equal(seam_sframe_find(&sf, pc - addr, &got),
				 SEAM_NO_RULE);
		return;
	}
	assert_true(mini_find(&mini, pc, &got));
	assert_rule_equal(&got, want);
	assert_int_equal(seam_sframe_find(&sf, pc - addr, &got), 0);
	assert_rule_equal(&got, want);
}

static void test_overlap(void **state)
{
	static const struct in_row a[] = {{0, {.cfa = REG(SP, 8)}},
					  {4, {.cfa = REG(SP, 16)}},
					  {8, {.cfa = REG(SP, 24)}}};
	static const struct in_row z[] = {{0, {.cfa = REG(SP, 800)}}};
	struct seam_sframe_builder_totals totals;
	struct seam_sframe_builder *b = new_builder(0, 0);
	struct seam_sframe_builder_func func = {.start = 0x106};
	uint8_t *bytes;
	size_t len;

	(void)state;
	add(b, func, 10, z, 1);
	func.start = 0x100;
	add(b, func, 12, z, 1); /* the same start twice: the last is it */
	add(b, func, 12, a, 3);
	bytes = finish(b, 0, &len, &totals);
	assert_int_equal(totals.functions, 2);
	assert_int_equal(totals.rows, 3);
	assert_int_equal(totals.overlap_bytes, 6 + 12);
	check_at(bytes, len, 0, 0x100, &a[0].rule);
	check_at(bytes, len, 0, 0x105, &a[1].rule);
	check_at(bytes, len, 0, 0x106, &z[0].rule);
	check_at(bytes, len, 0, 0x10f, &z[0].rule);
	check_at(bytes, len, 0, 0x110, NULL);
	assert_int_equal(seam_sframe_verify(bytes, len, NULL, NULL), 0);
	free(bytes);
}

/* Rules that differ in one part only are two rows. */
static void test_not_merged(void **state)
{
	static const struct in_row rows[] = {
		{0, {.cfa = MEM(SP, 8), .cfa_add = 8}},
		{1, {.cfa = MEM(SP, 8), .cfa_add = 16}},
		{2, {.cfa = MEM(SP, 16), .cfa_add = 16}},
		{3, {.cfa = MEM(FP, 16), .cfa_add = 16}},
		{4, {.cfa = REG(FP, 16)}},
		{5, {.cfa = REG(FP, 16), .ra = SLOT(-16)}},
		{6, {.cfa = REG(FP, 16), .fp = SLOT(-16)}},
		{7, OUTERMOST},
	};
	struct seam_sframe_builder *b = new_builder(SEAM_SFRAME_ALLOW_ADD, 0);
	struct seam_sframe_builder_func func = {.start = 0x1000};
	struct seam_sframe_builder_totals totals;
	struct in_row twice[2 * COUNT(rows)];
	uint8_t *bytes;
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(twice); i++) {
		twice[i] = rows[i / 2];
		twice[i].off = (uint32_t)i;
	}
	add(b, func, COUNT(twice), twice, COUNT(twice));
	bytes = finish(b, 0, &len, &totals);
	assert_int_equal(totals.rows, COUNT(rows));
	for (size_t i = 0; i < COUNT(twice); i++)
		check_at(bytes, len, 0, 0x1000 + i, &twice[i].rule);
	free(bytes);
}

static void test_pcmask(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}},
					     {11, {.cfa = REG(SP, 16)}}};
	struct seam_sframe_builder *b = new_builder(0, 0);
	struct seam_sframe_builder_func func = {.start = 0x1000,
						.rep_size = 16};
	uint8_t *bytes;
	size_t len;

	(void)state;
	add(b, func, 0x200, rows, 2);
	bytes = finish(b, 0, &len, NULL);
	assert_int_equal(bytes[44 + 2], 0x11); /* PCMASK, two-byte starts */
	for (uint64_t pc = 0x1000; pc < 0x1200; pc++)
		check_at(bytes, len, 0, pc,
			 &rows[(pc & 15) >= 11 ? 1 : 0].rule);
	check_at(bytes, len, 0, 0x1200, NULL);
	assert_int_equal(seam_sframe_verify(bytes, len, NULL, NULL), 0);
	free(bytes);
}

/* Random functions, the same in every run. */
struct random {
	uint64_t state;
};

static uint32_t next(struct random *r, uint32_t limit)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % limit;
}

static int32_t next_off(struct random *r)
{
	switch (next(r, 4)) {
	case 0:
		return (int32_t)next(r, 256) - 128;
	case 1:
		return (int32_t)next(r, 65536) - 32768;
	case 2:
		return next(r, 2) ? INT32_MAX : INT32_MIN;
	default:
		return 8 * (int32_t)next(r, 12);
	}
}

static struct seam_value next_value(struct random *r, bool is_cfa)
{
	struct seam_value v = {0};
	uint32_t kind = is_cfa ? 2 + next(r, 2) : next(r, 4);

	if (kind == 1)
		v = (struct seam_value)SLOT(next_off(r));
	else if (kind == 2)
		v = (struct seam_value)REG((uint8_t)next(r, 16), next_off(r));
	else if (kind == 3)
		v = (struct seam_value)MEM((uint8_t)next(r, 16), next_off(r));
	return v;
}

static struct seam_rule next_rule(struct random *r, uint32_t flags)
{
	struct seam_rule rule = {0};

	if (!next(r, 20)) {
		rule.flags = SEAM_RULE_OUTERMOST;
		return rule;
	}
	if (next(r, 3)) {
		rule.cfa = (struct seam_value)REG(
			(uint8_t)(next(r, 2) ? SP : FP), next_off(r));
		if (next(r, 2))
			rule.fp = (struct seam_value)SLOT(next_off(r));
		return rule;
	}
	rule.cfa = next_value(r, true);
	rule.ra = next_value(r, false);
	rule.fp = next_value(r, false);
	if (rule.ra.kind == SEAM_CFA_DEREF && rule.ra.off == -8)
		rule.ra.off = -16; /* the encoder calls it SAME */
	if ((flags & SEAM_SFRAME_ALLOW_ADD) && rule.cfa.kind == SEAM_REG_DEREF)
		rule.cfa_add = next_off(r);
	return rule;
}

struct random_func {
	uint64_t start;
	uint32_t size;
	bool signal;
	size_t num;
	struct in_row rows[80];
};

static void make_func(struct random *r, uint32_t flags, uint64_t start,
		      struct random_func *f)
{
	static const uint32_t steps[] = {2, 30, 3000};
	uint32_t step = steps[next(r, 3)], off = next(r, 2);

	f->start = start;
	f->signal = !next(r, 10);
	f->num = 1 + next(r, COUNT(f->rows));
	for (size_t i = 0; i < f->num; i++) {
		f->rows[i].off = off;
		f->rows[i].rule = next_rule(r, flags);
		off += 1 + next(r, step);
	}
	f->size = off;
}

static void check_func(const uint8_t *bytes, size_t len, uint64_t addr,
		       const struct random_func *f)
{
	if (f->rows[0].off)
		check_at(bytes, len, addr, f->start, NULL);
	for (size_t i = 0; i < f->num; i++) {
		uint64_t from = f->start + f->rows[i].off;
		uint64_t to = f->start +
			      (i + 1 < f->num ? f->rows[i + 1].off : f->size);
		struct seam_rule want = f->rows[i].rule;

		if (f->signal)
			want.flags |= SEAM_RULE_SIGNAL;
		check_at(bytes, len, addr, from, &want);
		check_at(bytes, len, addr, from + (to - from) / 2, &want);
		check_at(bytes, len, addr, to - 1, &want);
	}
	check_at(bytes, len, addr, f->start + f->size, NULL);
}

static void round_trip(uint64_t seed, uint32_t flags, uint32_t max_rows)
{
	static struct random_func funcs[40];
	struct seam_sframe_limits limits = {.max_rows = max_rows};
	struct seam_sframe_builder *b = new_builder(flags, max_rows);
	struct random r = {seed};
	uint64_t addr = 0x8000, start = addr + (1 << 20);
	struct seam_errinfo err;
	uint8_t *bytes;
	size_t len;

	if (flags)
		limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
	limits.section_addr = addr;
	for (size_t i = 0; i < COUNT(funcs); i++) {
		make_func(&r, flags, start, &funcs[i]);
		start += funcs[i].size + 1;
	}
	/* Added backwards: the builder sorts. */
	for (size_t i = COUNT(funcs); i-- > 0;) {
		struct seam_sframe_builder_func func = {
			.start = funcs[i].start, .signal = funcs[i].signal};

		add(b, func, funcs[i].size, funcs[i].rows, funcs[i].num);
	}
	bytes = finish(b, addr, &len, NULL);
	if (seam_sframe_verify(bytes, len, &limits, &err))
		fail_msg("at %#lx: %s", (unsigned long)err.offset, err.reason);
	for (size_t i = 0; i < COUNT(funcs); i++)
		check_func(bytes, len, addr, &funcs[i]);
	free(bytes);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		round_trip(seed, 0, 0);
		round_trip(seed, 0, 16);
		round_trip(seed, SEAM_SFRAME_ALLOW_ADD, 16);
	}
}

/* More rows than a function can have become two functions. */
static void test_many_rows(void **state)
{
	struct seam_sframe_builder *b = new_builder(0, 0);
	struct seam_sframe_builder_func func = {.start = 0x100000};
	struct seam_sframe_builder_totals totals;
	struct seam_rule odd = {.cfa = REG(SP, 8)};
	struct seam_rule even = {.cfa = REG(SP, 16)};
	uint8_t *bytes;
	size_t len;

	(void)state;
	seam_sframe_builder_begin(b, &func);
	for (uint32_t i = 0; i < 70000; i++)
		assert_int_equal(
			seam_sframe_builder_row(b, i, i & 1 ? &odd : &even), 0);
	seam_sframe_builder_end(b, 70000);
	bytes = finish(b, 0, &len, &totals);
	assert_int_equal(totals.functions, 2);
	assert_int_equal(totals.rows, 70000);
	check_at(bytes, len, 0, 0x100000 + 65534, &even);
	check_at(bytes, len, 0, 0x100000 + 65535, &odd);
	check_at(bytes, len, 0, 0x100000 + 69999, &odd);
	check_at(bytes, len, 0, 0x100000 + 70000, NULL);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_default),
		cmocka_unit_test(test_golden_drap),
		cmocka_unit_test(test_golden_ra),
		cmocka_unit_test(test_golden_signal),
		cmocka_unit_test(test_golden_wide_control),
		cmocka_unit_test(test_start_size),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_not_merged),
		cmocka_unit_test(test_pcmask),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
