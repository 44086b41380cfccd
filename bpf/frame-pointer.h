/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Frames of code without a table: JIT compilers', Go's, 32-bit. The code
 * says where the return address lies, if it can be followed to its return;
 * else the frame pointer does. Either counts only if what it finds is
 * behind a call in executable memory. core/fallback.h has what is judged.
 *
 * Code has a window of its own beside that for stacks. It is read in
 * executable mappings only, and its pages are faulted in as stacks' are.
 */
#ifndef SEAM_BPF_FRAME_POINTER_H
#define SEAM_BPF_FRAME_POINTER_H

#include "bpf/binding.h"
#include "bpf/probed.h"

static __always_inline bool is_32bit(const struct task_state *state)
{
	return state->regs_flags & REGS_32BIT;
}

/* How many bytes of code may be read at addr: of its mapping, and no more
 * than the window has. */
static __always_inline uint64_t code_room(const struct scratch *s,
					  uint64_t addr)
{
	uint64_t left = s->code_end - addr;

	if (addr - s->code_start >= s->code_end - s->code_start)
		return 0;
	return left < SEAM_CODE_WINDOW ? left : SEAM_CODE_WINDOW;
}

/* Of these, those up to the end of addr's page. */
static __always_inline uint64_t code_room_of_page(const struct scratch *s,
						  uint64_t addr)
{
	uint64_t left = 4096 - (addr & 4095), room = code_room(s, addr);

	return left < room ? left : room;
}

/* Global, as seam_way_decode is. Return: whether a word at addr is there. */
__noinline int seam_code_move(struct scratch *s ARG_NONNULL, uint64_t addr)
{
	uint64_t room = code_room(s, addr);

	s->code_base = addr;
	s->code_len = 0;
	s->fault = addr;
	s->fault_code = FAULT_CODE;
	if (s->other || room < 8)
		return false;
	asm volatile("" : "+r"(room));
	if (room > SEAM_CODE_WINDOW)
		return false;
	if (bpf_probe_read_user(s->code_window, room, (void *)addr)) {
		room = code_room_of_page(s, addr);
		asm volatile("" : "+r"(room));
		if (room < 8 || room > SEAM_CODE_WINDOW ||
		    bpf_probe_read_user(s->code_window, room, (void *)addr))
			return false;
	}
	s->code_len = room;
	return true;
}

/* Eight bytes of code. */
static __always_inline bool code_word(struct scratch *s, uint64_t addr,
				      uint64_t *ret)
{
	uint64_t off = addr - s->code_base;

	if (off >= s->code_len || s->code_len - off < 8) {
		if (!seam_code_move(s, addr))
			return false;
		off = 0;
	}
	asm volatile("" : "+r"(off));
	if (off > SEAM_CODE_WINDOW - 8)
		return false;
	*ret = *(uint64_t *)(s->code_window + (off & (SEAM_CODE_WINDOW - 1)));
	return true;
}

/* The eight bytes that end at ip, with 0 for those before its mapping. */
static __always_inline bool code_before(struct scratch *s, uint64_t ip,
					uint64_t *ret)
{
	uint64_t there = ip - s->code_start;

	if (there >= 8)
		return code_word(s, ip - 8, ret);
	if (!code_word(s, s->code_start, ret))
		return false;
	*ret = there ? *ret << (64 - 8 * there) : 0;
	return true;
}

/* Of code that was not there: whether the mapping of s->fault is still one of
 * code whose pages may be brought in. */
static __noinline bool code_find(struct scratch *s, struct task_struct *task)
{
	bool found = false;
	uint64_t mm;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, s->fault, &s->vma)) {
		found = s->vma.flags & VM_EXEC &&
			may_fault(reading_of(&s->vma));
		s->code_start = s->vma.start;
		s->code_end = s->vma.end;
	}
	bpf_rcu_read_unlock();
	return found;
}

/* Return: how many bytes to copy for code_find's: a first try, or a second. */
static __always_inline uint64_t code_want(const struct scratch *s, bool again)
{
	uint64_t room =
		again ? code_room_of_page(s, s->fault) : code_room(s, s->fault);

	asm volatile("" : "+r"(room));
	return room < 8 || room > SEAM_CODE_WINDOW ? 0 : room;
}

static __always_inline bool code_came(struct scratch *s, uint64_t room)
{
	s->code_base = s->fault;
	s->code_len = room;
	return true;
}

/* Not inlined: stacks add up. */
static __noinline bool code_fault_other(struct scratch *s,
					struct task_struct *task)
{
	uint64_t n;

	s->code_len = 0;
	if (!code_find(s, task))
		return false;
	n = code_want(s, false);
	if (n && !bpf_copy_from_user_task(s->code_window, n, (void *)s->fault,
					  task, 0))
		return code_came(s, n);
	n = code_want(s, true);
	if (n && !bpf_copy_from_user_task(s->code_window, n, (void *)s->fault,
					  task, 0))
		return code_came(s, n);
	return false;
}

static __always_inline bool code_fault(struct seam_env *env)
{
	if (env->how == HOW_OTHER)
		return code_fault_other(env->scratch, env->task);
	/* Less is no word: what was missed is behind the mapping, and that is
	 * another one. */
	if (code_find(env->scratch, env->task) &&
	    code_room(env->scratch, env->scratch->fault) >= 8)
		seam_page_tell(&env->state->tries, env->scratch->fault,
			       reading_of(&env->scratch->vma));
	return false;
}

/* Whether pc is in code, and in what has no table and will have none. Its
 * mapping becomes the one whose code is read. */
static __always_inline bool fp_is_code(struct seam_env *env, uint64_t pc,
				       bool *ret_bare)
{
	struct scratch *s = env->scratch;
	const struct mapping *map;
	int err, slot = mapping_find(env, pc, &err);

	if (slot < 0)
		return false;
	map = &env->state->maps[slot & (SEAM_CACHED_MAPPINGS - 1)];
	*ret_bare = is_32bit(env->state) || map->is_made ||
		    (!map->table && map->state != SEAM_TABLE_ASKED);
	if ((map->flags & (VM_EXEC | VM_IO | VM_PFNMAP)) != VM_EXEC &&
	    map->state != SEAM_TABLE_PROBE_PAGE)
		return false;
	s->code_start = map->start;
	s->code_end = map->end;
	return true;
}

/* Of the instruction at hand what seam_x86_decode does, in its parts. */
__noinline int seam_way_head(struct scratch *s ARG_NONNULL)
{
	seam_x86_head(&s->code, s->way.is_32, &s->insn);
	return 0;
}

__noinline int seam_way_body(struct scratch *s ARG_NONNULL)
{
	seam_x86_body(&s->code, s->way.is_32, &s->insn);
	return 0;
}

__noinline int seam_way_tail(struct scratch *s ARG_NONNULL)
{
	seam_x86_tail(&s->code, s->way.is_32, &s->insn);
	return 0;
}

/* The next instruction of the way. Return: SEAM_OK or SEAM_UNREADABLE. Global,
 * as the next one is, so that the verifier walks each once; what they say to
 * each other is in a map, of which it believes nothing. */
__noinline int seam_way_decode(struct scratch *s ARG_NONNULL)
{
	uint64_t ip = s->way.at.ip;
	bool is_cut;

	if (!code_word(s, ip, &s->code.lo))
		return SEAM_UNREADABLE;
	/* Nothing may be mapped behind it, or nothing be needed. */
	is_cut = !code_word(s, ip + 8, &s->code.hi);
	if (is_cut)
		s->code.hi = 0;
	seam_way_head(s);
	seam_way_body(s);
	seam_way_tail(s);
	if (is_cut && s->insn.len > 8)
		return SEAM_UNREADABLE;
	return SEAM_OK;
}

__noinline int seam_way_step(struct scratch *s ARG_NONNULL)
{
	seam_way_do(&s->way, &s->insn);
	return 0;
}

/* By the rule, if there is one, and by the frame pointer; or read on, the way
 * leads to another mapping. */
#define FP_TRY (-1)
#define FP_READ (-2)

/* Follows the code of the frame at the cursor, on from where it was not there
 * or went on elsewhere. */
static __always_inline int fp_follow(struct scratch *s)
{
	while (!s->way.done) {
		SEAM_LOOP_GUARD;
		if (!code_room(s, s->way.at.ip))
			return FP_READ;
		if (seam_way_decode(s))
			return SEAM_UNREADABLE;
		seam_way_step(s);
	}
	return FP_TRY;
}

/* The caller that was found counts. */
static __always_inline void fp_take(struct scratch *s, bool by_fp)
{
	uint32_t nr = s->nr + 1;

	if (!s->fp_frames)
		__builtin_memset(s->by_fp, 0, sizeof(s->by_fp));
	s->fp_frames++;
	if (nr < SEAM_MAX_FRAMES)
		s->by_fp[nr / 64 & (SEAM_BY_FP_WORDS - 1)] |= 1ULL << (nr & 63);
	if (by_fp)
		s->fp_nr = nr;
	s->cursor = s->caller;
}

/* Apart for the verifier, which comes to it with many states. */
__noinline int seam_fp_is_behind_call(uint64_t before)
{
	return seam_x86_is_behind_call(before);
}

/*
 * Whether s->caller is where a call returns to. Return: SEAM_OK, SEAM_NO_TABLE
 * or SEAM_UNREADABLE. Apart from the step, since the stacks of those who call
 * each other add up.
 */
__noinline int seam_fp_judge(struct scratch *s ARG_NONNULL,
			     struct task_state *state ARG_NONNULL,
			     struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_OWN};
	uint64_t page = probed_page(task);
	bool bare;

	/* A probe stands for the return address. */
	if (page && s->caller.ip == page)
		return SEAM_OK;
	if (!fp_is_code(&env, s->caller.ip - 1, &bare))
		return SEAM_NO_TABLE;
	/* Where the chain ends no call need have been. */
	if (s->by_fp_rule && !s->caller.fp)
		return SEAM_OK;
	if (!code_before(s, s->caller.ip, &s->word))
		return SEAM_UNREADABLE;
	if (seam_fp_is_behind_call(s->word))
		return SEAM_OK;
	/* It may be the end of its mapping. */
	if (code_room(s, s->caller.ip) < 8)
		return SEAM_NO_TABLE;
	if (!code_word(s, s->caller.ip, &s->word))
		return SEAM_UNREADABLE;
	return seam_is_handler_end(is_32bit(state), s->word) ? SEAM_OK
							     : SEAM_NO_TABLE;
}

/* Makes s->caller by s->rule. Return: as fp_try. */
__noinline int seam_fp_step(struct scratch *s ARG_NONNULL,
			    struct task_state *state ARG_NONNULL, bool is_shown)
{
	struct seam_env env = {s, state, NULL, HOW_OWN};
	int err;

	s->caller = s->cursor;
	s->by_fp_rule = s->rule.cfa.reg == SEAM_AMD64_REG_FP;
	err = is_32bit(state) ? seam_step_32(&s->caller, &s->rule, &env)
			      : seam_step(&s->caller, &s->rule, &env);
	if (is_shown)
		return err;
	if (err == SEAM_OUTERMOST || (!err && !seam_fp_is_chain(&s->caller)))
		err = SEAM_NO_TABLE;
	return err;
}

/*
 * The step by s->rule, if it leads to a caller. is_shown: the code says so.
 * Return: 0, SEAM_OUTERMOST, SEAM_UNREADABLE, or SEAM_NO_TABLE: it is none.
 */
static __always_inline int fp_try(struct scratch *s, struct task_state *state,
				  struct task_struct *task, bool is_shown)
{
	int err = seam_fp_step(s, state, is_shown);

	if (err == SEAM_OUTERMOST)
		return err;
	if (!err)
		err = seam_fp_judge(s, state, task);
	if (err == SEAM_UNREADABLE && !s->lose_fp)
		return err;
	if (err)
		return SEAM_NO_TABLE;
	fp_take(s, s->by_fp_rule);
	return SEAM_OK;
}

/* The frame that a signal's handler returns to. */
static __always_inline int fp_signal(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	int err;

	s->caller = s->cursor;
	seam_signal_frame_rule(SEAM_ARCH_AMD64, &s->rule);
	err = seam_step(&s->caller, &s->rule, env);
	if (!err)
		fp_take(s, false);
	return err;
}

static __always_inline int fp_signal_32(struct seam_env *env, int off)
{
	struct scratch *s = env->scratch;
	int err;

	s->caller = s->cursor;
	err = seam_step_signal_32(&s->caller, off, env);
	if (!err)
		fp_take(s, false);
	return err;
}

/* What cannot be read now, the way that begins there says. */
static __always_inline bool fp_is_sigreturn(struct scratch *s)
{
	return code_word(s, s->cursor.ip, &s->word) &&
	       seam_is_sigreturn(s->word);
}

/* Return: as seam_sigreturn_32. */
static __always_inline int fp_sigreturn_32(struct scratch *s)
{
	int off = -1;

	if (code_word(s, s->cursor.ip, &s->word))
		off = seam_sigreturn_32(s->word);
	if (off < 0 && s->cursor.exact &&
	    code_before(s, s->cursor.ip, &s->word))
		off = seam_in_sigreturn_32(s->word);
	return off;
}

/* Whether there is a way to follow from here; begins it. */
static __always_inline bool fp_begin(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	bool bare = false;

	if (s->way_begun) {
		if (!s->way.done &&
		    (s->lose_fp || !fp_is_code(env, s->way.at.ip, &bare)))
			s->way.done = SEAM_WAY_LOST;
		return true;
	}
	if (!fp_is_code(env, seam_cursor_pc(&s->cursor), &bare) ||
	    (!bare && !(seam_methods & SEAM_UNWIND_FP_FIRST)) ||
	    /* A table may come, of code made at run time. */
	    (s->asked && !is_32bit(env->state)))
		return false;
	s->way_begun = true;
	seam_way_begin(&s->way, s->cursor.ip, is_32bit(env->state),
		       s->cursor.exact);
	return true;
}

/* What the code at s->cursor says. Return: FP_TRY, FP_READ; 0: stepped; an end
 * code. */
__noinline int seam_fp_read(struct scratch *s ARG_NONNULL,
			    struct task_state *state ARG_NONNULL,
			    struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_OWN};
	int err, off;

	if (!fp_begin(&env))
		return SEAM_NO_TABLE;
	if (!s->way.insns && !s->way.done && is_32bit(state)) {
		off = fp_sigreturn_32(s);
		if (off >= 0)
			return fp_signal_32(&env, off);
	} else if (!s->way.insns && !s->way.done && fp_is_sigreturn(s)) {
		return fp_signal(&env);
	}
	err = fp_follow(s);
	if (err != FP_TRY)
		return err;
	if (s->way.done == SEAM_WAY_EXITS && seam_fp_ends(&s->cursor))
		return SEAM_OUTERMOST;
	if (s->way.done == SEAM_WAY_RETURNS &&
	    !seam_way_rule(&s->way, &s->rule))
		s->way.done = SEAM_WAY_LOST;
	return FP_TRY;
}

/* Whether rbp alone may lead on: that is asked for, or the code uses it as its
 * frame pointer. Else it may be that of a frame further out, and those between
 * would be left out. */
static __always_inline bool fp_is_believed(const struct scratch *s)
{
	return s->way.has_local || seam_methods & SEAM_UNWIND_FP_FIRST ||
	       !(seam_methods & SEAM_UNWIND_TABLES);
}

/* Mappings that one way leads through. */
#define FP_MAPPINGS 4

static __always_inline int
fp_caller(struct scratch *s, struct task_state *state, struct task_struct *task)
{
	uint32_t i;
	int err = FP_READ;

	for (i = seam_zero; i < FP_MAPPINGS && err == FP_READ; i++) {
		SEAM_LOOP_GUARD;
		err = seam_fp_read(s, state, task);
	}
	if (err == FP_READ)
		s->way.done = SEAM_WAY_LOST;
	else if (err != FP_TRY)
		return err;
	if (s->way.done == SEAM_WAY_RETURNS) {
		err = fp_try(s, state, task, true);
		if (err != SEAM_NO_TABLE)
			return err;
	}
	if (!s->cursor.fp && !s->cursor.fp_lost && !s->cursor.exact && s->nr &&
	    s->fp_nr == s->nr)
		return SEAM_OUTERMOST;
	if (!fp_is_believed(s))
		return SEAM_NO_TABLE;
	seam_fp_rule(is_32bit(state), &s->rule);
	return fp_try(s, state, task, false);
}

/* Finds the caller of the frame at s->cursor without a table, which alone says
 * for sure that a frame is the last. Return: 0 or the end code. */
__noinline int seam_frame_fp(struct scratch *s ARG_NONNULL,
			     struct task_state *state ARG_NONNULL,
			     struct task_struct *task ARG_TRUSTED)
{
	int err = fp_caller(s, state, task);

	return err == SEAM_OUTERMOST ? SEAM_UNPROVEN : err;
}

#endif
