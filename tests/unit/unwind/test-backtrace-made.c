// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_backtrace_ex on made stacks, of which a word or two change
 * between walks, as no program would do it: what is found is what the rules of
 * the functions below say of the words that are there now, whatever was there
 * at the last walk. The stacks lie on the thread's own, of which it keeps
 * what it found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ucontext.h>

#include "seam/backtrace.h"

#define WORDS 6000u
#define AT_END 800u /* words that lead out of any function */
#define MAX 400
#define STACKS 60
#define WALKS 3000

/*
 * Nobody calls these; what is in them is CFI. leaves: FP is as it was. saves:
 * it is saved. by_fp: the frame is found by FP. far: so large that its rule
 * fits in no node.
 */
extern char in_leaves[], in_saves[], in_by_fp[], in_far[];
__asm__(".text\n"
	".macro made name, cfa, off\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa \\cfa, \\off\n"
	"	.ifc \\name, saves\n"
	"	.cfi_offset rbp, -16\n"
	"	.endif\n"
	"	.ifc \\name, by_fp\n"
	"	.cfi_offset rbp, -16\n"
	"	.endif\n"
	"	.ifc \\name, far\n"
	"	.cfi_offset rbp, -2400\n"
	"	.endif\n"
	"	nop\n"
	"in_\\name:\n"
	"	nop\n"
	"	.cfi_endproc\n"
	".endm\n"
	"made leaves, rsp, 24\n"
	"made saves, rsp, 32\n"
	"made by_fp, rbp, 16\n"
	"made far, rsp, 2408\n");

static const uint64_t nowhere = 0x10;

static uint64_t random_state;

static uint64_t chance(uint64_t below)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (random_state >> 33) % below;
}

struct state {
	uint64_t ip, sp, fp;
};

static uint64_t word_at(uint64_t addr)
{
	return *(const volatile uint64_t *)(uintptr_t)addr;
}

/* What the CFI above says. A return address of 0 is none. */
static int model(struct state s, uint64_t end, void **v)
{
	int n = 0;

	for (v[n++] = (void *)(uintptr_t)s.ip; n < MAX;
	     v[n++] = (void *)(uintptr_t)s.ip) {
		uint64_t cfa = s.sp;

		if (s.ip == (uintptr_t)in_leaves)
			cfa += 24;
		else if (s.ip == (uintptr_t)in_saves)
			cfa += 32;
		else if (s.ip == (uintptr_t)in_by_fp)
			cfa = s.fp + 16;
		else if (s.ip == (uintptr_t)in_far)
			cfa += 2408;
		else
			break;
		if (cfa <= s.sp || cfa > end || cfa % 8 || !word_at(cfa - 8))
			break;
		if (s.ip == (uintptr_t)in_far)
			s.fp = word_at(cfa - 2400);
		else if (s.ip != (uintptr_t)in_leaves)
			s.fp = word_at(cfa - 16);
		s.ip = word_at(cfa - 8);
		s.sp = cfa;
	}
	return n;
}

/* Any of what a stack is made of, for the word i. */
static uint64_t any_word(const uint64_t *stack, size_t i)
{
	switch (chance(41)) {
	case 40:
		return 0;
	case 0:
		return (uintptr_t)in_far;
	case 1 ... 12:
		return (uintptr_t)in_leaves;
	case 13 ... 22:
		return (uintptr_t)in_saves;
	case 23 ... 31:
		return (uintptr_t)in_by_fp;
	case 32:
		return nowhere;
	default:
		return (uintptr_t)&stack[i + chance(9)];
	}
}

/* A stack along which a walk goes on for long, and words at random else. */
static void make(uint64_t *stack)
{
	uint64_t ip = (uintptr_t)in_saves;
	size_t sp = 0, fp = 40, cfa;

	for (size_t i = 0; i < WORDS; i++)
		stack[i] = i < WORDS - AT_END ? any_word(stack, i) : nowhere;
	while (sp < WORDS - AT_END) {
		cfa = sp + 3;
		if (ip != (uintptr_t)in_leaves) {
			cfa = ip == (uintptr_t)in_saves ? sp + 4 : fp + 2;
			fp = cfa + chance(24);
			stack[cfa - 2] = (uintptr_t)&stack[fp];
		}
		sp = cfa;
		ip = (uintptr_t)in_saves;
		if (fp >= sp && !chance(3))
			ip = (uintptr_t)in_by_fp;
		else if (chance(2))
			ip = (uintptr_t)in_leaves;
		stack[cfa - 1] = ip;
	}
}

static void check(const uint64_t *stack, struct state s, int size)
{
	void *ours[MAX], *right[MAX];
	ucontext_t uc = {0};
	int n, right_n;

	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)s.ip;
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)s.sp;
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)s.fp;
	n = seam_backtrace_ex(ours, size, &uc, 0, NULL);
	right_n = model(s, (uintptr_t)&stack[WORDS], right);
	assert_int_equal(n, right_n < size ? right_n : size);
	assert_memory_equal(ours, right, sizeof(*ours) * (size_t)n);
}

/* Somewhere near its front, mostly at the same few places. */
static struct state any_state(const uint64_t *stack)
{
	static char *const ips[] = {in_leaves, in_saves, in_by_fp};

	return (struct state){
		.ip = (uintptr_t)ips[chance(3)],
		.sp = (uintptr_t)&stack[chance(chance(4) ? 4 : 400)],
		.fp = (uintptr_t)&stack[chance(chance(4) ? 8 : 60)],
	};
}

static void walk_changing(uint64_t *stack)
{
	make(stack);
	for (int i = 0; i < WALKS; i++) {
		size_t at = chance(chance(3) ? 300 : WORDS - AT_END);
		uint64_t before = stack[at];

		check(stack, any_state(stack), chance(8) ? MAX : 20);
		/* To and fro: what was kept may be right again. */
		if (chance(3)) {
			stack[at] = any_word(stack, at);
			check(stack, any_state(stack), MAX);
			if (chance(4))
				stack[at] = before;
		}
	}
}

static void made(void **state)
{
	uint64_t stack[WORDS];

	(void)state;
	for (int i = 0; i < STACKS; i++) {
		random_state = (uint64_t)i;
		walk_changing(stack);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(made)};

	if (seam_backtrace_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
