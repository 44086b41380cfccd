// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/native.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/uapi.h"
#include "core/wire.h"
#include "event/event.h"
#include "stitch/cookie.h"

/* kernel.perf_event_max_stack, unless it says else. */
#define MAX_CHAIN 127

/* What is known of a task from its records. */
struct task {
	uint64_t cookie; /* of its last sample */
	uint64_t ip; /* where it had left user space at the first with it */
	uint64_t first_ns; /* of that one */
	uint64_t stack_ns; /* of its last deferred stack */
	uint64_t exec_ns; /* of its last exec */
	uint32_t pid, cpu; /* of the last sample */
	bool waits; /* cookie's stack has not come */
};

int seam_native_probe(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = SEAM_ATTR_SIZE,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1, /* without rights 7.3 wants it */
	};
	int fd;

	seam_event_defer(&attr, SEAM_ATTR_DEFER_CALLCHAIN);
	seam_event_defer(&attr, SEAM_ATTR_DEFER_OUTPUT);
	fd = seam_perf_event_open(&attr, 0, -1);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static uint32_t max_chain(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned n = MAX_CHAIN;

	if (f) {
		if (fscanf(f, "%u", &n) != 1 || !n)
			n = MAX_CHAIN;
		fclose(f);
	}
	return n;
}

int seam_native_init(struct seam_native *n,
		     const struct seam_client_opts *client)
{
	*n = (struct seam_native){.client = client, .max_chain = max_chain()};
	n->ips = calloc(SEAM_MAX_FRAMES, sizeof(*n->ips));
	n->methods = malloc(SEAM_MAX_FRAMES);
	if (!n->ips || !n->methods) {
		seam_native_fini(n);
		return -ENOMEM;
	}
	memset(n->methods, SEAM_METHOD_FP, SEAM_MAX_FRAMES);
	n->methods[0] = SEAM_METHOD_NONE;
	return 0;
}

static struct task *task_of(struct seam_native *n, uint32_t tid)
{
	struct task *t = seam_idmap_make(&n->tasks, tid, sizeof(*t));

	if (!t && !n->err)
		n->err = -ENOMEM;
	return t;
}

/* The kernel's are odd in the upper half, so that these are none of them; and
 * none is 0. */
static uint64_t make_cookie(struct seam_native *n, uint32_t cpu)
{
	return ++n->made << 33 | ((uint64_t)cpu + 1);
}

/* The user's half of a chain, if it is there. *ret_full: the chain has as much
 * as the kernel takes. */
static size_t own_half(struct seam_native *n, struct seam_pd_words chain,
		       bool *ret_full)
{
	size_t n_ips = 0, n_all = 0;
	bool user = false;

	for (size_t i = 0; i < chain.n; i++) {
		uint64_t ip = seam_pd_word(chain, i);

		if (ip >= SEAM_CONTEXT_MAX) {
			user = ip == (uint64_t)PERF_CONTEXT_USER;
			continue;
		}
		n_all++;
		if (user && n_ips < SEAM_MAX_FRAMES)
			n->ips[n_ips++] = ip;
	}
	*ret_full = n_all >= n->max_chain || n_ips == SEAM_MAX_FRAMES;
	return n_ips;
}

static void give(struct seam_native *n, const struct seam_user_stack *stack)
{
	n->stacks++;
	n->frames += stack->n_ips;
	n->client->on_stack(n->client->ctx, stack);
}

/* A task that the kernel does not defer for, since it exits. */
static void give_own_half(struct seam_native *n,
			  const struct seam_sample *sample, uint64_t user_ip,
			  size_t n_ips, bool full)
{
	struct seam_user_stack stack = {
		.sz = sizeof(stack),
		.time_ns = sample->time_ns,
		.cookie = sample->cookie,
		.pid = sample->pid,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.end = full    ? SEAM_MAX_STACK
		       : n_ips ? SEAM_UNPROVEN
			       : SEAM_EXITED,
		.ips = n_ips ? n->ips : &user_ip,
		.n_ips = n_ips ? n_ips : 1,
		.methods = n->methods,
	};

	give(n, &stack);
}

static void await(struct seam_native *n, uint64_t user_ip,
		  const struct seam_sample *sample)
{
	struct task *t = task_of(n, sample->tid);

	if (!t)
		return;
	t->pid = sample->pid;
	t->cpu = sample->cpu;
	if (t->cookie == sample->cookie)
		return;
	t->cookie = sample->cookie;
	t->ip = user_ip;
	t->first_ns = sample->time_ns;
	t->waits = true;
}

bool seam_native_sample(struct seam_native *n, const struct seam_pd_rec *rec,
			uint64_t user_ip, struct seam_sample *sample)
{
	uint64_t cookie = seam_chain_cookie(rec->sample.chain);
	bool full = false;
	size_t n_ips;

	if (!cookie && (!sample->max_frames || !user_ip)) {
		sample->cookie = 0;
		sample->end = SEAM_NO_USER;
		n->client->on_sample(n->client->ctx, sample);
		return false;
	}
	sample->cookie = cookie ? cookie : make_cookie(n, sample->cpu);
	sample->end = 0;
	n->client->on_sample(n->client->ctx, sample);
	if (cookie) {
		await(n, user_ip, sample);
		return true;
	}
	n_ips = own_half(n, rec->sample.chain, &full);
	give_own_half(n, sample, user_ip, n_ips, full);
	return true;
}

/*
 * Whether an exec lies between an entry and its stack, which then is the new
 * program's. A sample may come behind the exec's record and before the new
 * program's registers are there: then it has another ip than the stack.
 */
static bool is_behind_exec(const struct task *t, uint64_t ip)
{
	return t->exec_ns > t->stack_ns &&
	       (t->first_ns <= t->exec_ns || t->ip != ip);
}

/* As a stack of the task that has this number, or had it. */
static void take_stack_of(struct seam_native *n, const struct seam_pd_rec *rec,
			  struct task *t, uint32_t tid)
{
	const struct seam_pd_rec_stack *from = &rec->stack;
	bool awaited = t && t->waits && t->cookie == from->cookie;
	size_t n_ips =
		from->ips.n < SEAM_MAX_FRAMES ? from->ips.n : SEAM_MAX_FRAMES;
	struct seam_user_stack stack = {
		.sz = sizeof(stack),
		.time_ns = rec->time_ns,
		.cookie = from->cookie,
		.pid = rec->pid,
		.tid = tid,
		.cpu = rec->cpu,
		.end = n_ips < SEAM_NATIVE_MAX_IPS ? SEAM_UNPROVEN
						   : SEAM_MAX_STACK,
		.ips = n->ips,
		.n_ips = n_ips,
		.methods = n->methods,
	};

	for (size_t i = 0; i < n_ips; i++)
		n->ips[i] = seam_pd_word(from->ips, i);
	if (awaited && (!n_ips || is_behind_exec(t, n->ips[0]))) {
		stack.before_exec = n_ips;
		stack.end = n_ips ? SEAM_EXEC : SEAM_UNREADABLE;
		stack.time_ns = t->first_ns;
		stack.ips = &t->ip;
		stack.n_ips = 1;
	}
	if (awaited)
		t->waits = false;
	if (t)
		t->stack_ns = rec->time_ns;
	if (from->cookie && stack.n_ips)
		give(n, &stack);
}

struct renumbered {
	const struct seam_pd_rec *rec;
	uint32_t tid; /* 0: none */
};

static void is_renumbered(void *ctx, uint64_t tid, void *value)
{
	struct renumbered *found = ctx;
	const struct task *t = value;

	if (t->waits && t->cookie == found->rec->stack.cookie &&
	    t->pid == found->rec->pid && tid != found->rec->tid)
		found->tid = (uint32_t)tid;
}

/*
 * A thread that execs gets its process's number in the middle of its entry,
 * and the stack comes under that; what it had before waits under its own.
 */
static bool take_of_thread(struct seam_native *n, const struct seam_pd_rec *rec,
			   const struct task *now)
{
	struct renumbered found = {.rec = rec};
	struct task *before;

	seam_idmap_each(&n->tasks, is_renumbered, &found);
	if (!found.tid)
		return false;
	before = seam_idmap_remove(&n->tasks, found.tid);
	before->exec_ns = now->exec_ns;
	take_stack_of(n, rec, before, found.tid);
	free(before);
	return true;
}

static void take_stack(struct seam_native *n, const struct seam_pd_rec *rec)
{
	struct task *t = seam_idmap_get(&n->tasks, rec->tid);
	bool taken = t && t->exec_ns > t->stack_ns && take_of_thread(n, rec, t);

	if (taken && !t->waits)
		t->stack_ns = rec->time_ns;
	else
		take_stack_of(n, rec, t, rec->tid);
}

static void note_exec(struct seam_native *n, const struct seam_pd_rec *rec)
{
	struct task *t = task_of(n, rec->tid);

	if (t)
		t->exec_ns = rec->time_ns;
}

void seam_native_record(struct seam_native *n, const struct seam_pd_rec *rec)
{
	if (rec->type == SEAM_RECORD_CALLCHAIN_DEFERRED)
		take_stack(n, rec);
	else if (rec->type == PERF_RECORD_COMM &&
		 rec->misc & PERF_RECORD_MISC_COMM_EXEC)
		note_exec(n, rec);
	else if (rec->type == PERF_RECORD_EXIT)
		free(seam_idmap_remove(&n->tasks, rec->tid));
	else if (rec->type == PERF_RECORD_LOST)
		n->lost_ns = rec->time_ns;
}

static void give_pending(void *ctx, uint64_t tid, void *value)
{
	struct seam_native *n = ctx;
	struct task *t = value;
	struct seam_user_stack stack = {
		.sz = sizeof(stack),
		.time_ns = t->first_ns,
		.cookie = t->cookie,
		.pid = t->pid,
		.tid = (uint32_t)tid,
		.cpu = t->cpu,
		.end = SEAM_PENDING,
		.ips = &t->ip,
		.n_ips = 1,
		.methods = n->methods,
	};

	if (t->waits && t->first_ns > n->lost_ns)
		n->client->on_stack(n->client->ctx, &stack);
	t->waits = false;
}

void seam_native_end(struct seam_native *n, bool lost)
{
	if (lost)
		n->lost_ns = UINT64_MAX;
	seam_idmap_each(&n->tasks, give_pending, n);
}

void seam_native_fini(struct seam_native *n)
{
	seam_idmap_fini(&n->tasks, free);
	free(n->ips);
	free(n->methods);
	n->ips = NULL;
	n->methods = NULL;
}
