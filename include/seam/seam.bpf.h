/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/seam.bpf.h: user stacks for other tools' BPF programs.
 *
 * A program of any tracing type (perf_event, tracepoint, raw tracepoint,
 * tp_btf, fentry, fexit, kprobe, uprobe, and their like) calls seam_request,
 * gets a cookie at once, and the stack comes to the client's on_stack
 * (<seam/tracer.h>) with that cookie, as soon as the task is on its way back to
 * user space. In between the tool keeps the cookie beside what it measured.
 * Of a task that exits, or that was about to go back, the stack may come before
 * seam_request returns, so that its cookie is not known yet when it is read:
 *
 *	SEC("raw_tp/sys_exit")
 *	int slow(void *ctx)
 *	{
 *		...
 *		call.cookie = seam_request(client, SEAM_FROM_KERNEL);
 *		bpf_ringbuf_output(&calls, &call, sizeof(call), 0);
 *
 * What takes the stacks comes with an object that is linked to the tool's own,
 * and works on the maps of a session in the loading process, which
 * <seam/lend.h> makes it share:
 *
 *	bpftool gen object tool.bpf.o tool-alone.bpf.o seam-request.bpf.o
 *
 * Include vmlinux.h or <linux/bpf.h> before. The object's license must be one
 * that the kernel takes for the GPL's.
 */
#ifndef SEAM_BPF_H
#define SEAM_BPF_H

/* What the program interrupted, which decides what the registers are worth. */
enum seam_from {
	/* The kernel at work for the task: tracepoints, fentry, kprobes. Safe
	 * to say wherever no NMI may be: at a perf event, SEAM_FROM_PERF, and
	 * else SEAM_FROM_NMI. */
	SEAM_FROM_KERNEL,
	SEAM_FROM_USER, /* user code: a perf event in user mode */
	SEAM_FROM_PROBE, /* a uprobe, or a probe at a function's return */
};

/* What a perf event interrupted, by its struct bpf_perf_event_data. In the
 * kernel that says where its stack pointer was: an NMI may come before the
 * registers are saved that the task entered with. */
#define SEAM_FROM_PERF(ctx)                                                    \
	((*(volatile unsigned long long *)&(ctx)->regs.cs & 3)                 \
		 ? (unsigned int)SEAM_FROM_USER                                \
		 : seam_lent_from(*(volatile unsigned long long *)&(ctx)       \
					   ->regs.SEAM_REGS_SP))

/*
 * A tool whose programs are to see the stacks themselves has a map of them:
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_HASH);
 *		__uint(max_entries, 1024);
 *		__type(key, unsigned long long);
 *		__type(value, struct seam_bpf_stack);
 *	} stacks SEC(".maps");
 *
 * and names it to seam_session_keep (<seam/lend.h>) once it is loaded. A stack
 * is there under its cookie as soon as it is taken, which is before its task is
 * back in user space: so at the thread's next system call, say. Who took it is
 * all the same. It stays there until the tool deletes it; where there is no
 * room it is not, and counted (not_kept). The stack comes to on_stack in any
 * case.
 *
 * It has SEAM_BPF_FRAMES frames at most; a deeper one ends with
 * SEAM_END_MAX_STACK (<seam/error.h>). One that the library has to unwind (the
 * first of a program, mostly) is its leaf, with the reason as its end:
 * SEAM_END_NO_TABLE, SEAM_END_NO_RULE or SEAM_END_VMA_BUSY; on_stack gets it
 * whole.
 */
#define SEAM_BPF_FRAMES 127

struct seam_bpf_stack {
	unsigned long long cookie, time_ns;
	unsigned int end; /* see <seam/error.h>; SEAM_END_OUTERMOST: whole */
	unsigned int nr;
	unsigned long long ips[SEAM_BPF_FRAMES]; /* leaf first */
};

/* Below this is what seam_request consists of; the end has itself. */

#ifdef __VMLINUX_H__
#define SEAM_REGS_SP sp
#else
#define SEAM_REGS_SP rsp
#endif

/* SEAM_FROM_KERNEL, with a stack pointer: its low half, and whether it is the
 * user's or of the processor's entry area, where no task's stack is. Eight
 * bytes is what the kernel's own are aligned to. */
#define SEAM_FROM_STACK 3U
#define SEAM_FROM_KIND 3U
#define SEAM_FROM_OUTSIDE 4U
/* A tracepoint in an NMI: wherever that came, as if registers were not saved.
 */
#define SEAM_FROM_NMI (SEAM_FROM_STACK | SEAM_FROM_OUTSIDE)
#define SEAM_FROM_AREA 0xfffffe0000000000ULL
#define SEAM_FROM_AREA_SIZE (512ULL << 30)
#define SEAM_FROM_REGS_SIZE 192U

static inline __attribute__((always_inline, unused)) unsigned int
seam_lent_from(unsigned long long sp)
{
	unsigned int outside =
		!(sp >> 63) || sp - SEAM_FROM_AREA < SEAM_FROM_AREA_SIZE;

	return ((unsigned int)sp & ~7U) | SEAM_FROM_STACK |
	       (outside ? SEAM_FROM_OUTSIDE : 0);
}

static inline __attribute__((always_inline, unused)) int
seam_lent_in_user(unsigned int from)
{
	return from == SEAM_FROM_USER || from == SEAM_FROM_PROBE;
}

/* Whether the task's registers, which are saved at regs, may be those of the
 * entry before. */
static inline __attribute__((always_inline, unused)) int
seam_lent_lacks_regs(unsigned int from, unsigned long long regs)
{
	if ((from & SEAM_FROM_KIND) != SEAM_FROM_STACK)
		return 0;
	return (from & SEAM_FROM_OUTSIDE) ||
	       (from & ~7U) - (unsigned int)regs - 1 < SEAM_FROM_REGS_SIZE;
}

/* What a request or a return comes to next. */
enum seam_lent_next { SEAM_LENT_DONE, SEAM_LENT_SCHEDULE, SEAM_LENT_TAKE };

/* Between the program and seam-request.bpf.o: a stack that is taken, and the
 * request for one. Small, as it lies on the stack. */
struct seam_lent_stack {
	unsigned long long cookie;
	unsigned int clients;
	unsigned short flags, why_not;
	unsigned char taking, failed, byte, work;
};

struct seam_lent {
	struct seam_lent_stack stack;
	unsigned long long cookie;
	unsigned int client, from, again, pad;
};

#define SEAM_LENT_TRIES 64
#define SEAM_LENT_ROUNDS 4

struct task_struct;

extern int seam_lent_begin(struct seam_lent *l);
extern int seam_lent_scheduled(struct seam_lent *l, int err);
extern int seam_lent_return(struct seam_lent_stack *st);
extern unsigned long long seam_lent_take(struct seam_lent_stack *st);
extern int seam_lent_taken(struct seam_lent_stack *st,
			   unsigned long long missing);
extern int seam_lent_other(struct seam_lent *l, struct task_struct *task);
extern int seam_lent_other_scheduled(struct seam_lent *l, int err);
extern int seam_lent_outside(struct seam_lent_stack *st);

#ifndef SEAM_LENT

#include <bpf/bpf_helpers.h>

/* Types of the kernel's: libbpf tells structures from others, and asks for no
 * names. vmlinux.h may declare what is declared below, by these. */
#ifdef __VMLINUX_H__
#define SEAM_KERNEL_TYPE(name) struct name
#else
struct seam_lent_any {
	int any;
};
#define SEAM_KERNEL_TYPE(name) struct seam_lent_any
#endif

/* A session's tasks: seam_session_lend makes it that. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, 8);
	__uint(value_size, 8);
} seam_entries __weak SEC(".maps");

/* Likewise, of what others ask of these: two of each. */
struct seam_lent_work {
	unsigned long long task, which;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, 16);
	__uint(value_size, 8);
} seam_works __weak SEC(".maps");

/*
 * The kernel's name for it changed. With both, an object works everywhere where
 * its loader may look into modules (CAP_SYS_ADMIN); SEAM_KERNEL_BEFORE_7_2 or
 * SEAM_KERNEL_SINCE_7_2, defined before, leaves one: as libbpf before 1.3 wants
 * it on Linux 7.2, and a vmlinux.h of that, where the first has other
 * arguments.
 */
#ifndef SEAM_KERNEL_SINCE_7_2
extern int bpf_task_work_schedule_resume_impl(
	SEAM_KERNEL_TYPE(task_struct) * task,
	SEAM_KERNEL_TYPE(bpf_task_work) * work, void *map,
	int (*callback)(SEAM_KERNEL_TYPE(bpf_map) * map, void *key,
			void *value),
	void *aux) __weak __ksym;
#endif
#ifndef SEAM_KERNEL_BEFORE_7_2
extern int bpf_task_work_schedule_resume(
	SEAM_KERNEL_TYPE(task_struct) * task,
	SEAM_KERNEL_TYPE(bpf_task_work) * work, void *map,
	int (*callback)(SEAM_KERNEL_TYPE(bpf_map) * map, void *key,
			void *value)) __weak __ksym;
#endif

/*
 * Programs for tracing have one stack for each CPU (Linux 6.13 and later), as
 * the kernel runs none amid itself; but a uprobe's may be preempted by another
 * task that meets the probe. What is called here is not, then.
 */
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;

/* Of a return; may sleep. */
static __always_inline void seam_lent_take_all(struct seam_lent_stack *st)
{
	unsigned long long missing;
	int i;

	for (i = 0; i < SEAM_LENT_TRIES; i++) {
		missing = seam_lent_take(st);
		if (!seam_lent_taken(st, missing))
			break;
		if (missing)
			st->failed = !!bpf_copy_from_user(&st->byte, 1,
							  (void *)missing);
	}
}

/* Runs in the task on its way to user space, and may sleep there. */
static int seam_lent_callback(SEAM_KERNEL_TYPE(bpf_map) * map, void *key,
			      void *value)
{
	struct seam_lent_stack st = {0};

	(void)map;
	(void)key;
	(void)value;
	if (seam_lent_return(&st) == SEAM_LENT_TAKE)
		seam_lent_take_all(&st);
	return 0;
}

/* Likewise, where others asked. */
static int seam_lent_other_callback(SEAM_KERNEL_TYPE(bpf_map) * map, void *key,
				    void *value)
{
	struct seam_lent_stack st = {0};
	int i;

	(void)map;
	(void)value;
	st.work = (unsigned char)((struct seam_lent_work *)key)->which;
	for (i = 0; i < SEAM_LENT_ROUNDS; i++) {
		st.failed = 0;
		if (seam_lent_outside(&st) != SEAM_LENT_TAKE)
			break;
		seam_lent_take_all(&st);
	}
	return 0;
}

#ifdef SEAM_KERNEL_BEFORE_7_2
#define SEAM_LENT_WORK_NEW(task, work, map, callback)
#else
#define SEAM_LENT_WORK_NEW(task, work, map, callback)                          \
	if (bpf_task_work_schedule_resume)                                     \
		return bpf_task_work_schedule_resume(task, work, map, callback);
#endif
#ifdef SEAM_KERNEL_SINCE_7_2
#define SEAM_LENT_WORK_OLD(task, work, map, callback)
#else
#define SEAM_LENT_WORK_OLD(task, work, map, callback)                          \
	if (bpf_task_work_schedule_resume_impl)                                \
		return bpf_task_work_schedule_resume_impl(                     \
			task, work, map, callback, (void *)0);
#endif

/* Inlined, as seam_request is, however often a tool calls it: a function of its
 * own is a frame more than the verifier takes ("the call stack of 8 frames is
 * too deep", Linux 6.18). */
static __always_inline int seam_lent_schedule(void)
{
	unsigned long long task = bpf_get_current_task();
	SEAM_KERNEL_TYPE(bpf_task_work) *work =
		bpf_map_lookup_elem(&seam_entries, &task);

	if (!work)
		return -1;
	SEAM_LENT_WORK_NEW((void *)bpf_get_current_task_btf(), work,
			   &seam_entries, seam_lent_callback)
	SEAM_LENT_WORK_OLD((void *)bpf_get_current_task_btf(), work,
			   &seam_entries, seam_lent_callback)
	return -1;
}

static __always_inline int seam_lent_schedule_other(void *task,
						    unsigned int which)
{
	struct seam_lent_work key = {(unsigned long long)task, which};
	SEAM_KERNEL_TYPE(bpf_task_work) *work =
		bpf_map_lookup_elem(&seam_works, &key);

	if (!work)
		return -1;
	SEAM_LENT_WORK_NEW(task, work, &seam_works, seam_lent_other_callback)
	SEAM_LENT_WORK_OLD(task, work, &seam_works, seam_lent_other_callback)
	return -1;
}

static __always_inline unsigned long long seam_lent_request(unsigned int client,
							    unsigned int from)
{
	struct seam_lent l = {.client = client, .from = from};
	int next = seam_lent_begin(&l);

	if (next == SEAM_LENT_SCHEDULE)
		next = seam_lent_scheduled(&l, seam_lent_schedule());
	/* Once more for who came to it meanwhile. */
	if (next == SEAM_LENT_TAKE &&
	    seam_lent_taken(&l.stack, seam_lent_take(&l.stack)))
		seam_lent_taken(&l.stack, seam_lent_take(&l.stack));
	return l.cookie;
}

static __always_inline unsigned long long
seam_lent_request_task(unsigned int client, unsigned int from, void *task)
{
	struct seam_lent l = {.client = client, .from = from};

	if (seam_lent_other(&l, task) == SEAM_LENT_SCHEDULE)
		seam_lent_other_scheduled(
			&l, seam_lent_schedule_other(task, l.again));
	return l.cookie;
}

/*
 * Asks for the user stack of the current task. client: what seam_session_lend
 * returned. from: enum seam_from, or what SEAM_FROM_PERF says.
 *
 * Requests of one stay in the kernel have one cookie and one stack, whoever
 * asks. The stack is of the moment of the request: what the task does until it
 * returns happens in the kernel.
 *
 * Return: the cookie, never 0, under which one stack is delivered, or told or
 * counted as lost; 0: none will come, since the task is none of the client's,
 * has no user memory (any more), is inside an unwind of seam's own which asks
 * for this by what it does, or no room was left: struct seam_counts says how
 * often.
 */
static __always_inline unsigned long long seam_request(unsigned int client,
						       unsigned int from)
{
	unsigned long long cookie;

	if (from != SEAM_FROM_PROBE)
		return seam_lent_request(client, from);
	bpf_preempt_disable();
	cookie = seam_lent_request(client, from);
	bpf_preempt_enable();
	return cookie;
}

/*
 * Asks for the user stack of any task: of one that wakes up, say, from
 * tp_btf/sched_wakeup. task: a struct task_struct that the verifier trusts, as
 * programs of tp_btf, fentry, fexit and LSM have them among their arguments,
 * and as bpf_task_from_pid gives them; others, as kprobes', have none. Of the
 * current task it is seam_request, for which from is.
 *
 * The stack is the one with which the task next comes back to user space. Of a
 * task that is in the kernel, asleep or about to run, that is the stack that it
 * entered with, whole and exact. One that runs in user space on another CPU is
 * interrupted for it: its stack is of where that meets it, some microseconds
 * later. In an exec it is the new program's where the old one's was not asked
 * for before that began.
 *
 * Requests for one return have one cookie, from wherever they come; but where
 * the task itself asks at the same instant, it has another and a stack of its
 * own. A task that sleeps is not woken: its stack comes when it wakes, or at
 * the end of the session.
 *
 * Return: as seam_request; 0 also of a task that is exiting.
 */
static __always_inline unsigned long long
seam_request_task(unsigned int client, unsigned int from, void *task)
{
	unsigned long long cookie;

	if ((unsigned long long)task == bpf_get_current_task())
		return seam_request(client, from);
	if (from != SEAM_FROM_PROBE)
		return seam_lent_request_task(client, from, task);
	bpf_preempt_disable();
	cookie = seam_lent_request_task(client, from, task);
	bpf_preempt_enable();
	return cookie;
}

#endif
#endif
