// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: whatever the SFrame builder writes reads back as the rules that
 * were given, by core's reader and by another. */
#include "rows.h"

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
	struct seam_sframe_builder *b = new_builder(0);
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
	struct seam_sframe_builder *b = new_builder(SEAM_SFRAME_ALLOW_ADD);
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
	struct seam_sframe_builder *b = new_builder(0);
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
	if (rule.fp.kind == SEAM_REG_OFF && rule.fp.reg == FP)
		rule.fp.off |= 1; /* likewise, if it is 0 */
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

static void round_trip(uint64_t seed, uint32_t flags)
{
	static struct random_func funcs[40];
	struct seam_sframe_limits limits = {0};
	struct seam_sframe_builder *b = new_builder(flags);
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
		round_trip(seed, 0);
		round_trip(seed, SEAM_SFRAME_ALLOW_ADD);
	}
}

/* More rows than a function can have become two functions. */
static void test_many_rows(void **state)
{
	struct seam_sframe_builder *b = new_builder(0);
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
	assert_int_equal(seam_sframe_verify(bytes, len, NULL, NULL), 0);
	for (uint32_t i = 0; i < 70000; i += 499)
		check_at(bytes, len, 0, 0x100000 + i, i & 1 ? &odd : &even);
	check_at(bytes, len, 0, 0x100000 + 65534, &even);
	check_at(bytes, len, 0, 0x100000 + 65535, &odd);
	check_at(bytes, len, 0, 0x100000 + 69999, &odd);
	check_at(bytes, len, 0, 0x100000 + 70000, NULL);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_not_merged),
		cmocka_unit_test(test_pcmask),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
