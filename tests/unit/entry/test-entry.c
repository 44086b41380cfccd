// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: core/entry.h, which BPF runs, through every interleaving of
 * requests, interrupts inside them, callbacks, refusals, full rings and maps,
 * exec, exit and reuse, up to the limits given here: each sample's stack comes
 * once, of the entry that its cookie names, or there is a reason. */
#include "worlds.h"

static void interrupts(void **state)
{
	static const struct limits limits = {
		.samples = 3, .interrupts = 2, .entries = 2, .drops = 1};

	(void)state;
	AT_LEAST(100000, world_search("interrupts", PLAN_ONE, &limits));
}

static void faults(void **state)
{
	static const struct limits limits = {
		.samples = 2, .interrupts = 1, .entries = 2, .faults = 2};

	(void)state;
	AT_LEAST(1000, world_search("faults", PLAN_ONE, &limits));
}

static void migration(void **state)
{
	static const struct limits limits = {
		.samples = 3, .interrupts = 1, .entries = 3, .moves = 2};

	(void)state;
	AT_LEAST(10000, world_search("migration", PLAN_ONE, &limits));
}

static void refusals(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 2,
					     .refusals = 1,
					     .full = 1};

	(void)state;
	AT_LEAST(10000, world_search("refusals", PLAN_ONE, &limits));
}

static void depths(void **state)
{
	static const struct limits limits = {
		.samples = 3, .interrupts = 2, .entries = 1, .depths = true};

	(void)state;
	AT_LEAST(100000, world_search("depths", PLAN_ONE, &limits));
}

static void exec_and_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 2,
					     .refusals = 1,
					     .full = 1,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(100000, world_search("exec and exit", PLAN_ONE, &limits));
}

static void reuse(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 2,
					     .may_exit = true};

	(void)state;
	AT_LEAST(30000, world_search("reuse", PLAN_REUSE, &limits));
}

static void exec_by_thread(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .may_exit = true};

	(void)state;
	AT_LEAST(30000, world_search("exec by a thread", PLAN_MOVE, &limits));
}

static void at_once(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 2,
					     .full = 1,
					     .moves = 1,
					     .may_exec = true,
					     .may_exit = true,
					     .at_once = true};

	(void)state;
	AT_LEAST(10000, world_search("at once", PLAN_ONE, &limits));
}

static void reuse_at_once(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 2,
					     .may_exit = true,
					     .at_once = true};

	(void)state;
	AT_LEAST(5000, world_search("reuse, at once", PLAN_REUSE, &limits));
}

static void exec_by_thread_at_once(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .may_exit = true,
					     .at_once = true};

	(void)state;
	AT_LEAST(5000,
		 world_search("exec by a thread, at once", PLAN_MOVE, &limits));
}

static void clients(void **state)
{
	static const struct limits limits = {.samples = 3,
					     .interrupts = 2,
					     .entries = 1,
					     .clients = 2,
					     .depths = true};

	(void)state;
	AT_LEAST(100000, world_search("clients", PLAN_ONE, &limits));
}

static void losses(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .drops = 2,
					     .sample_drops = 2,
					     .clients = 2};

	(void)state;
	AT_LEAST(5000, world_search("losses", PLAN_ONE, &limits));
}

static void losses_at_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .drops = 1,
					     .sample_drops = 1,
					     .clients = 2,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(5000, world_search("losses at exit", PLAN_ONE, &limits));
}

static void clients_refused(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 1,
					     .refusals = 1,
					     .full = 1,
					     .clients = 2};

	(void)state;
	AT_LEAST(5000, world_search("clients, refused", PLAN_ONE, &limits));
}

static void clients_exec_and_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .refusals = 1,
					     .clients = 2,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(100000,
		 world_search("clients, exec and exit", PLAN_ONE, &limits));
}

static void clients_late(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .clients = 2,
					     .late = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(10000, world_search("clients, late", PLAN_ONE, &limits));
}

static void clients_told(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .clients = 2,
					     .told = true,
					     .may_exec = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(50000, world_search("clients, told", PLAN_ONE, &limits));
}

static void clients_reuse(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .clients = 2,
					     .may_exit = true};

	(void)state;
	AT_LEAST(30000, world_search("clients, reuse", PLAN_REUSE, &limits));
}

static void from_outside(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 2,
					     .outside = 1};

	(void)state;
	AT_LEAST(10000, world_search("from outside", PLAN_OUTSIDE, &limits));
}

static void clients_from_outside(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 2,
					     .switches = 2,
					     .outside = 1,
					     .clients = 2};

	(void)state;
	AT_LEAST(10000,
		 world_search("clients, from outside", PLAN_OUTSIDE, &limits));
}

static void depths_from_outside(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 2,
					     .outside = 1,
					     .depths = true};

	(void)state;
	AT_LEAST(10000,
		 world_search("depths, from outside", PLAN_OUTSIDE, &limits));
}

static void clients_depths_from_outside(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 2,
					     .outside = 1,
					     .clients = 2,
					     .depths = true};

	(void)state;
	AT_LEAST(10000, world_search("clients, depths, from outside",
				     PLAN_OUTSIDE, &limits));
}

/* One more client asks nothing, and has what the others ask. */
static void listener(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 2,
					     .refusals = 1,
					     .clients = 2,
					     .depths = true,
					     .listener = true};

	(void)state;
	AT_LEAST(30000, world_search("listener", PLAN_ONE, &limits));
}

static void listener_exec_and_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .may_exec = true,
					     .may_exit = true,
					     .listener = true};

	(void)state;
	AT_LEAST(10000,
		 world_search("listener, exec and exit", PLAN_ONE, &limits));
}

static void listener_from_outside(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 2,
					     .switches = 2,
					     .outside = 1,
					     .listener = true};

	(void)state;
	AT_LEAST(5000,
		 world_search("listener, from outside", PLAN_OUTSIDE, &limits));
}

/* Who interrupts a closed entry may join that, and not for who has ended. */
static void clients_end(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .switches = 1,
					     .clients = 2};

	(void)state;
	AT_LEAST(100000, world_search("clients that end", PLAN_SWEEP, &limits));
}

static void clients_end_at_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .entries = 1,
					     .switches = 2,
					     .clients = 2,
					     .may_exit = true};

	(void)state;
	AT_LEAST(100000,
		 world_search("clients that end, exit", PLAN_SWEEP, &limits));
}

static void three_clients(void **state)
{
	static const struct limits limits = {
		.samples = 3, .interrupts = 1, .entries = 1, .clients = 3};

	(void)state;
	AT_LEAST(100000, world_search("three clients", PLAN_ONE, &limits));
}

static void three_clients_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .clients = 3,
					     .may_exit = true};

	(void)state;
	AT_LEAST(20000, world_search("three clients, exit", PLAN_ONE, &limits));
}

/* Two numbers are swept at once, by two who are given them. */
static void two_clients_end(void **state)
{
	static const struct limits limits = {
		.samples = 1, .entries = 1, .switches = 2, .clients = 3};

	(void)state;
	AT_LEAST(20000,
		 world_search("two clients that end", PLAN_SWEEP, &limits));
}

/* Clients of two groups have elements and stacks of their own, and cookies of
 * the same counters. */
static void groups(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 2,
					     .entries = 1,
					     .clients = 2,
					     .groups = true};

	(void)state;
	AT_LEAST(20000, world_search("groups", PLAN_ONE, &limits));
}

static void groups_exec_and_exit(void **state)
{
	static const struct limits limits = {.samples = 2,
					     .interrupts = 1,
					     .entries = 1,
					     .clients = 2,
					     .groups = true,
					     .may_exit = true};

	(void)state;
	AT_LEAST(20000,
		 world_search("groups, exec and exit", PLAN_ONE, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reuse_at_once),
		cmocka_unit_test(exec_by_thread_at_once),
		cmocka_unit_test(refusals),
		cmocka_unit_test(losses_at_exit),
		cmocka_unit_test(losses),
		cmocka_unit_test(clients_refused),
		cmocka_unit_test(faults),
		cmocka_unit_test(migration),
		cmocka_unit_test(clients_reuse),
		cmocka_unit_test(at_once),
		cmocka_unit_test(reuse),
		cmocka_unit_test(exec_by_thread),
		cmocka_unit_test(depths),
		cmocka_unit_test(exec_and_exit),
		cmocka_unit_test(clients_late),
		cmocka_unit_test(clients_told),
		cmocka_unit_test(clients_exec_and_exit),
		cmocka_unit_test(clients_from_outside),
		cmocka_unit_test(from_outside),
		cmocka_unit_test(depths_from_outside),
		cmocka_unit_test(listener),
		cmocka_unit_test(listener_exec_and_exit),
		cmocka_unit_test(listener_from_outside),
		cmocka_unit_test(clients_depths_from_outside),
		cmocka_unit_test(clients_end_at_exit),
		cmocka_unit_test(clients_end),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(clients),
		cmocka_unit_test(three_clients),
		cmocka_unit_test(three_clients_exit),
		cmocka_unit_test(two_clients_end),
		cmocka_unit_test(groups),
		cmocka_unit_test(groups_exec_and_exit),
	};

	return RUN_WORLDS(tests);
}
