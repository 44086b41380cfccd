// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: many processes load through one table cache, remove its file
 * and damage it, and each gets the right table all the time. */
#include <signal.h>

#include "cache.h"

#define WRITERS 8
#define READERS 4
#define ROUNDS 150

static int load_many(int who)
{
	for (int i = 0; i < ROUNDS; i++) {
		int err = load_in_child();

		if (err)
			return err;
		/* Writers remove what they find, so that they all write. */
		if (who < WRITERS && i % 2)
			unlink(t.file);
	}
	return 0;
}

/* Someone who damages the file in place while others read it. */
static void damage_forever(void)
{
	for (unsigned int i = 0;; i++) {
		int fd = open(t.file, O_WRONLY | O_NOFOLLOW);

		if (fd < 0)
			continue;
		if (i % 3 == 0)
			(void)!ftruncate(fd, i % 1000);
		else
			(void)!pwrite(fd, "damage", 6, 16 + i * 37 % 5000);
		close(fd);
	}
}

static void test_many_at_once(void **state)
{
	pid_t damager = fork();

	(void)state;
	if (!damager)
		damage_forever();
	in_children(WRITERS + READERS, load_many);
	kill(damager, SIGKILL);
	waitpid(damager, NULL, 0);
	/* No private name is left behind. */
	assert_true(list(false, NULL) <= 1);
	fill(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_many_at_once, fill),
	};

	return run_cache_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
