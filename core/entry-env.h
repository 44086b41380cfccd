/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What entry.h is made of: the state of one task, the task that asks, and
 * what the surroundings do for it. They are declared here and defined by the
 * includer of entry.h. None may call back into entry.h.
 */
#ifndef SEAM_CORE_ENTRY_ENV_H
#define SEAM_CORE_ENTRY_ENV_H

#include "core/wire.h"

#define SEAM_ENTRY_EBUSY 16

enum seam_entry_flags {
	SEAM_ENTRY_RUNNING = 1, /* the unwind is under way */
	SEAM_ENTRY_TAKEN = 2, /* the stack was taken eagerly: exec or exit */
	SEAM_ENTRY_EXIT = 4, /* past sched_process_exit: nothing comes after */
};

/* All 0: of no task yet. */
struct seam_entry {
	uint64_t start; /* start_boottime of the task it belongs to */
	uint64_t self; /* its task_struct, which it is under */
	uint64_t cookie; /* of the open entry; 0: none */
	uint64_t closed; /* the last cookie whose stack was written */
	uint32_t depth; /* frames that the deepest of its requests wants */
	uint32_t closed_depth; /* the same of closed */
	uint32_t flags; /* enum seam_entry_flags */
	uint32_t tid; /* that the entry's stack comes under */
};

/* A thread, not its process's first, in an exec: in the middle of it the
 * thread takes over the first one's tid and start. By tgid: the kernel has a
 * process's execs wait for each other. */
struct seam_moving {
	uint64_t self; /* its task_struct */
	uint32_t tid; /* that it had */
	uint32_t pad;
};

/* The current task, and where we are in it. */
struct seam_entry_task {
	uint64_t start, self; /* as in seam_entry */
	uint32_t tid, tgid;
	uint32_t depth; /* frames that are wanted of its stack */
	bool exiting; /* PF_EXITING */
	bool dead; /* exit_state: no task work is done any more */
	struct seam_entry_env *env;
};

/*
 * One task's: a seam_entry, the task work, and what else is the includer's
 * own. Kept by task_struct, which no other task has before this one is freed.
 * By tid, the next to have it would have to throw a dead task's element away:
 * whoever interrupts that makes a new one, which would be thrown away too.
 */
struct seam_element;

#ifndef SEAM_ENTRY_HOOK
#define SEAM_ENTRY_HOOK SEAM_INLINE
#endif

/* A task's element, or NULL. */
SEAM_ENTRY_HOOK struct seam_element *
seam_entry_env_element(struct seam_entry_task *t, uint64_t self);
/* Makes one that is all 0, unless there is one. Return: 0 if this made it. */
SEAM_ENTRY_HOOK int seam_entry_env_element_make(struct seam_entry_task *t,
						uint64_t self);
/* It is found no more, nor is its work done. Others may still look at it. */
SEAM_ENTRY_HOOK void seam_entry_env_element_drop(struct seam_entry_task *t,
						 uint64_t self);
SEAM_ENTRY_HOOK struct seam_entry *
seam_entry_env_entry(struct seam_element *el);

/* Whether a process is in an exec by a thread, and which. */
SEAM_ENTRY_HOOK bool seam_entry_env_moving(struct seam_entry_task *t,
					   uint32_t tgid,
					   struct seam_moving *ret);
/* Return: 0, or there is no room. */
SEAM_ENTRY_HOOK int
seam_entry_env_moving_make(struct seam_entry_task *t, uint32_t tgid,
			   const struct seam_moving *moving);
SEAM_ENTRY_HOOK void seam_entry_env_moving_drop(struct seam_entry_task *t,
						uint32_t tgid);

/* Counts up this CPU's counter of cookies, of 64 bits. Return: what it is
 * then, and the number of the CPU that it is of. */
SEAM_ENTRY_HOOK uint64_t seam_entry_env_count_next(struct seam_entry_task *t,
						   uint32_t *ret_cpu);
/* Counts one of what the summary tells. */
SEAM_ENTRY_HOOK void seam_entry_env_count(struct seam_entry_task *t,
					  enum seam_count what);

/* Keeps the user's registers, for the unwind. */
SEAM_ENTRY_HOOK void seam_entry_env_keep_regs(struct seam_entry_task *t,
					      struct seam_element *el,
					      bool in_user);
/*
 * Has the task call seam_entry_return on its way to user space.
 * Return: 0, which is no promise; -SEAM_ENTRY_EBUSY: that is to come already,
 * or was and the kernel has yet to note it; another -errno.
 */
SEAM_ENTRY_HOOK int seam_entry_env_schedule(struct seam_entry_task *t,
					    struct seam_element *el);
/* Takes the stack and sends it; may sleep. */
SEAM_ENTRY_HOOK void seam_entry_env_unwind(struct seam_entry_task *t,
					   struct seam_element *el,
					   uint64_t cookie);
/* The same at once, with seam_stack_flags; does not sleep. */
SEAM_ENTRY_HOOK void seam_entry_env_unwind_now(struct seam_entry_task *t,
					       struct seam_element *el,
					       uint64_t cookie, uint32_t flags);

#endif
