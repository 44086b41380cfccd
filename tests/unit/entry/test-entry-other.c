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
	AT_LEAST(400000, world_search("other", PLAN_OTHER, &limits));
}

/* Who asks looks at an entry, which the task ends before he joins it. */
static void other_claim(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 2,
					     .clients = 2,
					     .asks = 1,
					     .lent = 2};

	(void)state;
	AT_LEAST(380000, world_search("other, claim", PLAN_OTHER, &limits));
}

static void other_refused(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .refusals = 1,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(140000, world_search("other, refused", PLAN_OTHER, &limits));
}

static void other_full(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .full = 1,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(130000, world_search("other, full", PLAN_OTHER, &limits));
}

static void other_twice(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 1,
					     .asks = 2,
					     .lent = 1};

	(void)state;
	AT_LEAST(150000, world_search("other, twice", PLAN_OTHER, &limits));
}

static void other_interrupts(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(180000,
		 world_search("other, interrupts", PLAN_OTHER, &limits));
}

static void other_depths(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .depths = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(500000, world_search("other, depths", PLAN_OTHER, &limits));
}

static void other_exec(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 1,
					     .asks = 1,
					     .may_exec = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(360000, world_search("other, exec", PLAN_OTHER, &limits));
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
	AT_LEAST(270000, world_search("other, exit", PLAN_OTHER, &limits));
}

static void other_listener(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 1,
					     .listener = true,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(260000, world_search("other, listener", PLAN_OTHER, &limits));
}

/* It ends while another asks, and may have no element. */
static void other_ends(void **state)
{
	static const struct limits limits = {.entries = 1,
					     .full = 1,
					     .switches = 3,
					     .asks = 1,
					     .may_exit = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(5000, world_search("other, ends", PLAN_OTHER, &limits));
}

/* So often that what is kept of a request by turns is used anew. */
static void other_again(void **state)
{
	static const struct limits limits = {
		.switches = 2, .asks = 3, .lent = 1};

	(void)state;
	AT_LEAST(170000, world_search("other, again", PLAN_OTHER, &limits));
}

/* Two ask at once, for two clients. */
static void other_two(void **state)
{
	static const struct limits limits = {.entries = 1,
					     .switches = 2,
					     .clients = 2,
					     .asks = 1,
					     .askers = 2,
					     .lent = 3};

	(void)state;
	AT_LEAST(300000, world_search("other, two", PLAN_OTHER, &limits));
}

/* A client ends while another task asks for it, or for another. */
static void other_swept(void **state)
{
	static const struct limits limits = {.samples = 1,
					     .entries = 1,
					     .switches = 1,
					     .clients = 2,
					     .asks = 1,
					     .lent = 3};

	(void)state;
	AT_LEAST(1000000,
		 world_search("other, swept", PLAN_OTHER_SWEEP, &limits));
}

/* In its second entry the task asks itself, and others have asked since it
 * found nothing of theirs in the first. */
static void other_after(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .entries = 2,
					     .switches = 1,
					     .asks = 1,
					     .lent = 1};

	(void)state;
	AT_LEAST(6000000, world_search("other, after", PLAN_OTHER, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other),
		cmocka_unit_test(other_claim),
		cmocka_unit_test(other_refused),
		cmocka_unit_test(other_full),
		cmocka_unit_test(other_twice),
		cmocka_unit_test(other_interrupts),
		cmocka_unit_test(other_depths),
		cmocka_unit_test(other_exec),
		cmocka_unit_test(other_exit),
		cmocka_unit_test(other_listener),
		cmocka_unit_test(other_again),
		cmocka_unit_test(other_ends),
		cmocka_unit_test(other_two),
		cmocka_unit_test(other_swept),
		cmocka_unit_test(other_after),
	};

	return RUN_WORLDS(tests);
}
