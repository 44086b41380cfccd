// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: who reads files that may never come is no child of this
 * process, is left behind where it cannot be ended, and there are not more of
 * them than are allowed, whoever began them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/aside.h"
#include "process/fetch.h"

#define FOREVER UINT64_MAX / 2

/* Whether signals do not come, as to one that waits for a FUSE daemon. */
static bool is_deaf;

int __real_pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned flags);
int __wrap_pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned flags)
{
	return is_deaf ? 0 : __real_pidfd_send_signal(fd, sig, info, flags);
}

static void has_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* What it waited for has come. */
static void let_end(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(__real_pidfd_send_signal(fd, SIGKILL, NULL, 0), 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	close(fd);
}

/* Answers once. */
static void run(int socket, void *ctx)
{
	char c;

	if (read(socket, &c, 1) == 1 && write(socket, ctx, 1) == 1)
		pause();
}

static int begin(int *ret_socket)
{
	char name = 'x', said = 0;
	int fd = seam_aside_begin(run, &name, ret_socket);

	if (fd < 0)
		return fd;
	assert_int_equal(write(*ret_socket, "?", 1), 1);
	assert_int_equal(read(*ret_socket, &said, 1), 1);
	assert_int_equal(said, 'x');
	return fd;
}

static void ends(void **state)
{
	int socket, fd = begin(&socket);

	(void)state;
	assert_true(fd >= 0);
	has_no_child();
	assert_true(seam_aside_end(fd, FOREVER));
	has_no_child();
	assert_int_equal(seam_aside_left(), 0);
	close(socket);
}

/* Its end is its own: nobody here has to be there. */
static void left(void **state)
{
	int socket, fd = begin(&socket), copy = dup(fd);

	(void)state;
	is_deaf = true;
	assert_false(seam_aside_end(fd, 0));
	is_deaf = false;
	assert_int_equal(seam_aside_left(), 1);
	has_no_child();
	close(socket);
	let_end(copy);
	assert_int_equal(seam_aside_left(), 0);
}

/* Those that are left behind take the place of others, until they end. */
static void bounded(void **state)
{
	int copies[SEAM_ASIDE_MAX], socket, fd;

	(void)state;
	is_deaf = true;
	for (int i = 0; i < SEAM_ASIDE_MAX; i++) {
		fd = begin(&socket);
		assert_true(fd >= 0);
		close(socket);
		copies[i] = i % 2 ? dup(fd) : fd;
		/* The others are at work. */
		if (i % 2)
			assert_false(seam_aside_end(fd, 0));
	}
	is_deaf = false;
	assert_int_equal(begin(&socket), -EBUSY);
	assert_int_equal(seam_aside_left(), SEAM_ASIDE_MAX / 2);
	let_end(copies[1]);
	fd = begin(&socket);
	assert_true(fd >= 0);
	close(socket);
	assert_int_equal(begin(&socket), -EBUSY);
	assert_true(seam_aside_end(fd, FOREVER));
	for (int i = 0; i < SEAM_ASIDE_MAX; i++) {
		if (i % 2 == 0)
			assert_true(seam_aside_end(copies[i], FOREVER));
		else if (i != 1)
			let_end(copies[i]);
	}
	assert_int_equal(seam_aside_left(), 0);
}

/* A file that does not answer, as far as it can be had without such a file
 * system: its reader is stopped. */
static void reader(void **state)
{
	struct seam_fetch f = {0};
	struct seam_fetch_from from = {.pid = (uint32_t)getpid(),
				       .path = "/proc/self/exe"};
	struct seam_fetched file;
	uint64_t timeouts;
	int copy, err;

	(void)state;
	do { /* on a machine that is busy for a second */
		from.dev++;
		err = seam_fetch_open(&f, &from, &file);
	} while (err == -ETIMEDOUT);
	assert_int_equal(err, 0);
	timeouts = f.timeouts;
	copy = dup(f.pidfd);
	assert_int_equal(__real_pidfd_send_signal(copy, SIGSTOP, NULL, 0), 0);
	is_deaf = true;
	assert_int_equal(seam_fetch_open(&f, &from, &file), -ETIMEDOUT);
	is_deaf = false;
	assert_int_equal(f.timeouts, timeouts + 1);
	assert_int_equal(seam_aside_left(), 1);
	assert_int_equal(seam_fetch_open(&f, &from, &file), -EBUSY);
	seam_fetch_fini(&f);
	has_no_child();
	let_end(copy);
	assert_int_equal(seam_aside_left(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
		cmocka_unit_test(left),
		cmocka_unit_test(bounded),
		cmocka_unit_test(reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
