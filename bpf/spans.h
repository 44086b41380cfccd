/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the code that a process made lies, or has lain until it said that it
 * is none any more: all that has to be known when it unmaps something. Who only
 * looks takes no lock, and looks again where somebody changed it meanwhile.
 * Whatever cannot be told for sure is taken for code: user space, who knows the
 * code itself, ends nothing for it, and counts that.
 */
#ifndef SEAM_BPF_SPANS_H
#define SEAM_BPF_SPANS_H

#include "bpf/clients.h"
#include "core/code-spans.h"

#define SPANS_LOCK_TRIES 4096
#define SPANS_LOOK_TRIES 64

/* By tgid, which may be another's by now. */
struct spans {
	uint64_t start; /* of its first thread */
	uint32_t exec; /* which of its programs */
	uint32_t seq; /* odd: somebody changes them */
	uint64_t missed; /* a change could not be made: all may be code */
	/* Code that may be gone in there since then, of which user space knows
	 * nothing yet: it could not be told. ns 0: there is none. */
	uint64_t untold_start, untold_end, untold_ns;
	/* The same, without a range, of who could not get the lock. */
	uint64_t untold_all_ns;
	struct seam_code_spans all;
};

/* Whether there ever was such code, of any process. */
SEAM_SHARED uint32_t seam_untold = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, uint32_t);
	__type(value, struct spans);
} made_spans SEC(".maps");

CLIENT_HASHES(made_spans, uint32_t, struct spans);

/* All zero: spans are too large for a program's own stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct spans);
} fresh_spans SEC(".maps");

static __always_inline bool spans_are_of(const struct spans *s,
					 struct task_struct *task)
{
	return s->start == process_start(task) && s->exec == task->self_exec_id;
}

/* NULL: its process has made no code, as far as we know. */
static __always_inline struct spans *spans_of(struct task_struct *task)
{
	uint32_t tgid = task->tgid;
	struct spans *s = own_find(&client_made_spans, &tgid);

	return s && spans_are_of(s, task) ? s : NULL;
}

static __always_inline uint32_t spans_seq(const struct spans *s)
{
	return *(const volatile uint32_t *)&s->seq;
}

static __always_inline bool spans_lock(struct spans *s)
{
	uint32_t i;

	for (i = seam_zero; i < SPANS_LOCK_TRIES; i++) {
		uint32_t seq = spans_seq(s);

		SEAM_LOOP_GUARD;
		if (!(seq & 1) &&
		    __sync_val_compare_and_swap(&s->seq, seq, seq + 1) == seq)
			return true;
	}
	return false;
}

static __always_inline void spans_unlock(struct spans *s)
{
	__sync_fetch_and_add(&s->seq, 1);
}

/* The task's, whoever's they were; NULL: there is no memory. */
static __always_inline struct spans *spans_make(struct task_struct *task)
{
	uint32_t tgid = task->tgid, zero = 0;
	struct spans *s = own_find(&client_made_spans, &tgid), *fresh;

	if (s)
		return s;
	fresh = bpf_map_lookup_elem(&fresh_spans, &zero);
	if (fresh)
		own_put(&client_made_spans, &tgid, fresh, BPF_NOEXIST);
	s = own_find(&client_made_spans, &tgid);
	if (!s)
		count(SEAM_COUNT_LOST_MADE);
	return s;
}

/* Code is there from now on, by a process's word. Global, for the verifier. */
__noinline int seam_spans_add(struct task_struct *task ARG_TRUSTED,
			      uint64_t start, uint64_t size)
{
	struct spans *s;

	if (!size || start + size < start)
		return 0;
	s = spans_make(task);
	if (!s)
		return 0;
	if (!spans_lock(s)) {
		s->missed = 1;
		count(SEAM_COUNT_LOST_MADE);
		return 0;
	}
	if (!spans_are_of(s, task)) {
		s->all.n = 0;
		s->start = process_start(task);
		s->exec = task->self_exec_id;
		s->missed = 0;
		s->untold_ns = 0;
		s->untold_all_ns = 0;
	}
	seam_code_spans_add(&s->all, start, start + size);
	spans_unlock(s);
	return 0;
}

static __always_inline void spans_forget(struct task_struct *leader)
{
	uint32_t tgid = leader->tgid;
	const struct spans *s = own_find(&client_made_spans, &tgid);

	if (s && s->start == leader->start_boottime)
		own_drop(&client_made_spans, &tgid);
}

/* A child of fork has its parent's code. */
static __always_inline void spans_inherit(struct task_struct *parent,
					  struct task_struct *child)
{
	uint32_t tgid = child->tgid, seq;
	struct spans *s, *own;

	if (child->tgid == parent->tgid)
		return;
	s = spans_of(parent);
	if (!s)
		return;
	seq = spans_seq(s);
	if (own_put(&client_made_spans, &tgid, s, BPF_ANY)) {
		count(SEAM_COUNT_LOST_MADE);
		return;
	}
	own = own_find(&client_made_spans, &tgid);
	if (!own)
		return;
	own->start = process_start(child);
	own->exec = child->self_exec_id;
	own->seq = 0;
	/* Another thread of the parent changed them under our hands. */
	if (seq & 1 || spans_seq(s) != seq) {
		own->all.n = 0;
		own->missed = 1;
	}
}

/* Whether there may be code in [start, end). */
static __always_inline bool spans_meet(struct spans *s, uint64_t start,
				       uint64_t end)
{
	uint32_t i;

	for (i = seam_zero; i < SPANS_LOOK_TRIES; i++) {
		uint32_t seq = spans_seq(s);
		bool met;

		SEAM_LOOP_GUARD;
		SEAM_FORGET;
		met = seam_code_spans_meet(&s->all, start, end);
		SEAM_FORGET;
		if (!(seq & 1) && spans_seq(s) == seq)
			return met || s->missed;
	}
	return true;
}

/* There is none any more. Where somebody else is at it, it is only looked at
 * in vain later. */
static __always_inline void spans_cut(struct spans *s, uint64_t start,
				      uint64_t end)
{
	if (!spans_lock(s))
		return;
	seam_code_spans_cut(&s->all, start, end);
	spans_unlock(s);
}

/* Whether that is known of code in [start, end) already. */
static __always_inline bool spans_are_untold(const struct spans *s,
					     uint64_t start, uint64_t end)
{
	return s->untold_all_ns || (s->untold_ns && start >= s->untold_start &&
				    end <= s->untold_end);
}

/* User space could not be told of code that goes. */
static __always_inline void spans_untold(struct task_struct *task,
					 uint64_t start, uint64_t end)
{
	struct spans *s = spans_of(task);
	uint32_t client = seam_client, *untold;

	if (!s)
		return;
	if (spans_lock(s)) {
		if (!s->untold_ns || start < s->untold_start)
			s->untold_start = start;
		if (!s->untold_ns || end > s->untold_end)
			s->untold_end = end;
		s->untold_ns = bpf_ktime_get_ns();
		spans_unlock(s);
	} else {
		s->untold_all_ns = bpf_ktime_get_ns();
	}
	seam_untold = 1;
	untold = bpf_map_lookup_elem(&client_untold, &client);
	if (untold)
		*(volatile uint32_t *)untold = 1;
}

#endif
