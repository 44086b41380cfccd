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
#define SEAM_ENTRY_NEVER 95 /* EOPNOTSUPP: there is no task work */

enum seam_entry_flags {
	SEAM_ENTRY_RUNNING = 1, /* the unwind is under way */
	SEAM_ENTRY_TAKEN = 2, /* the stack was taken eagerly: exec or exit */
	SEAM_ENTRY_EXIT = 8, /* by exit: the task has no other after this */
	SEAM_ENTRY_UNSEEN = 4, /* no callback will say that the exec is over */
	SEAM_ENTRY_LAST = 16, /* RUNNING, and taken once more for nobody */
};

/* All 0: of no task yet. */
struct seam_entry {
	uint64_t start; /* start_boottime of the task, when it was made */
	uint64_t self; /* its task_struct */
	uint64_t image; /* its mm, when the entry was opened */
	uint64_t cookie; /* of the open entry; 0: none */
	uint64_t who; /* wants its stack, how deep, and has it: entry-who.h */
	uint64_t served; /* the last cookie that is closed with its stack out */
	uint64_t joined; /* a cookie that more than its first request has */
	uint32_t served_depth; /* frames that were wanted of served's */
	uint32_t served_who; /* clients that have its stack */
	uint32_t flags; /* enum seam_entry_flags */
	uint32_t tid; /* that its stack comes under */
};

/* One task's requests by others: entry-outside.h. All 0 but for .start: none.
 */
struct seam_outside {
	uint64_t start; /* as in seam_entry */
	uint64_t word; /* who wants its next stack */
	/* Of a generation: its cookie, and the image that it is to be of. */
	uint64_t cookies[2], images[2];
	uint32_t depth; /* frames that anybody ever wanted */
	uint32_t last; /* of the two task works, whose callback began last */
};

/* The current task, and where we are in it. */
struct seam_entry_task {
	uint64_t start, self, image; /* as in seam_entry */
	uint32_t tid;
	uint32_t depth; /* frames that are wanted of its stack */
	uint32_t clients; /* by whom: bits */
	bool exiting; /* PF_EXITING */
	bool gone; /* and its memory is */
	bool dead; /* exit_state: no task work is done any more */
	bool at_once; /* no task work at all: each stack is taken at its event
		       */
	struct seam_entry_env *env;
};

/*
 * One task's: a seam_entry, the task work, and what else is the includer's own.
 * It is kept by its task_struct, and not by its tid: that may be another's
 * before this one is freed, and an exec gives a thread another in the middle.
 * Who has it dropped when the task is freed need not come here, but that may
 * not be seen.
 */
struct seam_element;

#ifndef SEAM_ENTRY_HOOK
#define SEAM_ENTRY_HOOK SEAM_INLINE
#endif

/* The current task's, or NULL. */
SEAM_ENTRY_HOOK struct seam_element *
seam_entry_env_element(struct seam_entry_task *t);
/* Makes one for it that is all 0, unless there is one, if there is room. */
SEAM_ENTRY_HOOK void seam_entry_env_element_make(struct seam_entry_task *t);
SEAM_ENTRY_HOOK struct seam_entry *
seam_entry_env_entry(struct seam_element *el);

/* What others have asked of the current task, or NULL: nothing. el: its own, if
 * that is known. */
SEAM_ENTRY_HOOK struct seam_outside *
seam_entry_env_outside(struct seam_entry_task *t, struct seam_element *el);
/* Something is pending there, whatever was found before. */
SEAM_ENTRY_HOOK void seam_entry_env_outside_again(struct seam_element *el);
/* These clients are told that the stack does not come. */
SEAM_ENTRY_HOOK void seam_entry_env_lose(struct seam_entry_task *t,
					 uint64_t cookie, uint32_t clients);

/* Notes who asks and how deep, for who takes the stack at exec and exit. */
SEAM_ENTRY_HOOK void seam_entry_env_note(struct seam_entry_task *t,
					 struct seam_element *el);

/* Inside an unwind of the current task: whether the event is the unwind's own
 * doing, or tells what runs there, and is no event of what it interrupts. */
SEAM_ENTRY_HOOK bool seam_entry_env_is_own(struct seam_entry_task *t);

/* Forgets what else was known of the task that had the element before. */
SEAM_ENTRY_HOOK void seam_entry_env_renew(struct seam_entry_task *t,
					  struct seam_element *el);

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
/* Whether the task has not been in user space since its last stack was taken,
 * as far as can be told. */
SEAM_ENTRY_HOOK bool seam_entry_env_is_as_left(struct seam_entry_task *t,
					       struct seam_element *el);
#endif
