// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: without -e it is cycles where the kernel gives a counter of the
 * hardware, whatever this machine has; else cpu-clock, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event/event.h"

static int refusal; /* errno of the machine; 0: it has a PMU */
static unsigned n_asked;
static int given;

long __wrap_syscall(long nr, ...);
long __wrap_syscall(long nr, ...)
{
	const struct perf_event_attr *attr;
	va_list args;

	va_start(args, nr);
	attr = va_arg(args, const struct perf_event_attr *);
	va_end(args);
	assert_int_equal(nr, SYS_perf_event_open);
	assert_int_equal(attr->type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr->config, PERF_COUNT_HW_CPU_CYCLES);
	n_asked++;
	if (refusal) {
		errno = refusal;
		return -1;
	}
	given = open("/", O_PATH | O_CLOEXEC);
	return given;
}

static void check(const char *asked, int err, const char *name, const char *why)
{
	const struct seam_event_spec spec = {
		.name = asked, .freq = 999, .max_frames = 64};
	struct seam_errinfo info = {0};
	struct seam_event ev;

	refusal = err;
	n_asked = 0;
	given = -1;
	assert_int_equal(seam_event_plan(&spec, &ev, &info), 0);
	assert_string_equal(ev.name, name);
	if (why)
		assert_string_equal(ev.why_clock, why);
	else
		assert_null(ev.why_clock);
	assert_int_equal(n_asked, !asked);
	/* What was opened to ask is closed. */
	assert_true(given < 0 || fcntl(given, F_GETFD) < 0);
	seam_event_close(&ev);
}

static void test_usual(void **state)
{
	(void)state;
	check(NULL, 0, "cycles", NULL);
	check(NULL, ENOENT, "cpu-clock", "no hardware counter here");
	check(NULL, EOPNOTSUPP, "cpu-clock", "no hardware counter here");
	check(NULL, ENODEV, "cpu-clock", "no hardware counter here");
	check(NULL, EACCES, "cpu-clock", "hardware counters are refused");
	check(NULL, EPERM, "cpu-clock", "hardware counters are refused");
}

static void test_named(void **state)
{
	(void)state;
	check("cpu-clock", 0, "cpu-clock", NULL);
	check("cpu-clock", ENOENT, "cpu-clock", NULL);
	check("cycles", ENOENT, "cycles", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
