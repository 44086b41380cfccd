// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where user space has no memory for a stack, who was given its
 * cookie by seam_request, or wants registers, is told that it is lost, or that
 * is counted; wherever memory runs out, and all that comes behind it goes on.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/grow.h"
#include "capture/session-priv.h"
#include "core/arch.h"
#include "core/err.h"
#include "tests/unit/oom-wrap.h"
#include "tests/unit/records.h"

#define COPIES 20 /* more than a worker's first array of them has room for */
#define CODE 0x10000
#define REG 0x20000

static struct {
	struct seam_session s;
	unsigned char seen[COPIES]; /* by cookie less 1: what came of each */
	size_t n_lost;
	uint64_t ips[COPIES];
	bool has_regs[COPIES];
} t;

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.s.processes.images = &t.s.images;
	t.s.hears_losses = true;
	return seam_worker_start(&t.s.processes, NULL, SEAM_UNWIND_TABLES, 16,
				 &t.s.worker);
}

static int tear_down(void **state)
{
	(void)state;
	left = -1;
	seam_worker_stop(t.s.worker);
	seam_processes_fini(&t.s.processes);
	seam_images_fini(&t.s.images);
	seam_batch_fini(&t.s.samples);
	seam_batch_fini(&t.s.copies);
	seam_batch_fini(&t.s.losses);
	return 0;
}

static void fill_regs(uint64_t regs[static SEAM_WIRE_REGS])
{
	for (uint64_t i = 0; i < SEAM_WIRE_REGS; i++)
		regs[i] = REG + i;
}

static void copy_of(struct seam_wire_copy *copy, uint64_t cookie)
{
	*copy = (struct seam_wire_copy){.head = {.type = SEAM_WIRE_COPY,
						 .time_ns = cookie,
						 .cookie = cookie},
					.why = SEAM_NO_TABLE};
	fill_regs(copy->regs);
}

static void add_copies(void)
{
	struct seam_wire_copy copy;

	for (uint64_t i = 1; i <= COPIES; i++) {
		copy_of(&copy, i);
		seam_session_keep_copy(&t.s, &copy.head, sizeof(copy));
	}
}

static void saw(uint64_t cookie, uint32_t end)
{
	assert_in_range(cookie, 1, COPIES);
	assert_int_equal(t.seen[cookie - 1]++, 0);
	t.n_lost += end == SEAM_LOST;
}

/* As fill_regs had them. */
static void see_regs(const struct seam_wire_stack *loss)
{
	const uint64_t *regs = loss->ips + loss->nr;

	t.has_regs[loss->head.cookie - 1] = loss->flags & SEAM_STACK_REGS;
	if (loss->flags & SEAM_STACK_REGS)
		for (uint64_t i = 0; i < SEAM_WIRE_REGS; i++)
			assert_int_equal(regs[i], REG + i);
}

static void see_losses(void)
{
	const struct seam_wire *rec;
	size_t at = 0, size;

	while ((rec = seam_batch_next(&t.s.losses, &at, &size))) {
		const struct seam_wire_stack *loss = (const void *)rec;

		assert_int_equal(rec->type, SEAM_WIRE_STACK);
		saw(rec->cookie, loss->end);
		assert_int_equal(loss->end, SEAM_LOST);
		assert_in_range(loss->nr, 0, 1);
		t.ips[rec->cookie - 1] = loss->nr ? loss->ips[0] : 0;
		see_regs(loss);
	}
}

static size_t see_unwound(void)
{
	struct seam_unwound *unwound = NULL;
	long n = seam_worker_take(t.s.worker, &unwound);

	if (n == -ENOMEM) /* it says so once */
		n = seam_worker_take(t.s.worker, &unwound);
	assert_in_range(n, 0, COPIES);
	for (long i = 0; i < n; i++) {
		saw(unwound[i].stack.cookie, (uint32_t)unwound[i].stack.end);
		free(unwound[i].ips);
	}
	free(unwound);
	return (size_t)n;
}

/* As the summary counts them: seam_session_counts. */
static uint64_t untold(void)
{
	struct seam_worker_stats stats;

	seam_worker_stats(t.s.worker, &stats);
	return t.s.losses.n_dropped + stats.untold;
}

static uint64_t lost(void)
{
	struct seam_worker_stats stats;

	seam_worker_stats(t.s.worker, &stats);
	return t.s.lost_waiting + stats.lost;
}

static void check_copies(void)
{
	size_t n = 0;

	see_losses();
	see_unwound();
	for (size_t i = 0; i < COPIES; i++)
		n += t.seen[i];
	assert_int_equal(n + untold(), COPIES);
	assert_int_equal(t.n_lost + untold(), lost());
}

/* Memory runs out at the n-th allocation, from the ring to the worker's end,
 * and is there again afterwards or not. Return: false: it did not run out. */
static bool run_out(long n, long for_good)
{
	bool did;

	set_up(NULL);
	left = n;
	add_copies();
	if (!left && !for_good)
		left = -1;
	seam_session_give_worker(&t.s, NULL, 0, UINT64_MAX);
	if (!left && !for_good)
		left = -1;
	seam_worker_wait(t.s.worker);
	did = left <= 0;
	left = -1;
	check_copies();
	tear_down(NULL);
	return did;
}

static void copies(void **state)
{
	long n = 0;

	(void)state;
	while (run_out(n, true))
		n++;
	assert_in_range(n, COPIES, 1000);
	for (long i = 0; i < n; i++)
		run_out(i, false);
}

static void side_breaks(void **state)
{
	union record map;
	struct seam_side_record side = {
		1, 0, map_record(&map, 7, CODE, "/no such file")};

	(void)state;
	add_copies();
	left = 0;
	assert_int_equal(seam_session_give_worker(&t.s, &side, 1, UINT64_MAX),
			 -ENOMEM);
	left = -1;
	assert_int_equal(untold(), COPIES);
	assert_int_equal(t.s.copies.used, 0);
	check_copies();
}

/* What was mapped is followed when there is memory again. Return: false: it did
 * not run out. */
static bool map_late(long n)
{
	union record map, other;
	struct seam_side_record side = {
		1, 0, map_record(&map, 7, CODE, "/no such file")};
	struct seam_side_record more = {
		2, 0, map_record(&other, 8, CODE, "/no such file")};
	struct seam_process *p;
	bool did;

	set_up(NULL);
	left = n;
	if (!seam_session_give_worker(&t.s, &side, 1, UINT64_MAX)) {
		seam_worker_wait(t.s.worker);
		did = left <= 0;
		left = -1;
		see_unwound();
		assert_int_equal(
			seam_session_give_worker(&t.s, &more, 1, UINT64_MAX),
			0);
		seam_worker_wait(t.s.worker);
		p = seam_process_find(&t.s.processes, 7);
		assert_non_null(p);
		assert_non_null(seam_process_map(&t.s.processes, p, CODE));
	} else {
		did = true;
		left = -1;
	}
	tear_down(NULL);
	return did;
}

static void side_stays(void **state)
{
	long n = 0;

	(void)state;
	while (map_late(n))
		n++;
	assert_in_range(n, 3, 100);
}

/* A stack of the ring for which there is no memory: its loss may have room. */
static void stacks(void **state)
{
	struct {
		struct seam_wire_stack stack;
		uint64_t ips[40]; /* longer than what tells of its loss */
	} rec = {.stack = {.head = {.type = SEAM_WIRE_STACK, .cookie = 1},
			   .flags = SEAM_STACK_REGS,
			   .end = SEAM_OUTERMOST,
			   .nr = 3,
			   .by_fp = 1},
		 .ips = {CODE, 2, 3}};
	struct seam_wire_sample sample = {.head = {.type = SEAM_WIRE_SAMPLE}};

	(void)state;
	fill_regs(rec.ips + 4); /* behind the addresses and methods */
	seam_session_keep_loss(&t.s, &rec.stack.head, sizeof(rec));
	seam_batch_clear(&t.s.losses);
	left = 0;
	seam_session_keep_sample(&t.s, &rec.stack.head, sizeof(rec));
	left = -1;
	assert_int_equal(t.s.lost_stacks, 1);
	see_losses();
	assert_int_equal(t.n_lost, 1);
	assert_int_equal(t.ips[0], CODE);
	assert_true(t.has_regs[0]);
	assert_int_equal(untold(), 0);
	seam_batch_fini(&t.s.losses);
	left = 0;
	seam_session_keep_sample(&t.s, &rec.stack.head, sizeof(rec));
	seam_session_keep_sample(&t.s, &sample.head, sizeof(sample));
	left = -1;
	assert_int_equal(t.s.lost_stacks, 2);
	assert_int_equal(t.s.lost_samples, 1);
	assert_int_equal(untold(), 1);
}

/* One that says it has registers, and is too short for them. */
static void short_stack(void **state)
{
	struct {
		struct seam_wire_stack stack;
		uint64_t ips[1 + SEAM_WIRE_REGS - 1];
	} rec = {.stack = {.head = {.type = SEAM_WIRE_STACK, .cookie = 1},
			   .flags = SEAM_STACK_REGS,
			   .nr = 1},
		 .ips = {CODE}};
	const size_t room = 300; /* of a loss with registers, and no more */

	(void)state;
	assert_false(seam_grow(&t.s.losses.bytes, room, &t.s.losses.room, 1));
	left = 0;
	seam_session_keep_sample(&t.s, &rec.stack.head, sizeof(rec));
	left = -1;
	see_losses();
	assert_int_equal(t.n_lost, 1);
	assert_int_equal(t.ips[0], CODE);
	assert_false(t.has_regs[0]);
}

/* Of no type, or too short for its own; read no further. */
static void malformed(void **state)
{
	const uint32_t types[] = {0, SEAM_WIRE_COPY, SEAM_WIRE_MISS, 99};
	struct seam_wire *rec = malloc(sizeof(*rec));

	(void)state;
	assert_non_null(rec);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		*rec = (struct seam_wire){.type = types[i], .cookie = 1};
		left = 0;
		seam_session_keep_copy(&t.s, rec, sizeof(*rec));
		left = -1;
		assert_int_equal(t.s.lost_malformed, i + 1);
	}
	free(rec);
	assert_int_equal(t.s.lost_waiting, 0);
	assert_int_equal(t.s.lost_requests, 0);
	assert_int_equal(untold(), 0);
	assert_int_equal(t.s.losses.used, 0);
}

/* Memory runs out as what was mapped is followed, before a copy that is none, a
 * record of no type and word of code that is gone. Return: false: it did not
 * run out. */
static bool malformed_behind(long n)
{
	const struct seam_wire rec = {.type = SEAM_WIRE_COPY, .cookie = 1};
	const struct seam_wire none = {.type = 99};
	const struct seam_wire_jit jit = {
		.head = {.type = SEAM_WIRE_JIT, .pid = 7},
		.what = SEAM_WIRE_JIT_UNMAPPED,
		.args = {CODE, CODE + 4096}};
	struct seam_worker_stats stats;
	union record map;
	struct seam_side_record side = {
		0, 0, map_record(&map, 7, CODE, "/no such file")};
	bool did;

	set_up(NULL);
	seam_session_keep_copy(&t.s, &rec, sizeof(rec));
	seam_session_keep_copy(&t.s, &none, sizeof(none));
	seam_session_keep_copy(&t.s, &jit.head, sizeof(jit));
	left = n;
	(void)seam_session_give_worker(&t.s, &side, 1, UINT64_MAX);
	seam_worker_wait(t.s.worker);
	did = left <= 0;
	left = -1;
	seam_worker_stats(t.s.worker, &stats);
	assert_int_equal(stats.malformed + t.s.lost_malformed, 2);
	assert_int_equal(stats.lost_made + t.s.lost_made + stats.made.vain, 1);
	assert_int_equal(lost(), 0);
	assert_int_equal(see_unwound(), 0);
	tear_down(NULL);
	return did;
}

static void malformed_late(void **state)
{
	long n = 0;

	(void)state;
	while (malformed_behind(n))
		n++;
	assert_in_range(n, 3, 100);
}

/* What is left of a copy that was not unwound. */
static void copy_left(void **state)
{
	struct seam_wire_copy copy;
	struct seam_unwound u;

	(void)state;
	copy_of(&copy, 1);
	seam_copier_lose(&copy, &u);
	assert_int_equal(u.stack.end, SEAM_LOST);
	assert_int_equal(u.stack.cookie, 1);
	assert_int_equal(u.stack.n_ips, 1);
	assert_int_equal(u.stack.ips[0], REG + SEAM_AMD64_REG_IP);
	assert_memory_equal(u.stack.regs, copy.regs, sizeof(copy.regs));
	free(u.ips);
	left = 0;
	seam_copier_lose(&copy, &u);
	left = -1;
	assert_int_equal(u.stack.end, SEAM_LOST);
	assert_int_equal(u.stack.cookie, 1);
	assert_int_equal(u.stack.n_ips, 0);
	assert_null(u.stack.regs);
	assert_null(u.ips);
}

/* Who has samples knows its cookies: seam_awaited says what became of them. */
static void with_samples(void **state)
{
	(void)state;
	t.s.hears_losses = false;
	left = 0;
	add_copies();
	left = -1;
	assert_int_equal(t.s.lost_waiting, COPIES);
	assert_int_equal(t.s.losses.used, 0);
	assert_int_equal(untold(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies),
		cmocka_unit_test_setup_teardown(side_breaks, set_up, tear_down),
		cmocka_unit_test(side_stays),
		cmocka_unit_test_setup_teardown(stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(short_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(malformed, set_up, tear_down),
		cmocka_unit_test(malformed_late),
		cmocka_unit_test(copy_left),
		cmocka_unit_test_setup_teardown(with_samples, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
