// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The programs: for perf events, for tracepoints and probes, and those that
 * follow tasks. No classic tracepoint's: a busy one makes the kernel drop other
 * programs' events without counting them.
 */
#include "bpf/follow.h"
#include "bpf/slept.h"
#include "bpf/tick.h"
#include "bpf/unmap.h"
#include "bpf/watch.h"

#include <bpf/bpf_tracing.h>
#include <linux/bpf_perf_event.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * How often our clocks' timers expired, whether or not the event program
 * ran then. An event's own count of nanoseconds would not do: a virtual
 * machine loses timer interrupts, and those are nobody's samples.
 */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(seam_expiry, struct hrtimer *timer)
{
	const struct perf_event *event = event_of(timer);
	struct seam_cpu_state *cpu = cpu_state();

	if ((event->bpf_cookie & SEAM_EVENT_TAG_MASK) != seam_event_tag || !cpu)
		return 0;
	tick_begin(&cpu->tick, timer, event,
		   cpu->event_runs[event_number(event)]);
	count(SEAM_COUNT_EXPIRIES);
	if (is_watched(bpf_get_current_task_btf()))
		count(SEAM_COUNT_WATCHED_EXPIRIES);
	return 0;
}

SEC("perf_event")
int seam_event(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t event = bpf_get_attach_cookie(ctx) & ~SEAM_EVENT_TAG_MASK;
	volatile uint64_t *cs = (volatile uint64_t *)&ctx->regs.cs;
	uint32_t slot = BUFFER_EVENT;
	struct sample_buffer *buf;
	bool is_ours = is_watched(task);

	count_event(event, is_ours);
	if (!is_ours) {
		count(SEAM_COUNT_FILTERED);
		return 0;
	}
	buf = bpf_map_lookup_elem(&sample_buffers, &slot);
	if (!buf)
		return 0;
	buf->sp = ctx->regs.rsp;
	buf->sample.ip = ctx->regs.rip;
	buf->sample.period = ctx->sample_period;
	take_sample(ctx, buf, task, event, *cs & 3 ? SEAM_SAMPLE_USER : 0);
	return 0;
}

/* Which of its buffers a program has filled. */
static __always_inline uint32_t raw_slot(uint64_t what)
{
	if (what == SEAM_RAW_TICK)
		return BUFFER_TICK;
	return what == SEAM_RAW_SLEEP ? BUFFER_SLEEP : BUFFER_TRACEPOINT;
}

SEC("raw_tp")
int seam_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t what = bpf_get_attach_cookie(ctx);
	uint32_t slot = raw_slot(what);
	struct sample_buffer *buf;

	if (what == SEAM_RAW_EXEC || what == SEAM_RAW_EXIT) {
		take_tail(what == SEAM_RAW_EXIT);
	} else {
		buf = bpf_map_lookup_elem(&sample_buffers, &slot);
		if (!buf || !make_sample(ctx, buf, task, buf->sample.event,
					 buf->sample.flags))
			return 0;
		if (slot == BUFFER_SLEEP)
			sleep_keep(buf, task);
		else
			sample_emit(buf);
	}
	/* To nobody. Linux (6.13) has programs that make no such call use one
	 * stack of their own for each CPU, as they cannot run amid themselves.
	 * This one can. */
	bpf_tail_call(ctx, &raw_programs, SEAM_RAW_NOBODY);
	return 0;
}

/*
 * The kernel leaves an event's program out, and says so nowhere, while on that
 * CPU a map system call, a classic tracepoint's, a kprobe's or another event's
 * program is at work. So the sample is taken here. Our frames come first in
 * its kernel stack; the library takes them off. Return: whether there is one.
 */
static __always_inline bool fill_blocked(struct hrtimer *timer,
					 const struct perf_event *event)
{
	const struct pt_regs___kernel *regs = tick_regs(timer);
	uint32_t slot = BUFFER_TICK, nr = event_number(event);
	bool is_ours = is_watched(bpf_get_current_task_btf());
	struct sample_buffer *buf;

	count(SEAM_COUNT_BLOCKED);
	count_event(nr, is_ours);
	if (!is_ours) {
		count(SEAM_COUNT_FILTERED);
		return false;
	}
	buf = bpf_map_lookup_elem(&sample_buffers, &slot);
	if (!buf || !regs) {
		count(SEAM_COUNT_LOST_SAMPLE);
		return false;
	}
	buf->sp = 0; /* no timer's interrupt comes at a door */
	buf->sample.ip = regs->ip;
	buf->sample.period = event->hw.last_period;
	buf->sample.event = nr;
	buf->sample.flags =
		regs->cs & 3 ? SEAM_SAMPLE_USER : SEAM_SAMPLE_BLOCKED;
	return true;
}

/* hrtimer_expire_exit: a tick whose event program did not run. */
SEC("raw_tp")
int seam_expired(struct bpf_raw_tracepoint_args *ctx)
{
	struct hrtimer *timer = VIEW(struct hrtimer, ctx->args[0]);
	const struct perf_event *event = event_of(timer);
	struct seam_cpu_state *cpu = cpu_state();

	if (!cpu || cpu->tick.timer != ctx->args[0])
		return 0;
	cpu->tick.timer = 0;
	if (cpu->event_runs[event_number(event)] != cpu->tick.runs ||
	    !cpu->tick.live)
		return 0;
	if (!tick_withheld(&cpu->tick, event)) {
		if (fill_blocked(timer, event))
			to_raw(ctx);
		return 0;
	}
	count(SEAM_COUNT_WITHHELD);
	if (is_watched(bpf_get_current_task_btf()))
		count(SEAM_COUNT_WATCHED_WITHHELD);
	return 0;
}

/* Whether a system call is none of those that the tracepoint is of, as the
 * kernel makes that of the one of all: none of 32-bit code. */
static __always_inline bool is_other_call(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task,
					  uint32_t event)
{
	uint32_t number;

	if (event >= SEAM_MAX_EVENTS || !seam_syscalls[event])
		return false;
	number = (uint32_t)VIEW(struct pt_regs___kernel, ctx->args[0])->orig_ax;
	return number + 1 != seam_syscalls[event] || is_32bit_call(task);
}

/*
 * Any tracepoint, raw: the kernel would run a classic one through an event
 * that filters no task. So tasks and periods are counted here. The stack
 * begins with our own frames; the library takes them off.
 */
SEC("raw_tp")
int seam_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t event = bpf_get_attach_cookie(ctx) & ~SEAM_EVENT_TAG_MASK;
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = BUFFER_TRACEPOINT;
	struct seam_cpu_state *cpu;
	struct sample_buffer *buf;
	bool is_ours;

	/* Before all else: every system call of the machine comes here. */
	if (is_other_call(ctx, task, event))
		return 0;
	is_ours = is_watched(task);
	cpu = cpu_state();
	count_event(event, is_ours);
	if (!is_ours) {
		count(SEAM_COUNT_FILTERED);
		return 0;
	}
	if (!cpu || event >= SEAM_MAX_EVENTS ||
	    ++cpu->since_sample[event] < seam_tracepoint_period[event])
		return 0;
	cpu->since_sample[event] = 0;
	buf = bpf_map_lookup_elem(&sample_buffers, &slot);
	if (!buf)
		return 0;
	/* As if it were the user's still. */
	buf->sp = !!(seam_asks[event].flags & SEAM_ASK_IN_NMI);
	buf->sample.ip = 0;
	buf->sample.period = seam_tracepoint_period[event];
	buf->sample.event = event;
	buf->sample.flags = context_of(task);
	to_raw(ctx);
	return 0;
}

/* Those of seam_raw are of another kind. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} no_programs SEC(".maps");

#ifndef SEAM_AT_ONCE
extern void bpf_preempt_disable(void) __ksym; /* Linux 6.10 */
extern void bpf_preempt_enable(void) __ksym;
#endif

/* It is user code that was interrupted, so there is no kernel's half. */
static __always_inline void at_probe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t event = bpf_get_attach_cookie(ctx) & ~SEAM_EVENT_TAG_MASK;
	struct seam_cpu_state *cpu = cpu_state();
	struct seam_wire_sample sample = {};
	bool is_ours = is_watched(task), kernel_stack;
	uint64_t period, hits;
	void *to;

	count_event(event, is_ours);
	asm volatile("" : "+r"(event));
	if (!is_ours)
		count(SEAM_COUNT_FILTERED);
	if (!is_ours || !cpu || event >= SEAM_MAX_EVENTS)
		return;
	period = seam_tracepoint_period[event];
	hits = __sync_fetch_and_add(&cpu->since_sample[event], 1) + 1;
	if (!period || hits % period)
		return;
	sample.ip = ctx->rip;
	sample.period = period;
	if (!ask_sample(&sample, task, event, SEAM_SAMPLE_USER, false,
			&kernel_stack))
		return;
	keep_probe(task, sample.head.cookie);
	to = own_ring(SEAM_RING_STACKS);
	seam_sample_sent(NULL,
			 !to || bpf_ringbuf_output(to, &sample, sizeof(sample),
						   ring_flags(to)));
}

/*
 * Loaded where there are uprobes. The kernel runs it in the task, where another
 * that meets the probe may preempt it. Since Linux 6.13 it also has programs
 * use one stack of their own for each CPU, as they cannot run amid themselves;
 * but uprobes' can, and the other's sample would be written over this one. So
 * nothing is on the stack while it may be preempted. Kernels before 6.10 cannot
 * be asked for that; what takes stacks at the event makes a call to nobody
 * instead, as seam_raw does.
 */
SEC("uprobe")
int seam_uprobe(struct pt_regs *ctx)
{
#ifdef SEAM_AT_ONCE
	at_probe(ctx);
	bpf_tail_call(ctx, &no_programs, 0);
#else
	bpf_preempt_disable();
	at_probe(ctx);
	bpf_preempt_enable();
#endif
	return 0;
}

/* Task work, on the way back to user space. This alone may sleep, and does so
 * holding nothing: it brings pages in that a stack lacks. */
static int on_return_to_user(struct bpf_map *map, void *key, void *value)
{
	struct ask a = {.depth = seam_max_stack};

	if (seam_take_sleeps)
		sleep_end(bpf_get_current_task());
	ask_at_return(&a, value);
	return 0;
}

/* sched_switch, loaded where sleeps are recorded. Kernel threads sleep for a
 * living. The current task is still the one that goes. */
SEC("raw_tp")
int seam_switch(struct bpf_raw_tracepoint_args *ctx)
{
	bool preempt = ctx->args[0];
	uint64_t next = ctx->args[2];
	uint32_t prev_state = ctx->args[3];
	struct task_struct *prev = bpf_get_current_task_btf();
	bool is_ours;

	sleep_end(next);
	if (preempt || !(prev_state & TASK_SLEEPS) || !has_user(prev))
		return 0;
	is_ours = is_watched(prev);
	count_event(seam_sleep_event, is_ours);
	if (!is_ours)
		count(SEAM_COUNT_FILTERED);
	else if (sleep_fill(prev))
		to_raw(ctx);
	return 0;
}

/* Does nothing, to find out whether a tracepoint is there. */
SEC("raw_tp")
int seam_no_tracepoint(struct bpf_raw_tracepoint_args *ctx)
{
	return 0;
}

extern struct task_struct *bpf_task_from_pid(int32_t pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

/* Watches the task that has this number now. */
SEC("syscall")
int seam_watch(struct seam_watch_args *args)
{
	struct task_struct *task = bpf_task_from_pid(args->id);
	uint32_t id = args->id;
	uint64_t start;

	args->err = -ESRCH;
	if (!task)
		return 0;
	start = task->start_boottime;
	bpf_task_release(task);
	args->err = bpf_map_update_elem(&watched, &id, &start, BPF_ANY);
	return 0;
}

/* Code that was there before we were. */
SEC("syscall")
int seam_span(struct seam_span_args *args)
{
	struct task_struct *task = bpf_task_from_pid(args->tgid);

	args->err = -ESRCH;
	if (!task)
		return 0;
	args->err = seam_spans_add(task, args->start, args->size);
	bpf_task_release(task);
	return 0;
}

/* The key of what the caller has mapped at an address: for preloading. */
SEC("syscall")
int seam_key(struct seam_key_args *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s = scratch_take();
	uint64_t mm;

	args->err = -2;
	if (!s)
		return 0;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm) {
		args->err = seam_vma_find(mm, args->addr, &s->vma);
		if (!args->err && !name_file(mm, &s->vma, &s->miss))
			args->err = -1;
		args->is_near = !args->err && may_fault(reading_of(&s->vma));
	}
	bpf_rcu_read_unlock();
	args->key = s->miss.key;
	args->mtime_ns = s->miss.mtime_ns;
	scratch_give(s);
	return 0;
}

/* Where the kernel's code begins and ends, of which there is one answer among
 * the 100,000 lines of /proc/kallsyms. */
SEC("syscall")
int seam_text(struct seam_text_args *args)
{
	const char start[] = "_text", end[] = "_etext";
	__u64 addr;

	args->start = args->end = 0;
	if (!bpf_kallsyms_lookup_name(start, sizeof(start), 0, &addr))
		args->start = addr;
	if (!bpf_kallsyms_lookup_name(end, sizeof(end), 0, &addr))
		args->end = addr;
	return 0;
}

struct bpf_iter_meta;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* The cookie of what we have asked of a task that is on no CPU, and so in the
 * kernel; or 0. */
static __always_inline uint64_t asked_asleep(struct task_struct *task,
					     const struct seam_outside *o,
					     uint64_t *ret_was)
{
	uint64_t cookie = seam_outside_asleep(o, OWN_CLIENT, ret_was);

	return cookie && !task->on_cpu &&
			       seam_outside_fits(o, *ret_was,
						 task->start_boottime,
						 mm_of(task))
		       ? cookie
		       : 0;
}

/* At the end of a recording: tasks that still sleep in the entry of their
 * last sample. Taken from outside, without waking them. */
SEC("iter.s/task")
int seam_sleepers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seam_outside *o = NULL;
	struct task_state *state;
	struct seam_element *el;
	uint32_t zero = 0;
	uint64_t cookie = 0, was, self = (uint64_t)task;

	if (!task || !has_user(task))
		return 0;
	sleep_end((uint64_t)task);
	el = bpf_map_lookup_elem(&elements, &self);
	if (el)
		cookie = seam_entry_under_way(&el->state.entry, OWN_CLIENT);
	if (el && cookie) {
		emit_pending(task, &el->state, cookie);
		return 0;
	}
	if (el)
		cookie = seam_entry_asleep(&el->state.entry, OWN_CLIENT, &was);
	if (!cookie) {
		o = outside_of(self);
		cookie = o ? asked_asleep(task, o, &was) : 0;
	}
	if (!cookie)
		return 0;
	state = bpf_map_lookup_elem(&outside_state, &zero);
	if (state)
		take_sleeper(task, el ? &el->state : NULL, state, o, was,
			     cookie);
	return 0;
}

/* As a recording of sleeps begins: those that have begun already. */
SEC("iter.s/task")
int seam_slept(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint32_t slot = BUFFER_SLEPT;
	struct sample_buffer *buf;

	if (!task || !has_user(task) || !is_watched(task))
		return 0;
	buf = bpf_map_lookup_elem(&sample_buffers, &slot);
	if (buf)
		take_slept(buf, task);
	return 0;
}

static long look_asleep(struct bpf_map *map, const void *key,
			struct seam_element *el, struct seam_asleep_args *args)
{
	uint64_t was;

	args->found = seam_entry_under_way(&el->state.entry, OWN_CLIENT) ||
		      seam_entry_asleep(&el->state.entry, OWN_CLIENT, &was);
	return args->found;
}

static long look_sleep(struct bpf_map *map, const void *key,
		       struct sample_buffer *buf, struct seam_asleep_args *args)
{
	args->found = !buf->sent;
	return args->found;
}

static long look_asked(struct bpf_map *map, const void *key,
		       struct outside_element *el,
		       struct seam_asleep_args *args)
{
	uint64_t was;

	args->found = !!seam_outside_asleep(&el->o, OWN_CLIENT, &was);
	return args->found;
}

/* Whether seam_sleepers, which is loaded when it is needed, would find any. */
SEC("syscall")
int seam_asleep(struct seam_asleep_args *args)
{
	struct seam_asleep_args here = {0};

	bpf_for_each_map_elem(&elements, look_asleep, &here, 0);
	if (!here.found)
		bpf_for_each_map_elem(&outsides, look_asked, &here, 0);
	if (!here.found && seam_take_sleeps)
		bpf_for_each_map_elem(&sleeps, look_sleep, &here, 0);
	args->found = here.found;
	return 0;
}

static long sweep_element(struct bpf_map *map, const void *key,
			  struct seam_element *el, uint32_t *clients)
{
	uint32_t bits = *clients;

	seam_who_sweep(&el->state.entry, bits);
	if (el->state.asked & bits)
		__sync_fetch_and_and(&el->state.asked, ~bits);
	if (el->state.known & bits)
		__sync_fetch_and_and(&el->state.known, ~bits);
	return 0;
}

static long sweep_outside(struct bpf_map *map, const void *key,
			  struct outside_element *el, uint32_t *clients)
{
	seam_outside_sweep(&el->o, *clients);
	return 0;
}

/*
 * The kernel has what is taken out of a map of maps wait for programs that may
 * sleep only if one of these names it. Task works are none to it, though they
 * may: so this one names all that they use.
 */
static __always_inline void outer_maps_use(void)
{
	asm volatile("" ::"r"(&client_rings), "r"(&client_states));
	asm volatile("" ::"r"(&client_stacks), "r"(&client_sleeps));
	asm volatile("" ::"r"(&client_makers), "r"(&client_made_spans));
	asm volatile("" ::"r"(&client_made_tables));
}

/* Before our number is used, or when others' end is noticed: they may have
 * ended in the middle of many entries. */
SEC("syscall")
int seam_sweep(struct seam_sweep_args *args)
{
	uint32_t clients = args->clients;

	outer_maps_use();
	/* What is pending may become an entry meanwhile, which comes second. */
	bpf_for_each_map_elem(&outsides, sweep_outside, &clients, 0);
	bpf_for_each_map_elem(&elements, sweep_element, &clients, 0);
	return 0;
}

extern void bpf_arena_free_pages(void *map, void *at, uint32_t n) __ksym;

/* Whoever is yet at work there reads 0. */
SEC("syscall")
int seam_arena_drop(struct seam_arena_drop_args *args)
{
	bpf_arena_free_pages(&arena, (void *)args->at, args->pages);
	return 0;
}
