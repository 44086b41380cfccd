// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a stack copy is unwound with what its process had mapped when
 * it was taken, in whichever reading it and the kernel's records come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/worker.h"
#include "core/arch.h"
#include "core/err.h"
#include "tests/unit/records.h"

#define CODE 0x10000
#define NEVER UINT64_MAX

struct world {
	struct seam_images images;
	struct seam_processes ps;
	struct seam_worker *worker;
	uint32_t pid;
	bool is_precise; /* the copies' ip is a precise event's */
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	w->ps.images = &w->images;
	w->pid = ended_pid();
	return seam_worker_start(&w->ps, NULL, SEAM_UNWIND_TABLES, 16,
				 &w->worker);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	seam_worker_stop(w->worker);
	seam_processes_fini(&w->ps);
	seam_images_fini(&w->images);
	free(w);
	return 0;
}

/* Of a task in a system call at CODE. */
static void add_copy(const struct world *w, struct seam_batch *copies,
		     uint64_t time_ns)
{
	struct seam_wire_copy copy = {
		.head = {.type = SEAM_WIRE_COPY,
			 .time_ns = time_ns,
			 .pid = w->pid,
			 .tid = w->pid,
			 .cookie = time_ns},
		.flags = w->is_precise ? SEAM_STACK_PRECISE
				       : SEAM_STACK_EXEC | SEAM_STACK_SYSCALL,
	};

	copy.regs[SEAM_AMD64_REG_IP] = CODE;
	seam_batch_add(copies, &copy.head, sizeof(copy));
}

/* A reading: a copy of a time, if that is not 0, and one record, if any. */
static void round_of(struct world *w, uint64_t copy_ns, uint64_t record_ns,
		     const struct perf_event_header *record, uint64_t until_ns)
{
	struct seam_batch copies = {0};
	struct seam_held held = {0};
	struct seam_side_record one = {record_ns, 0, record};
	struct seam_worker_side side = {&one, record != NULL, until_ns};

	if (copy_ns)
		add_copy(w, &copies, copy_ns);
	assert_int_equal(seam_worker_give(w->worker, &copies, &held, &side), 0);
	seam_batch_fini(&copies);
	seam_held_fini(&held);
}

/* The end code of the only copy. */
static int end_of(struct world *w)
{
	struct seam_unwound *unwound = NULL;
	int end;

	seam_worker_wait(w->worker);
	assert_int_equal(seam_worker_take(w->worker, &unwound), 1);
	end = unwound[0].stack.end;
	free(unwound[0].ips);
	free(unwound);
	return end;
}

/* The exec's record comes with one reading, the copy of the program before it,
 * which is the older one, with the next. */
static void exec_comes_first(void **state)
{
	struct world *w = *state;
	union record map, exec;

	round_of(w, 0, 100, map_record(&map, w->pid, CODE, "/no such file"),
		 150);
	round_of(w, 0, 300, exec_record(&exec, w->pid), 200);
	round_of(w, 250, 0, NULL, 400);
	/* It is mapped, although there is no table. */
	assert_int_not_equal(end_of(w), SEAM_EXEC);
}

/* The exec is not forgotten either. */
static void exec_waits(void **state)
{
	struct world *w = *state;
	union record map, exec;

	round_of(w, 0, 100, map_record(&map, w->pid, CODE, "/no such file"),
		 150);
	round_of(w, 0, 300, exec_record(&exec, w->pid), 200);
	round_of(w, 350, 0, NULL, 400);
	assert_int_equal(end_of(w), SEAM_EXEC);
}

/* One CPU's ring is read before the exec is there, another's after it, and
 * finds a record that is younger than the copy. */
static void exec_comes_late(void **state)
{
	struct world *w = *state;
	union record map, exec, other;

	round_of(w, 0, 100, map_record(&map, w->pid, CODE, "/no such file"),
		 150);
	round_of(w, 0, 400, exec_record(&other, w->pid + 1), 200);
	round_of(w, 350, 300, exec_record(&exec, w->pid), 500);
	assert_int_equal(end_of(w), SEAM_EXEC);
}

/* Before it comes the reader does not know how far it has all copies. */
static void copies_held_up(void **state)
{
	struct world *w = *state;
	union record map, exec;

	round_of(w, 0, 100, map_record(&map, w->pid, CODE, "/no such file"),
		 150);
	round_of(w, 0, 300, exec_record(&exec, w->pid), 150);
	round_of(w, 250, 0, NULL, 150);
	assert_int_not_equal(end_of(w), SEAM_EXEC);
	round_of(w, 350, 0, NULL, 400);
	assert_int_equal(end_of(w), SEAM_EXEC);
}

/* A call where nothing is known to be mapped, as after losses, is no exec. */
static void exec_was_none(void **state)
{
	struct world *w = *state;
	union record map;

	round_of(w, 250, 0, NULL, 400);
	assert_int_equal(end_of(w), SEAM_NO_TABLE);
	round_of(w, 0, 500,
		 map_record(&map, w->pid, CODE + (1 << 20), "/no such file"),
		 550);
	round_of(w, 600, 0, NULL, 700);
	assert_int_equal(end_of(w), SEAM_NO_TABLE);
}

/* A mapping that is younger than the reading's beginning, but not than a copy
 * in it. */
static void mapping_in_reading(void **state)
{
	struct world *w = *state;
	union record map;

	round_of(w, 250, 240, map_record(&map, w->pid, CODE, "/no such file"),
		 200);
	assert_int_not_equal(end_of(w), SEAM_EXEC);
}

/* There is no file to read its instruction in. */
static void precise(void **state)
{
	struct world *w = *state;
	union record map;

	round_of(w, 0, 100, map_record(&map, w->pid, CODE, "/no such file"),
		 150);
	w->is_precise = true;
	round_of(w, 250, 0, NULL, 400);
	assert_int_equal(end_of(w), SEAM_IRREVERSIBLE);
}

/* What is none of a copy, and what is nothing, is counted. */
static void malformed(void **state)
{
	struct world *w = *state;
	struct seam_wire_copy copy = {.head.type = SEAM_WIRE_COPY, .size = 1};
	struct seam_wire nothing = {0};
	struct seam_batch copies = {0};
	struct seam_held held = {0};
	struct seam_worker_side side = {0};
	struct seam_worker_stats stats;

	assert_true(seam_batch_add(&copies, &copy.head, sizeof(copy)));
	assert_true(seam_batch_add(&copies, &copy.head, sizeof(copy) - 1));
	assert_true(seam_batch_add(&copies, &nothing, sizeof(nothing)));
	assert_int_equal(seam_worker_give(w->worker, &copies, &held, &side), 0);
	seam_worker_wait(w->worker);
	seam_worker_stats(w->worker, &stats);
	assert_int_equal(stats.malformed, 3);
	seam_batch_fini(&copies);
}

/* At the end nothing waits. */
static void last_round(void **state)
{
	struct world *w = *state;
	union record map;

	round_of(w, 0, 500, map_record(&map, w->pid, CODE, "/no such file"),
		 NEVER);
	seam_worker_wait(w->worker);
	assert_non_null(seam_process_find(&w->ps, w->pid));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(exec_comes_first), CASE(exec_waits),
		CASE(exec_was_none),	CASE(mapping_in_reading),
		CASE(precise),		CASE(last_round),
		CASE(exec_comes_late),	CASE(copies_held_up),
		CASE(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
