// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: functions added at once, by numbers of rules, become the same
 * bytes as row by row; numbers that were not given and rows out of order are
 * refused; and in whatever order functions come, they are found.
 */
#include <errno.h>

#include "rows.h"

#define FUNCS 300
#define ROWS 40

static const struct seam_rule rules[] = {
	{.cfa = REG(15, 160)},
	{.cfa = REG(15, 168)},
	{.cfa = REG(15, 0x1000)},
	{.cfa = REG(15, 0x100000), .fp = SLOT(-16), .ra = SLOT(-8)},
	{.cfa = REG(11, 16), .fp = SLOT(-16), .ra = SLOT(-8)},
	/* The same, told otherwise. */
	{.cfa = REG(15, 160), .ra = REG(14, 0)},
	OUTERMOST,
	/* V3 alone can say these. */
	{.cfa = REG(10, 0)},
	{.cfa = REG(10, 16), .fp = SLOT(-16)},
};
#define V2_RULES 7

static struct seam_sframe_builder *builder(uint8_t version)
{
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new_for(
				 version, SEAM_SFRAME_ABI_S390X, 0, &b),
			 0);
	return b;
}

/* The same function both ways. */
static void add_both(struct seam_sframe_builder *by_row,
		     struct seam_sframe_builder *at_once, struct random *random,
		     uint32_t num_rules)
{
	struct seam_sframe_builder_func func = {.start = next(random, 1 << 20)};
	uint32_t off = 0, num = 1 + next(random, ROWS), size;
	struct seam_span rows[ROWS];

	/* Many have rules of the first sort only. */
	if (next(random, 2))
		num_rules = 3;
	assert_int_equal(seam_sframe_builder_begin(by_row, &func), 0);
	for (uint32_t i = 0; i < num; i++) {
		const struct seam_rule *rule = &rules[next(random, num_rules)];

		rows[i].start = 0x5000 + off;
		assert_int_equal(
			seam_sframe_builder_rule(at_once, rule, &rows[i].what),
			0);
		assert_int_equal(seam_sframe_builder_row(by_row, off, rule), 0);
		off += 1 + next(random, next(random, 8) ? 20 : 0x8000);
	}
	/* Some rows begin at the end, or behind it. */
	size = off - next(random, 40) % off;
	assert_int_equal(seam_sframe_builder_end(by_row, size), 0);
	assert_int_equal(
		seam_sframe_builder_add(at_once, &func, rows, num, size), 0);
}

static void same_bytes(uint8_t version, uint32_t num_rules)
{
	struct seam_sframe_builder *by_row = builder(version);
	struct seam_sframe_builder *at_once = builder(version);
	struct random random = {version};
	size_t size, other_size;
	uint8_t *bytes, *other;

	for (int i = 0; i < FUNCS; i++) {
		add_both(by_row, at_once, &random, num_rules);
		if (i == FUNCS / 2)
			seam_sframe_builder_forget(at_once);
	}
	bytes = finish(by_row, 0, &size, NULL);
	other = finish(at_once, 0, &other_size, NULL);
	assert_int_equal(size, other_size);
	assert_memory_equal(bytes, other, size);
	assert_int_equal(seam_sframe_verify(bytes, size, NULL, NULL), 0);
	free(bytes);
	free(other);
}

static void test_same_v3(void **state)
{
	(void)state;
	same_bytes(SEAM_SFRAME_V3, COUNT(rules));
}

static void test_same_v2(void **state)
{
	(void)state;
	same_bytes(SEAM_SFRAME_V2, V2_RULES);
}

/* More rows than a descriptor counts. */
static void test_many_rows(void **state)
{
	static struct seam_span rows[70000];
	struct seam_sframe_builder *b = builder(SEAM_SFRAME_V3);
	struct seam_sframe_builder_func func = {.start = 0x1000};
	struct seam_sframe_builder_totals totals;
	uint32_t numbers[2];
	uint8_t *bytes;
	size_t size;

	(void)state;
	for (int i = 0; i < 2; i++)
		seam_sframe_builder_rule(b, &rules[i], &numbers[i]);
	for (size_t i = 0; i < COUNT(rows); i++)
		rows[i] = (struct seam_span){i, numbers[i & 1]};
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, COUNT(rows),
						 COUNT(rows)),
			 0);
	bytes = finish(b, 0, &size, &totals);
	assert_int_equal(totals.functions, 2);
	assert_int_equal(totals.rows, COUNT(rows));
	assert_int_equal(seam_sframe_verify(bytes, size, NULL, NULL), 0);
	free(bytes);
}

static void test_refused(void **state)
{
	struct seam_sframe_builder *b = builder(SEAM_SFRAME_V3);
	struct seam_sframe_builder_func func = {.start = 0};
	struct seam_span rows[] = {{0x10, 0}, {0x18, 1}};
	struct seam_sframe_builder_totals totals;
	uint32_t number;
	uint8_t *bytes;
	size_t size;

	(void)state;
	assert_int_equal(seam_sframe_builder_row_of(b, 0, 0), -EINVAL);
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, 2, 64),
			 -EINVAL);
	seam_sframe_builder_rule(b, &rules[0], &number);
	rows[0].what = number;
	seam_sframe_builder_rule(b, &rules[1], &rows[1].what);
	rows[1].start = 0x10;
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, 2, 64),
			 -EINVAL);
	rows[1].start = 0x8;
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, 2, 64),
			 -EINVAL);
	rows[1].start = 0x18;
	seam_sframe_builder_forget(b);
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, 2, 64),
			 -EINVAL);
	/* Nothing of all that is there. */
	assert_int_equal(seam_sframe_builder_add(b, &func, rows, 0, 64), 0);
	bytes = finish(b, 0, &size, &totals);
	assert_int_equal(totals.functions, 0);
	assert_int_equal(size, 28);
	free(bytes);
}

#define MAX_PLACES 4096

/* Mostly ascending, as in files; or all mixed, or the wrong way round. */
static uint32_t place_of(struct random *random, uint32_t places, uint32_t i,
			 uint32_t disorder)
{
	switch (disorder) {
	case 0:
		return i % places;
	case 1:
		return next(random, 10) ? places / 2 + i / 2 : i / 2;
	case 2:
		return next(random, places);
	default:
		return places - 1 - i;
	}
}

/* apart: of starts. */
static void in_order(uint32_t places, uint64_t apart, uint32_t disorder)
{
	static uint32_t
		offs[MAX_PLACES]; /* what the one added last says, or 0 */
	/* Text on either side of the section. */
	const struct seam_sframe_limits limits = {
		.section_addr = disorder & 1 ? 0x10000 : 0x800,
	};
	struct seam_sframe_builder *b = new_builder(0);
	struct random random = {disorder};
	struct seam_sframe sf = {0};
	struct seam_rule rule;
	uint8_t *bytes;
	size_t size;

	memset(offs, 0, sizeof(offs));
	for (uint32_t i = 0; i < places; i++) {
		uint32_t place = place_of(&random, places, i, disorder);
		const struct in_row row = {0, {.cfa = REG(SP, 8 + (int)i)}};

		offs[place] = 8 + i;
		add(b,
		    (struct seam_sframe_builder_func){.start = place * apart},
		    1, &row, 1);
	}
	bytes = finish(b, limits.section_addr, &size, NULL);
	assert_int_equal(seam_sframe_verify(bytes, size, &limits, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, size), 0);
	for (uint32_t i = 0; i < places; i++) {
		int err = seam_sframe_find(&sf, i * apart - limits.section_addr,
					   &rule);

		assert_int_equal(err, offs[i] ? 0 : SEAM_NO_RULE);
		if (offs[i])
			assert_int_equal(rule.cfa.off, offs[i]);
	}
	free(bytes);
}

static void test_order(void **state)
{
	(void)state;
	for (uint32_t disorder = 0; disorder < 4; disorder++)
		for (uint32_t places = MAX_PLACES; places; places /= 4) {
			in_order(places, 1, disorder);
			/* Nearly as far as addresses go. */
			in_order(places, (UINT64_MAX >> 2) / places, disorder);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_v3),
		cmocka_unit_test(test_same_v2),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
