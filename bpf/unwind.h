/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The user stack of one task: mappings, tables, rules and the step, until
 * the stack ends. Nothing here holds a ring reservation or a lock.
 */
#ifndef SEAM_BPF_UNWIND_H
#define SEAM_BPF_UNWIND_H

#include "bpf/mapping.h"

#define EEXIST 17

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

/* How user memory may be read where we run. Always a compile-time constant:
 * the verifier refuses a sleeping helper where it could be reached. */
enum how {
	HOW_NOFAULT, /* current, pages that are there */
	HOW_FAULT, /* current, in its own context, pages are faulted in */
	HOW_OTHER, /* another task, from a sleepable iterator */
};

struct seam_env {
	struct scratch *scratch;
	struct task_state *state;
	struct task_struct *task;
	enum how how;
};

/* Memory that must not be faulted in on behalf of a profiler. */
static __noinline bool may_fault(struct task_struct *task, uint64_t addr,
				 uint32_t size, struct vma_view *vma)
{
	uint64_t mm;
	bool ok = false;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, addr, vma))
		ok = !(vma->flags & (VM_IO | VM_PFNMAP | VM_UFFD_MISSING |
				     VM_UFFD_WP | VM_UFFD_MINOR)) &&
		     vma->end - addr >= size;
	bpf_rcu_read_unlock();
	return ok;
}

/* Copies user memory, faulting pages in where that is allowed. */
static __always_inline int read_user(struct seam_env *env, void *to,
				     uint32_t size, uint64_t addr)
{
	if (env->how == HOW_OTHER) {
		if (!may_fault(env->task, addr, size, &env->scratch->vma))
			return -1;
		return bpf_copy_from_user_task(to, size, (void *)addr,
					       env->task, 0);
	}
	if (!bpf_probe_read_user(to, size, (void *)addr))
		return 0;
	if (env->how != HOW_FAULT ||
	    !may_fault(env->task, addr, size, &env->scratch->vma))
		return -1;
	count(SEAM_COUNT_FAULTED);
	return bpf_copy_from_user(to, size, (void *)addr);
}

/*
 * Moves the window so that it holds addr, with pages that are there. Whole
 * windows first; where that crosses into what is not mapped, up to the end
 * of addr's page. Saved registers lie below the return address: keep some
 * room there.
 */
static __always_inline bool window_move(struct scratch *s, uint64_t addr)
{
	uint64_t base = (addr - 64) & ~7ULL;
	uint32_t left;

	s->len = 0;
	s->fault = addr;
	if (s->other)
		return false;
	count(SEAM_COUNT_WINDOWS);
	s->base = base;
	if (!bpf_probe_read_user(s->window, SEAM_WINDOW, (void *)base)) {
		s->len = SEAM_WINDOW;
		return true;
	}
	base = addr & ~7ULL;
	left = 4096 - (base & 4095);
	if (left >= SEAM_WINDOW)
		left = SEAM_WINDOW - 8;
	left &= SEAM_WINDOW - 1;
	s->base = base;
	if (bpf_probe_read_user(s->window, left, (void *)base))
		return false;
	s->len = left;
	return true;
}

/* The same for a caller that may sleep: faults the page of addr in. */
static __always_inline bool window_fault(struct seam_env *env, uint64_t addr)
{
	struct scratch *s = env->scratch;
	uint64_t base = addr & ~7ULL;
	uint32_t left = 4096 - (base & 4095);

	if (left >= SEAM_WINDOW)
		left = SEAM_WINDOW - 8;
	left &= SEAM_WINDOW - 1;
	s->len = 0;
	if (read_user(env, s->window, left, base))
		return false;
	s->base = base;
	s->len = left;
	return true;
}

static __always_inline bool seam_env_word(struct seam_env *env, uint64_t addr,
					  uint64_t *ret)
{
	struct scratch *s = env->scratch;
	uint64_t off = addr - s->base;

	if (off >= s->len || s->len - off < 8) {
		if (!window_move(s, addr))
			return false;
		off = addr - s->base;
		if (off >= s->len || s->len - off < 8)
			return false;
	}
	if (off > SEAM_WINDOW - 8)
		return false;
	*ret = *(uint64_t *)(s->window + (off & (SEAM_WINDOW - 1)));
	return true;
}

static __always_inline bool seam_env_reg(struct seam_env *env, uint32_t regnum,
					 uint64_t *ret)
{
	if (regnum >= SEAM_WIRE_REGS)
		return false;
	*ret = env->state->regs[regnum];
	return true;
}

static __always_inline bool seam_env_lose_fp(struct seam_env *env)
{
	return env->scratch->lose_fp;
}

/* Simple rules, by far the most, fit into one word. */
#define PACKED_VALID (1ULL << 63)
#define PACKED_SP (1ULL << 62)
#define PACKED_FP_SAVED (1ULL << 61)
#define PACKED_OUTERMOST (1ULL << 60)

static __always_inline uint64_t rule_pack(const struct seam_rule *rule)
{
	uint64_t packed = PACKED_VALID | (uint32_t)rule->cfa.off;

	if (rule->flags & SEAM_RULE_OUTERMOST)
		return PACKED_VALID | PACKED_OUTERMOST;
	if (rule->flags || rule->cfa_add || rule->cfa.kind != SEAM_REG_OFF ||
	    rule->ra.kind != SEAM_SAME)
		return 0;
	if (rule->cfa.reg == SEAM_AMD64_REG_SP)
		packed |= PACKED_SP;
	else if (rule->cfa.reg != SEAM_AMD64_REG_FP)
		return 0;
	if (rule->fp.kind == SEAM_CFA_DEREF) {
		if (rule->fp.off < -32768 || rule->fp.off > 32767)
			return 0;
		packed |= PACKED_FP_SAVED | (uint64_t)(uint16_t)rule->fp.off
						    << 32;
	} else if (rule->fp.kind != SEAM_SAME) {
		return 0;
	}
	return packed;
}

static __always_inline void rule_unpack(uint64_t packed, struct seam_rule *ret)
{
	__builtin_memset(ret, 0, sizeof(*ret));
	if (packed & PACKED_OUTERMOST) {
		ret->flags = SEAM_RULE_OUTERMOST;
		return;
	}
	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.off = (int32_t)packed;
	ret->cfa.reg =
		packed & PACKED_SP ? SEAM_AMD64_REG_SP : SEAM_AMD64_REG_FP;
	if (packed & PACKED_FP_SAVED) {
		ret->fp.kind = SEAM_CFA_DEREF;
		ret->fp.off = (int16_t)(packed >> 32);
	}
}

static __always_inline struct rule_slot SEAM_TABLE *rule_slot(uint64_t key)
{
	uint64_t hash = (key * 0x9e3779b97f4a7c15ULL) >> 48;

	return (struct rule_slot SEAM_TABLE *)(SEAM_RULES_OFFSET +
					       hash * sizeof(struct rule_slot));
}

/* A program that touches the arena must name it. */
static __always_inline void arena_use(void)
{
	asm volatile("" ::"r"(&arena));
}

/* Global, so that the verifier walks it once. */
__noinline int seam_rule_search(const struct mapping *map ARG_NONNULL,
				uint64_t pc, struct seam_rule *ret ARG_NONNULL)
{
	struct seam_sframe sf = {
		.base = (const uint8_t SEAM_TABLE *)(uint64_t)map->offset,
		.fdes = map->fdes,
		.num_fdes = map->num_fdes,
		.fres = map->fres,
		.end = map->table_end,
		.fixed_ra_off = SEAM_AMD64_RA_OFF,
	};

	arena_use();
	return seam_sframe_find(&sf, pc, ret);
}

/* The rule at an address of a mapping that has a table. */
static __always_inline int rule_find(const struct mapping *map, uint64_t pc,
				     struct seam_rule *ret)
{
	uint64_t off = pc + map->delta, packed;
	uint64_t key = (uint64_t)map->table << 32 | (uint32_t)off;
	struct rule_slot SEAM_TABLE *slot = rule_slot(key);
	int err;

	if (!(off >> 32)) {
		packed = slot->rule;
		if ((slot->key_xor_rule ^ packed) == key &&
		    (packed & PACKED_VALID)) {
			count(SEAM_COUNT_RULE_HITS);
			rule_unpack(packed, ret);
			return SEAM_OK;
		}
	}
	err = seam_rule_search(map, off, ret);
	if (err)
		return SEAM_NO_RULE;
	packed = rule_pack(ret);
	if (packed && !(off >> 32)) {
		slot->key_xor_rule = key ^ packed;
		slot->rule = packed;
	}
	return SEAM_OK;
}

/* Asks user space for a table, once. The key is in s->miss. */
static __always_inline void table_ask(struct scratch *s,
				      struct task_struct *task)
{
	struct seam_table_ref asked = {.state = SEAM_TABLE_ASKED};
	struct seam_wire_miss *miss = &s->miss;

	long err =
		bpf_map_update_elem(&tables, &miss->key, &asked, BPF_NOEXIST);

	if (err) {
		if (err != -EEXIST)
			count(SEAM_COUNT_LOST_MISS);
		return;
	}
	miss->head.type = SEAM_WIRE_MISS;
	miss->head.pid = task->tgid;
	miss->head.tid = task->pid;
	miss->head.time_ns = bpf_ktime_get_ns();
	miss->start = s->vma.start;
	miss->end = s->vma.end;
	miss->off = s->vma.off;
	if (bpf_ringbuf_output(&copies, miss, sizeof(*miss),
			       BPF_RB_FORCE_WAKEUP)) {
		bpf_map_delete_elem(&tables, &miss->key);
		count(SEAM_COUNT_LOST_MISS);
	}
}

/* Binds a mapping to the table of its file, as far as there is one. */
static __always_inline void mapping_bind(struct task_struct *task,
					 struct scratch *s, struct mapping *ret)
{
	struct seam_table_ref *ref = bpf_map_lookup_elem(&tables, &s->miss.key);

	/* The vDSO's table knows the image's own offsets. */
	if (s->miss.key.kind == SEAM_KEY_VDSO)
		ret->delta = -s->vma.start;
	if (!ref) {
		ret->state = SEAM_TABLE_ASKED;
		table_ask(s, task);
		return;
	}
	ret->table = ref->id;
	ret->state = ref->state;
	ret->offset = ref->offset;
	ret->fdes = ref->fdes;
	ret->num_fdes = ref->num_fdes;
	ret->fres = ref->fres;
	ret->table_end = ref->end;
	ref->used_ns = bpf_ktime_get_ns();
}

/* Fills a cache slot. Return: SEAM_OK, SEAM_NO_TABLE or SEAM_VMA_BUSY. */
static __noinline int mapping_fill(struct task_struct *task, uint64_t pc,
				   struct mapping *ret, struct scratch *s)
{
	uint64_t mm;
	int err = SEAM_EXITED;

	ret->start = 0;
	ret->end = 0;
	ret->table = 0;
	ret->state = 0;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm) {
		err = seam_vma_find(mm, pc, &s->vma);
		if (!err) {
			ret->delta = s->vma.off - s->vma.start;
			if (key_of_vma(mm, &s->vma, &s->miss.key))
				mapping_bind(task, s, ret);
			ret->start = s->vma.start;
			ret->end = s->vma.end;
		} else {
			err = err == -1 ? SEAM_NO_TABLE : SEAM_VMA_BUSY;
		}
	}
	bpf_rcu_read_unlock();
	return err;
}

/* The cached mapping of pc, or a fresh one. NULL: *ret_err says why. */
static __always_inline struct mapping *mapping_find(struct seam_env *env,
						    uint64_t pc, int *ret_err)
{
	struct task_state *state = env->state;
	struct mapping *map;
	uint32_t i;

#pragma unroll
	for (i = 0; i < SEAM_CACHED_MAPPINGS; i++) {
		map = &state->maps[i];
		if (pc - map->start < map->end - map->start)
			return map;
	}
	map = &state->maps[state->next_map++ & (SEAM_CACHED_MAPPINGS - 1)];
	*ret_err = mapping_fill(env->task, pc, map, env->scratch);
	return *ret_err ? NULL : map;
}

/* Drops cached mappings that may no longer be true. */
static __noinline void mappings_check(struct task_state *state,
				      struct task_struct *task)
{
	uint32_t seq = 0, i;
	uint64_t mm;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm)
		seq = mm_seq(mm);
	bpf_rcu_read_unlock();
	if (state->mm == mm && state->mm_seq == seq && !(seq & 1) &&
	    state->tables == seam_tables_generation)
		return;
	state->mm = mm;
	state->mm_seq = seq;
	state->tables = seam_tables_generation;
#pragma unroll
	for (i = 0; i < SEAM_CACHED_MAPPINGS; i++)
		state->maps[i].start = state->maps[i].end = 0;
}

/* Finds the caller of the frame at s->cursor. Return: 0 or the end code. */
static __always_inline int frame_step(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	struct seam_cursor c = s->cursor;
	uint64_t pc = seam_cursor_pc(&c);
	struct seam_rule rule;
	struct mapping *map;
	int err = 0;

	map = mapping_find(env, pc, &err);
	if (!map)
		return err;
	if (!map->table) {
		s->asked = map->state == SEAM_TABLE_ASKED;
		return SEAM_NO_TABLE;
	}
	err = rule_find(map, pc, &rule);
	if (err)
		return err;
	err = seam_step(&c, &rule, env);
	if (!err || err == SEAM_OUTERMOST)
		s->cursor = c;
	return err;
}

/*
 * Global, so that the verifier walks the body once and not once for each
 * frame it imagines. It is verified as the program it is part of, so it
 * must not sleep even where its caller may: it says UNREADABLE and leaves
 * the address in s->fault.
 */
__noinline int seam_frame(struct scratch *s ARG_NONNULL,
			  struct task_state *state ARG_NONNULL,
			  struct task_struct *task ARG_TRUSTED)
{
	struct seam_env env = {s, state, task, HOW_NOFAULT};

	return frame_step(&env);
}

/* A step reads three words at most; each may need its page faulted in. */
#define FAULTS_PER_FRAME 4

/*
 * Unwinds from state->regs into scratch->ips, scratch->nr of them, at least
 * the leaf. Return: the end code.
 */
static __always_inline int unwind_once(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	const uint64_t *regs = env->state->regs;
	uint32_t max = seam_max_stack;
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
	s->cursor.exact = !(env->state->flags & ELEMENT_SYSCALL);
	s->asked = false;
	s->other = env->how == HOW_OTHER;
	s->faults = 0;
	s->lose_fp = false;
	s->len = 0;
	mappings_check(env->state, env->task);
	s->nr = 0;
	/* Counted in memory: a register of known value would make each round
	 * a new state to the verifier. */
	while (s->nr < max) {
		int err;

		SEAM_LOOP_GUARD;
		s->ips[s->nr & (SEAM_MAX_FRAMES - 1)] = s->cursor.ip;
		err = seam_frame(s, env->state, env->task);
		if (err == SEAM_UNREADABLE && s->faults < FAULTS_PER_FRAME) {
			s->faults++;
			if (env->how == HOW_NOFAULT ||
			    !window_fault(env, s->fault))
				s->lose_fp = true;
			continue;
		}
		s->nr++;
		s->faults = 0;
		s->lose_fp = false;
		if (err) {
			end = err;
			break;
		}
	}
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

	if (env->state->flags & ELEMENT_CLONED)
		return unwind_cloned(env);
	end = unwind_once(env);

	for (i = 1; i < UNWIND_TRIES; i++) {
		if (env->state->tables == seam_tables_generation)
			return end;
		count(SEAM_COUNT_REDO);
		end = unwind_once(env);
	}
	if (env->state->tables == seam_tables_generation)
		return end;
	/* Never still: what was read is not to be believed. */
	env->scratch->asked = true;
	return SEAM_NO_TABLE;
}

#endif
