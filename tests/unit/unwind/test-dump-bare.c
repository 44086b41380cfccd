// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a copied stack of code without any rules is followed by its
 * code and by frame pointers, where a call is behind what they find; what is
 * guessed is behind a call as well, and marked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/arch.h"
#include "core/err.h"
#include "core/wire.h"
#include "seam/tracer.h"
#include "unwind/dump.h"

#define CODE 0x10000ULL /* executable, a page */
#define STACK 0x7000ULL
#define CODE_SIZE 256

/* Of functions that call one another, by their offsets in CODE. */
enum {
	LEAF = 0, /* ret */
	MIDDLE = 16, /* call; and behind it add $8, %rsp; ret */
	BEHIND_MIDDLE = 21,
	ROOT = 48, /* call; and behind it ret */
	BEHIND_ROOT = 53,
	UNSEEN = 80, /* jmp *%rax */
	BEHIND_NONE = 100, /* ret, with no call before it */
	START = 120, /* call; and behind it exit */
	BEHIND_START = 125,
	BEHIND_EXIT = 132, /* hlt */
};

static uint8_t code[CODE_SIZE];
static uint64_t stack[16];
static struct seam_dump dump;
static uint64_t ips[16];
static uint8_t methods[16];
static size_t num;

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	memset(ret, 0, sizeof(*ret));
	return avma - CODE < CODE_SIZE ? 0 : -1;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	uint64_t off = avma - CODE;

	(void)ctx;
	(void)when;
	if (off >= CODE_SIZE)
		return 0;
	if (size > CODE_SIZE - off)
		size = CODE_SIZE - off;
	memcpy(to, code + off, size);
	return size;
}

static void put(size_t at, const char *bytes, size_t size)
{
	memcpy(code + at, bytes, size);
}

#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

static int set_up(void **state)
{
	(void)state;
	memset(code, 0xcc, sizeof(code));
	memset(stack, 0, sizeof(stack));
	PUT(LEAF, "\xc3");
	PUT(MIDDLE, "\xe8\xeb\xff\xff\xff\x48\x83\xc4\x08\xc3");
	PUT(ROOT, "\xe8\xcb\xff\xff\xff\xc3");
	PUT(UNSEEN, "\xff\xe0");
	PUT(BEHIND_NONE, "\xc3");
	PUT(START, "\xe8\x83\xff\xff\xff\xb8\x3c\x00\x00\x00\x0f\x05\xf4");
	dump = (struct seam_dump){
		.stack_avma = STACK,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.find = find,
		.code = read_code,
		.order = SEAM_UNWIND_TABLES | SEAM_UNWIND_FP,
		.methods = methods,
	};
	dump.regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP |
			  1u << SEAM_AMD64_REG_FP;
	dump.regs.r[SEAM_AMD64_REG_IP] = CODE + LEAF;
	dump.regs.r[SEAM_AMD64_REG_SP] = STACK;
	return 0;
}

static int unwind(void)
{
	int end = -1;

	num = seam_dump_unwind(&dump, ips, 16, &end);
	return end;
}

static void expect(size_t n, const uint64_t *offs, uint8_t method)
{
	assert_int_equal(num, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ips[i], CODE + offs[i]);
	assert_int_equal(methods[0], SEAM_METHOD_NONE);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(methods[i], method);
}

static const uint64_t whole[] = {LEAF, BEHIND_MIDDLE, BEHIND_ROOT};

/* The outermost has a return address of 0. */
static void by_code(void **state)
{
	(void)state;
	stack[0] = CODE + BEHIND_MIDDLE;
	stack[2] = CODE + BEHIND_ROOT;
	assert_int_equal(unwind(), SEAM_UNPROVEN);
	expect(3, whole, SEAM_METHOD_FP);
	dump.order = SEAM_UNWIND_TABLES;
	assert_int_equal(unwind(), SEAM_NO_TABLE);
	expect(1, whole, 0);
}

static void no_call(void **state)
{
	(void)state;
	stack[0] = CODE + BEHIND_MIDDLE;
	stack[2] = CODE + BEHIND_NONE;
	assert_int_equal(unwind(), SEAM_NO_TABLE);
	expect(2, whole, SEAM_METHOD_FP);
}

/* A thread ends with the frame that ends it; but what is in that system call
 * may have been called. */
static void exits(void **state)
{
	static const uint64_t want[] = {LEAF, BEHIND_START};

	(void)state;
	stack[0] = CODE + BEHIND_START;
	assert_int_equal(unwind(), SEAM_UNPROVEN);
	expect(2, want, SEAM_METHOD_FP);
	dump.regs.r[SEAM_AMD64_REG_IP] = CODE + BEHIND_EXIT;
	dump.syscall = true;
	assert_int_equal(unwind(), SEAM_NO_TABLE);
	assert_int_equal(num, 1);
}

/* In words of 4 bytes, at an address that is no multiple of 8. */
static void words_of_4(void **state)
{
	uint32_t *words = (uint32_t *)stack;

	(void)state;
	/* In 32-bit code 48 is dec %eax. */
	PUT(BEHIND_MIDDLE, "\x83\xc4\x08\xc3");
	dump.is_32 = true;
	dump.stack_avma += 4;
	dump.regs.r[SEAM_AMD64_REG_SP] += 4;
	words[0] = CODE + BEHIND_MIDDLE;
	words[3] = CODE + BEHIND_ROOT;
	assert_int_equal(unwind(), SEAM_UNPROVEN);
	expect(3, whole, SEAM_METHOD_FP);
}

/* The word that is behind no call is not taken, nor the one that leads
 * nowhere. */
static void guessed(void **state)
{
	static const uint64_t want[] = {UNSEEN, BEHIND_ROOT};

	(void)state;
	dump.regs.r[SEAM_AMD64_REG_IP] = CODE + UNSEEN;
	dump.order |= SEAM_UNWIND_GUESS;
	stack[0] = CODE + BEHIND_NONE;
	stack[1] = CODE + BEHIND_MIDDLE;
	stack[3] = 77;
	stack[4] = CODE + BEHIND_ROOT;
	assert_int_equal(unwind(), SEAM_GUESSED);
	expect(2, want, SEAM_METHOD_GUESS);
	stack[4] = 0;
	assert_int_equal(unwind(), SEAM_NO_TABLE);
	expect(1, want, 0);
}

/* What was in a system call of a program that is gone says nothing of the
 * stack that is there now. */
static void replaced(void **state)
{
	(void)state;
	dump.regs.r[SEAM_AMD64_REG_IP] = 0x999;
	dump.order |= SEAM_UNWIND_GUESS;
	stack[4] = CODE + BEHIND_ROOT;
	assert_int_equal(unwind(), SEAM_GUESSED);
	dump.syscall = true;
	assert_int_equal(unwind(), SEAM_NO_TABLE);
	assert_int_equal(num, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(by_code, set_up),
		cmocka_unit_test_setup(no_call, set_up),
		cmocka_unit_test_setup(exits, set_up),
		cmocka_unit_test_setup(words_of_4, set_up),
		cmocka_unit_test_setup(guessed, set_up),
		cmocka_unit_test_setup(replaced, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
