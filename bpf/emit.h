/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Takes one user stack and sends it: as frames, or as a copy to unwind. */
#ifndef SEAM_BPF_EMIT_H
#define SEAM_BPF_EMIT_H

#include "bpf/unwind.h"
#include "core/entry-count.h"
#include "core/entry-exec.h"

/* Whether so much unread data is to wake the reader. */
static __always_inline uint64_t wake_flags(void *map, uint64_t enough)
{
	return bpf_ringbuf_query(map, BPF_RB_AVAIL_DATA) < enough
		       ? BPF_RB_NO_WAKEUP
		       : BPF_RB_FORCE_WAKEUP;
}

/* What the reader does itself does not wake it. */
static __always_inline bool is_readers(void)
{
	return bpf_get_current_pid_tgid() >> 32 == seam_reader;
}

static __always_inline uint64_t ring_flags(void *map)
{
	return is_readers() ? BPF_RB_NO_WAKEUP
			    : wake_flags(map, seam_ring_wake);
}

static __always_inline struct scratch *scratch_take(void)
{
	uint32_t first = bpf_get_smp_processor_id() * 2, i;

	for (i = seam_zero; i < SEAM_SCRATCHES; i++) {
		uint32_t key = (first + i) & (SEAM_SCRATCHES - 1);
		struct scratch *s = bpf_map_lookup_elem(&scratches, &key);

		SEAM_LOOP_GUARD;
		if (s && !__sync_val_compare_and_swap(&s->busy, 0, 1))
			return s;
	}
	count(SEAM_COUNT_NO_SCRATCH);
	return NULL;
}

static __always_inline void scratch_give(struct scratch *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

static __always_inline void count_end(struct seam_cpu_state *cpu, int end)
{
	uint64_t which = end;

	/* One register to the verifier: clang 19 compares one copy and uses
	 * another ("R0 unbounded memory access"). */
	asm volatile("" : "+r"(which));
	if (cpu && which < SEAM_END_MAX)
		__sync_fetch_and_add(&cpu->ends[which], 1);
}

/* Which frames were found by frame pointers, behind them all. Return: words. */
static __always_inline uint32_t append_by_fp(struct scratch *s, uint32_t nr)
{
	uint64_t at = nr, words = (at + 63) / 64;

	/* One frame alone needs no unwind to be had. */
	if (nr < 2 || !s->fp_frames)
		return 0;
	count_add(SEAM_COUNT_FP_FRAMES, s->fp_frames);
	/* Each one register to the verifier. Word by word, Linux 6.12 would
	 * take every round for a new state. */
	asm volatile("" : "+r"(at), "+r"(words));
	if (at > SEAM_MAX_FRAMES || words > SEAM_BY_FP_WORDS)
		return 0;
	bpf_probe_read_kernel(s->ips + at, words * 8, s->by_fp);
	return words;
}

/* The registers that the unwind began with, behind what is there so far, if one
 * of those that the stack is for wants them. Return: words. */
static __always_inline uint32_t append_regs(struct scratch *s,
					    const struct task_state *state,
					    uint32_t words)
{
	const struct seam_common *all = common_state();
	uint64_t at = words;

	if (!all || !(*(volatile uint32_t *)&all->want_regs & s->clients))
		return 0;
	asm volatile("" : "+r"(at));
	if (at > SEAM_MAX_FRAMES + SEAM_BY_FP_WORDS)
		return 0;
	bpf_probe_read_kernel(s->ips + at, sizeof(state->regs), state->regs);
	s->stack.flags |= SEAM_STACK_REGS;
	return SEAM_WIRE_REGS;
}

/* Another client's ring may be smaller than ours. */
static __always_inline uint64_t ring_flags_of(void *map, uint32_t client)
{
	uint64_t wake = bpf_ringbuf_query(map, BPF_RB_RING_SIZE) / 4;

	if (client == seam_client && is_readers())
		return BPF_RB_NO_WAKEUP;
	if (wake > seam_ring_wake)
		wake = seam_ring_wake;
	return wake_flags(map, wake);
}

static __always_inline bool send_stack(struct scratch *s, uint32_t client,
				       uint64_t size)
{
	uint32_t at = SEAM_RING_STACKS + client;
	void *to = bpf_map_lookup_elem(&client_rings, &at);

	if (!to || size > sizeof(s->stack) + sizeof(s->ips))
		return false;
	return !bpf_ringbuf_output(to, &s->stack, size,
				   ring_flags_of(to, client));
}

static __always_inline bool send_copy(struct scratch *s, uint32_t client,
				      uint64_t size)
{
	uint32_t *untold = bpf_map_lookup_elem(&client_untold, &client);
	uint32_t at = SEAM_RING_COPIES + client;
	void *to = bpf_map_lookup_elem(&client_rings, &at);

	if (!to || !untold || size > sizeof(s->copy) + SEAM_MAX_COPY)
		return false;
	if (client != seam_client && *(volatile uint32_t *)untold)
		return false;
	return copies_have_room(to, size) &&
	       !bpf_ringbuf_output(to, &s->copy, size,
				   ring_flags_of(to, client));
}

/* For programs that look for it themselves: as deep as there is room, and of a
 * copy its leaf. */
static __always_inline void keep_stack(struct scratch *s, uint32_t client,
				       struct seam_cpu_state *cpu,
				       uint32_t is_copy, int end)
{
	void *to = bpf_map_lookup_elem(&client_stacks, &client);
	uint64_t nr = s->stack.nr;

	if (!to)
		return;
	s->kept.cookie = s->stack.head.cookie; /* a copy's, too */
	s->kept.time_ns = s->stack.head.time_ns;
	s->kept.end = end;
	if (!is_copy && nr > SEAM_KEPT_FRAMES) {
		nr = SEAM_KEPT_FRAMES;
		s->kept.end = SEAM_MAX_STACK;
	}
	/* One register to the verifier, as in count_end. */
	asm volatile("" : "+r"(nr));
	if (is_copy) {
		nr = 1;
		s->kept.ips[0] = s->copy.regs[SEAM_AMD64_REG_IP];
	} else if (nr <= SEAM_KEPT_FRAMES) {
		bpf_probe_read_kernel(s->kept.ips, nr * 8, s->ips);
	}
	s->kept.nr = nr;
	if (bpf_map_update_elem(to, &s->kept.cookie, &s->kept, BPF_ANY))
		__sync_fetch_and_add(&cpu->counts[SEAM_COUNT_NOT_KEPT], 1);
}

/* For a client that need not be ours. */
static __always_inline void count_for(uint32_t client, enum seam_count what)
{
	void *states = bpf_map_lookup_elem(&client_states, &client);
	struct seam_cpu_state *cpu;
	uint32_t zero = 0;

	cpu = states ? bpf_map_lookup_elem(states, &zero) : NULL;
	if (cpu)
		__sync_fetch_and_add(&cpu->counts[what], 1);
}

/* Where there is no memory to take a stack in, all who want it know. */
__noinline int seam_no_scratch(uint32_t clients)
{
	uint32_t i;

	for (i = seam_zero; i < SEAM_MAX_CLIENTS; i++) {
		SEAM_LOOP_GUARD;
		/* For its own, whoever looks for the memory counts. */
		if (clients >> (i & 31) & 1 && i != seam_client)
			count_for(i, SEAM_COUNT_NO_SCRATCH);
	}
	return 0;
}

/* Sends it to one client, and counts it there. This and the next are global
 * functions: the verifier walks each once. */
__noinline int seam_send_to(struct scratch *s ARG_NONNULL, uint32_t client,
			    uint64_t size, uint32_t is_copy, int end)
{
	struct seam_cpu_state *cpu;
	uint32_t zero = 0;
	void *states;
	bool is_lost;

	if (client >= SEAM_MAX_CLIENTS)
		return 0;
	states = bpf_map_lookup_elem(&client_states, &client);
	if (!states)
		return 0;
	cpu = bpf_map_lookup_elem(states, &zero);
	if (!cpu)
		return 0;
	if (client != seam_client)
		__sync_fetch_and_add(&cpu->counts[SEAM_COUNT_BY_OTHERS], 1);
	keep_stack(s, client, cpu, is_copy, end);
	if (is_copy) {
		is_lost = !send_copy(s, client, size);
		if (is_lost)
			__sync_fetch_and_add(&cpu->counts[SEAM_COUNT_LOST_COPY],
					     1);
	} else {
		count_end(cpu, end);
		is_lost = !send_stack(s, client, size);
		seam_stack_sent(cpu->counts, is_lost);
	}
	s->lost |= (uint32_t)is_lost << client;
	return 0;
}

/*
 * Sends the stack, or its copy, to the clients that want it, each with a ring
 * and counts of its own: who does not read loses only what is his.
 */
__noinline int seam_send(struct scratch *s ARG_NONNULL, uint64_t size,
			 uint32_t is_copy, int end)
{
	uint32_t i;

	for (i = seam_zero; i < SEAM_MAX_CLIENTS; i++) {
		SEAM_LOOP_GUARD;
		if (s->clients >> (i & 31) & 1)
			seam_send_to(s, i, size, is_copy, end);
	}
	return 0;
}

/* Sends s->ips. Global, as more below, for the verifier, which comes to it with
 * as many states as an unwind may end in. */
__noinline int seam_send_frames(struct scratch *s ARG_NONNULL,
				const struct task_state *state ARG_NONNULL,
				int end)
{
	uint32_t nr = s->nr;
	uint64_t size;

	s->stack.nr = nr;
	s->stack.by_fp = append_by_fp(s, nr);
	if (end == SEAM_OUTERMOST && s->stack.by_fp)
		end = SEAM_UNPROVEN;
	s->stack.end = end;
	count_add(SEAM_COUNT_FRAMES, nr);
	if (seam_reads_mapped && s->section_begun)
		count_add(SEAM_COUNT_MAPPED_FRAMES, s->own.frames);
	count_add(SEAM_COUNT_LAST_HITS, s->last_hits);
	count_add(SEAM_COUNT_UNWIND_NS, s->stack.took_ns);
	nr += s->stack.by_fp;
	nr += append_regs(s, state, nr);
	if (nr > SEAM_MAX_FRAMES + SEAM_BY_FP_WORDS + SEAM_WIRE_REGS)
		nr = SEAM_MAX_FRAMES + SEAM_BY_FP_WORDS + SEAM_WIRE_REGS;
	size = sizeof(s->stack) + (uint64_t)nr * 8;
	seam_send(s, size, false, end);
	return 0;
}

/* The stack's own frames, whatever they are worth. */
static __always_inline void emit_frames(struct seam_env *env, uint64_t cookie,
					uint32_t flags, int end, uint64_t began)
{
	struct scratch *s = env->scratch;

	head_fill(&s->stack.head, SEAM_WIRE_STACK, env->task, cookie);
	s->stack.took_ns = s->stack.head.time_ns - began;
	s->stack.flags = flags;
	seam_send_frames(s, env->state, end);
}

#define COPY_CHUNK 4096

/*
 * A chunk of the stack. A stack may be several mappings, where protection or
 * an armed userfaultfd differ; but what follows its own may also be another's,
 * and is taken only as far as it is in memory.
 */
static __always_inline int copy_chunk(struct seam_env *env, void *to,
				      uint32_t size, uint64_t addr,
				      uint64_t end)
{
	struct task_state *state = env->state;

	if (addr < end)
		return read_user(env, to, size, addr);
	if (env->how == HOW_OTHER ||
	    (!stack_has(state, addr) &&
	     !seam_stack_find(env->scratch, state, env->task, addr)) ||
	    state->stack.reading == READ_NOTHING)
		return -1;
	return bpf_probe_read_user(to, size, (void *)addr);
}

/*
 * Copies want bytes of the stack, or as many as can be read, chunk by chunk.
 * end: of the mapping that it is in. Return: the number of bytes copied.
 */
static __always_inline uint32_t copy_stack(struct seam_env *env, uint64_t from,
					   uint32_t want, uint64_t end)
{
	struct scratch *s = env->scratch;

	/* Counted in memory, as in unwind_once; volatile, or the compiler
	 * would know each round's value, and so the verifier. */
	volatile uint32_t *nr = &s->nr;

	*nr = 0;
	s->want = want;
	while (*nr < s->want) {
		uint32_t done = *nr & ~(COPY_CHUNK - 1);
		uint32_t left = s->want - done;

		SEAM_LOOP_GUARD;
		if (done > SEAM_MAX_COPY - COPY_CHUNK)
			break;
		if (left > COPY_CHUNK)
			left = COPY_CHUNK;
		if (copy_chunk(env, s->bytes + done, left, from + done, end))
			break;
		*nr = done + left;
	}
	return *nr;
}

/* Return: false: nothing of the stack can be read, and nothing was sent. */
static __always_inline bool emit_copy(struct seam_env *env, uint64_t cookie,
				      uint32_t flags, int why, uint64_t began)
{
	struct scratch *s = env->scratch;
	uint64_t sp = env->state->regs[SEAM_AMD64_REG_SP];
	/* Whole pages, so that one which is not there costs no other. */
	uint64_t from = (sp - SEAM_AMD64_RED_ZONE) & ~(COPY_CHUNK - 1ULL);
	uint32_t want = seam_stack_copy, done;
	uint64_t size;

	if (!seam_stack_find(s, env->state, env->task, sp))
		return false;
	if (from < env->state->stack.start)
		from = env->state->stack.start;
	if (want > SEAM_MAX_COPY)
		want = SEAM_MAX_COPY;
	done = copy_stack(env, from, want, env->state->stack.end);
	if (is_told(env))
		return true;
	if (!done)
		return false;
	head_fill(&s->copy.head, SEAM_WIRE_COPY, env->task, cookie);
	s->copy.took_ns = s->copy.head.time_ns - began;
	s->copy.flags = flags;
	if (env->state->regs_flags & REGS_SYSCALL)
		s->copy.flags |= SEAM_STACK_SYSCALL;
	if (is_32bit(env->state))
		s->copy.flags |= SEAM_STACK_32BIT;
	s->copy.why = why;
	__builtin_memcpy(s->copy.regs, env->state->regs, sizeof(s->copy.regs));
	s->copy.stack = from;
	s->copy.size = done;
	/* Else it ends where nothing more can be read. */
	s->copy.cut = s->want == done;
	seam_probed_copy(s, env->task, from);
	if (done > SEAM_MAX_COPY)
		done = SEAM_MAX_COPY;
	size = sizeof(s->copy) + done;
	count(SEAM_COUNT_COPIES);
	count_add(SEAM_COUNT_COPY_BYTES, done);
	if ((s->clients & OWN_CLIENT) && !copies_told(env->task)) {
		s->clients &= ~OWN_CLIENT;
		s->lost |= OWN_CLIENT;
		count(SEAM_COUNT_LOST_COPY);
	}
	seam_send(s, size, true, why);
	return true;
}

/* Where a table or a rule is missing that the library may have, or may do
 * without. */
static __always_inline bool wants_copy(const struct seam_env *env, int end)
{
	if (seam_methods & SEAM_UNWIND_GUESS &&
	    (end == SEAM_NO_TABLE || end == SEAM_BAD_CFA))
		return true;
	if (is_32bit(env->state))
		return false; /* the library has no tables for it either */
	return end == SEAM_NO_RULE || end == SEAM_VMA_BUSY ||
	       (end == SEAM_NO_TABLE && env->scratch->asked);
}

/*
 * Whether the stack is not the event's any more, when its registers are not
 * the task's, whose sp is given. A signal's frame lies below what the event
 * used, or on another stack; but it is put on top of code that runs on the
 * alternate stack without the kernel knowing. Nothing from that sp on can be
 * believed, and the unwind has read up to its cursor's; the library reads on
 * in a copy. rt_sigreturn raises sp as well, and writes nothing, and so does
 * the return from a vsyscall, which the kernel makes at the event, a page
 * fault. And garbage leads nowhere, even if nobody tells where it is from.
 */
__noinline int seam_stack_differs(struct scratch *s ARG_NONNULL,
				  struct task_state *state ARG_NONNULL, int end,
				  uint64_t sp_now)
{
	struct seam_env env = {s, state, NULL, HOW_OWN};
	uint64_t ip = state->regs[SEAM_AMD64_REG_IP];
	uint64_t sp = state->regs[SEAM_AMD64_REG_SP];
	bool returned = seam_amd64_is_vsyscall(ip) && sp_now == sp + 8;
	bool copy = wants_copy(&env, end);
	uint64_t top = copy ? sp + seam_stack_copy : s->cursor.sp;
	bool over = sp_now > sp && sp_now < top && !returned &&
		    !(state->regs_flags & REGS_SIGRETURN);

	return over || end == SEAM_BAD_CFA || end == SEAM_UNREADABLE ||
	       (end == SEAM_NO_TABLE && !copy);
}

#endif
