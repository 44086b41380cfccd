/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* User memory: one word at a time through a window, or in bulk. */
#ifndef SEAM_BPF_MEMORY_H
#define SEAM_BPF_MEMORY_H

#include "bpf/mapping.h"

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
static __noinline bool window_move(struct scratch *s, uint64_t addr)
{
	uint64_t base = (addr - 64) & ~7ULL;
	uint32_t left;

	s->len = 0;
	s->fault = addr;
	if (s->other)
		return false;
	s->windows++;
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

#endif
