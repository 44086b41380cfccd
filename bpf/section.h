/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A file's own .sframe, read where the target has it mapped: nothing of it is
 * kept in the kernel. Core's reader goes through a small window over the
 * target's memory. User space has checked the section in the file once; what
 * is there now may be anything, so each offset is compared with the end again,
 * loops have core's bounds, and all of a stack's reading one of its own.
 *
 * Pages are faulted in as those of stacks are, and only in a mapping of the
 * very file that the code is of. What cannot be had is for the library, with
 * a copy of the stack.
 */
#ifndef SEAM_BPF_SECTION_H
#define SEAM_BPF_SECTION_H

#include "bpf/binding.h"

/* Of the window, in one stack: 5 ms where all of them are in vain. */
#define SECTION_MOVES 65536

/* How many bytes from an offset on are in the section, and in the window. */
static __always_inline uint64_t section_room(const struct mapped_window *x,
					     uint64_t at)
{
	uint64_t room = x->end - at;

	if (at >= x->end)
		return 0;
	return room < SECTION_WINDOW ? room : SECTION_WINDOW;
}

/* Moves the window to an offset. Return: false: s->fault is not there, or no
 * more is to be read. */
static __always_inline bool section_move(struct scratch *s, uint64_t at)
{
	struct mapped_window *x = &s->own;
	uint64_t room = section_room(x, at), addr = x->at + at;
	uint64_t in_page = 4096 - (addr & 4095);
	uint64_t pad = room < SECTION_WINDOW ? 8 : 0;

	x->len = 0;
	if (x->failed || !room || !x->left)
		return false;
	x->left--;
	asm volatile("" : "+r"(room));
	if (room > SECTION_WINDOW)
		return false;
	if (bpf_probe_read_user(x->window, room, (void *)addr)) {
		/* Perhaps only the next page is not there. */
		if (in_page >= room ||
		    bpf_probe_read_user(x->window, 1, (void *)addr)) {
			s->fault = addr;
			return false;
		}
		s->fault = addr + in_page;
		asm volatile("" : "+r"(in_page));
		if (in_page < 8 || in_page > SECTION_WINDOW ||
		    bpf_probe_read_user(x->window, in_page, (void *)addr))
			return false;
		room = in_page;
		pad = 0;
	}
	x->from = at;
	/* Core has compared what it loads with the end: behind that there may
	 * be anything. */
	x->len = room + pad;
	return true;
}

/*
 * Eight bytes at an offset; all ones where they cannot be had, which mean no
 * row, so that core's loops end. Global, for the verifier.
 */
__noinline uint64_t seam_section_load(struct scratch *s ARG_NONNULL,
				      uint64_t at)
{
	struct mapped_window *x = &s->own;
	uint64_t off = at - x->from;

	if (off >= x->len || x->len - off < 8) {
		if (!section_move(s, at)) {
			x->failed = true;
			return ~0ULL;
		}
		off = 0;
	}
	asm volatile("" : "+r"(off));
	if (off > SECTION_WINDOW)
		return ~0ULL;
	return *(const uint64_t *)(x->window + off);
}

#define SEAM_SFRAME_BASE struct scratch *
#define SEAM_SFRAME_LOAD(sf, bits, at)                                         \
	((uint##bits##_t)seam_section_load((sf)->base, at))
#include "core/sframe-read.h"

/* Makes s->rule the one for pc. Return: 0, SEAM_UNREADABLE or SEAM_NO_RULE. */
__noinline int seam_section_rule(struct scratch *s ARG_NONNULL,
				 const struct seam_mapped *m ARG_NONNULL,
				 uint64_t pc)
{
	/* Constant but for where its parts lie: most of core's reader is no
	 * code then. */
	const struct seam_sframe sf = {
		.base = s,
		.fdes = m->fdes,
		.num_fdes = m->num_fdes,
		.fres = m->fres,
		.end = m->end,
		.version = SEAM_SFRAME_V3,
		.fixed_ra_off = -8,
		.arch = SEAM_ARCH_AMD64,
		.sp = SEAM_AMD64_REG_SP,
		.fp = SEAM_AMD64_REG_FP,
		.fde_size = sizeof(struct seam_sframe_fde3),
		.is_sorted = true,
		.anchor = ~0ULL,
	};
	int err;

	s->own.failed = false;
	err = seam_sframe_find(&sf, pc - m->at, &s->rule);
	if (s->own.failed)
		return SEAM_UNREADABLE;
	return err ? SEAM_NO_RULE : SEAM_OK;
}

/* Whether the mapping has of its file what belongs at an address. */
static __always_inline bool section_is_at(const struct vma_view *vma,
					  const struct seam_mapped *m)
{
	return vma->inode == m->inode && vma->end - m->at >= m->end &&
	       (vma->off + (m->at - vma->start)) >> PAGE_SHIFT == m->page;
}

/* How the section may be read, if all of it is in one mapping of the file. */
static __always_inline enum reading section_reading(struct scratch *s,
						    const struct seam_mapped *m,
						    struct task_struct *task)
{
	enum reading reading = READ_NOTHING;
	uint64_t mm;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, m->at, &s->vma) &&
	    section_is_at(&s->vma, m))
		reading = reading_of(&s->vma);
	bpf_rcu_read_unlock();
	return reading;
}

/* Whether the section of s->own.slot can be read. Makes it the window's.
 * What is found out is good as long as the slot is. */
__noinline int seam_section_begin(struct scratch *s ARG_NONNULL,
				  struct task_state *state ARG_NONNULL,
				  struct task_struct *task ARG_TRUSTED)
{
	struct mapped_window *x = &s->own;
	struct seam_mapped *m =
		&state->maps[x->slot & (SEAM_CACHED_MAPPINGS - 1)].mapped;

	if (!s->section_begun) {
		s->section_begun = true;
		x->at = x->len = x->frames = x->lost = 0;
		x->left = SECTION_MOVES;
	}
	if (s->other || x->lost == s->nr + 1 || !x->left)
		return false;
	if (!m->reading)
		m->reading = 1 + section_reading(s, m, task);
	if (m->reading == 1 + READ_NOTHING)
		return false;
	if (x->at != m->at)
		x->len = 0;
	x->at = m->at;
	x->end = m->end;
	x->inode = m->inode;
	return true;
}

/*
 * Makes s->rule that of the frame at the cursor. Return: 0; SEAM_NO_TABLE: the
 * library may do better; or as seam_section_rule.
 */
__noinline int seam_frame_section(struct scratch *s ARG_NONNULL,
				  struct task_state *state ARG_NONNULL,
				  struct task_struct *task ARG_TRUSTED)
{
	struct seam_cursor c = s->cursor;
	uint32_t slot = s->own.slot & (SEAM_CACHED_MAPPINGS - 1);
	uint64_t packed;
	int err;

	s->rule_err = SEAM_NO_TABLE;
	s->asked = true;
	if (!seam_section_begin(s, state, task))
		return SEAM_NO_TABLE;
	err = seam_section_rule(s, &state->maps[slot].mapped,
				seam_cursor_pc(&c));
	if (err == SEAM_UNREADABLE && !s->own.left)
		return SEAM_NO_TABLE;
	s->asked = false;
	s->fault_code = FAULT_SECTION;
	s->rule_err = err;
	if (err)
		return err;
	packed = seam_rule_pack(&s->rule);
	if (packed)
		last_put(s, &c, packed, slot, state->epochs[slot]);
	return SEAM_OK;
}

/* Whether the page of s->fault may be brought in. */
static __noinline bool section_find(struct scratch *s, struct task_struct *task)
{
	bool found = false;
	uint64_t mm;

	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, s->fault, &s->vma))
		found = s->vma.inode == s->own.inode &&
			may_fault(reading_of(&s->vma));
	bpf_rcu_read_unlock();
	return found;
}

/* Has it brought in. If it cannot be had, the frame is found without. */
static __always_inline bool section_fault(struct seam_env *env)
{
	struct scratch *s = env->scratch;
	struct mapped_window *x = &s->own;

	x->len = 0;
	if (env->how == HOW_OWN && section_find(s, env->task))
		seam_page_tell(&env->state->tries, s->fault,
			       reading_of(&s->vma));
	x->lost = s->nr + 1;
	return false;
}

#endif
