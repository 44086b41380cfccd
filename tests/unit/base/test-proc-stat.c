/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: what the kernel says of a process is not read out of its name.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc-stat.h"

static unsigned long long now_ticks(void)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * per_second +
	       (uint64_t)ts.tv_nsec * per_second / 1000000000;
}

/* One of that name that is stopped, which has begun since then. */
static void is_read(const char *name)
{
	unsigned long long before = now_ticks(), after;
	struct seam_proc_stat its = {0};
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a check fails */
		prctl(PR_SET_NAME, name);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	after = now_ticks();
	assert_true(seam_proc_stat_read((uint32_t)pid, &its));
	assert_int_equal(its.state, 'T');
	assert_in_range(its.start_ticks, before, after);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(seam_proc_stat_read((uint32_t)pid, &its));
}

static void names(void **state)
{
	(void)state;
	is_read("plain");
	is_read("");
	is_read("a b");
	is_read(") S 1 2 3 4 (");
	is_read("(\n) R 1 2");
	is_read("\n\n\n");
	is_read("\\n) R");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
