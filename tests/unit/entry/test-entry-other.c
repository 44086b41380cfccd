// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: core/entry-other.h, by which a task's stack is asked for by
 * others, as test-entry.c has what that asks itself. */
#include "worlds.h"

/* Another task asks for this one's stack. */
static void other(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other", PLAN_OTHER, &limits));
}

static void other_refused(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .refusals = 1,
					     .full = 1,
					     .switches = 1,
					     .asks = 2,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, refused", PLAN_OTHER, &limits));
}

static void other_entries(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 2,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, entries", PLAN_OTHER, &limits));
}

static void other_twice(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .asks = 2,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, twice", PLAN_OTHER, &limits));
}

static void other_interrupts(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, interrupts", PLAN_OTHER, &limits));
}

static void other_depths(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .depths = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, depths", PLAN_OTHER, &limits));
}

static void other_exec(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .may_exec = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, exec", PLAN_OTHER, &limits));
}

static void other_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .may_exit = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("other, exit", PLAN_OTHER, &limits));
}

/* Beside another client's, of the task itself too. */
static void others(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .entries = 1,
					     .switches = 1,
					     .clients = 2,
					     .asks = 1,
					     .lent = 2};

	(void)state;
	AT_LEAST(10000, world_search("others", PLAN_OTHERS, &limits));
}

static void other_listener(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 1,
					     .listener = true,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(5000, world_search("other, listener", PLAN_OTHER, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other),
		cmocka_unit_test(other_refused),
		cmocka_unit_test(other_entries),
		cmocka_unit_test(other_twice),
		cmocka_unit_test(other_interrupts),
		cmocka_unit_test(other_depths),
		cmocka_unit_test(other_exec),
		cmocka_unit_test(other_exit),
		cmocka_unit_test(other_listener),
		cmocka_unit_test(others),
	};

	return RUN_WORLDS(tests);
}
