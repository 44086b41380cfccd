// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the builder writes every ABI in V3 and in V2, byte by byte as
 * GNU assemblers where bytes of theirs are known; what it writes reads back as
 * what was given; what it read back it writes again, to the byte; and what a
 * version or ABI cannot hold it refuses, with a reason.
 */
#include <errno.h>

#include "rows.h"

#define BE SEAM_SFRAME_ABI_AARCH64_BE
#define LE SEAM_SFRAME_ABI_AARCH64_LE
#define AMD64 SEAM_SFRAME_ABI_AMD64
#define S390X SEAM_SFRAME_ABI_S390X
#define MANGLED .flags = SEAM_RULE_MANGLED

static struct seam_sframe_builder *builder_for(uint8_t version, uint8_t abi,
					       uint32_t flags)
{
	struct seam_sframe_builder *b = NULL;

	assert_int_equal(seam_sframe_builder_new_for(version, abi, flags, &b),
			 0);
	return b;
}

struct golden {
	uint8_t version, abi;
	struct seam_sframe_builder_func func;
	struct in_row rows[4];
	uint8_t num;
	uint8_t want[48]; /* attributes, where V3 has them, and rows */
	uint8_t want_len;
};

static const struct golden goldens[] = {
	/* aarch64: signed in x30, then saved. V2 has the same rows. */
	{3,
	 LE,
	 {.start = 0x1000, .pauth_b = 1},
	 {{4, {.cfa = REG(31, 0), MANGLED}},
	  {8, {.cfa = REG(31, 16), .ra = SLOT(-8), .fp = SLOT(-16), MANGLED}}},
	 2,
	 {2, 0, 0x20, 0, 0, 4, 0x83, 0, 8, 0x87, 0x10, 0xf8, 0xf0},
	 13},
	{2,
	 BE,
	 {.start = 0x1000},
	 {{4, {.cfa = REG(31, 0), MANGLED}},
	  {8, {.cfa = REG(31, 16), .ra = SLOT(-16)}},
	  {12, OUTERMOST}},
	 3,
	 {4, 0x83, 0, 8, 5, 0x10, 0xf0, 12, 0},
	 9},
	/* s390x: V3 of GNU as. */
	{3,
	 S390X,
	 {.start = 0x1000},
	 {{6, {.cfa = REG(15, 160), .ra = SLOT(-48), .fp = SLOT(-72)}},
	  {12, {.cfa = REG(15, 320), .ra = SLOT(-48), .fp = SLOT(-72)}},
	  {18, {.cfa = REG(15, 160), .fp = SLOT(-72)}}},
	 3,
	 {0,  3, 0,    0,    0,	   6,  7, 0, 0xd0, 0xb8,
	  12, 7, 0x14, 0xd0, 0xb8, 18, 7, 0, 0,	   0xb8},
	 20},
	{3,
	 S390X,
	 {.start = 0x1000},
	 {{4, {.cfa = REG(15, 160), .ra = REG(16, 0)}},
	  {12, {.cfa = REG(15, 320), .ra = SLOT(-48), .fp = SLOT(-72)}}},
	 2,
	 {0, 2, 0, 1, 0, 4, 8, 0x79, 0, 0x81, 0, 12, 0x0c, 0x79, 0x14, 2, 0xd0,
	  2, 0xb8},
	 19},
	/* V2: r14 in f0 and r11 in f2, as odd words. */
	{2,
	 S390X,
	 {.start = 0x1000},
	 {{0, {.cfa = REG(15, 160), .ra = REG(16, 0), .fp = REG(17, 0)}},
	  {4, {.cfa = REG(15, 160), .fp = REG(17, 0)}}},
	 2,
	 {0, 7, 0, 33, 35, 4, 7, 0, 0, 35},
	 10},
	/* Words of two and four bytes, in the target's order. */
	{3,
	 BE,
	 {.start = 0x1000},
	 {{0, {.cfa = REG(31, 5024)}}, {4, {.cfa = REG(31, 500016)}}},
	 2,
	 {0, 2, 0, 0, 0, 0, 0x23, 0x13, 0xa0, 4, 0x43, 0, 7, 0xa1, 0x30},
	 15},
	{2,
	 AMD64,
	 {.start = 0x1000, .rep_size = 16},
	 {{0, {.cfa = REG(7, 8)}}, {11, {.cfa = REG(7, 16)}}},
	 2,
	 {0, 3, 8, 11, 3, 16},
	 6},
	/* aarch64: FP saved without RA needs a padding word. */
	{3,
	 LE,
	 {.start = 0x1000},
	 {{0, {.cfa = REG(31, 16), .fp = SLOT(-16)}}},
	 1,
	 {1, 0, 0, 1, 0, 0, 0x0a, 0xf9, 16, 0, 2, 0xf0},
	 12},
	/* amd64 APX: r16 is 130, too wide for a byte. */
	{3,
	 AMD64,
	 {.start = 0x1000},
	 {{0, {.cfa = REG(130, 8)}}},
	 1,
	 {1, 0, 0, 1, 0, 0, 0x24, 0x11, 0x04, 8, 0},
	 11},
	{3,
	 AMD64,
	 {.start = 0x1000, .signal = 1, .keep_empty = 1},
	 {{0, {.cfa = REG(7, 8)}}},
	 0,
	 {0, 0, 0x80, 0, 0},
	 5},
};

static void check_golden(const struct golden *g)
{
	struct seam_sframe_builder *b = builder_for(g->version, g->abi, 0);
	struct seam_sframe_limits limits = {
		.abi = g->abi,
		.section_addr = 0x400,
		.text_start = 0x1000,
		.text_end = 0x1024,
		.flags = SEAM_SFRAME_VERIFY_STRICT,
	};
	size_t at = g->version == 3 ? 28 + 16 : 28 + 20, len;
	struct seam_errinfo err;
	uint8_t *bytes;

	add(b, g->func, 0x24, g->rows, g->num);
	bytes = finish(b, 0x400, &len, NULL);
	assert_int_equal(len, at + g->want_len);
	assert_int_equal(bytes[2], g->version);
	assert_int_equal(bytes[3], 5);
	assert_int_equal(bytes[4], g->abi);
	if (memcmp(bytes + at, g->want, g->want_len))
		for (size_t i = 0; i < g->want_len; i++)
			if (bytes[at + i] != g->want[i])
				fail_msg("golden %d: byte %d is %#x, not %#x",
					 (int)(g - goldens), (int)i,
					 bytes[at + i], g->want[i]);
	if (seam_sframe_verify(bytes, len, &limits, &err))
		fail_msg("golden %d at %d: %s", (int)(g - goldens),
			 (int)err.offset, err.reason);
	free(bytes);
}

static void golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(goldens); i++)
		check_golden(&goldens[i]);
}

/* --- there and back --- */

static int32_t next_off(struct random *r)
{
	switch (next(r, 6)) {
	case 0:
		return (int32_t)next(r, 256) - 128;
	case 1:
		return (int32_t)next(r, 65536) - 32768;
	case 2:
		return next(r, 2) ? INT32_MAX : INT32_MIN;
	case 3:
		return 0;
	default:
		return 8 * (int32_t)next(r, 200) - 800;
	}
}

static struct seam_value next_value(struct random *r)
{
	static const uint8_t regs[] = {6, 7, 11, 14, 15, 16, 29, 30, 31, 130};
	struct seam_value v = {0};

	v.kind = (uint8_t)next(r, 5);
	if (v.kind == SEAM_SAME)
		return v;
	v.off = next_off(r);
	if (v.kind >= SEAM_REG_OFF)
		v.reg = next(r, 2) ? regs[next(r, COUNT(regs))]
				   : (uint8_t)next(r, 150);
	return v;
}

static struct seam_rule next_rule(struct random *r)
{
	struct seam_rule rule = {0};

	if (!next(r, 20)) {
		rule.flags = SEAM_RULE_OUTERMOST;
		return rule;
	}
	rule.cfa = next_value(r);
	if (next(r, 4))
		rule.ra = next_value(r);
	if (next(r, 4))
		rule.fp = next_value(r);
	if (!next(r, 4))
		rule.flags = SEAM_RULE_MANGLED;
	return rule;
}

/* The same said otherwise: RA where the ABI has it, FP in its register. */
static struct seam_rule canonical(struct seam_rule rule, uint8_t abi)
{
	static const uint8_t ra[] = {0, 30, 30, 0, 14},
			     fp[] = {0, 29, 29, 6, 11};

	if (abi == AMD64 ? rule.ra.kind == SEAM_CFA_DEREF && rule.ra.off == -8
			 : rule.ra.kind == SEAM_REG_OFF &&
				   rule.ra.reg == ra[abi] && !rule.ra.off)
		rule.ra = (struct seam_value){0};
	if (rule.fp.kind == SEAM_REG_OFF && rule.fp.reg == fp[abi] &&
	    !rule.fp.off)
		rule.fp = (struct seam_value){0};
	return rule;
}

static bool same(const struct seam_rule *a, const struct seam_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Builds a section of what has been read from another. */
static uint8_t *again(const uint8_t *bytes, size_t size, uint64_t addr,
		      uint32_t flags, size_t *ret_size)
{
	struct seam_sframe_builder *b;
	struct seam_sframe_func f = {0};
	struct seam_sframe sf;

	assert_int_equal(seam_sframe_open(&sf, bytes, size), 0);
	b = builder_for(sf.version, sf.abi, flags);
	for (uint32_t i = 0; i < sf.num_fdes; i++) {
		struct seam_sframe_row row = {0};
		struct seam_sframe_builder_func func = {0};
		struct seam_rule rule;

		assert_int_equal(seam_sframe_func_at(&sf, i, &f), 0);
		func.start = addr + f.start;
		func.rep_size = f.rep_size;
		func.signal = !!(f.info & SEAM_SFRAME_INFO_SIGNAL);
		func.pauth_b = !!(f.info & SEAM_SFRAME_INFO_PAUTH_B);
		func.keep_empty = !f.num_rows;
		assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
		row.next = f.rows;
		for (uint32_t j = 0; j < f.num_rows; j++) {
			assert_int_equal(
				seam_sframe_row_at(&sf, &f, row.next, &row), 0);
			assert_int_equal(seam_sframe_rule(&sf, &f, &row, &rule),
					 0);
			assert_int_equal(
				seam_sframe_builder_row(b, row.start, &rule),
				0);
		}
		assert_int_equal(seam_sframe_builder_end(b, f.size), 0);
	}
	return finish(b, addr, ret_size, NULL);
}

struct func {
	uint64_t start;
	uint32_t size, num;
	struct in_row rows[24];
	struct seam_sframe_builder_func func;
};

static uint32_t refused, accepted;

static void random_func(struct random *r, struct seam_sframe_builder *b,
			uint8_t version, uint8_t abi, struct func *f)
{
	static const uint32_t steps[] = {2, 30, 10000};
	uint32_t step = steps[next(r, 3)], off = next(r, 3);

	f->func = (struct seam_sframe_builder_func){
		.start = f->start,
		.signal = version == 3 && !next(r, 5),
		.pauth_b = (abi == LE || abi == BE) && next(r, 2),
		.keep_empty = version == 3 && !next(r, 5),
	};
	f->num = 0;
	assert_int_equal(seam_sframe_builder_begin(b, &f->func), 0);
	for (uint32_t n = next(r, COUNT(f->rows) + 1); n; n--) {
		struct in_row *row = &f->rows[f->num];
		int err;

		row->off = off;
		row->rule = next_rule(r);
		err = seam_sframe_builder_row(b, off, &row->rule);
		if (err) {
			assert_int_equal(err, -EINVAL);
			assert_non_null(seam_sframe_builder_reason(b));
			refused++;
			continue;
		}
		row->rule = canonical(row->rule, abi);
		accepted++;
		f->num++;
		off += 1 + next(r, step);
	}
	f->size = off + 1;
	assert_int_equal(seam_sframe_builder_end(b, f->size), 0);
}

static void check_pc(const struct seam_sframe *sf, uint64_t pc,
		     const struct func *f, const struct in_row *row)
{
	struct seam_rule got, want = row->rule;

	if (f->func.signal)
		want.flags |= SEAM_RULE_SIGNAL;
	assert_int_equal(seam_sframe_find(sf, pc, &got), 0);
	if (!same(&got, &want))
		fail_msg("V%d, ABI %d, at %#lx: another rule", sf->version,
			 sf->abi, (unsigned long)pc);
}

static void check_func(const struct seam_sframe *sf, uint64_t addr,
		       const struct func *f)
{
	uint64_t start = f->start - addr;
	struct seam_rule got;

	if (!f->num) {
		/* Without rows it is outermost, a trampoline, or not there. */
		assert_int_equal(seam_sframe_find(sf, start, &got),
				 f->func.keep_empty ? SEAM_OK : SEAM_NO_RULE);
		return;
	}
	if (f->rows[0].off)
		assert_int_equal(seam_sframe_find(sf, start, &got),
				 SEAM_NO_RULE);
	for (uint32_t i = 0; i < f->num; i++) {
		uint32_t end = i + 1 < f->num ? f->rows[i + 1].off : f->size;

		check_pc(sf, start + f->rows[i].off, f, &f->rows[i]);
		check_pc(sf, start + end - 1, f, &f->rows[i]);
	}
	assert_int_equal(seam_sframe_find(sf, start + f->size, &got),
			 SEAM_NO_RULE);
}

static void round_trip(uint8_t version, uint8_t abi, uint32_t flags,
		       uint64_t seed)
{
	static struct func funcs[30];
	struct seam_sframe_builder *b = builder_for(version, abi, flags);
	struct random r = {seed};
	uint64_t addr = 0x4000000, start = addr - (1 << 20);
	struct seam_sframe_limits limits = {
		.abi = abi,
		.section_addr = addr,
		.flags = SEAM_SFRAME_VERIFY_STRICT,
	};
	struct seam_errinfo err;
	struct seam_sframe sf;
	uint8_t *bytes, *bytes2;
	size_t len, len2;

	for (size_t i = 0; i < COUNT(funcs); i++) {
		funcs[i].start = start;
		random_func(&r, b, version, abi, &funcs[i]);
		start += funcs[i].size + 1 + next(&r, 100000);
	}
	bytes = finish(b, addr, &len, NULL);
	if (seam_sframe_verify(bytes, len, &limits, &err))
		fail_msg("V%d, ABI %d, at %#lx: %s", version, abi,
			 (unsigned long)err.offset, err.reason);
	assert_int_equal(seam_sframe_open(&sf, bytes, len), 0);
	for (size_t i = 0; i < COUNT(funcs); i++)
		check_func(&sf, addr, &funcs[i]);
	bytes2 = again(bytes, len, addr, flags, &len2);
	assert_int_equal(len, len2);
	assert_memory_equal(bytes, bytes2, len);
	free(bytes);
	free(bytes2);
}

static void round_trips(void **state)
{
	(void)state;
	for (uint8_t abi = BE; abi <= S390X; abi++) {
		refused = accepted = 0;
		for (uint64_t seed = 1; seed <= 40; seed++) {
			round_trip(3, abi, 0, seed);
			round_trip(2, abi, 0, seed);
			round_trip(2, abi, SEAM_SFRAME_SECTION_RELATIVE, seed);
		}
		/* Neither is all there is. */
		assert_true(refused > 1000 && accepted > 1000);
	}
}

static void refusals(void **state)
{
	static const struct {
		uint8_t version, abi;
		const char *about;
		struct seam_rule rule;
	} cases[] = {
		{2, AMD64, "SP or FP", {.cfa = REG(10, 0)}},
		{2, AMD64, "SP or FP", {.cfa = MEM(6, -8)}},
		{2, AMD64, "return", {.cfa = REG(7, 8), .ra = REG(2, 0)}},
		{2, AMD64, "return", {.cfa = REG(7, 8), .ra = SLOT(-16)}},
		{2, AMD64, "frame", {.cfa = REG(7, 8), .fp = REG(2, 0)}},
		{2, LE, "without", {.cfa = REG(31, 16), .fp = SLOT(-16)}},
		{2, LE, "return", {.cfa = REG(31, 16), .ra = SLOT(0)}},
		{2, LE, "return", {.cfa = REG(31, 16), .ra = REG(9, 0)}},
		{2, S390X, "return", {.cfa = REG(15, 160), .ra = SLOT(-47)}},
		{2, S390X, "return", {.cfa = REG(15, 160), .ra = REG(16, 8)}},
		{2, S390X, "frame", {.cfa = REG(15, 160), .fp = SLOT(-71)}},
		{2, S390X, "frame", {.cfa = REG(15, 160), .fp = MEM(15, 8)}},
		{3, S390X, "multiple", {.cfa = REG(15, 164)}},
		{2, S390X, "multiple", {.cfa = REG(15, 164)}},
		{3, S390X, "signed", {.cfa = REG(15, 160), MANGLED}},
		{3, S390X, "CFA", {.cfa = REG(32, 160)}},
		{3, LE, "CFA", {.cfa = SLOT(8)}},
		{3, LE, "CFA", {.cfa = REG(32, 8)}},
		{3, LE, "return", {.cfa = REG(31, 8), .ra = {.kind = 1}}},
		{3, LE, "frame", {.cfa = REG(31, 8), .fp = {.kind = 1}}},
		{3, LE, "frame", {.cfa = REG(31, 8), .fp = {.kind = 9}}},
		{3, LE, "added", {.cfa = MEM(31, 8), .cfa_add = 8}},
	};
	struct seam_sframe_builder_func func = {.start = 0};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct seam_sframe_builder *b =
			builder_for(cases[i].version, cases[i].abi, 0);

		seam_sframe_builder_begin(b, &func);
		assert_null(seam_sframe_builder_reason(b));
		assert_int_equal(seam_sframe_builder_row(b, 0, &cases[i].rule),
				 -EINVAL);
		if (!strstr(seam_sframe_builder_reason(b), cases[i].about))
			fail_msg("case %d: %s", (int)i,
				 seam_sframe_builder_reason(b));
		seam_sframe_builder_free(b);
	}
}

static void refused_functions(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	struct seam_sframe_builder_func signal = {.signal = 1};
	struct seam_sframe_builder_func empty = {.keep_empty = 1};
	struct seam_sframe_builder_func key = {.pauth_b = 1};
	struct seam_sframe_builder_func far = {.start = 0x90000000};
	struct seam_sframe_builder *b = builder_for(2, AMD64, 0);
	uint8_t *bytes;
	size_t len;

	(void)state;
	assert_int_equal(seam_sframe_builder_begin(b, &signal), -EINVAL);
	assert_non_null(strstr(seam_sframe_builder_reason(b), "signal"));
	assert_int_equal(seam_sframe_builder_row(b, 0, &rows[0].rule), -EINVAL);
	assert_int_equal(seam_sframe_builder_begin(b, &empty), -EINVAL);
	assert_int_equal(seam_sframe_builder_begin(b, &key), -EINVAL);
	add(b, far, 16, rows, 1);
	assert_int_equal(seam_sframe_builder_finish(b, 0, &bytes, &len, NULL),
			 -EFBIG);
	assert_non_null(strstr(seam_sframe_builder_reason(b), "2 GiB"));
	seam_sframe_builder_free(b);
	assert_int_equal(seam_sframe_builder_new_for(1, AMD64, 0, &b), -EINVAL);
	assert_int_equal(seam_sframe_builder_new_for(4, AMD64, 0, &b), -EINVAL);
	assert_int_equal(seam_sframe_builder_new_for(3, 5, 0, &b), -EINVAL);
	assert_int_equal(seam_sframe_builder_new_for(3, LE, 1, &b), -EINVAL);
	assert_int_equal(seam_sframe_builder_new_for(3, LE, 2, &b), -EINVAL);
}

/* Text on both sides of the section, added in any order. */
static void around(void **state)
{
	static const struct in_row row[] = {{0, {.cfa = REG(SP, 8)}}};
	static const uint64_t starts[] = {0x9000, 0x1000, 0xffff800000000000,
					  0x5000, 0x6000};
	struct seam_sframe_limits limits = {.section_addr = 0x5800};

	(void)state;
	for (uint8_t version = 2; version <= 3; version++) {
		struct seam_sframe_builder *b = builder_for(version, AMD64, 0);
		struct seam_rule rule;
		struct seam_sframe sf;
		uint8_t *bytes;
		size_t len;

		for (size_t i = 0; i < COUNT(starts); i++)
			if (version == 3 || i != 2)
				add(b,
				    (struct seam_sframe_builder_func){
					    .start = starts[i]},
				    16, row, 1);
		bytes = finish(b, 0x5800, &len, NULL);
		assert_int_equal(seam_sframe_verify(bytes, len, &limits, NULL),
				 0);
		assert_int_equal(seam_sframe_open(&sf, bytes, len), 0);
		for (size_t i = 0; i < COUNT(starts); i++)
			assert_int_equal(
				seam_sframe_find(&sf, starts[i] - 0x5800 + 15,
						 &rule),
				version == 3 || i != 2 ? SEAM_OK
						       : SEAM_NO_RULE);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),   cmocka_unit_test(round_trips),
		cmocka_unit_test(refusals), cmocka_unit_test(refused_functions),
		cmocka_unit_test(around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
