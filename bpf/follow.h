/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The programs that follow tasks: to their exec, their end, their children and
 * what they say of code that they make. Each is there twice (again.h). */
#ifndef SEAM_BPF_FOLLOW_H
#define SEAM_BPF_FOLLOW_H

#include "bpf/again.h"
#include "bpf/ask.h"
#include "bpf/raw.h"
#include "bpf/sleep.h"
#include "bpf/tell.h"
#include "bpf/watch.h"

#include <bpf/bpf_tracing.h>

/* A thread that execs loses its tid well before its exec is done. Who looks for
 * it in between finds that somebody will be watched under its new one; a start
 * of 0 is no task's. */
static __always_inline void announce_exec(struct task_struct *task)
{
	int tgid = task->tgid;
	uint64_t nobody = 0;

	if (seam_watch_mode == SEAM_WATCH_TID && task->pid != tgid)
		bpf_map_update_elem(&watched, &tgid, &nobody, BPF_NOEXIST);
}

/* Return: whether the task's stack is to be looked for. */
static __always_inline bool exec_begins(struct task_struct *task)
{
	if (!is_watched(task) || !has_user(task))
		return false;
	announce_exec(task);
	return true;
}

/* sched_prepare_exec */
SEC("raw_tp")
int seam_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	follow(task, FOLLOW_EXEC);
	if (exec_begins(task))
		to_raw(ctx);
	return 0;
}

SEC("raw_tp")
int seam_exec_again(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_left_out(task, FOLLOW_EXEC) && exec_begins(task))
		to_raw(ctx);
	return 0;
}

/* sched_process_exit */
SEC("raw_tp")
int seam_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	follow(task, FOLLOW_EXIT);
	if (is_watched(task) && has_user(task))
		to_raw(ctx);
	return 0;
}

SEC("raw_tp")
int seam_exit_again(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_left_out(task, FOLLOW_EXIT) && is_watched(task) &&
	    has_user(task))
		to_raw(ctx);
	return 0;
}

/* In its place on older kernels (6.12), where the memory is gone by then. */
SEC("fentry/exit_signals")
int BPF_PROG(seam_exit_signals, struct task_struct *task)
{
	if (is_watched(task) && has_user(task))
		take_tail(true);
	return 0;
}

/* start: of the task with that number. */
static __always_inline void watch_from(uint32_t id, uint64_t start)
{
	if (bpf_map_update_elem(&watched, &id, &start, BPF_ANY))
		count(SEAM_COUNT_WATCH_FULL);
}

static __always_inline void forked(struct task_struct *parent,
				   struct task_struct *child)
{
	uint64_t start = child->start_boottime;
	uint32_t id;

	spans_inherit(parent, child);
	if (seam_watch_mode == SEAM_WATCH_ALL || !seam_watch_follows ||
	    !is_watched(parent))
		return;
	/* A thread of a watched process needs no entry of its own. */
	if (seam_watch_mode == SEAM_WATCH_TGID && child->tgid == parent->tgid)
		return;
	id = seam_watch_mode == SEAM_WATCH_TGID ? child->tgid : child->pid;
	watch_from(id, start);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(seam_fork, struct task_struct *parent, struct task_struct *child)
{
	follow(child, FOLLOW_FORK);
	forked(parent, child);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(seam_fork_again, struct task_struct *parent,
	     struct task_struct *child)
{
	if (is_left_out(child, FOLLOW_FORK))
		forked(parent, child);
	return 0;
}

/* exec by a thread that is not the leader gives it the leader's tid. */
static __always_inline void exec_is_done(struct task_struct *task, int old_pid)
{
	uint64_t start = task->start_boottime;
	uint32_t tid = task->pid;
	struct seam_entry_env env;
	struct seam_entry_task t;

	if (seam_watch_mode == SEAM_WATCH_TID && has_moved(task)) {
		watch_from(tid, start);
		bpf_map_delete_elem(&watched, &old_pid);
	}
	entry_task(&t, &env, task);
	seam_entry_exec_done(&t);
	if (seam_arm_tgid && tid == seam_arm_tgid) {
		seam_arm_tgid = 0;
		watch_from(tid, start);
	}
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(seam_exec_done, struct task_struct *task, int old_pid,
	     struct linux_binprm *bprm)
{
	follow(task, FOLLOW_EXEC_DONE);
	exec_is_done(task, old_pid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(seam_exec_done_again, struct task_struct *task, int old_pid,
	     struct linux_binprm *bprm)
{
	if (is_left_out(task, FOLLOW_EXEC_DONE))
		exec_is_done(task, old_pid);
	return 0;
}

static __always_inline void entry_dropped(struct task_struct *task,
					  struct seam_element *el)
{
	const struct seam_entry *e = &el->state.entry;
	uint32_t left = seam_entry_untaken(e, task->start_boottime);

	if (left)
		seam_lose(&el->state, task, e->cookie, 0, left);
}

static __always_inline void freed(struct task_struct *task)
{
	uint64_t self = (uint64_t)task;
	struct seam_element *el = bpf_map_lookup_elem(&elements, &self);
	uint32_t tid = task->pid;
	uint64_t *start;

	sleep_forget(task);
	outside_forget(task);
	if (el) {
		entry_dropped(task, el);
		bpf_map_delete_elem(&elements, &self);
	}
	if (task->pid == task->tgid) {
		own_drop(&client_makers, &tid);
		spans_forget(task);
	}
	if (seam_watch_mode == SEAM_WATCH_ALL)
		return;
	start = bpf_map_lookup_elem(&watched, &tid);
	if (start && (*start == task->start_boottime || !*start))
		bpf_map_delete_elem(&watched, &tid);
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(seam_free, struct task_struct *task)
{
	follow(task, FOLLOW_FREE);
	freed(task);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(seam_free_again, struct task_struct *task)
{
	if (is_left_out(task, FOLLOW_FREE))
		freed(task);
	return 0;
}

static __always_inline void announced(int option, const uint64_t *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t what = made_what(option, args[0], args[1], args[2], args[3]);
	bool is_listed;

	if (!what || !is_watched(task))
		return;
	is_listed = what == SEAM_WIRE_JIT_LISTED && args[0] == SEAM_JIT_ADDED;
	if (is_listed)
		seam_spans_add(task, args[1], args[2]);
	if (what == SEAM_WIRE_JIT_ADD)
		seam_spans_add(task, args[2], args[3]);
	/* First the record: who asks by a new key comes after it. */
	if (!tell(task, what, args))
		tell_lost(task, what, args);
	made_note(task, what == SEAM_WIRE_JIT_ADD || is_listed);
}

/*
 * What prctl knows nothing of, and refuses. The calls that it knows do not
 * come here, so it costs nobody else anything.
 */
SEC("tp_btf/task_prctl_unknown")
int BPF_PROG(seam_prctl, int option, unsigned long arg2, unsigned long arg3,
	     unsigned long arg4, unsigned long arg5)
{
	const uint64_t args[4] = {arg2, arg3, arg4, arg5};

	follow(bpf_get_current_task_btf(), FOLLOW_PRCTL);
	announced(option, args);
	return 0;
}

SEC("tp_btf/task_prctl_unknown")
int BPF_PROG(seam_prctl_again, int option, unsigned long arg2,
	     unsigned long arg3, unsigned long arg4, unsigned long arg5)
{
	const uint64_t args[4] = {arg2, arg3, arg4, arg5};

	if (is_left_out(bpf_get_current_task_btf(), FOLLOW_PRCTL))
		announced(option, args);
	return 0;
}

#endif
