// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: each count of a recording is in JSON under its own name: no two
 * are exchanged, and none is another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/render.h"

static struct seam_stitch_stats stats;

/* "in" may be NULL: at the top. */
static const struct {
	const char *in, *name;
	uint64_t *is;
} counts[] = {
	{NULL, "samples", &stats.samples},
	{NULL, "wanted", &stats.wanted},
	{NULL, "not_said", &stats.end[0]},
	{NULL, "stacks", &stats.stacks},
	{NULL, "unused", &stats.stacks_unused},
	{NULL, "repeated", &stats.stacks_repeated},
	{NULL, "lost_records", &stats.lost_records},
	{NULL, "lost_samples", &stats.lost_samples},
	{NULL, "filtered_samples", &stats.filtered_samples},
	{NULL, "disordered", &stats.disordered},
	{NULL, "forgotten", &stats.forgotten},
	{"user_half", "none", &stats.half[SEAM_HALF_NONE]},
	{"user_half", "with", &stats.half[SEAM_HALF_WITH]},
	{"user_half", "joined", &stats.half[SEAM_HALF_JOINED]},
	{"user_half", "late", &stats.half[SEAM_HALF_LATE]},
	{"user_half", "missing", &stats.half[SEAM_HALF_MISSING]},
	{"join", "by_time", &stats.by_time},
	{"join", "by_process", &stats.by_process},
	{"join", "by_cookie_alone", &stats.by_cookie_alone},
	{"join", "by_order_differs", &stats.by_order_differs},
	{"join", "other_task", &stats.other_task},
	{"unused_why", "repeated", &stats.unused_repeated},
	{"unused_why", "lost", &stats.unused_lost},
	{"unused_why", "foreign", &stats.unused_foreign},
	{"unused_why", "missed", &stats.unused_late},
	{"counts", "unknown", &stats.unknown_members},
	{"counts", "unmoved", &stats.unmoved},
	{"copies", "by_cfi", &stats.copies_by_cfi},
	{"copies", "foreign", &stats.copies_foreign},
	{"copies", "unchecked", &stats.copies_unchecked},
	{"copies", "too_small", &stats.copies_cut},
	{"copies", "size", &stats.copy_size},
	{"precise", "same", &stats.skid.n[SEAM_SKID_SAME]},
	{"precise", "undone", &stats.skid.n[SEAM_SKID_UNDONE]},
	{"precise", "behind", &stats.skid.n[SEAM_SKID_BEHIND]},
};
#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

static json_t *told(void)
{
	struct seam_strbuf b = {0};
	json_t *all;

	seam_strbuf_puts(&b, "{");
	seam_json_counts(&b, &stats);
	seam_strbuf_puts(&b, "}");
	all = json_loads(b.s, JSON_REJECT_DUPLICATES, NULL);
	seam_strbuf_fini(&b);
	assert_non_null(all);
	return all;
}

static uint64_t number(const json_t *in, const char *name)
{
	const json_t *it = json_object_get(in, name);

	if (!json_is_integer(it))
		fail_msg("no %s", name);
	return (uint64_t)json_integer_value(it);
}

static void each_has_its_name(void **state)
{
	json_t *all, *in;

	(void)state;
	for (size_t i = 0; i < N_COUNTS; i++)
		*counts[i].is = 1000 + i;
	stats.copies = 1000000;
	for (int i = SEAM_OUTERMOST; i <= SEAM_END_LAST; i++)
		stats.end[i] = 5000 + (uint64_t)i;
	all = told();
	for (size_t i = 0; i < N_COUNTS; i++) {
		in = counts[i].in ? json_object_get(all, counts[i].in) : all;
		if (number(in, counts[i].name) != 1000 + i)
			fail_msg("%s is another", counts[i].name);
	}
	in = json_object_get(all, "copies");
	assert_int_equal(number(in, "unwound"),
			 stats.copies - stats.copies_foreign);
	in = json_object_get(all, "end");
	for (int i = SEAM_OUTERMOST; i <= SEAM_END_LAST; i++)
		assert_int_equal(number(in, seam_err_name(i)),
				 i == SEAM_NO_USER ? stats.half[SEAM_HALF_NONE]
						   : stats.end[i]);
	json_decref(all);
}

/* Each kind of instruction, under each end that is its doing. */
static void each_kind_has_its_name(void **state)
{
	static const enum seam_skid_fate fates[] = {SEAM_SKID_IRREVERSIBLE,
						    SEAM_SKID_BELOW_SP,
						    SEAM_SKID_MOMENT_END};
	const size_t n = sizeof(fates) / sizeof(fates[0]);
	json_t *all, *precise;

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (int kind = 0; kind < SEAM_SKID_KINDS; kind++)
			stats.skid.by[fates[i]][kind] =
				100 * i + (uint64_t)kind + 1;
	all = told();
	precise = json_object_get(all, "precise");
	for (size_t i = 0; i < n; i++)
		for (int kind = 0; kind < SEAM_SKID_KINDS; kind++)
			assert_int_equal(
				number(json_object_get(
					       precise,
					       seam_skid_fate_name(fates[i])),
				       seam_skid_kind_name(kind)),
				100 * i + (uint64_t)kind + 1);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_name),
		cmocka_unit_test(each_kind_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
