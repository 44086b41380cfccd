/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples and stacks that a test gives, and what was written of them. */
#ifndef TESTS_UNIT_RECORD_GIVEN_H
#define TESTS_UNIT_RECORD_GIVEN_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/entries.h"

#define SECOND 1000000000ULL
/* Above the kernel's limit: nobody has it. */
#define TID 0x7ffffff0
#define FIRST 0x7fffffe0 /* the first thread of its process */

struct written {
	uint64_t time_ns, cookie, n_ips, flags, end;
	uint64_t tid;
};

static struct {
	struct seam_entries es;
	struct seam_summary sum;
	struct written out[16];
	size_t n;
	int fail;
} t;

static int keep(void *ctx, const struct seam_pd_stack *stack)
{
	assert_ptr_equal(ctx, &t);
	assert_int_equal(stack->id.id, 42);
	assert_true(t.n < sizeof(t.out) / sizeof(t.out[0]));
	if (stack->n_ips)
		assert_int_equal(stack->ips[stack->n_ips - 1], stack->cookie);
	t.out[t.n++] = (struct written){stack->id.time_ns,    stack->cookie,
					stack->n_ips,	      stack->flags,
					(uint64_t)stack->end, stack->id.tid};
	return t.fail;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.es.sum = &t.sum;
	t.es.id = 42;
	t.es.write = keep;
	t.es.ctx = &t;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_entries_fini(&t.es);
	return 0;
}

static inline void sample_under(uint32_t tid, uint32_t stack_tid,
				uint64_t cookie, uint64_t time_ns,
				uint64_t tail_ns)
{
	struct seam_sample s = {.tid = tid,
				.stack_tid = stack_tid,
				.cookie = cookie,
				.time_ns = time_ns,
				.max_frames = SEAM_CLIENT_MAX_FRAMES,
				.tail_ns = tail_ns};

	assert_int_equal(seam_entries_sample(&t.es, &s), 0);
}

static inline void sample(uint32_t tid, uint64_t cookie, uint64_t time_ns,
			  uint64_t tail_ns)
{
	sample_under(tid, tid, cookie, time_ns, tail_ns);
}

enum kind { PLAIN, LIBRARY, EXEC, EXIT, COLD_EXIT, PENDING, LOST, ASLEEP };

/* A stack of n frames; the last one is the cookie. */
static inline void stack_under(uint32_t tid, uint64_t cookie, uint64_t time_ns,
			       size_t n, enum kind kind)
{
	uint64_t ips[8] = {0};
	struct seam_user_stack s = {
		.tid = tid,
		.cookie = cookie,
		.time_ns = time_ns,
		.end = kind == PENDING ? SEAM_PENDING
		       : kind == LOST  ? SEAM_LOST
				       : SEAM_OUTERMOST,
		.by_library =
			kind == LIBRARY || kind == COLD_EXIT || kind == ASLEEP,
		.asleep = kind == ASLEEP,
		.before_exec = kind == EXEC,
		.at_exit = kind == EXIT || kind == COLD_EXIT,
		.ips = ips,
		.n_ips = n,
	};

	if (n)
		ips[n - 1] = cookie;
	seam_entries_stack(&t.es, &s);
}

static inline void stack(uint64_t cookie, uint64_t time_ns, size_t n,
			 enum kind kind)
{
	stack_under(TID, cookie, time_ns, n, kind);
}

static inline void check_out(const struct written *want, size_t n)
{
	assert_int_equal(t.n, n);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&t.out[i], &want[i], sizeof(want[i]));
}

static inline void check_counts(uint64_t whole, uint64_t lost, uint64_t pending,
				uint64_t unused)
{
	assert_int_equal(t.sum.end[SEAM_OUTERMOST], whole);
	assert_int_equal(t.sum.end[SEAM_LOST], lost);
	assert_int_equal(t.sum.end[SEAM_PENDING], pending);
	assert_int_equal(t.sum.unused, unused);
	assert_int_equal(t.es.err, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
