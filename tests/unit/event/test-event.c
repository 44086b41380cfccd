// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: what precise events ask of the kernel where BPF takes the
 * stacks: the chain that its rules want, and nothing that lets it put records
 * into batches. No hardware is needed: they are not opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "event/event.h"

/*
 * Of arch/x86/events/perf_event.h, LARGE_PEBS_FLAGS: what a record of a batch
 * can have; the time only by the kernel's own clock.
 */
#define OF_BATCHES                                                             \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |                 \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |                 \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_DATA_SRC |   \
	 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION |                    \
	 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_REGS_INTR |                       \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT)

static bool may_batch(const struct perf_event_attr *attr)
{
	uint64_t flags = OF_BATCHES;

	if (attr->use_clockid)
		flags &= ~(uint64_t)PERF_SAMPLE_TIME;
	return attr->precise_ip && !attr->freq &&
	       !(attr->wakeup_events && !attr->watermark) &&
	       !(attr->sample_type & ~flags);
}

static struct seam_event plan(const char *name)
{
	const struct seam_event_spec spec = {
		.name = name, .freq = 999, .max_frames = 64};
	struct seam_errinfo err = {0};
	struct seam_event ev;

	assert_int_equal(seam_event_plan(&spec, &ev, &err), 0);
	assert_int_equal(ev.n, 0);
	return ev;
}

static void check_precise(const char *name, unsigned int level)
{
	struct seam_event ev = plan(name);

	assert_int_equal(ev.attr.precise_ip, level);
	assert_int_equal(ev.opened.precise_ip, level);
	assert_string_equal(ev.name, strchr(name, '/') ? "x" : name);
	assert_true(ev.opened.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_false(ev.opened.exclude_callchain_kernel);
	assert_false(ev.opened.exclude_callchain_user);
	assert_false(may_batch(&ev.opened));
	/* Either would do. */
	ev.opened.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	assert_false(may_batch(&ev.opened));
	seam_event_close(&ev);
}

static void precise(void **state)
{
	(void)state;
	check_precise("cycles:p", 1);
	check_precise("cycles:pp", 2);
	check_precise("instructions:ppp", 3);
	check_precise("branches:upp", 2);
	check_precise("branches/period=1000,name=x/pp", 2);
	check_precise("branches/period=1000,name=x,user-callchains/pp", 2);
	check_precise("branches/period=1000,name=x,kernel-callchains/pp", 2);
}

static void others(void **state)
{
	struct seam_event ev = plan("cycles:u");

	(void)state;
	assert_int_equal(ev.opened.precise_ip, 0);
	assert_false(ev.opened.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_string_equal(ev.name, "cycles:u");
	seam_event_close(&ev);
}

/* By the hardware's own number, which the kernel is given as it is. */
static void raw(void **state)
{
	struct seam_event ev = plan("r1a8:up");

	(void)state;
	assert_int_equal(ev.opened.type, PERF_TYPE_RAW);
	assert_int_equal(ev.opened.config, 0x1a8);
	assert_int_equal(ev.opened.precise_ip, 1);
	assert_true(ev.opened.exclude_kernel && ev.opened.freq);
	assert_string_equal(ev.name, "r1a8:up");
	seam_event_close(&ev);
}

/* What has no registers at its instruction is as precise as it can be. */
static void most_precise(void **state)
{
	static const char *const names[] = {"cpu-clock:P", "page-faults:uP",
					    "sched:sched_switch:P"};
	struct seam_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ev = plan(names[i]);
		assert_int_equal(ev.opened.precise_ip, 0);
		assert_string_equal(ev.name, names[i]);
		seam_event_close(&ev);
	}
	/* Of the hardware, what this machine has: of none, that is said when
	 * the event is opened. */
	ev = plan("cycles:P");
	assert_string_equal(ev.name, "cycles:P");
	assert_int_equal(!!(ev.opened.sample_type & PERF_SAMPLE_CALLCHAIN),
			 ev.opened.precise_ip != 0);
	seam_event_close(&ev);
}

/* perf's name of a clock for programs: it ticks as often. */
static void clocks(void **state)
{
	static const char *const names[] = {"cpu-clock", "task-clock"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct seam_event ev = plan(names[i]);

		assert_true(ev.is_clock);
		assert_int_equal(ev.period_ns, 1000000000 / 999);
		assert_int_equal(ev.opened.sample_period, ev.period_ns);
		assert_false(ev.opened.freq);
		assert_string_equal(ev.name, names[i]);
		seam_event_close(&ev);
	}
}

static void refused(void **state)
{
	const char *const names[] = {"cpu-clock:p", "page-faults:pp",
				     "sched:sched_switch:p", "cycles:pppp"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct seam_event_spec spec = {.name = names[i]};
		struct seam_errinfo err = {0};
		struct seam_event ev;

		assert_int_equal(seam_event_plan(&spec, &ev, &err), -EINVAL);
		assert_true(err.reason[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(precise),	cmocka_unit_test(others),
		cmocka_unit_test(clocks),	cmocka_unit_test(raw),
		cmocka_unit_test(most_precise), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
