// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a table laid out for the kernel side gives at every address
 * the rule that the SFrame section gives, which is read by other code.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sframe/encode.h"
#include "table/lookup.h"
#include "table/table.h"

struct laid {
	uint8_t *section, *table;
	struct seam_sframe sf;
	struct seam_lookup lookup;
	uint64_t left_out;
};

static void laid_fini(struct laid *l)
{
	free(l->section);
	free(l->table);
}

static void lay(uint8_t *section, size_t size, struct laid *ret)
{
	*ret = (struct laid){.section = section};
	assert_int_equal(seam_sframe_open(&ret->sf, section, size), 0);
	assert_int_equal(seam_lookup_build(&ret->sf, 1 << 30, &ret->lookup,
					   &ret->table, &ret->left_out),
			 0);
	assert_int_equal(seam_lookup_place(&ret->lookup), ret->lookup.size);
	assert_int_equal(ret->lookup.pages % SEAM_BUCKET_SIZE, 0);
}

static void lay_builder(struct seam_sframe_builder *b, struct laid *ret)
{
	uint8_t *section;
	size_t size;

	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &section, &size, NULL), 0);
	seam_sframe_builder_free(b);
	lay(section, size, ret);
}

static struct seam_sframe_builder *builder(void)
{
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new(SEAM_SFRAME_ALLOW_ADD, &b), 0);
	return b;
}

static struct seam_rule sp_rule(int32_t off)
{
	return (struct seam_rule){.cfa = {.kind = SEAM_REG_OFF,
					  .reg = SEAM_AMD64_REG_SP,
					  .off = off}};
}

/* A function with a row each `step` bytes, whose rules begin at `from`. */
static void add_func(struct seam_sframe_builder *b, uint64_t start,
		     uint32_t rows, uint32_t step, int32_t from)
{
	struct seam_sframe_builder_func func = {.start = start};

	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	for (uint32_t i = 0; i < rows; i++) {
		struct seam_rule rule = sp_rule(from + 8 * (int32_t)i);

		assert_int_equal(seam_sframe_builder_row(b, i * step, &rule),
				 0);
	}
	assert_int_equal(seam_sframe_builder_end(b, rows * step), 0);
}

/* Return: whether there is a rule. */
static bool same_at(const struct laid *l, uint64_t pc)
{
	struct seam_rule want, got;
	uint64_t packed = 0;
	int want_err = seam_sframe_find(&l->sf, pc, &want);
	int err = seam_lookup_find(&l->lookup, l->table, pc, &packed, &got);

	if (want_err || err) {
		if (want_err != SEAM_NO_RULE || err != SEAM_NO_RULE)
			fail_msg("at %#" PRIx64 ": %d, not %d", pc, err,
				 want_err);
		return false;
	}
	if (packed)
		seam_rule_unpack(packed, &got);
	if (packed && (want.flags & SEAM_RULE_OUTERMOST))
		assert_int_equal(got.flags, SEAM_RULE_OUTERMOST);
	else if (memcmp(&want, &got, sizeof(want)))
		fail_msg("another rule at %#" PRIx64, pc);
	return true;
}

static void same_everywhere(const struct laid *l, uint64_t from, uint64_t to,
			    uint64_t want_rules)
{
	uint64_t rules = 0;

	for (uint64_t pc = from; pc < to; pc++)
		rules += same_at(l, pc);
	assert_int_equal(rules, want_rules);
}

static void small_functions(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct laid l;

	(void)state;
	for (uint64_t i = 0; i < 50; i++)
		add_func(b, 0x1003 + i * 160, 3, 9, 8);
	lay_builder(b, &l);
	assert_true(seam_lookup_has_buckets(&l.lookup));
	assert_int_equal(l.lookup.num_rules, 3);
	assert_int_equal(l.lookup.num_rows, 0);
	same_everywhere(&l, 0xc00, 0x3400, 50 * 27);
	laid_fini(&l);
}

/* More rows in a page than a bucket holds. */
static void crowded_page(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct laid l;

	(void)state;
	add_func(b, 0x1000, 17, 2, 8);
	add_func(b, 0x1100, 16, 16, 8);
	add_func(b, 0x1200, 256, 1, 8);
	add_func(b, 0x1300, 2, 255, 8);
	lay_builder(b, &l);
	/* Of pages with 18, 16, 256 and 3 rows nine are left, but for one in
	 * the place of each run of others. */
	assert_in_range(l.lookup.num_rows, 10 + 8 + 248, 14 + 12 + 252);
	same_everywhere(&l, 0xf00, 0x1600, 34 + 256 + 256 + 510);
	laid_fini(&l);
}

/* Frames of up to 8 KiB have shorts, larger ones stand in rows. */
static void many_rules(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct laid l;
	uint32_t i;

	(void)state;
	for (i = 0; i < 512; i++)
		add_func(b, 0x4000 + i * 256, 2, 16, 8 + 16 * (int32_t)i);
	lay_builder(b, &l);
	assert_int_equal(l.lookup.num_rules, 1024);
	assert_int_equal(l.lookup.num_rows, 1);
	same_everywhere(&l, 0x3f00, 0x4000 + 520 * 256, 512 * 32);
	laid_fini(&l);
}

/* Code far apart: pages grow, or their number would. */
static void sparse(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct laid l;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		add_func(b, 0x10000005 + i * 0x400000, 100, 3, 8);
	lay_builder(b, &l);
	assert_false(seam_lookup_has_buckets(&l.lookup));
	assert_true(l.lookup.size < 64 * 1024);
	for (uint64_t i = 0; i < 10; i++)
		same_everywhere(&l, 0x10000000 + i * 0x400000 - 0x12000,
				0x10000000 + i * 0x400000 + 0x12000, 300);
	laid_fini(&l);
}

static void wide_rules(void **state)
{
	static const struct seam_rule rules[] = {
		{.cfa = {.kind = SEAM_REG_OFF, .reg = 10, .off = 0}},
		{.cfa = {.kind = SEAM_REG_DEREF, .reg = 6, .off = -16}},
		{.cfa = {.kind = SEAM_REG_DEREF, .reg = 7, .off = 72},
		 .cfa_add = 8},
		{.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 16},
		 .ra = {.kind = SEAM_REG_OFF, .reg = 5}},
		{.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 1 << 20},
		 .fp = {.kind = SEAM_CFA_DEREF, .off = -40000}},
		{.cfa = {.kind = SEAM_REG_OFF, .reg = 6, .off = 16},
		 .fp = {.kind = SEAM_CFA_DEREF, .off = -16}},
		{.flags = SEAM_RULE_OUTERMOST},
	};
	struct seam_sframe_builder *b = builder();
	size_t n = sizeof(rules) / sizeof(rules[0]);
	struct laid l;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct seam_sframe_builder_func func = {.start =
								0x100 + i * 16};

		assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
		assert_int_equal(seam_sframe_builder_row(b, 0, &rules[i]), 0);
		assert_int_equal(seam_sframe_builder_end(b, 16), 0);
	}
	lay_builder(b, &l);
	assert_int_equal(l.lookup.num_wide, 5);
	assert_int_equal(l.lookup.num_rules, 2);
	same_everywhere(&l, 0, 0x400, n * 16);
	laid_fini(&l);
}

static void signal_and_blocks(void **state)
{
	struct seam_sframe_builder_func blocks = {.start = 0x2010,
						  .rep_size = 16};
	struct seam_sframe_builder_func sig = {.start = 0x3000, .signal = 1};
	struct seam_rule rule = sp_rule(8);
	struct seam_sframe_builder *b = builder();
	struct laid l;

	(void)state;
	assert_int_equal(seam_sframe_builder_begin(b, &blocks), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	rule = sp_rule(16);
	assert_int_equal(seam_sframe_builder_row(b, 11, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 40 * 16), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &sig), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 9), 0);
	lay_builder(b, &l);
	assert_int_equal(l.lookup.num_wide, 1);
	same_everywhere(&l, 0x1f00, 0x3200, 40 * 16 + 9);
	laid_fini(&l);
}

/* A number has 16 bits: what has none left is a hole, and counted. */
static void too_many_rules(void **state)
{
	struct seam_sframe_builder *b = builder();
	uint64_t packed = 0;
	struct seam_rule wide;
	struct laid l;

	(void)state;
	for (uint32_t i = 0; i < SEAM_LOOKUP_MAX_RULES + 10; i++)
		add_func(b, 0x1000 + i * 16, 1, 16, 8 + 8 * (int32_t)i);
	lay_builder(b, &l);
	assert_int_equal(l.left_out, 10);
	assert_int_equal(l.lookup.num_rules, SEAM_LOOKUP_MAX_RULES);
	same_everywhere(&l, 0x1000, 0x1000 + SEAM_LOOKUP_MAX_RULES * 16,
			SEAM_LOOKUP_MAX_RULES * 16);
	for (uint64_t i = 0; i < 160; i++)
		assert_int_equal(
			seam_lookup_find(&l.lookup, l.table,
					 0x1000 + SEAM_LOOKUP_MAX_RULES * 16 +
						 i,
					 &packed, &wide),
			SEAM_NO_RULE);
	laid_fini(&l);
}

static void beyond_4_gib(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct laid l;

	(void)state;
	add_func(b, 0xfffff000, 4, 8, 8);
	add_func(b, 0xfffffff0, 4, 8, 8);
	add_func(b, 0x200000000, 4, 8, 8);
	lay_builder(b, &l);
	assert_int_equal(l.left_out, 8);
	same_everywhere(&l, 0xffffe000, 0xfffffff0, 32);
	laid_fini(&l);
}

static void refused(void **state)
{
	struct seam_sframe_builder *b = builder();
	struct seam_lookup lookup;
	uint8_t *section, *table;
	struct seam_sframe sf;
	size_t size;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		add_func(b, 0x1000 + i * 64, 3, 8, 8);
	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &section, &size, NULL), 0);
	seam_sframe_builder_free(b);
	assert_int_equal(seam_sframe_open(&sf, section, size), 0);
	assert_int_equal(seam_lookup_build(&sf, 500, &lookup, &table, NULL),
			 -E2BIG);
	sf.num_fdes = 0;
	assert_int_equal(seam_lookup_build(&sf, 1 << 20, &lookup, &table, NULL),
			 -EINVAL);
	free(section);
}

static void real_file(const char *path)
{
	struct seam_elf *elf;
	uint8_t *section;
	struct laid l;
	size_t size;
	uint64_t rules = 0, from, to;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, 0, &elf, NULL), 0);
	close(fd);
	assert_int_equal(
		seam_table_build_kernel(elf, &section, &size, NULL, NULL), 0);
	seam_elf_close(elf);
	lay(section, size, &l);
	assert_int_equal(l.left_out, 0);
	from = (uint64_t)l.lookup.first_page << l.lookup.shift;
	to = from + ((uint64_t)l.lookup.num_pages << l.lookup.shift);
	for (uint64_t pc = from - 64; pc < to + 64; pc++)
		rules += same_at(&l, pc);
	print_message("%s: %" PRIu64 " of %" PRIu64
		      " bytes have a rule; %u rules, %u wide, %u rows outside "
		      "their bucket; %zu bytes of SFrame, %u laid out\n",
		      path, rules, to - from, l.lookup.num_rules,
		      l.lookup.num_wide, l.lookup.num_rows, size,
		      l.lookup.size);
	assert_true(rules > (to - from) / 2);
	laid_fini(&l);
}

static void real_libc(void **state)
{
	(void)state;
	real_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void real_program(void **state)
{
	(void)state;
	real_file("/usr/bin/python3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_functions),
		cmocka_unit_test(crowded_page),
		cmocka_unit_test(many_rules),
		cmocka_unit_test(sparse),
		cmocka_unit_test(wide_rules),
		cmocka_unit_test(signal_and_blocks),
		cmocka_unit_test(too_many_rules),
		cmocka_unit_test(beyond_4_gib),
		cmocka_unit_test(refused),
		cmocka_unit_test(real_libc),
		cmocka_unit_test(real_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
