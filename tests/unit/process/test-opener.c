// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: another process opens for us what a process has mapped, says why
 * it cannot, has none of our files, and is missed when it has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "process/opener.h"
#include "tests/unit/skip.h"

#define PAGE 4096

static int ours; /* a pipe's end that none but us has */

static int agree(void)
{
	return 0;
}

static int refuse(void)
{
	return -EPERM;
}

static int has_none_of_ours(void)
{
	return fcntl(ours, F_GETFD) < 0 && errno == EBADF ? 0 : -EEXIST;
}

static int end_at_once(void)
{
	_exit(0);
}

static void opens_what_is_mapped(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	uint64_t start = (uintptr_t)at;
	struct stat a, b;
	struct seam_opener o;

	(void)state;
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(seam_opener_begin(agree, &o), 0);
	fd = seam_opener_mapped(&o, (uint32_t)getpid(), start, start + PAGE);
	if (fd == -EPERM || fd == -EACCES)
		skip_since("map_files is closed to us");
	assert_true(fd >= 0);
	assert_int_equal(fstat(file, &a) | fstat(fd, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	/* It goes on after what it could not open. */
	assert_int_equal(seam_opener_mapped(&o, (uint32_t)getpid(), 0, PAGE),
			 -ENOENT);
	fd = seam_opener_mapped(&o, (uint32_t)getpid(), start, start + PAGE);
	assert_true(fd >= 0);
	close(fd);
	seam_opener_end(&o);
	munmap(at, PAGE);
	close(file);
}

static void says_what_it_may_not(void **state)
{
	struct seam_opener o;

	(void)state;
	assert_int_equal(seam_opener_begin(refuse, &o), -EPERM);
}

static void has_no_file_of_ours(void **state)
{
	struct seam_opener o;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	ours = fds[1];
	assert_int_equal(seam_opener_begin(has_none_of_ours, &o), 0);
	seam_opener_end(&o);
	close(fds[0]);
	close(fds[1]);
}

static void is_missed(void **state)
{
	struct seam_opener o;

	(void)state;
	assert_int_equal(seam_opener_begin(end_at_once, &o), -ESHUTDOWN);
	assert_int_equal(seam_opener_begin(agree, &o), 0);
	/* It reads no more, and ends. */
	shutdown(o.socket, SHUT_WR);
	assert_int_equal(seam_opener_mapped(&o, 1, 0, PAGE), -ESHUTDOWN);
	seam_opener_end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_what_is_mapped),
		cmocka_unit_test(says_what_it_may_not),
		cmocka_unit_test(has_no_file_of_ours),
		cmocka_unit_test(is_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
