// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what the engine native makes of the kernel's records: of those
 * that perf recorded on Linux 7.2 the same stacks that the stitcher joins, and
 * of cases made here each reason why a stack is not the sample's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/uapi.h"
#include "event/native.h"
#include "stitch/stitch.h"

#define TID 1234
#define THREAD 1240 /* of its process */
/* As the kernel has them: an odd counter above, the CPU below. */
#define COOKIE 0x0000000700000002ULL

struct given {
	uint64_t cookie, time_ns, n_ips, ip, last;
	uint32_t tid;
	int end;
	bool before_exec;
};

static struct {
	struct seam_native n;
	struct seam_client_opts client;
	struct seam_sample sample; /* the last */
	struct given *stacks;
	size_t n_samples, n_stacks, room;
	uint64_t words[1024];
} t;

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	(void)ctx;
	t.sample = *sample;
	t.n_samples++;
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	(void)ctx;
	assert_true(stack->n_ips >= 1);
	assert_int_equal(stack->methods[0], SEAM_METHOD_NONE);
	if (stack->n_ips > 1)
		assert_int_equal(stack->methods[stack->n_ips - 1],
				 SEAM_METHOD_FP);
	if (t.n_stacks == t.room) {
		t.room = 2 * t.room + 64;
		t.stacks = realloc(t.stacks, t.room * sizeof(*t.stacks));
		assert_non_null(t.stacks);
	}
	t.stacks[t.n_stacks++] = (struct given){stack->cookie,
						stack->time_ns,
						stack->n_ips,
						stack->ips[0],
						stack->ips[stack->n_ips - 1],
						stack->tid,
						stack->end,
						stack->before_exec};
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.client.on_sample = on_sample;
	t.client.on_stack = on_stack;
	return seam_native_init(&t.n, &t.client);
}

static int tear_down(void **state)
{
	(void)state;
	seam_native_fini(&t.n);
	free(t.stacks);
	return 0;
}

/* A sample with this chain. Return: whether it wants a stack. */
static bool sample_of(uint32_t tid, uint64_t time_ns, uint64_t ip, size_t n,
		      const uint64_t *chain)
{
	const struct seam_pd_rec rec = {
		.sample.chain = {.p = (const uint8_t *)chain, .n = n}};
	struct seam_sample s = {.time_ns = time_ns,
				.pid = TID,
				.tid = tid,
				.stack_tid = tid,
				.max_frames = 4096};

	return seam_native_sample(&t.n, &rec, ip, &s);
}

static bool sample(uint64_t time_ns, uint64_t ip, size_t n,
		   const uint64_t *chain)
{
	return sample_of(TID, time_ns, ip, n, chain);
}

/* One whose user's half is deferred. */
static void deferred_of(uint32_t tid, uint64_t time_ns, uint64_t ip,
			uint64_t cookie)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, ~0xfffULL << 8,
				  SEAM_CONTEXT_USER_DEFERRED, cookie};

	assert_true(sample_of(tid, time_ns, ip, 4, chain));
	assert_int_equal(t.sample.cookie, cookie);
}

static void deferred(uint64_t time_ns, uint64_t ip, uint64_t cookie)
{
	deferred_of(TID, time_ns, ip, cookie);
}

static void brought(uint64_t time_ns, uint64_t cookie, uint64_t ip, size_t n)
{
	struct seam_pd_rec rec = {.type = SEAM_RECORD_CALLCHAIN_DEFERRED,
				  .misc = PERF_RECORD_MISC_USER,
				  .pid = TID,
				  .tid = TID,
				  .time_ns = time_ns,
				  .stack.cookie = cookie};

	for (size_t i = 0; i < n; i++)
		t.words[i] = ip + 16 * i;
	rec.stack.ips =
		(struct seam_pd_words){.p = (const uint8_t *)t.words, .n = n};
	seam_native_record(&t.n, &rec);
}

static void happened(uint64_t time_ns, uint32_t type, uint16_t misc)
{
	const struct seam_pd_rec rec = {.type = type,
					.misc = misc,
					.pid = TID,
					.tid = TID,
					.time_ns = time_ns};

	seam_native_record(&t.n, &rec);
}

/* The last stack that was given, of so many. */
static const struct given *last(size_t n)
{
	assert_int_equal(t.n_stacks, n);
	return &t.stacks[n - 1];
}

static void test_end(void **state)
{
	(void)state;
	deferred(10, 0x1000, COOKIE);
	brought(20, COOKIE, 0x1000, 3);
	assert_int_equal(last(1)->end, SEAM_UNPROVEN);
	assert_int_equal(last(1)->n_ips, 3);
	assert_int_equal(last(1)->time_ns, 20);
	/* The kernel's page was full. */
	deferred(30, 0x1000, COOKIE + (2ULL << 32));
	brought(40, COOKIE + (2ULL << 32), 0x1000, SEAM_NATIVE_MAX_IPS);
	assert_int_equal(last(2)->end, SEAM_MAX_STACK);
	/* Nothing at all: at least where it left user space is known. */
	deferred(50, 0x5000, COOKIE + (4ULL << 32));
	brought(60, COOKIE + (4ULL << 32), 0, 0);
	assert_int_equal(last(3)->end, SEAM_UNREADABLE);
	assert_int_equal(last(3)->ip, 0x5000);
	assert_int_equal(t.n.stacks, 3);
	assert_int_equal(t.n.frames, 3 + SEAM_NATIVE_MAX_IPS + 1);
	/* Another session's, of a task that we have nothing of. */
	brought(70, 0, 0, 0);
	assert_int_equal(t.n_stacks, 3);
}

/* A task that exits is not deferred for. */
static void test_own_half(void **state)
{
	const uint64_t half[] = {(uint64_t)PERF_CONTEXT_KERNEL,
				 ~0xfffULL << 8,
				 (uint64_t)PERF_CONTEXT_USER,
				 0x1000,
				 0x2000,
				 0x3000};
	uint64_t chain[200] = {(uint64_t)PERF_CONTEXT_USER};
	uint64_t first;

	(void)state;
	assert_true(sample(10, 0x1000, 6, half));
	first = t.sample.cookie;
	assert_true(first);
	assert_int_equal(last(1)->cookie, first);
	assert_int_equal(last(1)->end, SEAM_UNPROVEN);
	assert_int_equal(last(1)->n_ips, 3);
	assert_int_equal(last(1)->ip, 0x1000);
	/* Its memory is gone. */
	assert_true(sample(20, 0x1000, 2, half));
	assert_int_equal(last(2)->end, SEAM_EXITED);
	assert_int_equal(last(2)->ip, 0x1000);
	assert_int_not_equal(last(2)->cookie, first);
	/* No cookie made here is ever one of the kernel's. */
	assert_false((first | last(2)->cookie) >> 32 & 1);
	/* As long as chains get. */
	for (size_t i = 1; i < 200; i++)
		chain[i] = i;
	assert_true(sample(30, 1, 1 + t.n.max_chain, chain));
	assert_int_equal(last(3)->end, SEAM_MAX_STACK);
	assert_true(sample(40, 1, t.n.max_chain, chain));
	assert_int_equal(last(4)->end, SEAM_UNPROVEN);
	/* The kernel's half left no room. */
	chain[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	assert_true(sample(50, 0x1000, 1 + t.n.max_chain, chain));
	assert_int_equal(last(5)->end, SEAM_MAX_STACK);
	assert_int_equal(last(5)->ip, 0x1000);
}

static void test_no_user(void **state)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL,
				  ~0xfffULL << 8};

	(void)state;
	assert_false(sample(10, 0, 2, chain));
	assert_int_equal(t.sample.cookie, 0);
	assert_int_equal(t.sample.end, SEAM_NO_USER);
	assert_int_equal(t.n_stacks, 0);
}

static void test_exec(void **state)
{
	const uint16_t exec = PERF_RECORD_MISC_COMM_EXEC;

	(void)state;
	/* Called in an entry: what comes back is another program. */
	deferred(10, 0x1000, COOKIE);
	happened(20, PERF_RECORD_COMM, exec);
	brought(30, COOKIE, 0x9000, 1);
	assert_int_equal(last(1)->end, SEAM_EXEC);
	assert_int_equal(last(1)->ip, 0x1000);
	assert_true(last(1)->before_exec);
	/* A new name is none. */
	deferred(40, 0x9100, COOKIE + (2ULL << 32));
	happened(50, PERF_RECORD_COMM, 0);
	brought(60, COOKIE + (2ULL << 32), 0x9100, 2);
	assert_int_equal(last(2)->end, SEAM_UNPROVEN);
	/* A sample behind the exec's record, before its program's registers. */
	happened(70, PERF_RECORD_COMM, exec);
	deferred(80, 0x9200, COOKIE + (4ULL << 32));
	brought(90, COOKIE + (4ULL << 32), 0xa000, 1);
	assert_int_equal(last(3)->end, SEAM_EXEC);
	assert_int_equal(last(3)->ip, 0x9200);
	/* And when they are there. */
	happened(100, PERF_RECORD_COMM, exec);
	deferred(110, 0xb000, COOKIE + (6ULL << 32));
	brought(120, COOKIE + (6ULL << 32), 0xb000, 1);
	assert_int_equal(last(4)->end, SEAM_UNPROVEN);
	assert_false(last(4)->before_exec);
	/* Long after it: a signal's handler has returned. */
	deferred(130, 0xc000, COOKIE + (8ULL << 32));
	brought(140, COOKIE + (8ULL << 32), 0xd000, 2);
	assert_int_equal(last(5)->end, SEAM_UNPROVEN);
	assert_int_equal(last(5)->ip, 0xd000);
}

/* A thread's samples wait under the number that it had before. */
static void test_exec_by_thread(void **state)
{
	const uint16_t exec = PERF_RECORD_MISC_COMM_EXEC;

	(void)state;
	deferred_of(THREAD, 10, 0x1000, COOKIE);
	happened(15, PERF_RECORD_EXIT, 0); /* the first thread's */
	happened(20, PERF_RECORD_COMM, exec);
	brought(30, COOKIE, 0x9000, 1);
	assert_int_equal(last(1)->tid, THREAD);
	assert_int_equal(last(1)->end, SEAM_EXEC);
	assert_int_equal(last(1)->ip, 0x1000);
	assert_true(last(1)->before_exec);
	/* What it sampled under either number has its stack under that. */
	deferred_of(THREAD, 40, 0x1100, COOKIE + (2ULL << 32));
	happened(50, PERF_RECORD_COMM, exec);
	deferred(60, 0x1100, COOKIE + (2ULL << 32));
	brought(70, COOKIE + (2ULL << 32), 0x9000, 1);
	assert_int_equal(last(3)->tid, TID);
	assert_int_equal(t.stacks[1].tid, THREAD);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(t.stacks[i].end, SEAM_EXEC);
		assert_int_equal(t.stacks[i].ip, 0x1100);
	}
	/* Another process's, and one that has its stack, is left alone. */
	deferred_of(THREAD, 80, 0x1200, COOKIE + (4ULL << 32));
	happened(90, PERF_RECORD_COMM, exec);
	brought(100, COOKIE + (6ULL << 32), 0x9000, 1);
	assert_int_equal(last(4)->tid, TID);
	assert_int_equal(last(4)->end, SEAM_UNPROVEN);
	seam_native_end(&t.n, false);
	assert_int_equal(last(5)->end, SEAM_PENDING);
	assert_int_equal(last(5)->tid, THREAD);
}

static void test_pending(void **state)
{
	(void)state;
	/* Of two samples in one entry the first tells where that was. */
	deferred(10, 0x1000, COOKIE);
	deferred(15, 0x2000, COOKIE);
	seam_native_end(&t.n, false);
	assert_int_equal(last(1)->end, SEAM_PENDING);
	assert_int_equal(last(1)->ip, 0x1000);
	assert_int_equal(last(1)->time_ns, 10);
	seam_native_end(&t.n, false);
	assert_int_equal(t.n_stacks, 1);
}

/* What may have been lost is not said to be asleep. */
static void test_lost(void **state)
{
	(void)state;
	deferred(10, 0x1000, COOKIE);
	happened(20, PERF_RECORD_LOST, 0);
	seam_native_end(&t.n, false);
	assert_int_equal(t.n_stacks, 0);
	deferred(30, 0x1000, COOKIE + (2ULL << 32));
	seam_native_end(&t.n, true);
	assert_int_equal(t.n_stacks, 0);
	/* Its task has ended. */
	seam_native_fini(&t.n);
	assert_int_equal(seam_native_init(&t.n, &t.client), 0);
	deferred(40, 0x1000, COOKIE);
	happened(50, PERF_RECORD_EXIT, 0);
	seam_native_end(&t.n, false);
	assert_int_equal(t.n_stacks, 0);
}

/* The recordings have no registers: where a task left user space is where its
 * stack begins, unless that was taken behind an exec. */
static uint64_t left_at(const struct given *joined, size_t n,
			const struct seam_pd_rec *rec)
{
	for (size_t i = 0; i < n; i++)
		if (joined[i].time_ns == rec->time_ns &&
		    joined[i].tid == rec->tid)
			return joined[i].ip;
	return rec->pid;
}

/* One of perf's recordings, through the engine. */
static void replay(const struct seam_pd_reader *r, const struct given *joined,
		   size_t n_joined)
{
	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		struct seam_sample s = {.max_frames = 4096};
		struct seam_pd_rec rec;

		seam_pd_record(r, i, &rec);
		if (rec.type != PERF_RECORD_SAMPLE) {
			seam_native_record(&t.n, &rec);
			continue;
		}
		s.tid = s.stack_tid = rec.tid;
		s.pid = rec.pid;
		s.cpu = rec.cpu;
		s.time_ns = rec.time_ns;
		seam_native_sample(&t.n, &rec, left_at(joined, n_joined, &rec),
				   &s);
	}
	seam_native_end(&t.n, false);
}

static const struct given *given_for(const struct given *want)
{
	for (size_t i = 0; i < t.n_stacks; i++)
		if (t.stacks[i].cookie == want->cookie &&
		    t.stacks[i].tid == want->tid)
			return &t.stacks[i];
	return NULL;
}

/* What the stitcher says of each sample. */
static struct given *stitch(struct seam_pd_reader *r, size_t *ret_n)
{
	struct given *joined =
		calloc(seam_pd_n_records(r) + 1, sizeof(*joined));
	struct seam_stitched out;
	struct seam_stitch *s;
	size_t n = 0;

	assert_non_null(joined);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	while (seam_stitch_next(s, &out) > 0) {
		struct given *g = &joined[n++];

		*g = (struct given){.cookie = out.cookie,
				    .time_ns = out.rec->time_ns,
				    .n_ips = out.n_frames - out.n_kernel,
				    .tid = out.rec->tid,
				    .end = out.end};
		if (!g->n_ips)
			continue;
		g->ip = out.frames[out.n_kernel].ip;
		g->last = out.frames[out.n_frames - 1].ip;
	}
	seam_stitch_free(s);
	*ret_n = n;
	return joined;
}

/* Each sample that has a stack there has it here, and no other. In an exec the
 * kernel's is the new program's, which has one frame: not here. */
static void check_sample(const struct given *want, size_t n[SEAM_END_MAX])
{
	const struct given *g = given_for(want);

	if (want->end == SEAM_PENDING || want->end == SEAM_LOST) {
		assert_true(!g || g->end == SEAM_PENDING);
		n[SEAM_PENDING] += g != NULL;
		return;
	}
	assert_non_null(g);
	n[g->end]++;
	if (g->end == SEAM_EXEC) {
		assert_int_equal(want->n_ips, 1);
		return;
	}
	assert_int_equal(g->end, SEAM_UNPROVEN);
	assert_int_equal(g->n_ips, want->n_ips);
	assert_int_equal(g->ip, want->ip);
	assert_int_equal(g->last, want->last);
}

static void check_recording(const char *name, bool pending)
{
	size_t n_samples, n[SEAM_END_MAX] = {0};
	struct given *joined;
	struct seam_pd_reader *r;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.data", getenv("SEAM_DEFERRED"),
		 name);
	assert_int_equal(seam_pd_open(path, &r, NULL), 0);
	joined = stitch(r, &n_samples);
	replay(r, joined, n_samples);
	for (size_t i = 0; i < n_samples; i++)
		if (joined[i].cookie)
			check_sample(&joined[i], n);
	assert_true(n[SEAM_UNPROVEN] > 10);
	assert_true(n[SEAM_EXEC] <= 2);
	assert_int_equal(n[SEAM_PENDING] != 0, pending);
	free(joined);
	seam_pd_close(r);
}

static void test_recordings(void **state)
{
	static const char *const names[] = {"sys-nofp",	  "threads-fp",
					    "two-events", "two-events-a",
					    "sig",	  "big-syscall"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		tear_down(state);
		set_up(state);
		check_recording(names[i], false);
	}
}

static void test_asleep(void **state)
{
	(void)state;
	check_recording("pending", true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_end),	 TEST(test_own_half),	    TEST(test_no_user),
		TEST(test_exec), TEST(test_exec_by_thread), TEST(test_pending),
		TEST(test_lost), TEST(test_recordings),	    TEST(test_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
