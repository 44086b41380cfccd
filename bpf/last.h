/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules of a task's last stack, side by side in stack order.
 *
 * Most frames of a stack were there at the task's last one, too. A rule
 * depends on the address it is for and on nothing else, so one found for the
 * last stack is as good now; but in order of the stack the rules lie next to
 * each other, where a table has each on a line and most on a page of its own,
 * cold by the time of the next sample.
 *
 * Two sides: one is read, front to back, while the other is written.
 */
#ifndef SEAM_BPF_LAST_H
#define SEAM_BPF_LAST_H

#include "bpf/rule.h"

/* An entry. In .at: the frame's ip and what kind of rule it is. */
#define LAST_IP ((1ULL << 57) - 1)
#define LAST_EXACT (1ULL << 57) /* the rule is for ip, not for ip - 1 */
#define LAST_SP (1ULL << 58) /* the CFA is from SP, else from FP */
#define LAST_FP_SAVED (1ULL << 59)
#define LAST_OUTERMOST (1ULL << 60)

/* In .how, from bit 0: SP / 8; offset of the CFA / 8; of the saved FP / 8;
 * the slot of the frame's mapping in the task's cache, and its epoch. */
#define LAST_SP_BITS 26
#define LAST_CFA_BITS 15
#define LAST_FP_BITS 7
#define LAST_MAP_BITS 3
#define LAST_EPOCH_BITS 13
#define LAST_CFA_SHIFT LAST_SP_BITS
#define LAST_FP_SHIFT (LAST_CFA_SHIFT + LAST_CFA_BITS)
#define LAST_MAP_SHIFT (LAST_FP_SHIFT + LAST_FP_BITS)
#define LAST_EPOCH_SHIFT (LAST_MAP_SHIFT + LAST_MAP_BITS)
#define LAST_SP_MASK ((1ULL << LAST_SP_BITS) - 1)
#define LAST_EPOCH_MAX ((1U << LAST_EPOCH_BITS) - 1)
_Static_assert(LAST_EPOCH_SHIFT + LAST_EPOCH_BITS == 64, "one word");
_Static_assert(SEAM_CACHED_MAPPINGS == 1 << LAST_MAP_BITS, "slots have names");

struct last_frame {
	uint64_t at, how;
};

/* One page, so that it costs one miss of the TLB. Deeper frames are looked
 * up like any other. */
#define LAST_FRAMES 127

struct last_stack {
	uint64_t self, start; /* of the task's state */
	uint32_t len[2]; /* frames on each side */
	uint32_t side; /* that holds the last stack */
	uint32_t pad;
	struct last_frame frames[LAST_FRAMES][2];
};
_Static_assert(sizeof(struct last_stack) == SEAM_LAST_SIZE, "one page");

/* A callback may sleep while it uses one: taken and given back. */
uint32_t seam_last_busy[SEAM_LAST_SLOTS];

static __always_inline struct last_stack SEAM_TABLE *last_of(struct scratch *s)
{
	return (struct last_stack SEAM_TABLE *)s->last;
}

/* Takes the task's place, if nobody else is in it. */
static __always_inline void
last_take(struct scratch *s, const struct task_state *state, uint32_t tid)
{
	uint32_t slot = tid & (SEAM_LAST_SLOTS - 1);
	struct last_stack SEAM_TABLE *last;

	s->last = 0;
	if (__sync_val_compare_and_swap(&seam_last_busy[slot], 0, 1))
		return;
	s->last = SEAM_LASTS_OFFSET + (uint64_t)slot * SEAM_LAST_SIZE;
	last = last_of(s);
	if (last->self != state->self || last->start != state->start) {
		last->self = state->self;
		last->start = state->start;
		last->len[0] = last->len[1] = 0;
	}
}

static __always_inline void last_give(struct scratch *s, uint32_t tid)
{
	if (s->last)
		__sync_lock_test_and_set(
			&seam_last_busy[tid & (SEAM_LAST_SLOTS - 1)], 0);
	s->last = 0;
}

/* Before the first frame. */
static __always_inline void last_begin(struct scratch *s)
{
	struct last_stack SEAM_TABLE *last = last_of(s);

	s->last_next = 0;
	s->last_len = 0;
	if (!last)
		return;
	s->last_side = last->side & 1;
	s->last_len = last->len[s->last_side];
}

/* After the last frame: what was written becomes what is read. */
static __always_inline void last_end(struct scratch *s)
{
	struct last_stack SEAM_TABLE *last = last_of(s);
	uint32_t nr = s->nr;

	if (!last)
		return;
	if (nr > LAST_FRAMES)
		nr = LAST_FRAMES;
	last->len[s->last_side ^ 1] = nr;
	last->side = s->last_side ^ 1;
}

/* Nothing that either side holds is true any more. */
static __always_inline void last_drop(struct scratch *s)
{
	struct last_stack SEAM_TABLE *last = last_of(s);

	s->last_len = 0;
	if (last)
		last->len[0] = last->len[1] = 0;
}

static __always_inline uint64_t last_at(const struct seam_cursor *c)
{
	return (c->ip & LAST_IP) | (c->exact ? LAST_EXACT : 0);
}

/*
 * The entry for the frame at the cursor, as long as its mapping is what it
 * was, which the caller sees to.
 * Return: the entry's .how, and its .at in *ret_at; 0: there is none.
 */
static __always_inline uint64_t last_find(struct scratch *s,
					  const struct seam_cursor *c,
					  uint64_t *ret_at)
{
	struct last_stack SEAM_TABLE *last = last_of(s);
	uint64_t sp = c->sp >> 3 & LAST_SP_MASK, at;
	uint64_t how = 0;

	if (c->ip & ~LAST_IP)
		return 0;
	/* Frames of the last stack that returned since. */
	while (s->last_next < s->last_len) {
		SEAM_LOOP_GUARD;
		how = last->frames[s->last_next][s->last_side].how;
		if ((how & LAST_SP_MASK) >= sp)
			break;
		s->last_next++;
	}
	if (s->last_next >= s->last_len || (how & LAST_SP_MASK) != sp)
		return 0;
	at = last->frames[s->last_next][s->last_side].at;
	if ((at & (LAST_IP | LAST_EXACT)) != last_at(c))
		return 0;
	s->last_next++;
	*ret_at = at;
	return how;
}

static __always_inline uint32_t last_map(uint64_t how)
{
	return how >> LAST_MAP_SHIFT & (SEAM_CACHED_MAPPINGS - 1);
}

static __always_inline uint32_t last_epoch(uint64_t how)
{
	return how >> LAST_EPOCH_SHIFT;
}

/* An entry's rule, packed. */
static __always_inline uint64_t last_rule(uint64_t at, uint64_t how)
{
	uint64_t cfa = (how >> LAST_CFA_SHIFT & ((1 << LAST_CFA_BITS) - 1)) * 8;
	int64_t fp =
		(int64_t)(how << (64 - LAST_MAP_SHIFT)) >> (64 - LAST_FP_BITS);
	uint64_t packed = SEAM_PACKED_VALID | cfa;

	if (at & LAST_OUTERMOST)
		return SEAM_PACKED_VALID | SEAM_PACKED_OUTERMOST;
	if (at & LAST_SP)
		packed |= SEAM_PACKED_SP;
	if (at & LAST_FP_SAVED)
		packed |= SEAM_PACKED_FP_SAVED | (uint64_t)(uint16_t)(fp * 8)
							 << 32;
	return packed;
}

/* Writes the entry of frame s->nr. */
static __always_inline void last_put(struct scratch *s, uint64_t at,
				     uint64_t how)
{
	struct last_stack SEAM_TABLE *last = last_of(s);
	uint32_t nr = s->nr;

	if (!last || nr >= LAST_FRAMES)
		return;
	last->frames[nr][s->last_side ^ 1].at = at;
	last->frames[nr][s->last_side ^ 1].how = how;
}

/*
 * The same from a packed rule. One that does not fit, or none (0), leaves an
 * entry that is never found, for the order.
 */
static __always_inline void last_put_rule(struct scratch *s,
					  const struct seam_cursor *c,
					  uint64_t packed, uint32_t map,
					  uint32_t epoch)
{
	uint64_t how = c->sp >> 3 & LAST_SP_MASK, at = last_at(c);
	uint64_t cfa = (uint32_t)packed;
	int64_t fp = (int16_t)(packed >> 32);

	if (!packed || !epoch || (c->ip & ~LAST_IP) || (cfa & 7) ||
	    cfa >> (LAST_CFA_BITS + 3) || (fp & 7) ||
	    fp >> (LAST_FP_BITS + 2) != (fp < 0 ? -1 : 0)) {
		last_put(s, 0, how);
		return;
	}
	if (packed & SEAM_PACKED_OUTERMOST)
		at |= LAST_OUTERMOST;
	if (packed & SEAM_PACKED_SP)
		at |= LAST_SP;
	if (packed & SEAM_PACKED_FP_SAVED)
		at |= LAST_FP_SAVED;
	how |= cfa / 8 << LAST_CFA_SHIFT;
	how |= (uint64_t)(fp / 8 & ((1 << LAST_FP_BITS) - 1)) << LAST_FP_SHIFT;
	how |= (uint64_t)map << LAST_MAP_SHIFT;
	how |= (uint64_t)epoch << LAST_EPOCH_SHIFT;
	last_put(s, at, how);
}

#endif
