// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: names of events as perf spells them: modifiers, terms, lists;
 * and what is none, by its reason. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/event-name.h"

static struct seam_event_name parse(const char *text)
{
	struct seam_event_name name;
	struct seam_errinfo err = {0};

	assert_int_equal(seam_event_name_parse(text, &name, &err), 0);
	return name;
}

static void modifiers(void **state)
{
	struct seam_event_name name = parse("cpu-clock");

	(void)state;
	assert_string_equal(name.known->name, "cpu-clock");
	assert_int_equal(name.base_len, 9);
	assert_false(name.user || name.kernel || name.has_max_stack);
	name = parse("cpu-clock:u");
	assert_int_equal(name.base_len, 9);
	assert_true(name.user && !name.kernel);
	name = parse("page-faults:ku");
	assert_true(name.user && name.kernel);
	name = parse("cycles:ppu");
	assert_true(name.user && !name.kernel);
	assert_int_equal(name.precise, 2);
	name = parse("cycles:uP");
	assert_true(name.user && name.precise_max && !name.precise);
	/* A tracepoint has a colon of its own, and may be called "u". */
	name = parse("a:u");
	assert_null(name.known);
	assert_int_equal(name.base_len, 3);
	assert_false(name.user);
	name = parse("sched:sched_switch:k");
	assert_int_equal(name.base_len, 18);
	assert_true(name.kernel && !name.user);
}

static void terms(void **state)
{
	struct seam_event_name name =
		parse("sched:sched_switch/max-stack=7,name=a b,period=3/u");

	(void)state;
	assert_int_equal(name.base_len, 18);
	assert_true(name.user && name.has_max_stack);
	assert_int_equal(name.max_stack, 7);
	assert_int_equal(name.period, 3);
	assert_int_equal(name.freq, 0);
	assert_int_equal(name.label_len, 3);
	assert_memory_equal(name.label, "a b", 3);
	assert_false(name.no_payload);
	name = parse("sched:sched_switch/no-payload,period=2/");
	assert_true(name.no_payload);
	name = parse("cpu-clock/freq=50,max-stack=0/:k");
	assert_true(name.kernel && name.has_max_stack && !name.max_stack);
	assert_int_equal(name.freq, 50);
	assert_int_equal(parse("cs/kernel-callchains/").halves,
			 SEAM_HALVES_KERNEL);
	assert_int_equal(parse("cs/user-callchains/").halves, SEAM_HALVES_USER);
	assert_int_equal(parse("cs/call-graph=no/").halves, SEAM_HALVES_NONE);
	assert_int_equal(parse("cs//").halves, SEAM_HALVES_BOTH);
}

static void raw(void **state)
{
	struct seam_event_name name = parse("r1A8");

	(void)state;
	assert_true(name.raw && !name.known);
	assert_int_equal(name.config, 0x1a8);
	assert_int_equal(name.base_len, 4);
	name = parse("r003c/period=7/up");
	assert_true(name.raw && name.user && name.precise == 1);
	assert_int_equal(name.config, 0x3c);
	assert_int_equal(name.period, 7);
	name = parse("rffffffffffffffff:k");
	assert_int_equal(name.config, UINT64_MAX);
	assert_true(name.kernel);
	assert_false(parse("r").raw || parse("r12345678901234567").raw ||
		     parse("rx1").raw || parse("ref-cycles").raw ||
		     parse("sched:r1").raw);
	assert_int_equal(seam_event_name_end("r1:u,cs"), 4);
}

static void probes(void **state)
{
	const char *text = "uprobe:/a,b/c:f+0x10/max-stack=2/u";
	struct seam_event_name name = parse(text);

	(void)state;
	assert_int_equal(name.base_len, strlen("uprobe:/a,b/c:f+0x10"));
	assert_memory_equal(text + name.file_at, "/a,b/c:", 7);
	assert_int_equal(name.file_len, 6);
	assert_true(name.user && name.has_max_stack && !name.returns);
	name = parse("uretprobe:x:u:k");
	assert_true(name.returns && name.kernel && !name.user);
	assert_int_equal(name.base_len, 13);
	assert_int_equal(parse("uprobe:x").file_len, 1);
	assert_int_equal(parse("uprobe::").file_len, 0);
	assert_int_equal(seam_event_name_end("uprobe:/a,b/c:f/x=1,y/,cs"), 22);
}

static void bad(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{"cs:", "modifiers are missing"},
		{"cs:h", "':h' is no modifier"},
		{"cs:uu", "no modifier"},
		{"cs//upppp", "':upppp'"},
		{"cs/max-stack=3", "its terms end with a '/'"},
		{"cs/max-stack=8185/", "up to 8184"},
		{"cs/max-stack=-1/", "up to 8184"},
		{"cs/max-stack=+1/", "up to 8184"},
		{"cs/max-stack=1x/", "up to 8184"},
		{"cs/max-stack/", "up to 8184"},
		{"cs/period=99999999999999999999/", "want a number"},
		{"cs/period=999999999999999999999999999/", "want a number"},
		{"cs/freq=100001/", "up to 100000"},
		{"cs/name=/", "'name' is no term"},
		{"cs/,/", "'' is no term"},
		{"cs/call-graph=dwarf/", "call-graph=dwarf"},
		{"cs/kernel-callchains,user-callchains/", "exclude each other"},
		{"cs/depth=3/", "'depth' is no term"},
		{"cpu/event=0x3c", "its terms end with a '/'"},
		{"cpu/event=0x3c,period=x/", "'period=x': want a number"},
		{"cpu/cycles/h", "':h' is no modifier"},
		{"/cycles/", "'cycles' is no term"},
		{"r12/event=3/", "'event' is no term"},
		{"cs:H", "there are u, k, p, pp, ppp and P"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seam_event_name name = {.base_len = 77};
		struct seam_errinfo err = {0};

		assert_int_equal(
			seam_event_name_parse(cases[i].text, &name, &err),
			-EINVAL);
		assert_int_equal(name.base_len, 77);
		assert_non_null(strstr(err.reason, cases[i].reason));
	}
}

static void lists(void **state)
{
	(void)state;
	assert_int_equal(seam_event_name_end("cs"), 2);
	assert_int_equal(seam_event_name_end("cs,faults"), 2);
	assert_int_equal(seam_event_name_end("a:b/x=1,y/u,faults"), 11);
	assert_int_equal(seam_event_name_end("cs/x=1,y"), 8);
	assert_int_equal(seam_event_name_end(",cs"), 0);
	assert_int_equal(seam_event_name_end(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modifiers), cmocka_unit_test(terms),
		cmocka_unit_test(probes),    cmocka_unit_test(bad),
		cmocka_unit_test(raw),	     cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
