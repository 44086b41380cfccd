/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Whose stacks are wanted: tasks that have a user half, and are watched. */
#ifndef SEAM_BPF_WATCH_H
#define SEAM_BPF_WATCH_H

#include "bpf/request.h"

/* Kernel threads, idle and io workers have no user half. */
static __always_inline bool has_user(struct task_struct *task)
{
	return task->pid &&
	       !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

/* Whether this task or process is the one that was meant, and not another
 * that has its number now. */
static __always_inline bool is_watched_under(uint32_t id, uint64_t start)
{
	const uint64_t *meant = bpf_map_lookup_elem(&watched, &id);

	return meant && *meant == start;
}

/* In an exec that has given the task another tid. */
static __always_inline bool has_moved(struct task_struct *task)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	if (task->pid != task->tgid)
		return false;
	entry_task(&t, &env, task);
	return seam_entry_has_moved(&t);
}

static __always_inline bool is_watched(struct task_struct *task)
{
	if (seam_watch_mode == SEAM_WATCH_ALL)
		return true;
	return seam_watch_mode == SEAM_WATCH_TGID
		       ? is_watched_under(task->tgid, process_start(task))
		       : is_watched_under(task->pid, task->start_boottime) ||
				 has_moved(task);
}

#endif
