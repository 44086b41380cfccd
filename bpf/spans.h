/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the code that a process made lies, or has lain: all that has to be
 * known when it unmaps something. A few spans that cover it are enough. What
 * is between is looked at in vain, and user space, who knows the code itself,
 * ends nothing for it.
 */
#ifndef SEAM_BPF_SPANS_H
#define SEAM_BPF_SPANS_H

#include "bpf/maps.h"

#define MADE_SPANS 32 /* a power of two */
#define SPANS_NEAR 65536 /* bytes: nearer ones become one */
#define SPANS_TRIES 64

struct span {
	uint64_t start, end; /* both 0: none */
};

/* By tgid, which may be another's by now. */
struct spans {
	uint64_t start; /* of its first thread */
	uint32_t exec; /* which of its programs */
	uint32_t busy; /* somebody changes them */
	uint64_t missed; /* a change could not be made: all may be code */
	struct span v[MADE_SPANS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, uint32_t);
	__type(value, struct spans);
} made_spans SEC(".maps");

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
	return s->start == task->group_leader->start_boottime &&
	       s->exec == task->self_exec_id;
}

/* NULL: its process has made no code, as far as we know. */
static __always_inline struct spans *spans_of(struct task_struct *task)
{
	uint32_t tgid = task->tgid;
	struct spans *s = bpf_map_lookup_elem(&made_spans, &tgid);

	return s && spans_are_of(s, task) ? s : NULL;
}

static __always_inline bool spans_lock(struct spans *s)
{
	uint32_t i;

	for (i = seam_zero; i < SPANS_TRIES; i++) {
		SEAM_LOOP_GUARD;
		if (!__sync_val_compare_and_swap(&s->busy, 0, 1))
			return true;
	}
	return false;
}

static __always_inline void spans_unlock(struct spans *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

/* By its number, which the compiler shall not make a pointer of that runs
 * along: clang 19, "invalid access to map value". */
static __always_inline struct span *span_at(struct spans *s, uint64_t i)
{
	asm volatile("" : "+r"(i));
	return &s->v[i & (MADE_SPANS - 1)];
}

/* A range becomes part of the nearest one, or one of its own. */
static __always_inline void spans_put(struct spans *s, uint64_t start,
				      uint64_t end)
{
	uint64_t least = ~0ULL;
	uint32_t best = 0, empty = MADE_SPANS, i;
	struct span *v;

	for (i = seam_zero; i < MADE_SPANS; i++) {
		uint64_t away = 0;

		SEAM_LOOP_GUARD;
		v = span_at(s, i);
		if (!v->end) {
			empty = i;
			continue;
		}
		if (start > v->end)
			away = start - v->end;
		else if (v->start > end)
			away = v->start - end;
		if (away < least) {
			least = away;
			best = i;
		}
	}
	if (least > SPANS_NEAR && empty < MADE_SPANS) {
		v = span_at(s, empty);
		v->start = start;
		v->end = end;
		return;
	}
	v = span_at(s, best);
	if (start < v->start)
		v->start = start;
	if (end > v->end)
		v->end = end;
}

/* Code is there from now on, by a process's word. Global, for the verifier. */
__noinline int seam_spans_add(struct task_struct *task ARG_TRUSTED,
			      uint64_t start, uint64_t size)
{
	uint32_t tgid = task->tgid, zero = 0;
	struct spans *s, *fresh = bpf_map_lookup_elem(&fresh_spans, &zero);

	if (!size || start + size < start || !fresh)
		return 0;
	bpf_map_update_elem(&made_spans, &tgid, fresh, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&made_spans, &tgid);
	if (!s) {
		count(SEAM_COUNT_LOST_MADE);
		return 0;
	}
	if (!spans_lock(s)) {
		s->missed = 1;
		return 0;
	}
	if (!spans_are_of(s, task)) {
		__builtin_memset(s->v, 0, sizeof(s->v));
		s->start = task->group_leader->start_boottime;
		s->exec = task->self_exec_id;
		s->missed = 0;
	}
	spans_put(s, start, start + size);
	spans_unlock(s);
	return 0;
}

static __always_inline void spans_forget(struct task_struct *leader)
{
	uint32_t tgid = leader->tgid;
	const struct spans *s = bpf_map_lookup_elem(&made_spans, &tgid);

	if (s && s->start == leader->start_boottime)
		bpf_map_delete_elem(&made_spans, &tgid);
}

/* A child of fork has its parent's code. */
static __always_inline void spans_inherit(struct task_struct *parent,
					  struct task_struct *child)
{
	uint32_t tgid = child->tgid;
	struct spans *s;

	if (child->tgid == parent->tgid)
		return;
	s = spans_of(parent);
	if (!s)
		return;
	if (bpf_map_update_elem(&made_spans, &tgid, s, BPF_ANY)) {
		count(SEAM_COUNT_LOST_MADE);
		return;
	}
	s = bpf_map_lookup_elem(&made_spans, &tgid);
	if (!s)
		return;
	s->start = child->group_leader->start_boottime;
	s->exec = child->self_exec_id;
	s->busy = 0;
}

static __always_inline bool spans_meet(struct spans *s, uint64_t start,
				       uint64_t end)
{
	uint32_t i;

	if (s->missed)
		return true;
	for (i = seam_zero; i < MADE_SPANS; i++) {
		const struct span *v = span_at(s, i);

		SEAM_LOOP_GUARD;
		if (v->start < end && start < v->end)
			return true;
	}
	return false;
}

/* Forgets spans of which all goes, since other memory may come there. */
static __always_inline void spans_cut(struct spans *s, uint64_t start,
				      uint64_t end)
{
	uint32_t i;

	if (!spans_lock(s))
		return;
	for (i = seam_zero; i < MADE_SPANS; i++) {
		struct span *v = span_at(s, i);

		SEAM_LOOP_GUARD;
		if (v->start >= start && v->end <= end)
			v->start = v->end = 0;
	}
	spans_unlock(s);
}

#endif
