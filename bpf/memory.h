/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* User memory: one word at a time through a window, or in bulk. */
#ifndef SEAM_BPF_MEMORY_H
#define SEAM_BPF_MEMORY_H

#include "bpf/mapping.h"

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

/* Whose memory is read. Always a compile-time constant: the verifier refuses a
 * sleeping helper where it could be reached. */
enum how {
	/* The current task's, as far as it is there. A caller that may sleep is
	 * told which page to bring in, and tries again: see page_tell. */
	HOW_OWN,
	HOW_OTHER, /* another task's, from a sleepable iterator */
};

struct seam_env {
	struct scratch *scratch;
	struct task_state *state;
	struct task_struct *task;
	enum how how;
};

/* How memory may be read that stacks lie in. */
enum reading {
	READ_NOTHING, /* a device may see it */
	READ_RESIDENT, /* who would bring pages may wait for us, or for ever */
	READ_FAULTING, /* from this machine's disks */
	READ_ARMABLE, /* from memory: so, unless a userfaultfd is armed first */
};

/*
 * Whether pages of a file come from this machine's own disks or memory. What a
 * daemon or a server brings may never come, and that daemon may be the very
 * task whose stack is taken.
 */
static __always_inline enum reading reading_of_file(uint64_t inode)
{
	uint64_t sb, type;
	uint64_t magic;

	if (!inode || (VIEW(struct inode, inode)->i_mode & S_IFMT) != S_IFREG)
		return READ_RESIDENT;
	sb = ADDRESS(struct inode, inode, i_sb);
	magic = VIEW(struct super_block, sb)->s_magic;
	if (magic == FUSE_MAGIC)
		return READ_RESIDENT;
	if (magic == TMPFS_MAGIC || magic == RAMFS_MAGIC ||
	    magic == HUGETLBFS_MAGIC)
		return READ_ARMABLE;
	type = ADDRESS(struct super_block, sb, s_type);
	return (VIEW(struct file_system_type, type)->fs_flags &
		FS_REQUIRES_DEV) &&
			       disk_of(sb) == SEAM_DISK_OWN
		       ? READ_FAULTING
		       : READ_RESIDENT;
}

static __always_inline enum reading reading_of(const struct vma_view *vma)
{
	if (vma->flags & (VM_IO | VM_PFNMAP))
		return READ_NOTHING;
	if (vma->flags & (VM_UFFD_MISSING | VM_UFFD_WP | VM_UFFD_MINOR))
		return READ_RESIDENT;
	return vma->file ? reading_of_file(vma->inode) : READ_ARMABLE;
}

/* Whether pages that are out may be brought in. */
static __always_inline bool may_fault(enum reading reading)
{
	return reading >= READ_FAULTING;
}

/* No stack lies where nothing can be pushed: zeros of [vvar], which has no
 * other mark from Linux 7 on, would be return addresses of outermost frames. */
static __always_inline enum reading reading_of_stack(const struct vma_view *vma)
{
	return vma->flags & VM_WRITE ? reading_of(vma) : READ_NOTHING;
}

/* Makes state->stack the mapping of addr. Return: 0: it has none. */
__noinline int seam_stack_find(struct scratch *s ARG_NONNULL,
			       struct task_state *state ARG_NONNULL,
			       struct task_struct *task ARG_TRUSTED,
			       uint64_t addr)
{
	uint64_t mm;

	state->stack.start = state->stack.end = 0;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, addr, &s->vma)) {
		state->stack.start = s->vma.start;
		state->stack.end = s->vma.end;
		state->stack.reading = reading_of_stack(&s->vma);
	}
	bpf_rcu_read_unlock();
	return !!state->stack.end;
}

static __always_inline bool stack_has(const struct task_state *state,
				      uint64_t addr)
{
	return addr - state->stack.start <
	       state->stack.end - state->stack.start;
}

/*
 * A word of the current task's is not to be read, and its page may be brought
 * in. Ends this attempt with that, for a caller that may sleep, unless it has
 * tried in vain or often enough. Return: whether it does. Global, for the
 * verifier.
 */
__noinline int seam_page_tell(struct tries *t ARG_NONNULL, uint64_t addr,
			      uint32_t reading)
{
	uint64_t page = addr & ~(PAGE_BYTES - 1);
	uint8_t byte;
	uint32_t i;

	if (t->missing)
		return true;
	if (!t->left || t->frames > TRIES_FRAMES)
		return false;
	/* A word may lie on two. */
	if (!bpf_probe_read_user(&byte, sizeof(byte), (void *)addr)) {
		page += PAGE_BYTES;
		if (page - addr >= sizeof(uint64_t))
			return false;
	}
#pragma unroll
	for (i = 0; i < TRIES_LOST; i++)
		if (i < t->nr_lost && t->lost[i] == page)
			return false;
	t->missing = page;
	t->armable = reading == READ_ARMABLE;
	return true;
}

/* Whether this attempt was in vain, since its caller shall try again. */
static __always_inline bool is_told(const struct seam_env *env)
{
	return env->how == HOW_OWN && env->state->tries.missing;
}

/* For who takes a stack: how often he may be told. */
static __always_inline void tries_begin(struct task_state *state, uint32_t left)
{
	struct tries *t = &state->tries;

	t->missing = t->brought = t->began_ns = 0;
	t->left = left;
	t->frames = t->failed = t->nr_lost = t->vain = 0;
}

/* Whether a page that was brought in is missing once more: it may have gone
 * again, or be forbidden to the task by a protection key, which does not keep
 * others from bringing it in. */
static __always_inline bool is_in_vain(struct tries *t)
{
	if (t->missing != t->brought) {
		t->brought = t->missing;
		t->vain = 0;
	}
	return t->vain++ >= TRIES_VAIN;
}

/* The next attempt. Who was told of a page has tried to bring it in. */
static __always_inline void tries_next(struct tries *t)
{
	uint32_t i;

	if (!t->began_ns)
		t->began_ns = bpf_ktime_get_ns();
	if (!t->missing)
		return;
	t->left--;
	if (!t->failed && !is_in_vain(t)) {
		count(SEAM_COUNT_FAULTED);
	} else {
		i = t->nr_lost++ & (TRIES_LOST - 1);
		t->lost[i] = t->missing;
		if (t->nr_lost == TRIES_LOST)
			t->left = 0;
	}
	t->missing = 0;
}

/* Copies from state->stack, of another task with pages brought in where that
 * is allowed. */
static __always_inline int read_user(struct seam_env *env, void *to,
				     uint32_t size, uint64_t addr)
{
	const struct task_state *state = env->state;

	if (!stack_has(state, addr) || state->stack.end - addr < size ||
	    state->stack.reading == READ_NOTHING)
		return -1;
	if (env->how == HOW_OWN && !bpf_probe_read_user(to, size, (void *)addr))
		return 0;
	if (!may_fault(state->stack.reading))
		return -1;
	if (env->how == HOW_OTHER)
		return bpf_copy_from_user_task(to, size, (void *)addr,
					       env->task, 0);
	seam_page_tell(&env->state->tries, addr, state->stack.reading);
	return -1;
}

/*
 * Of a task that is not current each read is a step tried anew. Its words may
 * each lie in a page of their own: all that were read are kept, or the one
 * would be gone when the next has come.
 */
static __noinline bool far_find(struct scratch *s, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < SEAM_FAR_WINDOWS; i++) {
		struct far_window *far = &s->far[i];
		uint64_t off = addr - far->base;

		if (off >= far->len || far->len - off < 8)
			continue;
		bpf_probe_read_kernel(s->window, SEAM_WINDOW, far->bytes);
		s->base = far->base;
		s->len = far->len;
		return true;
	}
	return false;
}

static __always_inline void far_keep(struct scratch *s)
{
	uint32_t i = s->far_next++ & (SEAM_FAR_WINDOWS - 1);
	struct far_window *far = &s->far[i];

	bpf_probe_read_kernel(far->bytes, SEAM_WINDOW, s->window);
	far->base = s->base;
	far->len = s->len;
}

static __always_inline void far_forget(struct scratch *s)
{
	uint32_t i;

	for (i = 0; i < SEAM_FAR_WINDOWS; i++)
		s->far[i].len = 0;
}

/*
 * Moves the window so that it holds addr, with pages that are there, up to
 * the end of addr's mapping. Whole windows first; where that crosses into
 * what is not there, up to the end of addr's page. Saved registers lie below
 * the return address: keep some room there.
 *
 * Another mapping than the known one is for the caller to find, and to step
 * again. Found here it is "combined stack size of 7 calls is 528. Too large"
 * (Linux 6.18, clang 19).
 */
__noinline int seam_window_move(struct scratch *s ARG_NONNULL,
				const struct task_state *state ARG_NONNULL,
				uint64_t addr)
{
	uint64_t base = (addr - 64) & ~7ULL, left;

	s->fault = addr;
	s->fault_code = FAULT_STACK;
	if (s->other)
		return far_find(s, addr);
	if (!stack_has(state, addr) || state->stack.reading == READ_NOTHING)
		return false;
	s->len = 0;
	s->windows++;
	if (base < state->stack.start || base > addr)
		base = state->stack.start;
	left = state->stack.end - base;
	s->base = base;
	if (left >= SEAM_WINDOW &&
	    !bpf_probe_read_user(s->window, SEAM_WINDOW, (void *)base)) {
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

/* A stack is one mapping, or several side by side where protection or a
 * lock differ. */
#define STACK_NEAR 65536

static __always_inline bool is_of_stack(const struct task_state *state,
					uint64_t sp, uint64_t addr)
{
	return stack_has(state, sp) || addr - sp < STACK_NEAR;
}

/*
 * Has the page of addr brought in, if it is of the stack that the frame at hand
 * is on. A rule that leads elsewhere may be wrong, and finds there what happens
 * to be in memory. Return: whether the window has it.
 */
static __always_inline bool window_fault(struct seam_env *env, uint64_t addr)
{
	struct scratch *s = env->scratch;
	uint64_t base = addr & ~7ULL;
	uint32_t left = 4096 - (base & 4095);

	if (left >= SEAM_WINDOW)
		left = SEAM_WINDOW - 8;
	left &= SEAM_WINDOW - 1;
	s->len = 0;
	/* Another task's mappings may have changed since. */
	if ((env->how == HOW_OTHER || !stack_has(env->state, base)) &&
	    !seam_stack_find(s, env->state, env->task, base))
		return false;
	if (!is_of_stack(env->state, s->cursor.sp, addr))
		return false;
	if (read_user(env, s->window, left, base))
		return false;
	s->base = base;
	s->len = left;
	if (env->how == HOW_OTHER)
		far_keep(s);
	return true;
}

static __always_inline bool seam_env_word(struct seam_env *env, uint64_t addr,
					  uint64_t *ret)
{
	struct scratch *s = env->scratch;
	uint64_t off = addr - s->base;

	if (off >= s->len || s->len - off < 8) {
		if (!seam_window_move(s, env->state, addr))
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
