// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a last stack finds for a frame what was put for that frame of
 * that task, and nothing that another stack left there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/last-stack.h"

#define NO_RULE 0

/* A frame as a test writes it down; the rule is a CFA's offset, or none. */
struct frame {
	uint64_t ip, sp;
	uint32_t rule;
};

static uint64_t packed_of(const struct frame *f)
{
	return SEAM_PACKED_VALID | SEAM_PACKED_SP | f->rule;
}

/* Unwinds a stack as the BPF side does. Return: bits of the frames whose rule
 * was found in the last stack, which must be what the frame has. */
static uint64_t unwind(struct seam_last_stack *last, uint64_t self,
		       const struct frame *frames, uint32_t num)
{
	struct seam_last_walk walk;
	uint64_t found = 0;

	seam_last_own(last, self, 1000 + self, 0);
	seam_last_begin(last, &walk);
	for (uint32_t nr = 0; nr < num; nr++) {
		const struct frame *f = &frames[nr];
		struct seam_cursor c = {.ip = f->ip, .sp = f->sp};
		struct seam_last_entry e;

		if (seam_last_find(last, &walk, nr, &c, &e)) {
			found |= 1ULL << (nr & 63);
			assert_true(seam_last_rule(&e) == packed_of(f));
			assert_int_equal(seam_last_epoch(e.how), self);
		} else if (f->rule) {
			bool fits = seam_last_pack(&c, packed_of(f), 2,
						   (uint32_t)self, &e);

			assert_true(fits);
			if (fits)
				seam_last_put(last, &walk, nr, &e);
		}
	}
	seam_last_end(last, &walk, num);
	return found;
}

static const struct frame four[] = {
	{0x401000, 0x7000, 16},
	{0x402000, 0x7010, 32},
	{0x403000, 0x7030, 48},
	{0x404000, 0x7060, 64},
};

static void same_stack(void **state)
{
	struct seam_last_stack last = {0};

	(void)state;
	assert_int_equal(unwind(&last, 1, four, 4), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(unwind(&last, 1, four, 4), 0xf);
}

/* The stack's top came, went and came; the callers stay. */
static void callers_stay(void **state)
{
	static const struct frame top[] = {
		{0x409000, 0x6f00, 8},	{0x408000, 0x6f08, 24},
		{0x401100, 0x7000, 16}, {0x402000, 0x7010, 32},
		{0x403000, 0x7030, 48}, {0x404000, 0x7060, 64},
	};
	struct seam_last_stack last = {0};

	(void)state;
	unwind(&last, 1, four, 4);
	assert_int_equal(unwind(&last, 1, top, 6), 0x38);
	assert_int_equal(unwind(&last, 1, four + 2, 2), 0x3);
	assert_int_equal(unwind(&last, 1, top, 6), 0x30);
}

/*
 * Task 1 leaves rules in both sides. Of task 2's stack at the same addresses
 * no frame has a rule, so it puts none. What task 1 left in those places is
 * never task 2's.
 */
static void anothers_rules(void **state)
{
	struct frame none[4];
	struct seam_last_stack last = {0};

	(void)state;
	memcpy(none, four, sizeof(none));
	for (int i = 0; i < 4; i++)
		none[i].rule = NO_RULE;
	unwind(&last, 1, four, 4);
	unwind(&last, 1, four, 4);
	for (int i = 0; i < 3; i++)
		assert_int_equal(unwind(&last, 2, none, 4), 0);
}

/* The same within a task: a mapping went, and with it a frame's rule. */
static void own_older_rules(void **state)
{
	struct frame gap[4];
	struct seam_last_stack last = {0};

	(void)state;
	memcpy(gap, four, sizeof(gap));
	gap[1].ip = 0x501000;
	gap[1].rule = NO_RULE;
	unwind(&last, 1, four, 4);
	unwind(&last, 1, four, 4);
	assert_int_equal(unwind(&last, 1, gap, 4), 0xd);
	assert_int_equal(unwind(&last, 1, gap, 4), 0xd);
	/* On the other side again: what stood there two stacks ago is gone. */
	assert_int_equal(unwind(&last, 1, four, 4), 0xd);
}

/* Tids come again: the same task_struct, started later. */
static void same_place_later(void **state)
{
	struct seam_last_walk walk;
	struct seam_last_stack last = {0};

	(void)state;
	unwind(&last, 1, four, 4);
	seam_last_own(&last, 1, 1002, 0);
	seam_last_begin(&last, &walk);
	assert_int_equal(walk.len, 0);
}

/* The task's epochs began anew, by another client's program: an epoch that the
 * rules name may be another mapping's now. */
static void next_round(void **state)
{
	struct seam_last_walk walk;
	struct seam_last_stack last = {0};

	(void)state;
	unwind(&last, 1, four, 4);
	seam_last_own(&last, 1, 1001, 0);
	seam_last_begin(&last, &walk);
	assert_int_equal(walk.len, 4);
	seam_last_own(&last, 1, 1001, 1);
	seam_last_begin(&last, &walk);
	assert_int_equal(walk.len, 0);
}

static void dropped(void **state)
{
	struct seam_last_stack last = {0};

	(void)state;
	unwind(&last, 1, four, 4);
	unwind(&last, 1, four, 4);
	seam_last_drop(&last);
	assert_int_equal(unwind(&last, 1, four, 4), 0);
	assert_int_equal(unwind(&last, 1, four, 4), 0xf);
}

/* A frame is asked for again when its memory had to be faulted in first. */
static void asked_twice(void **state)
{
	const struct seam_cursor c = {.ip = four[0].ip, .sp = four[0].sp};
	struct seam_last_stack last = {0};
	struct seam_last_walk walk;
	struct seam_last_entry e;

	(void)state;
	unwind(&last, 1, four, 4);
	seam_last_begin(&last, &walk);
	assert_true(seam_last_find(&last, &walk, 0, &c, &e));
	seam_last_find(&last, &walk, 0, &c, &e);
	seam_last_end(&last, &walk, 1);
	/* Whatever the second said, what is there is of this frame. */
	seam_last_begin(&last, &walk);
	if (seam_last_find(&last, &walk, 0, &c, &e))
		assert_true(seam_last_rule(&e) == packed_of(&four[0]));
}

/* Frames beyond its length are not written anywhere, nor found. */
static void deep(void **state)
{
	struct {
		struct seam_last_stack last;
		uint64_t behind[64];
	} room;
	struct frame frames[SEAM_LAST_FRAMES + 20];
	const uint32_t num = SEAM_LAST_FRAMES + 20;

	(void)state;
	memset(&room, 0, sizeof(room));
	memset(room.behind, 0xa5, sizeof(room.behind));
	for (uint32_t i = 0; i < num; i++)
		frames[i] = (struct frame){0x400000 + i, 0x7000 + 16 * i, 16};
	unwind(&room.last, 1, frames, num);
	unwind(&room.last, 1, frames, num);
	assert_int_equal(room.last.len[0], SEAM_LAST_FRAMES);
	assert_int_equal(room.last.len[1], SEAM_LAST_FRAMES);
	for (int i = 0; i < 64; i++)
		assert_true(room.behind[i] == 0xa5a5a5a5a5a5a5a5);
	/* From where the last fits on, none but the last is found. */
	assert_int_equal(
		unwind(&room.last, 1, frames + SEAM_LAST_FRAMES - 1, 20), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_stack),
		cmocka_unit_test(callers_stay),
		cmocka_unit_test(anothers_rules),
		cmocka_unit_test(own_older_rules),
		cmocka_unit_test(same_place_later),
		cmocka_unit_test(next_round),
		cmocka_unit_test(dropped),
		cmocka_unit_test(asked_twice),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
