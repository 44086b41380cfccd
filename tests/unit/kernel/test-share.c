// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a process's own name for itself is no terminal's command, and
 * whether it is stopped is not read out of it. Who cannot be seen, for want of
 * descriptors, is not taken for dead. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/share.h"

static void named(const char *name, const char *want)
{
	char got[16] = "before";

	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	seam_share_name_of((uint32_t)getpid(), got);
	assert_string_equal(got, want);
}

static void printable(void **state)
{
	(void)state;
	named("seam", "seam");
	named("a b~", "a b~");
	named("\x1b[2J\xff\xc3x\x7f", "?[2J??x?");
	named("a\nb", "a");
	named("0123456789abcde", "0123456789abcde");
	named("", "");
}

static void gone(void **state)
{
	char got[16] = "before";

	(void)state;
	seam_share_name_of(0x7ffffffe, got);
	assert_string_equal(got, "");
}

/* A group's folder, in any file system. */
static int make_group(char *path)
{
	int fd;

	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* What seam_share_has_others says while no descriptor is to be had. */
static bool has_others_without_room(const struct seam_share *s)
{
	struct rlimit had, none;
	bool has;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = had.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	has = seam_share_has_others(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
	return has;
}

static void unseen(void **state)
{
	char path[] = "/tmp/seam-test-share-XXXXXX";
	struct seam_share s = SEAM_SHARE_NONE;
	int other;

	(void)state;
	s.group_fd = make_group(path);
	assert_false(seam_share_has_others(&s));
	assert_int_equal(mkdirat(s.group_fd, "3", 0700), 0);
	assert_false(seam_share_has_others(&s)); /* it has ended */
	other = openat(s.group_fd, "3", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_true(seam_share_has_others(&s));
	assert_true(has_others_without_room(&s));
	close(other);
	assert_false(seam_share_has_others(&s));
	/* What is no folder is no client's. */
	assert_int_equal(symlinkat("3", s.group_fd, "4"), 0);
	assert_false(seam_share_has_others(&s));
	assert_int_equal(unlinkat(s.group_fd, "4", 0), 0);
	assert_int_equal(unlinkat(s.group_fd, "3", AT_REMOVEDIR), 0);
	close(s.group_fd);
	assert_int_equal(rmdir(path), 0);
}

/* One of that name stops, goes on and waits to be killed. */
static void stops(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a check fails */
		prctl(PR_SET_NAME, name);
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_true(seam_share_is_stopped((uint32_t)pid));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, NULL, WCONTINUED), pid);
	assert_false(seam_share_is_stopped((uint32_t)pid));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stopped(void **state)
{
	(void)state;
	stops("plain");
	stops("a b");
	stops("a) S (b");
	stops("a) T (b");
	stops(")");
	stops("(\n) T ");
	stops("");
	assert_false(seam_share_is_stopped(0x7ffffffe));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printable),
		cmocka_unit_test(gone),
		cmocka_unit_test(unseen),
		cmocka_unit_test(stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
