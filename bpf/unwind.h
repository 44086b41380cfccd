/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The user stack of one task: mappings, tables, rules and the step, until
 * the stack ends. Nothing here holds a ring reservation or a lock.
 */
#ifndef SEAM_BPF_UNWIND_H
#define SEAM_BPF_UNWIND_H

#include "bpf/frame-pointer.h"
#include "bpf/section.h"
#include "core/entry-who.h"

#define FRAME_AGAIN (-1) /* the cursor is now where it would be unprobed */
#define FRAME_MAPPED (-2) /* the target has the table: see section.h */
#define FRAME_RULE (-3) /* its rule is to be found first */

/* Of code that the kernel has for user space: how far the return address is
 * behind SP, and 8; 0: there is none; and what is skipped behind that. A
 * function of its own, for the stack: "combined stack size of 8 calls is 528.
 * Too large" (Linux 6.18, clang 14). */
static __noinline void rule_by_sp(struct scratch *s, int32_t ra, int32_t skip)
{
	s->rule = (struct seam_rule){
		.cfa = {ra + skip, SEAM_REG_OFF, SEAM_AMD64_REG_SP, 0},
		.ra = {SEAM_AMD64_RA_OFF - skip, SEAM_CFA_DEREF, 0, 0}};
	s->rule_err = ra ? 0 : SEAM_NO_RULE;
}

/* Linux has no list of these pages since it has functions call them that may
 * have data in their red zone. */
static __always_inline int32_t probe_page_skips(void)
{
	return bpf_core_type_exists(struct uprobe_syscall_args) &&
			       !bpf_core_field_exists(struct uprobes_state,
						      head_tramps)
		       ? SEAM_AMD64_RED_ZONE
		       : 0;
}

/* Of a task that is about to call it. Global, for the verifier. */
__noinline int seam_probe_between(struct scratch *s ARG_NONNULL)
{
	if (!bpf_probe_read_user(&s->word, sizeof(s->word),
				 (void *)(s->cursor.ip - 5)) &&
	    seam_amd64_probe_is_between(s->word))
		s->cursor.sp += SEAM_AMD64_RED_ZONE;
	return 0;
}

/*
 * Finds the rule of the frame at the cursor by the table of its mapping.
 * Return: it, packed; 0: it is in s->rule, or s->rule_err says why not.
 *
 * This and the next two are global functions, so that the verifier walks
 * each once and not once for each frame it imagines. They are verified as
 * the program they are part of, so they must not sleep even where their
 * caller may: they say UNREADABLE and leave the address in s->fault.
 */
__noinline uint64_t seam_frame_rule(struct scratch *s ARG_NONNULL,
				    struct task_state *state ARG_NONNULL,
				    struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_OWN};
	struct seam_cursor c = s->cursor;
	uint64_t pc = seam_cursor_pc(&c), packed = 0;
	struct mapping *map;
	int slot, err = 0;

	/* The 32-bit vDSO lies where the other's table would be asked for, and
	 * no other file of 32-bit code has one. */
	if (is_32bit(state)) {
		s->rule_err = SEAM_NO_TABLE;
		return 0;
	}
	slot = mapping_find(&env, pc, &err);
	s->rule_err = err;
	if (slot < 0 && seam_amd64_is_vsyscall(pc))
		rule_by_sp(s, 8, 0);
	if (slot < 0)
		return 0;
	slot &= SEAM_CACHED_MAPPINGS - 1;
	map = &state->maps[slot];
	if (map->state == SEAM_TABLE_PROBE_PAGE) {
		rule_by_sp(s, seam_amd64_probe_page_ra(pc - map->start),
			   probe_page_skips());
		return 0;
	}
	if (map->state != SEAM_TABLE_LOADED) {
		if (map->state == SEAM_TABLE_MAPPED) {
			s->own.slot = slot;
			s->rule_err = FRAME_MAPPED;
			return 0;
		}
		s->asked = map->state == SEAM_TABLE_ASKED ||
			   seam_mapping_ask_again(s, map, task, pc);
		s->rule_err = SEAM_NO_TABLE;
		return 0;
	}
	s->rule_err = seam_rule_find(map, pc, &packed, &s->rule);
	if (s->rule_err) {
		if (map->is_made) {
			s->asked = seam_mapping_ask_again(s, map, task, pc);
			s->rule_err = SEAM_NO_TABLE;
		}
		return 0;
	}
	last_put(s, &c, packed, slot, state->epochs[slot]);
	return packed;
}

/* The step by a rule of any kind. Return: 0 or the end code. */
__noinline int seam_frame_any(struct scratch *s ARG_NONNULL,
			      struct task_state *state ARG_NONNULL)
{
	struct seam_env env = {s, state, NULL, HOW_OWN};
	struct seam_cursor c = s->cursor;
	int err = s->rule_err;

	if (!err)
		err = seam_step(&c, &s->rule, &env);
	if (!err || err == SEAM_OUTERMOST)
		s->cursor = c;
	return err;
}

/*
 * Finds the caller of the frame at s->cursor. Return: 0 or the end code.
 * Programs that take stacks at the event look for its rule when this has
 * returned (FRAME_RULE): on Linux 6.12 all functions of a chain of calls share
 * 512 bytes of stack ("combined stack size of 7 calls is 560. Too large").
 *
 * What nearly every frame needs is here, and little else: after a millisecond
 * of the task's own work even the instructions are in no cache.
 */
__noinline int seam_frame(struct scratch *s ARG_NONNULL,
			  struct task_state *state ARG_NONNULL,
			  struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_OWN};
	struct seam_cursor c = s->cursor;
	struct seam_rule rule;
	struct seam_last_entry last;
	uint64_t packed;
	int err;

	if (last_find(s, &c, &last) &&
	    mapping_holds(&env, seam_last_slot(last.how),
			  seam_last_epoch(last.how), seam_cursor_pc(&c))) {
		s->last_hits++;
		packed = seam_last_rule(&last);
	} else if (IS_AT_ONCE) {
		/* Else clang 19 passes none ("R3 type=? expected=ptr_"). */
		asm volatile("" ::"r"(task));
		return FRAME_RULE;
	} else {
		packed = seam_frame_rule(s, state, task);
		if (!packed)
			return seam_frame_any(s, state);
	}
	seam_rule_unpack(packed, &rule);
	err = seam_step(&c, &rule, &env);
	if (!err || err == SEAM_OUTERMOST)
		s->cursor = c;
	return err;
}

static __always_inline int frame_by_tables(struct scratch *s,
					   struct task_state *state,
					   struct task_struct *task)
{
	int err = seam_frame(s, state, task);
	uint64_t packed;

	if (!IS_AT_ONCE || err != FRAME_RULE)
		return err;
	packed = seam_frame_rule(s, state, task);
	if (packed)
		seam_rule_unpack(packed, &s->rule);
	return seam_frame_any(s, state);
}

/* The methods in their order. Constant but for the calls: what was not chosen
 * is no code when it runs. */
static __always_inline int frame_by_order(struct scratch *s,
					  struct task_state *state,
					  struct task_struct *task)
{
	int err = SEAM_NO_TABLE;

	if (seam_methods & SEAM_UNWIND_FP_FIRST) {
		if (seam_probed(s, state, task))
			return FRAME_AGAIN;
		err = seam_frame_fp(s, state, task);
	}
	if (err == SEAM_NO_TABLE && seam_methods & SEAM_UNWIND_TABLES)
		err = frame_by_tables(s, state, task);
	if (seam_reads_mapped && err == FRAME_MAPPED) {
		err = seam_frame_section(s, state, task);
		if (!err) {
			err = seam_frame_any(s, state);
			/* Else it is tried again. */
			s->own.frames += err != SEAM_UNREADABLE;
		}
	}
	if (err == SEAM_NO_TABLE && seam_probed(s, state, task))
		return FRAME_AGAIN;
	if (err == SEAM_NO_TABLE && seam_methods & SEAM_UNWIND_FP)
		err = seam_frame_fp(s, state, task);
	return err;
}

/* A step reads three words at most, which may each lie in another mapping and
 * need its page faulted in; and code, where there is no table: of the frame on
 * as far as it is followed, and of the caller. */
#define FAULTS_PER_FRAME 14
#define CODE_FAULTS 7

/* Whether addr's mapping, which was not the known one, now is. */
static __always_inline bool stack_knows(struct seam_env *env, uint64_t addr)
{
	return env->how != HOW_OTHER && !stack_has(env->state, addr) &&
	       seam_stack_find(env->scratch, env->state, env->task, addr);
}

/* What could not be read. Return: whether the frame is worth another try; or
 * is_told. */
static __always_inline bool fault_in_of(struct seam_env *env)
{
	uint64_t addr = env->scratch->fault;

	if (seam_reads_mapped && env->scratch->fault_code == FAULT_SECTION)
		return section_fault(env);
	if (env->scratch->fault_code)
		return env->scratch->faults <= CODE_FAULTS && code_fault(env);
	return stack_knows(env, addr) || window_fault(env, addr);
}

/* Global, for the verifier. */
__noinline int seam_fault_in(struct scratch *s ARG_NONNULL,
			     struct task_state *state ARG_NONNULL,
			     struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_OWN};

	return fault_in_of(&env);
}

static __always_inline bool fault_in(struct seam_env *env)
{
	return env->how == HOW_OTHER
		       ? fault_in_of(env)
		       : seam_fault_in(env->scratch, env->state, env->task);
}

/*
 * Unwinds from state->regs into scratch->ips, scratch->nr of them, at least
 * the leaf. Return: the end code.
 */
static __always_inline int unwind_once(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	const uint64_t *regs = env->state->regs;
	uint32_t max = seam_who_depth(env->state->entry.who);
	int end = SEAM_MAX_STACK;

	if (max > SEAM_MAX_FRAMES)
		max = SEAM_MAX_FRAMES;
	s->cursor.ip = regs[SEAM_AMD64_REG_IP];
	s->cursor.sp = regs[SEAM_AMD64_REG_SP];
	s->cursor.fp = regs[SEAM_AMD64_REG_FP];
	s->cursor.leaf = true;
	s->cursor.fp_lost = false;
	/* A system call leaves the ip behind its instruction, as a call
	 * does, and that may be a function's last: __restore_rt. */
	s->cursor.exact = !(env->state->regs_flags & REGS_SYSCALL);
	if (probe_page_skips() && s->cursor.exact && env->how == HOW_OWN)
		seam_probe_between(s);
	s->asked = false;
	s->other = env->how == HOW_OTHER;
	if (s->other)
		far_forget(s);
	s->faults = 0;
	s->lose_fp = false;
	s->fp_frames = 0;
	s->fp_nr = 0;
	s->len = 0;
	s->code_len = 0;
	s->way_begun = false;
	s->section_begun = false;
	s->nr = 0;
	seam_mappings_check(env->state, env->task, s);
	if (!stack_has(env->state, s->cursor.sp))
		seam_stack_find(s, env->state, env->task, s->cursor.sp);
	last_begin(s);
	/* Counted in memory: a register of known value would make each round
	 * a new state to the verifier. */
	while (s->nr < max) {
		int err;

		SEAM_LOOP_GUARD;
		s->ips[s->nr & (SEAM_FRAMES_ROOM - 1)] = s->cursor.ip;
		err = frame_by_order(s, env->state, env->task);
		if (err == SEAM_UNREADABLE && s->faults < FAULTS_PER_FRAME) {
			s->faults++;
			if (!fault_in(env))
				s->lose_fp = true;
			if (is_told(env))
				break;
			continue;
		}
		if (err == FRAME_AGAIN)
			continue;
		s->nr++;
		s->faults = 0;
		s->way_begun = false;
		s->lose_fp = false;
		if (err) {
			end = err;
			break;
		}
	}
	last_end(s);
	return end;
}

/* A thread that has not run yet has no caller: its first frame is where
 * clone returns to, on an empty stack. */
static __always_inline int unwind_cloned(struct seam_env *env)
{
	struct scratch *s = env->scratch;

	s->ips[0] = env->state->regs[SEAM_AMD64_REG_IP];
	s->nr = 1;
	return SEAM_OUTERMOST;
}

/* A table that went while it was read may have given wrong rules. */
#define UNWIND_TRIES 3

static __always_inline int unwind(struct seam_env *env)
{
	uint32_t i;
	int end;

	env->scratch->last_hits = env->scratch->windows = 0;
	env->scratch->section_begun = false;
	if (env->state->regs_flags & REGS_CLONED)
		return unwind_cloned(env);
	for (i = seam_zero; i < UNWIND_TRIES; i++) {
		SEAM_LOOP_GUARD;
		end = unwind_once(env);
		if (env->state->tables == tables_generation() || is_told(env))
			return end;
		count(SEAM_COUNT_REDO);
	}
	/* Never still: what was read is not to be believed. */
	env->scratch->asked = true;
	return SEAM_NO_TABLE;
}

#endif
