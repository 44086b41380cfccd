// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what <seam/seam.bpf.h> compiles into a tool's programs, which
 * ask beside a recording or alone; and tasks whose end nobody saw, as
 * test-entry.c has those that are seen to end. */
#include "worlds.h"

/* Programs of a tool's ask: what lies between the steps is done by what the
 * header has compiled into them. */
static void lent(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .interrupts = 1,
					     .entries = 1,
					     .refusals = 1,
					     .faults = 1,
					     .depths = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("lent", PLAN_ONE, &limits));
}

static void lent_exec_and_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .refusals = 1,
					     .full = 1,
					     .may_exec = true,
					     .may_exit = true,
					     .lent = 1};

	(void)state;
	AT_LEAST(10000, world_search("lent, exec and exit", PLAN_ONE, &limits));
}

/* Beside a recording's. */
static void lent_clients(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 1,
					     .refusals = 1,
					     .faults = 1,
					     .clients = 2,
					     .lent = 2};

	(void)state;
	AT_LEAST(10000, world_search("lent, clients", PLAN_ONE, &limits));
}

static void lent_clients_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .clients = 2,
					     .lent = 3,
					     .late = true,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(10000, world_search("lent, clients, exit", PLAN_ONE, &limits));
}

/* Such programs alone know of their cookies: they are told of each whose stack
 * had no room, or there was none to tell them. */
static void lent_losses(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 2,
					     .drops = 2,
					     .untold = 1,
					     .clients = 2,
					     .lent = 3};

	(void)state;
	AT_LEAST(10000, world_search("lent, losses", PLAN_ONE, &limits));
}

/* Or which was not taken, since nobody saw the task's end. */
static void lent_unseen(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .refusals = 1,
					     .untold = 1,
					     .unseen = 2,
					     .clients = 2,
					     .lent = 3,
					     .may_exit = true};

	(void)state;
	AT_LEAST(10000, world_search("lent, unseen", PLAN_ONE, &limits));
}

static void lent_unseen_exec(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .unseen = 2,
					     .lent = 1,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(1000, world_search("lent, unseen, exec", PLAN_ONE, &limits));
}

/* And another task has its number by then, and what was left to it. */
static void unseen_reuse(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .unseen = 2,
					     .switches = 1,
					     .may_exit = true};

	(void)state;
	AT_LEAST(10000, world_search("unseen, reuse", PLAN_REUSE, &limits));
}

static void lent_unseen_reuse(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .untold = 1,
					     .unseen = 2,
					     .lent = 1,
					     .may_exit = true};

	(void)state;
	AT_LEAST(10000,
		 world_search("lent, unseen, reuse", PLAN_REUSE, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lent),
		cmocka_unit_test(lent_exec_and_exit),
		cmocka_unit_test(lent_clients),
		cmocka_unit_test(lent_clients_exit),
		cmocka_unit_test(lent_losses),
		cmocka_unit_test(lent_unseen),
		cmocka_unit_test(lent_unseen_exec),
		cmocka_unit_test(unseen_reuse),
		cmocka_unit_test(lent_unseen_reuse),
	};

	return RUN_WORLDS(tests);
}
