/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: what doctor says of this machine and of others: each thing
 * that is missing takes the engine away, with its reason and a step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/engine.h"
#include "kernel/probe.h"

#define CAP(name) (1ULL << (CAP_##name))

/* A machine on which everything works. */
static struct seam_probe_facts good(void)
{
	return (struct seam_probe_facts){
		.machine = "x86_64",
		.release = "6.18.1",
		.major = 6,
		.minor = 18,
		.is_root = true,
		.caps = ~0ULL,
		.task_work = "bpf_task_work_schedule_resume_impl",
		.kallsyms_shown = true,
		.has_debug_files = true,
	};
}

static const struct seam_probe_result *find(const struct seam_probe *probe,
					    const char *name)
{
	for (size_t i = 0; i < probe->n; i++)
		if (!strcmp(probe->results[i].name, name))
			return &probe->results[i];
	return NULL;
}

static void test_good(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "deferred");
	assert_string_equal(p.next, "");
	for (size_t i = 0; i < p.n; i++)
		if (!p.results[i].is_engine)
			assert_int_equal(p.results[i].state, SEAM_PROBE_YES);
	assert_int_equal(find(&p, "immediate")->state, SEAM_PROBE_YES);
	assert_int_equal(find(&p, "native")->state, SEAM_PROBE_YES);
	assert_int_equal(find(&p, "dump")->state, SEAM_PROBE_YES);
}

/* What is left is dump, unless that is broken too, or only deferred is. */
static void check_left(const struct seam_probe_facts *f,
		       const struct seam_probe *p)
{
	const char *next = find(p, "immediate")->state == SEAM_PROBE_YES
				   ? "immediate"
				   : "dump";
	bool left = !f->dump_rc && !strcmp(f->machine, "x86_64");

	assert_int_equal(find(p, "dump")->state,
			 left ? SEAM_PROBE_YES : SEAM_PROBE_NO);
	if (left)
		assert_string_equal(p->engine, next);
	else
		assert_null(p->engine);
}

/* Each in turn breaks the good machine. */
static void check_broken(const struct seam_probe_facts *f, const char *check,
			 const char *reason, const char *step)
{
	struct seam_probe p;

	seam_probe_judge(f, &p);
	check_left(f, &p);
	assert_int_equal(find(&p, check)->state, SEAM_PROBE_NO);
	assert_int_equal(find(&p, "deferred")->state, SEAM_PROBE_NO);
	if (!strstr(find(&p, "deferred")->found, reason))
		fail_msg("'%s' does not say '%s'", find(&p, "deferred")->found,
			 reason);
	if (!strstr(p.next, step))
		fail_msg("'%s' does not advise '%s'", p.next, step);
}

static void test_broken(void **state)
{
	struct seam_probe_facts f;

	(void)state;
	f = good();
	strcpy(f.machine, "aarch64");
	check_broken(&f, "machine", "x86_64", "");
	f = good();
	f.btf_rc = -ESRCH;
	check_broken(&f, "btf", "type information", "CONFIG_DEBUG_INFO_BTF");
	f = good();
	f.task_work = NULL;
	check_broken(&f, "task-work", "no BPF task work", "6.18");
	f = good();
	f.arena_rc = -EINVAL;
	check_broken(&f, "arena", "arena", "6.9");
	f = good();
	f.caps = CAP(BPF);
	check_broken(&f, "rights", "missing: CAP_PERFMON", "sudo");
	f.caps = CAP(PERFMON);
	check_broken(&f, "rights", "missing: CAP_BPF", "cap_bpf,cap_perfmon=");
	f.caps = CAP(SYSLOG);
	f.clock_rc = f.own_clock_rc = f.cycles_rc = -EACCES; /* paranoid 3 */
	f.dump_rc = -EACCES;
	check_broken(&f, "rights", "missing: CAP_BPF, CAP_PERFMON", "sudo");
	f = good();
	f.in_user_ns = true;
	check_broken(&f, "rights", "user namespace", "container");
	f = good();
	strcpy(f.lockdown, "confidentiality");
	check_broken(&f, "lockdown", "lockdown", "lockdown");
	f = good();
	f.load_rc = -E2BIG;
	strcpy(f.load_reason, "the verifier gave up");
	check_broken(&f, "programs", "the verifier gave up", "");
	f = good();
	f.cycles_rc = f.clock_rc = f.own_clock_rc = f.dump_rc = -ENOSYS;
	check_broken(&f, "events", "perf_event_open", "container");
	f.caps = CAP(BPF) | CAP(PERFMON);
	f.paranoid = 3;
	check_broken(&f, "events", "perf_event_paranoid is 3",
		     "perf_event_paranoid=2");
	f = good();
	f.buffers_rc = -EPERM;
	strcpy(f.buffers_reason, "no more memory");
	check_broken(&f, "memlock", "no more memory", "perf_event_mlock_kb");
}

static void test_part(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.caps = CAP(BPF) | CAP(PERFMON);
	f.cycles_rc = -ENOENT;
	f.map_files_rc = -EPERM;
	f.kallsyms_shown = false;
	f.kptr_restrict = 2;
	f.cache_rc = -EROFS;
	f.has_debug_files = false;
	strcpy(f.lockdown, "integrity");
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "deferred");
	assert_int_equal(find(&p, "rights")->state, SEAM_PROBE_PART);
	assert_non_null(strstr(find(&p, "rights")->found, "enough to record"));
	assert_null(strstr(find(&p, "rights")->found, "missing"));
	assert_non_null(
		strstr(find(&p, "map-files")->found, "CAP_CHECKPOINT_RESTORE"));
	assert_int_equal(find(&p, "lockdown")->state, SEAM_PROBE_YES);
	assert_int_equal(find(&p, "events")->state, SEAM_PROBE_PART);
	assert_int_equal(find(&p, "map-files")->state, SEAM_PROBE_PART);
	assert_int_equal(find(&p, "kernel-symbols")->state, SEAM_PROBE_PART);
	assert_int_equal(find(&p, "table-cache")->state, SEAM_PROBE_PART);
	assert_int_equal(find(&p, "debug-files")->state, SEAM_PROBE_PART);
	for (size_t i = 0; i < p.n; i++)
		if (p.results[i].state == SEAM_PROBE_PART &&
		    strcmp(p.results[i].name, "events"))
			assert_true(p.results[i].fix[0]);
}

/* Who sees the kernel's addresses: nobody at 2, else CAP_SYSLOG. */
static void test_kernel_symbols(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.kallsyms_shown = false;
	f.paranoid = 2;
	f.caps = CAP(BPF) | CAP(PERFMON);
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "deferred");
	assert_non_null(
		strstr(find(&p, "kernel-symbols")->found, "CAP_SYSLOG"));
	assert_string_equal(find(&p, "kernel-symbols")->fix,
			    "sudo seam script ...");
	f.kptr_restrict = 2;
	seam_probe_judge(&f, &p);
	assert_null(strstr(find(&p, "kernel-symbols")->found, "CAP_SYSLOG"));
	assert_non_null(
		strstr(find(&p, "kernel-symbols")->fix, "kptr_restrict=1"));
}

/* An old kernel: every reason is there, the first one is what is advised. */
static void test_old_kernel(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.major = 5;
	f.minor = 4;
	f.memlock = 65536;
	f.task_work = NULL;
	f.arena_rc = f.at_once_rc = f.defer_rc = f.load_rc = -EINVAL;
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "dump");
	assert_string_equal(p.next, "boot Linux 6.18 or later");
	assert_int_equal(find(&p, "kernel")->state, SEAM_PROBE_PART);
	assert_int_equal(find(&p, "memlock")->state, SEAM_PROBE_PART);
	assert_non_null(strstr(find(&p, "immediate")->found, "arena"));
}

/* It takes none of what deferral alone does, and all of its own. */
static void test_immediate(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.task_work = NULL;
	f.load_rc = -EINVAL;
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "immediate");
	assert_int_equal(find(&p, "deferred")->state, SEAM_PROBE_NO);
	assert_string_equal(p.next, "boot Linux 6.18 or later");
	f.at_once_rc = -EACCES;
	f.minor = 10;
	seam_probe_judge(&f, &p);
	assert_non_null(strstr(find(&p, "immediate")->found, "6.11"));
	f.minor = 18;
	strcpy(f.at_once_reason, "addresses are hidden");
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "dump");
	assert_string_equal(find(&p, "immediate")->found,
			    "addresses are hidden");
	f.at_once_reason[0] = '\0';
	seam_probe_judge(&f, &p);
	assert_string_equal(find(&p, "immediate")->found, "Permission denied");
	f = good();
	f.task_work = NULL;
	f.caps = CAP(BPF);
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "dump");
	assert_non_null(strstr(find(&p, "immediate")->found, "CAP_PERFMON"));
}

/* Nothing is missing, and yet stacks could be of later entries. */
static void test_realtime(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.is_realtime = true;
	seam_probe_judge(&f, &p);
	assert_int_equal(find(&p, "deferred")->state, SEAM_PROBE_NO);
	assert_non_null(strstr(find(&p, "deferred")->found, "PREEMPT_RT"));
	assert_string_equal(p.engine, "immediate");
	assert_string_equal(p.next, "");
	f.task_work = NULL;
	seam_probe_judge(&f, &p);
	assert_null(strstr(find(&p, "deferred")->found, "PREEMPT_RT"));
}

static bool realtime_says(const char *text)
{
	char path[] = "/tmp/seam-realtime-XXXXXX";
	int fd = mkstemp(path);
	bool is;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	is = seam_kernel_is_realtime(path);
	unlink(path);
	return is;
}

/* Other kernels have no such file. */
static void test_realtime_file(void **state)
{
	(void)state;
	assert_true(realtime_says("1\n"));
	assert_false(realtime_says("0\n"));
	assert_false(realtime_says(""));
	assert_false(seam_kernel_is_realtime("/nonexistent/realtime"));
}

/* Who shares is listed while there is anybody. */
static void test_clients(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	seam_probe_judge(&f, &p);
	assert_null(find(&p, "clients"));
	f.clients = 3;
	f.client_groups = 2;
	strcpy(f.client_pids, "12 34 56");
	seam_probe_judge(&f, &p);
	assert_int_equal(find(&p, "clients")->state, SEAM_PROBE_YES);
	assert_string_equal(find(&p, "clients")->found,
			    "3 recordings share their unwinds, in 2 groups: "
			    "12 34 56");
	assert_true(p.n <= SEAM_PROBE_MAX);
}

static void test_this_machine(void **state)
{
	struct seam_probe_facts f;
	struct seam_probe p;

	(void)state;
	seam_probe_gather(&f);
	seam_probe_judge(&f, &p);
	assert_true(f.major >= 4);
	assert_true(p.n <= SEAM_PROBE_MAX);
	for (size_t i = 0; i < p.n; i++) {
		assert_true(p.results[i].found[0]);
		/* No reason was cut off. */
		assert_true(strlen(p.results[i].found) <
			    sizeof(p.results[i].found) - 1);
	}
	assert_true(!p.engine || find(&p, p.engine)->state == SEAM_PROBE_YES);
}

/* A user's own programs, where every task is not to be had; and not even
 * those where Debian's kernels let only root by. */
static void test_dump(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.caps = 0;
	f.clock_rc = -EACCES;
	f.paranoid = 2;
	seam_probe_judge(&f, &p);
	assert_string_equal(p.engine, "dump");
	assert_non_null(strstr(find(&p, "dump")->found, "own programs"));
	f.own_clock_rc = f.dump_rc = -EACCES;
	f.paranoid = 3;
	seam_probe_judge(&f, &p);
	assert_null(p.engine);
	assert_non_null(strstr(find(&p, "dump")->fix, "perf_event_paranoid=2"));
}

/* The kernel's own deferral is there or not, and never what auto takes. */
static void test_native(void **state)
{
	struct seam_probe_facts f = good();
	struct seam_probe p;

	(void)state;
	f.task_work = NULL;
	f.at_once_rc = -EINVAL;
	f.dump_rc = -EOPNOTSUPP;
	seam_probe_judge(&f, &p);
	assert_int_equal(find(&p, "native")->state, SEAM_PROBE_YES);
	assert_null(strstr(find(&p, "native")->found, "own programs"));
	assert_null(p.engine);
	f.clock_rc = -EACCES;
	seam_probe_judge(&f, &p);
	assert_non_null(strstr(find(&p, "native")->found, "own programs"));
	f.defer_rc = -EINVAL;
	seam_probe_judge(&f, &p);
	assert_int_equal(find(&p, "native")->state, SEAM_PROBE_NO);
	assert_non_null(strstr(find(&p, "native")->found, "Linux 6.19"));
	f.defer_rc = -EACCES;
	seam_probe_judge(&f, &p);
	assert_null(strstr(find(&p, "native")->found, "Linux 6.19"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_kernel_symbols),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_immediate),
		cmocka_unit_test(test_realtime),
		cmocka_unit_test(test_realtime_file),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_native),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
