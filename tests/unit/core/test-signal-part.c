// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: of an ip and an sp that are of two moments, before and after a
 * signal's handler was to begin, the interrupted code's are found; a pair of
 * one moment is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include <cmocka.h>

#include "core/signal-part.h"

#define CODE 0x401000
#define STACK 0x7f00
#define HANDLER(i) (0x402000 + (i)*0x100)
#define FRAME(i) (0x7000 - (i)*0x500)

/* Handlers that begin, the innermost last; FRAME(0) is the first's. */
struct seam_signal_env {
	uint32_t num;
	uint32_t reads;
	bool one_handler; /* for all of them */
};

SEAM_INLINE bool seam_signal_env_pair(struct seam_signal_env *env, uint64_t at,
				      struct seam_signal_pair *ret)
{
	env->reads++;
	for (uint32_t i = 0; i < env->num; i++) {
		if (at != FRAME(i))
			continue;
		*ret = i ? (struct seam_signal_pair){FRAME(i - 1),
						     env->one_handler
							     ? HANDLER(0)
							     : HANDLER(i - 1)}
			 : (struct seam_signal_pair){STACK, CODE};
		return true;
	}
	return false;
}

static struct seam_signal_pair now_of(uint32_t num)
{
	return (struct seam_signal_pair){FRAME(num - 1), HANDLER(num - 1)};
}

static void assert_pair(struct seam_signal_pair got, uint64_t sp, uint64_t ip)
{
	assert_int_equal(got.sp, sp);
	assert_int_equal(got.ip, ip);
}

/* The event came between the stores for handler i of num. */
static void assert_parted(uint32_t num, uint32_t i, bool sp_first)
{
	uint64_t old_sp = i ? FRAME(i - 1) : STACK;
	uint64_t old_ip = i ? HANDLER(i - 1) : CODE;
	struct seam_signal_env env = {num, 0, false};
	struct seam_signal_pair event = {sp_first ? FRAME(i) : old_sp,
					 sp_first ? old_ip : HANDLER(i)};

	assert_true(seam_signal_part(&env, &event, now_of(num)));
	assert_pair(event, old_sp, old_ip);
}

static void test_any_of_several(void **state)
{
	(void)state;

	for (uint32_t num = 1; num <= SEAM_SIGNALS_AT_ONCE; num++)
		for (uint32_t i = 0; i < num; i++) {
			assert_parted(num, i, true);
			assert_parted(num, i, false);
		}
}

/* Before all of them, or at the begin of one. */
static void test_of_one_moment(void **state)
{
	(void)state;

	for (uint32_t num = 1; num <= 3; num++)
		for (uint32_t i = 0; i <= num; i++) {
			struct seam_signal_env env = {num, 0, false};
			uint64_t sp = i ? FRAME(i - 1) : STACK;
			uint64_t ip = i ? HANDLER(i - 1) : CODE;
			struct seam_signal_pair event = {sp, ip};

			assert_false(
				seam_signal_part(&env, &event, now_of(num)));
			assert_pair(event, sp, ip);
		}
}

/* The event is of a call in a handler whose sp is by chance a frame's. */
static void test_other_sp(void **state)
{
	struct seam_signal_env env = {2, 0, false};
	struct seam_signal_pair event = {FRAME(0), CODE + 8};

	(void)state;
	assert_false(seam_signal_part(&env, &event, now_of(2)));
	assert_pair(event, FRAME(0), CODE + 8);
}

/* Signals with one handler: by its ip alone nothing is told. */
static void test_one_handler(void **state)
{
	const struct seam_signal_pair now = {FRAME(2), HANDLER(0)};
	struct seam_signal_env env = {3, 0, true};
	struct seam_signal_pair event = {STACK, HANDLER(0)};

	(void)state;
	/* Its ip was there, and the first one's sp not yet. */
	assert_true(seam_signal_part(&env, &event, now));
	assert_pair(event, STACK, CODE);
	/* At the begin of each, or between the stores for the next: either way
	 * it is what will be interrupted. */
	for (uint32_t i = 0; i < 3; i++) {
		event = (struct seam_signal_pair){FRAME(i), HANDLER(0)};
		seam_signal_part(&env, &event, now);
		assert_pair(event, FRAME(i), HANDLER(0));
	}
}

/* The C library knows the same frame: behind the return address. */
static void test_place(void **state)
{
	(void)state;
	assert_int_equal(SEAM_SIGNAL_PAIR,
			 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]));
	assert_int_equal(REG_RIP, REG_RSP + 1);
}

static void test_unreadable(void **state)
{
	struct seam_signal_env env = {0, 0, false};
	struct seam_signal_pair event = {FRAME(0), CODE};

	(void)state;
	assert_false(seam_signal_part(&env, &event, now_of(1)));
	assert_pair(event, FRAME(0), CODE);
}

/* Frames that lead on for ever cost no more than they may. */
static void test_bounded(void **state)
{
	struct seam_signal_env env = {64, 0, false};
	struct seam_signal_pair event = {STACK, CODE};

	(void)state;
	assert_false(seam_signal_part(&env, &event, now_of(64)));
	assert_int_equal(env.reads, SEAM_SIGNALS_AT_ONCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_of_several),
		cmocka_unit_test(test_of_one_moment),
		cmocka_unit_test(test_other_sp),
		cmocka_unit_test(test_one_handler),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
