// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a message is written at once, whatever its length and wherever
 * its parts end, as one line: a newline in a name is shown by its byte; and
 * whole where the pipe is full and does not block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

#define MOST 700 /* of a name; a packet of a pipe has 4096 bytes */

static int from, was;

/* Each write to such a pipe is a packet, and is read as one. */
static int catch (void **state)
{
	int fds[2];

	(void)state;
	if (pipe2(fds, O_DIRECT | O_NONBLOCK))
		return -1;
	was = dup(STDERR_FILENO);
	from = fds[0];
	if (was < 0 || dup2(fds[1], STDERR_FILENO) < 0)
		return -1;
	close(fds[1]);
	return 0;
}

static int let_go(void **state)
{
	(void)state;
	dup2(was, STDERR_FILENO);
	close(was);
	close(from);
	return 0;
}

/* What was written is that, in one write, and nothing else. */
static void expect(const char *wanted)
{
	char got[8192];
	ssize_t n = read(from, got, sizeof(got) - 1);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, wanted);
	assert_int_equal(read(from, got, sizeof(got)), -1);
}

/* "aaa\n" of that length, and as it is shown. */
static const char *make_name(size_t len, char *name, char *shown)
{
	memset(name, 'a', len - 1);
	strcpy(name + len - 1, "\n");
	memset(shown, 'a', len - 1);
	strcpy(shown + len - 1, "\\x0a");
	return name;
}

static void test_at_once(void **state)
{
	char name[MOST + 1], shown[MOST + 8], wanted[MOST + 64];

	(void)state;
	for (size_t len = 1; len <= MOST; len++) {
		say("seam: %s: no such file\n", make_name(len, name, shown));
		snprintf(wanted, sizeof(wanted), "seam: %s: no such file\n",
			 shown);
		expect(wanted);
		/* The last newline is the message's, not the name's. */
		say("%s\n", name);
		snprintf(wanted, sizeof(wanted), "%s\n", shown);
		expect(wanted);
	}
}

static void test_parts(void **state)
{
	char name[MOST + 1], shown[MOST + 8], wanted[3 * MOST];

	(void)state;
	for (size_t len = 1; len <= MOST; len++) {
		struct message m = {0};

		message_add(&m, "seam: lost:\n");
		message_add(&m, "seam: %s", "");
		message_add(&m, "%s it\n", make_name(len, name, shown));
		assert_int_equal(read(from, wanted, sizeof(wanted)), -1);
		message_say(&m);
		assert_null(m.text);
		snprintf(wanted, sizeof(wanted), "seam: lost:\nseam: %s it\n",
			 shown);
		expect(wanted);
	}
}

static void test_orders(void **state)
{
	(void)state;
	say("seam: %s\n", "\x1b[2J\xff\xc2\x9b\xe2\x80\xae\t\xc3\xa9");
	expect("seam: \\x1b[2J\\xff\\xc2\\x9b\\xe2\\x80\\xae\t\xc3\xa9\n");
}

static void *read_slowly(void *fd)
{
	char some[4096];
	size_t *n = calloc(1, sizeof(*n));
	ssize_t got;

	usleep(20000); /* the pipe is full by then, or will be */
	while (n && (got = read(*(int *)fd, some, sizeof(some))) > 0)
		*n += (size_t)got;
	return n;
}

/* Who shares the pipe made it one that does not block; it is full. */
static void test_full(void **state)
{
	static char name[1 << 20];
	int fds[2], before = dup(STDERR_FILENO);
	pthread_t reader;
	void *n;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	assert_int_equal(pthread_create(&reader, NULL, read_slowly, &fds[0]),
			 0);
	say("%s\n", name);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(pthread_join(reader, &n), 0);
	assert_non_null(n);
	assert_int_equal(*(size_t *)n, sizeof(name));
	free(n);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, catch, let_go);
}
