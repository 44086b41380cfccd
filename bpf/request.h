/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Asking for a user stack: the task's element, the cookie of its entry, and
 * the task work that takes the stack on the way back to user space.
 *
 *   cookie 0 --request--> cookie c, work scheduled --callback--> closed c, 0
 *   exec, exit: the stack is taken at once (TAKEN); every later request of
 *   that exec or exit joins its cookie. The callback after an exec closes it.
 */
#ifndef SEAM_BPF_REQUEST_H
#define SEAM_BPF_REQUEST_H

#include "bpf/emit.h"
#include "core/cookie.h"

typedef int (*bpf_task_work_callback_t)(struct bpf_map *map, void *key,
					void *value);

/* An object for each spelling: lib/capture/kernel.c says why. */
#ifdef SEAM_TASK_WORK_IMPL /* Linux 6.18 to 7.1 */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task,
					      struct bpf_task_work *tw,
					      void *map__map,
					      bpf_task_work_callback_t callback,
					      void *aux__prog) __ksym;
#else
extern int
bpf_task_work_schedule_resume(struct task_struct *task,
			      struct bpf_task_work *tw, void *map__map,
			      bpf_task_work_callback_t callback) __ksym;
#endif

#define ESRCH 3
#define EBUSY 16

static int on_return_to_user(struct bpf_map *map, void *key, void *value);

/* user regs, or those saved at entry: bpf_task_pt_regs of current. */
static __always_inline void regs_save(uint64_t *to,
				      const struct pt_regs___kernel *regs)
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[16] = regs->ip;
}

static __always_inline bool regs_moved(const uint64_t *saved,
				       const struct pt_regs___kernel *regs)
{
	return saved[SEAM_AMD64_REG_IP] != regs->ip ||
	       saved[SEAM_AMD64_REG_SP] != regs->sp;
}

static __always_inline uint64_t cookie_next(void)
{
	struct seam_cpu_state *cpu = cpu_state();
	uint32_t nr = bpf_get_smp_processor_id();
	uint64_t cookie;

	if (!cpu)
		return 0;
	cookie = seam_cookie_make(__sync_fetch_and_add(&cpu->cookies, 1) + 1,
				  nr);
	if (!cookie) /* the counter wrapped to 0 */
		cookie = seam_cookie_make(
			__sync_fetch_and_add(&cpu->cookies, 1) + 1, nr);
	return cookie;
}

/* The tid that the current task had before its exec gave it another; 0: it is
 * in no such exec. */
static __always_inline uint32_t tid_before_exec(struct task_struct *task)
{
	int tid = task->pid;
	struct moving *moving;

	if (tid != task->tgid)
		return 0;
	moving = bpf_map_lookup_elem(&moving_tasks, &tid);
	return moving && moving->self == bpf_get_current_task() ? moving->tid
								: 0;
}

/*
 * The element that holds the stack which the current task left before it had
 * this tid: the thread before its exec, or the first one before its exit,
 * whose last steps are done under the thread's tid.
 */
static __always_inline struct element *element_moved(struct task_struct *task)
{
	uint32_t tid = task->exit_state ? task->tgid : tid_before_exec(task);
	struct element *el = NULL;

	if (tid)
		el = bpf_map_lookup_elem(&elements, &tid);
	return el && el->state.self == bpf_get_current_task() &&
			       (el->state.flags & ELEMENT_TAKEN)
		       ? el
		       : NULL;
}

/* A thread enters an exec. */
static __always_inline void moving_begin(struct task_struct *task)
{
	struct moving moving = {bpf_get_current_task(), task->pid, 0};
	int tgid = task->tgid;

	if (task->pid != tgid &&
	    bpf_map_update_elem(&moving_tasks, &tgid, &moving, BPF_ANY))
		count(SEAM_COUNT_NO_ELEMENT);
}

/* The exec is over: what lies under the tid before it serves no more. */
static __always_inline void moving_end(uint32_t tgid, uint32_t tid,
				       uint64_t self)
{
	struct element *el = bpf_map_lookup_elem(&elements, &tid);

	bpf_map_delete_elem(&moving_tasks, &tgid);
	if (el && el->state.self == self)
		bpf_map_delete_elem(&elements, &tid);
}

/* The element of the current task, made or made new where it has none of its
 * own. NULL: there is no room, or it is dead and another has its tid. */
static __always_inline struct element *element_get(struct task_struct *task)
{
	uint32_t tid = task->pid;
	struct element *el = bpf_map_lookup_elem(&elements, &tid), *moved;
	uint64_t self = bpf_get_current_task();
	long err;

	if (el && el->state.start == task->start_boottime &&
	    el->state.self == self)
		return el;
	/* An event interrupts the making of this very task's element. */
	if (el && !el->state.start) {
		el->state.self = self;
		el->state.start = task->start_boottime;
		el->state.tid = tid;
		return el;
	}
	moved = element_moved(task);
	if (moved || task->exit_state)
		return moved;
	if (el) {
		/* A dead task's, met under its reused tid. */
		count(SEAM_COUNT_STALE);
		bpf_map_delete_elem(&elements, &tid);
	}
	{
		uint32_t zero = 0;
		struct no_element *fresh =
			bpf_map_lookup_elem(&fresh_elements, &zero);

		if (!fresh)
			return NULL;
		err = bpf_map_update_elem(&elements, &tid, fresh, BPF_NOEXIST);
	}
	el = bpf_map_lookup_elem(&elements, &tid);
	if (!el) {
		count(SEAM_COUNT_NO_ELEMENT);
		return NULL;
	}
	if (!err) {
		el->state.self = self;
		el->state.start = task->start_boottime;
		el->state.tid = tid;
	}
	return el;
}

static __always_inline int schedule(struct task_struct *task,
				    struct element *el)
{
#ifdef SEAM_TASK_WORK_IMPL
	return bpf_task_work_schedule_resume_impl(task, &el->work, &elements,
						  on_return_to_user, NULL);
#else
	return bpf_task_work_schedule_resume(task, &el->work, &elements,
					     on_return_to_user);
#endif
}

#define NR_NONE (~0UL)
#define NR_RT_SIGRETURN 15
#define NR_CLONE 56
#define NR_CLONE3 435
#define CLONE_ARGS_STACK 40 /* its place in struct clone_args */

#define INSN_SYSCALL 0x050f /* 0f 05 */

/*
 * A system call leaves the ip in rcx and the flags in r11, also for the first
 * instruction behind it. But a function may have been called through rcx with
 * the flags that an earlier system call left in r11: qsort's comparison is, at
 * its first instruction, once in some 1,500 samples.
 */
static __always_inline bool
is_behind_syscall(const struct pt_regs___kernel *regs)
{
	uint16_t insn;

	if (regs->cx != regs->ip || regs->r11 != regs->flags)
		return false;
	return bpf_probe_read_user(&insn, sizeof(insn),
				   (void *)(regs->ip - sizeof(insn))) ||
	       insn == INSN_SYSCALL;
}

/* Whether a child that has not run yet has a stack of its own. A thread has;
 * a process may, or goes on on its parent's or a copy of it. */
static __always_inline bool has_new_stack(const struct pt_regs___kernel *regs,
					  struct task_struct *task)
{
	uint64_t stack = 0;

	if (regs->orig_ax != NR_CLONE && regs->orig_ax != NR_CLONE3)
		return false;
	if (task->pid != task->tgid)
		return true;
	if (regs->orig_ax == NR_CLONE)
		return regs->si;
	return !bpf_probe_read_user(&stack, sizeof(stack),
				    (void *)(regs->di + CLONE_ARGS_STACK)) &&
	       stack;
}

/* What the registers alone do not say. */
static __always_inline void regs_judge(struct element *el,
				       const struct pt_regs___kernel *regs,
				       struct task_struct *task, bool in_user)
{
	bool syscall = is_behind_syscall(regs);

	el->state.flags &= ~(ELEMENT_FLUX | ELEMENT_CLONED | ELEMENT_SYSCALL |
			     ELEMENT_SIGRETURN);
	/* Who runs with a 0 may be clone's child, whose first instructions
	 * have no rule that is also the parent's. */
	if (syscall && !(in_user && !regs->ax))
		el->state.flags |= ELEMENT_SYSCALL;
	/* rt_sigreturn replaces the registers one by one, and its own number
	 * by -1 among them; what it makes of them is there when it returns. */
	if (!in_user &&
	    (regs->orig_ax == NR_NONE ||
	     (regs->orig_ax == NR_RT_SIGRETURN && regs->cx != regs->ip)))
		el->state.flags |= ELEMENT_FLUX;
	else if (!in_user && regs->orig_ax == NR_RT_SIGRETURN)
		el->state.flags |= ELEMENT_SIGRETURN;
	if (syscall && !regs->ax && has_new_stack(regs, task))
		el->state.flags |= ELEMENT_CLONED;
}

/* Opens an entry, or finds that another request of it was first. */
static __always_inline uint64_t entry_open(struct element *el,
					   const struct pt_regs___kernel *regs,
					   struct task_struct *task,
					   bool in_user, bool *ret_first)
{
	uint64_t cookie = cookie_next(), had;

	*ret_first = false;
	had = __sync_val_compare_and_swap(&el->state.cookie, 0, cookie);
	if (had)
		return had;
	*ret_first = true;
	regs_save(el->state.regs, regs);
	regs_judge(el, regs, task, in_user);
	return cookie;
}

/*
 * A request at an event. in_user: the event interrupted user code.
 * Return: the cookie that the sample's user stack will come with; 0: none
 * will come, and *ret_end says why.
 */
static __always_inline uint64_t request(struct task_struct *task, bool in_user,
					struct element **ret_el,
					uint32_t *ret_end)
{
	struct pt_regs___kernel *regs =
		(struct pt_regs___kernel *)bpf_task_pt_regs(task);
	struct element *el = element_get(task);
	uint64_t cookie, closed;
	bool first;
	int err;

	*ret_el = el;
	*ret_end = task->exit_state ? SEAM_EXITED : SEAM_LOST;
	if (!el)
		return 0;
	if (in_user && (el->state.flags & ELEMENT_TAKEN)) {
		/* User code runs: the exec whose stack was taken is over. */
		el->state.closed = el->state.cookie;
		el->state.flags &= ~ELEMENT_TAKEN;
		el->state.cookie = 0;
	}
	cookie = entry_open(el, regs, task, in_user, &first);
	if (!first)
		return cookie;
	if (task->flags & PF_EXITING) {
		/* sched_process_exit is yet to come and takes the stack. */
		if (!task->exit_state && !(el->state.flags & ELEMENT_EXIT))
			return cookie;
		el->state.cookie = 0;
		*ret_end = SEAM_EXITED;
		return 0;
	}
	err = schedule(task, el);
	if (!err)
		return cookie;
	closed = el->state.closed;
	if (err == -EBUSY && closed) {
		/* Between the callback's end and the kernel's own release:
		 * the stack just written is this entry's. */
		el->state.cookie = 0;
		count(SEAM_COUNT_CLOSED);
		return closed;
	}
	count(SEAM_COUNT_REFUSED);
	/* The cookie stays until the stack is out: an event that comes in
	 * between joins it. */
	el->state.flags |= ELEMENT_RUNNING;
	take_stack(task, &el->state, cookie, SEAM_STACK_EAGER, 0, HOW_NOFAULT);
	el->state.flags &= ~ELEMENT_RUNNING;
	el->state.closed = cookie;
	el->state.cookie = 0;
	return cookie;
}

/* Runs in the task, on its way to user space; may sleep. */
static int on_return_to_user(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct element *el = value;
	uint64_t cookie = el->state.cookie;
	uint32_t flags = 0, tid = el->state.tid, own = task->pid;

	if (el->state.flags & ELEMENT_EXIT) {
		count(SEAM_COUNT_SKIPPED);
		return 0;
	}
	if (el->state.flags & ELEMENT_TAKEN) {
		count(SEAM_COUNT_SKIPPED);
		el->state.flags &= ~ELEMENT_TAKEN;
	} else if (cookie) {
		struct pt_regs___kernel *regs =
			(struct pt_regs___kernel *)bpf_task_pt_regs(task);
		uint64_t sp = regs->sp;

		if (el->state.flags & ELEMENT_FLUX) {
			regs_save(el->state.regs, regs);
			el->state.flags &= ~ELEMENT_SYSCALL;
		} else if (regs_moved(el->state.regs, regs)) {
			count(SEAM_COUNT_MOVED);
			flags |= SEAM_STACK_MOVED;
		}
		el->state.flags |= ELEMENT_RUNNING;
		take_stack(task, &el->state, cookie, flags, sp, HOW_FAULT);
		el->state.flags &= ~ELEMENT_RUNNING;
	}
	el->state.closed = cookie;
	el->state.cookie = 0;
	if (tid != own)
		moving_end(task->tgid, tid, el->state.self);
	return 0;
}

/* Takes the stack now: at exec and exit, while the memory is still there. */
static __always_inline struct element *take_now(struct task_struct *task,
						uint32_t flags)
{
	struct element *el = element_get(task);
	bool first;
	uint64_t cookie;

	if (!el || (el->state.flags & (ELEMENT_TAKEN | ELEMENT_EXIT)))
		return NULL;
	cookie = entry_open(el,
			    (struct pt_regs___kernel *)bpf_task_pt_regs(task),
			    task, false, &first);
	el->state.flags |= ELEMENT_RUNNING;
	take_stack(task, &el->state, cookie, SEAM_STACK_EAGER | flags, 0,
		   HOW_NOFAULT);
	el->state.flags &= ~ELEMENT_RUNNING;
	el->state.flags |= ELEMENT_TAKEN;
	return el;
}

#endif
