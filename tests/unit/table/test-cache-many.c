// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: many processes load through one table cache, remove its file
 * and damage it, and each gets the right table all the time. */
#include <signal.h>
#include <sys/wait.h>

#include "cache.h"

#define WRITERS 8
#define READERS 4
#define ROUNDS 150

/* In a child, where an assertion would return into the parent's tests. */
static int load_many(unsigned int seed)
{
	struct seam_table_cache *cache;
	uint8_t *bytes;
	size_t size;

	for (int i = 0; i < ROUNDS; i++) {
		bool right;

		if (seam_table_cache_open(t.dir, &cache) ||
		    seam_table_load_kernel(cache, t.elf, &bytes, &size, NULL,
					   NULL))
			return 1;
		right = size == t.size && !memcmp(bytes, t.table, size);
		free(bytes);
		seam_table_cache_close(cache);
		if (!right)
			return 2;
		/* Writers remove what they find, so that they all write. */
		if (seed < WRITERS && i % 2)
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
	pid_t children[WRITERS + READERS], damager;

	(void)state;
	damager = fork();
	if (!damager)
		damage_forever();
	for (unsigned int i = 0; i < WRITERS + READERS; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(load_many(i));
	}
	for (unsigned int i = 0; i < WRITERS + READERS; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
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
