// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: names that were written before a process began are not its own,
 * wherever it is and whoever says when it began; those of one that has ended
 * are not judged by who has its number now. */
#include "run.h"
#include "tests/unit/skip.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ULL
#define HOUR_NS (3600 * SECOND_NS)
/* No process has such a number. */
#define NOBODY (100000000u + (uint32_t)getpid())

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* Its one name is said, too. */
static void write_map(const char *path, const char *name, uint64_t at_ns)
{
	const struct timespec at = {(time_t)(at_ns / SECOND_NS),
				    (long)(at_ns % SECOND_NS)};
	const struct timespec times[] = {at, at};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "1000 10 %s\n", name);
	fclose(f);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The name that a new reader finds; "old": the map was not believed. */
static const char *name_for(struct seam_perf_owner of)
{
	static char answer[64];
	struct seam_symbolizer *s = new_symbolizer(false);
	int file = seam_symbolizer_map(s, &of);
	const char *why = NULL, *path = NULL;
	struct seam_symbol sym;
	size_t at = 0;

	strcpy(answer, "none");
	if (file >= 0 && seam_symbolize_user(s, file, 0x1000, &sym))
		snprintf(answer, sizeof(answer), "%s", sym.name);
	why = seam_symbolizer_source_problem(s, &at, &path);
	if (why && strstr(why, "before the process began"))
		strcpy(answer, "old");
	seam_symbolizer_free(s);
	return answer;
}

static void outer_path(uint32_t pid, char ret[static 64])
{
	snprintf(ret, 64, "/tmp/perf-%u.map", pid);
}

/* Waits in a root of its own, if it is to have one. */
static _Noreturn void wait_in(const char *root, int ready)
{
	char done = 1;

	if (root && chroot(root))
		_exit(1);
	if (write(ready, &done, 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

/* A process with a root and numbers of its own, or none of these: root NULL.
 * Return: its number here; 0: it is not allowed. */
static pid_t start(const char *root)
{
	int told[2], ready[2];
	pid_t maker, pid = 0;
	char done = 0;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	maker = fork();
	assert_true(maker >= 0);
	if (!maker) {
		if (root && unshare(CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (!pid)
			wait_in(root, ready[1]);
		_exit(pid < 0 || write(told[1], &pid, sizeof(pid)) < 0);
	}
	close(told[1]);
	close(ready[1]);
	if (read(told[0], &pid, sizeof(pid)) != sizeof(pid) ||
	    read(ready[0], &done, 1) != 1)
		pid = 0;
	close(told[0]);
	close(ready[0]);
	waitpid(maker, NULL, 0);
	return pid;
}

/* A test that fails leaves nobody. */
static pid_t waiting;

static int stop(void **state)
{
	(void)state;
	if (waiting > 0)
		kill(waiting, SIGKILL);
	waiting = 0;
	return 0;
}

static void test_recorded(void **state)
{
	struct seam_perf_owner of = {.pid = NOBODY};
	uint64_t now_ns = wall_ns();
	char path[64];

	(void)state;
	outer_path(NOBODY, path);
	write_map(path, "own", now_ns);
	assert_string_equal(name_for(of), "own");
	of.began_ns = now_ns - SECOND_NS;
	assert_string_equal(name_for(of), "own");
	/* A file's clock ticks. */
	of.began_ns = now_ns + SECOND_NS / 100;
	assert_string_equal(name_for(of), "own");
	of.began_ns = now_ns + SECOND_NS / 10;
	assert_string_equal(name_for(of), "old");
	unlink(path);
}

/* Each by its own time, in one recording. */
static void test_reused(void **state)
{
	struct seam_perf_owner first = {.pid = NOBODY}, second = first;
	struct seam_symbolizer *s = new_symbolizer(false);
	char path[64];

	(void)state;
	outer_path(NOBODY, path);
	write_map(path, "first", wall_ns());
	first.began_ns = wall_ns() - HOUR_NS;
	second.began_ns = wall_ns() + HOUR_NS;
	assert_true(seam_symbolizer_map(s, &first) >= 0);
	assert_int_equal(seam_symbolizer_map(s, &second), -ENOENT);
	assert_true(seam_symbolizer_map(s, &first) >= 0);
	seam_symbolizer_free(s);
	unlink(path);
}

/* One that was begun under this name. */
static void is_judged(const char *name)
{
	struct seam_perf_owner of = {.is_here = true};
	char path[64], had[16];

	assert_int_equal(prctl(PR_GET_NAME, had), 0);
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	waiting = start(NULL);
	assert_int_equal(prctl(PR_SET_NAME, had), 0);
	assert_true(waiting > 0);
	of.pid = (uint32_t)waiting;
	outer_path(of.pid, path);
	write_map(path, "own", wall_ns());
	assert_string_equal(name_for(of), "own");
	write_map(path, "former", wall_ns() - HOUR_NS);
	assert_string_equal(name_for(of), "old");
	/* Of one that was recorded before this one began, it may be. */
	of.until_ns = wall_ns() - HOUR_NS / 2;
	assert_string_equal(name_for(of), "former");
	of.until_ns = 0;
	of.began_ns = wall_ns() - 2 * HOUR_NS;
	assert_string_equal(name_for(of), "former");
	of.began_ns = 0;
	of.is_here = false;
	assert_string_equal(name_for(of), "former");
	unlink(path);
	stop(NULL);
}

static void test_running(void **state)
{
	(void)state;
	is_judged("plain");
	is_judged("a b) S 1 (");
	is_judged("(\n) R 1 ");
	is_judged("\n");
}

static void test_container(void **state)
{
	char root[96], inner[128], outer[64];
	struct seam_perf_owner of = {.is_here = true};

	(void)state;
	snprintf(root, sizeof(root), "%s/root", run_dir);
	snprintf(inner, sizeof(inner), "%s/tmp", root);
	assert_int_equal(mkdir(root, 0755), 0);
	assert_int_equal(mkdir(inner, 0755), 0);
	strcat(inner, "/perf-1.map");
	waiting = start(root);
	if (waiting <= 0)
		skip_since("no PID namespace can be made here");
	of.pid = (uint32_t)waiting;
	outer_path(of.pid, outer);
	write_map(inner, "own", wall_ns());
	assert_string_equal(name_for(of), "own");
	/* Its number's former owner here had one as well. */
	write_map(outer, "former", wall_ns() - HOUR_NS);
	assert_string_equal(name_for(of), "own");
	unlink(outer);
	write_map(inner, "former", wall_ns() - HOUR_NS);
	assert_string_equal(name_for(of), "old");
	/* It is not that one's, who was recorded before. */
	of.until_ns = wall_ns() - HOUR_NS / 2;
	assert_string_equal(name_for(of), "none");
	unlink(inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_reused),
		cmocka_unit_test_teardown(test_running, stop),
		cmocka_unit_test_teardown(test_container, stop),
	};

	umask(022);
	return cmocka_run_group_tests(tests, enter_run_dir, leave_run_dir);
}
