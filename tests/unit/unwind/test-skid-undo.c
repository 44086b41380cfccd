// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: what each class of instruction does to rsp and rbp is taken
 * back, in every encoding of it; what it overwrote is not valid any more; and
 * registers that are not those behind it are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/err.h"
#include "unwind/skid-insn.h"

#define IP 0x401000ull
#define STACK 0x7000ull
#define LOST 0x1057ull /* no address of the tests */
#define AX 1u
#define DX (1u << 1)
#define CX (1u << 2)
#define BX (1u << 3)
#define BP (1u << 6)
#define SP (1u << 7)
#define R11 (1u << 11)
#define R13 (1u << 13)

struct undo {
	const char *text;
	uint8_t code[12];
	uint8_t len;
	/* rsp and rbp behind it; the word at rsp; the ip, 0: the next one. */
	uint64_t sp, fp, word, ip;
	/* As they were before; LOST. */
	uint64_t want_sp, want_fp;
	uint32_t lost; /* others */
	int64_t below; /* register whose value lies below rsp; 0: none */
	int err;
	bool switches;
};

#define BP_IS 0x7100ull
/* Its length, by the bytes themselves. */
#define CODE(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define STAYS .want_fp = BP_IS
#define FROM(shift) .sp = STACK, .fp = BP_IS, .want_sp = STACK - (shift), STAYS
#define REG(n) (0x1000 + (n))

static const struct undo undos[] = {
	{"push %rbx", CODE(0x53), FROM(-8), .word = REG(3)},
	{"push %r13", CODE(0x41, 0x55), FROM(-8), .word = REG(13)},
	{"rex.W push %rbx", CODE(0x48, 0x53), FROM(-8), .word = REG(3)},
	{"push %rbp", CODE(0x55), FROM(-8), .word = BP_IS},
	{"push %rsp", CODE(0x54), FROM(-8), .word = STACK + 8},
	{"push %bx", CODE(0x66, 0x53), FROM(-2), .word = 1},
	{"push %r13w", CODE(0x66, 0x41, 0x55), FROM(-2)},
	{"rex.W push %bx: W wins", CODE(0x66, 0x48, 0x53), FROM(-8),
	 .word = REG(3)},
	{"push $-2", CODE(0x6a, 0xfe), FROM(-8), .word = (uint64_t)-2},
	{"push $0x12345678", CODE(0x68, 0x78, 0x56, 0x34, 0x12), FROM(-8),
	 .word = 0x12345678},
	{"push $-1 long", CODE(0x68, 0xff, 0xff, 0xff, 0xff), FROM(-8),
	 .word = (uint64_t)-1},
	{"push 16(%rax)", CODE(0xff, 0x70, 0x10), FROM(-8), .word = 5},
	{"push 8(%rsp)", CODE(0xff, 0x74, 0x24, 0x08), FROM(-8), .word = 5},
	{"push %fs", CODE(0x0f, 0xa0), FROM(-8)},
	{"pushf", CODE(0x9c), FROM(-8)},
	{"pushfw", CODE(0x66, 0x9c), FROM(-2)},
	{"pushp %rbx", CODE(0xd5, 0x08, 0x53), FROM(-8), .word = REG(3)},
	{"push %r13 by rex2", CODE(0xd5, 0x01, 0x55), FROM(-8),
	 .word = REG(13)},
	{"push %r16", CODE(0xd5, 0x10, 0x50), FROM(-8), .word = 5},
	{"push2 %rax,%rbx", CODE(0x62, 0xf4, 0x64, 0x18, 0xff, 0xf0),
	 FROM(-16)},
	{"pop %rbx", CODE(0x5b), FROM(8), .lost = BX, .below = 3},
	{"pop %r13", CODE(0x41, 0x5d), FROM(8), .lost = R13, .below = 13},
	{"pop %bx", CODE(0x66, 0x5b), FROM(2), .lost = BX},
	{"pop %rbp", CODE(0x5d), .sp = STACK, .fp = BP_IS, .want_sp = STACK - 8,
	 .want_fp = LOST, .below = 6},
	{"pop 8(%rax)", CODE(0x8f, 0x40, 0x08), FROM(8)},
	{"pop %fs", CODE(0x0f, 0xa1), FROM(8)},
	{"popf", CODE(0x9d), FROM(8)},
	{"pop %rsp", CODE(0x5c), .sp = STACK, .fp = BP_IS, .want_sp = LOST,
	 STAYS, .below = 7, .switches = true},
	{"popp %rbx", CODE(0xd5, 0x08, 0x5b), FROM(8), .lost = BX, .below = 3},
	{"pop %r16", CODE(0xd5, 0x10, 0x58), FROM(8)},
	{"pop2 %r11,%rbx", CODE(0x62, 0xd4, 0x64, 0x18, 0x8f, 0xc3), FROM(16),
	 .lost = BX | R11},
	{"call", CODE(0xe8, 0x10, 0, 0, 0), FROM(-8), .word = IP + 5,
	 .ip = IP + 0x15},
	{"call *%rax", CODE(0xff, 0xd0), FROM(-8), .word = IP + 2, .ip = 5},
	{"call *8(%rsp)", CODE(0xff, 0x54, 0x24, 0x08), FROM(-8),
	 .word = IP + 4, .ip = 5},
	{"call *16(%rip)", CODE(0xff, 0x15, 0x10, 0, 0, 0), FROM(-8),
	 .word = IP + 6, .ip = 5},
	{"ret", CODE(0xc3), FROM(8), .ip = 0x405000, .below = 16},
	{"rep ret", CODE(0xf3, 0xc3), FROM(8), .ip = 0x405000, .below = 16},
	{"ret $24", CODE(0xc2, 24, 0), FROM(32), .ip = 0x405000},
	{"ret $65528", CODE(0xc2, 0xf8, 0xff), FROM(65536), .ip = 0x405000},
	{"leave", CODE(0xc9), .sp = STACK, .fp = BP_IS, .want_sp = LOST,
	 .want_fp = STACK - 8, .below = 6},
	{"enter $16,$0", CODE(0xc8, 16, 0, 0), .sp = STACK, .fp = STACK + 16,
	 .want_sp = STACK + 24, .want_fp = 0x316},
	{"enter $16,$2", CODE(0xc8, 16, 0, 2), .sp = STACK, .fp = STACK + 24,
	 .want_sp = STACK + 32, .want_fp = 0x324},
	{"sub $40,%rsp", CODE(0x48, 0x83, 0xec, 0x28), FROM(-40)},
	{"sub $-128,%rsp", CODE(0x48, 0x83, 0xec, 0x80), FROM(128)},
	{"add $0x1000,%rsp", CODE(0x48, 0x81, 0xc4, 0, 0x10, 0, 0),
	 FROM(0x1000)},
	{"add $-128,%rsp", CODE(0x48, 0x83, 0xc4, 0x80), FROM(-128)},
	{"lea -8(%rsp),%rsp", CODE(0x48, 0x8d, 0x64, 0x24, 0xf8), FROM(-8)},
	{"lea 0x80(%rsp),%rsp", CODE(0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0),
	 FROM(128)},
	{"lea 8(%rsp,%rax),%rsp", CODE(0x48, 0x8d, 0x64, 0x04, 0x08),
	 .sp = STACK, .fp = BP_IS, .want_sp = LOST, STAYS, .switches = true},
	{"sub %rax,%rsp", CODE(0x48, 0x29, 0xc4), .sp = STACK, .fp = BP_IS,
	 .want_sp = LOST, STAYS},
	{"and $-32,%rsp", CODE(0x48, 0x83, 0xe4, 0xe0), .sp = STACK,
	 .fp = BP_IS, .want_sp = LOST, STAYS},
	{"mov %rbp,%rsp", CODE(0x48, 0x89, 0xec), .sp = BP_IS, .fp = BP_IS,
	 .want_sp = LOST, STAYS},
	{"lea -24(%rbp),%rsp", CODE(0x48, 0x8d, 0x65, 0xe8), .sp = BP_IS - 24,
	 .fp = BP_IS, .want_sp = LOST, STAYS},
	{"lea -8(%r10),%rsp", CODE(0x49, 0x8d, 0x62, 0xf8), .sp = STACK,
	 .fp = BP_IS, .want_sp = LOST, STAYS, .switches = true},
	{"mov %rcx,%rsp", CODE(0x48, 0x89, 0xcc), .sp = STACK, .fp = BP_IS,
	 .want_sp = LOST, STAYS, .switches = true},
	{"mov 8(%rdi),%rsp", CODE(0x48, 0x8b, 0x67, 0x08), .sp = STACK,
	 .fp = BP_IS, .want_sp = LOST, STAYS, .switches = true},
	{"xchg %rax,%rsp", CODE(0x48, 0x94), .sp = STACK, .fp = BP_IS,
	 .want_sp = LOST, STAYS, .lost = AX, .switches = true},
	{"sub $8,%esp", CODE(0x83, 0xec, 8), .sp = STACK, .fp = BP_IS,
	 .want_sp = LOST, STAYS, .switches = true},
	{"mov %rsp,%rbp", CODE(0x48, 0x89, 0xe5), .sp = STACK, .fp = STACK,
	 .want_sp = STACK, .want_fp = LOST},
	{"lea 16(%rsp),%rbp", CODE(0x48, 0x8d, 0x6c, 0x24, 0x10), .sp = STACK,
	 .fp = STACK + 16, .want_sp = STACK, .want_fp = LOST},
	{"xor %ebp,%ebp", CODE(0x31, 0xed), .sp = STACK, .fp = 0,
	 .want_sp = STACK, .want_fp = LOST},
	{"mov %rbx,%rax", CODE(0x48, 0x89, 0xd8), FROM(0), .lost = AX},
	{"mov 8(%rsp),%rbx", CODE(0x48, 0x8b, 0x5c, 0x24, 0x08), FROM(0),
	 .lost = BX},
	{"mov %rbx,8(%rsp)", CODE(0x48, 0x89, 0x5c, 0x24, 0x08), FROM(0)},
	{"cmp %rbx,%rsp", CODE(0x48, 0x39, 0xdc), FROM(0)},
	{"test %rbp,%rbp", CODE(0x48, 0x85, 0xed), FROM(0)},
	{"nop", CODE(0x0f, 0x1f, 0x40, 0), FROM(0)},
	{"cpuid", CODE(0x0f, 0xa2), FROM(0), .lost = AX | BX | CX | DX},
	{"syscall", CODE(0x0f, 0x05), FROM(0), .lost = AX | CX | R11},
	{"jmp", CODE(0xeb, 0x10), FROM(0), .ip = IP + 0x12},
	{"jmp *%rax", CODE(0xff, 0xe0), FROM(0), .ip = 0x405000},
	{"jne taken", CODE(0x75, 0x10), FROM(0), .ip = IP + 0x12},
	{"jne not taken", CODE(0x75, 0x10), FROM(0)},
	{"loop", CODE(0xe2, 0xf0), FROM(0), .ip = IP + 2 - 16, .lost = CX},
	/* Two moments. */
	{"call, elsewhere", CODE(0xe8, 0x10, 0, 0, 0), FROM(-8), .word = IP + 5,
	 .ip = IP + 0x16, .err = SEAM_SKID_MOMENT},
	{"call, pushed another", CODE(0xe8, 0x10, 0, 0, 0), FROM(-8),
	 .word = IP + 6, .ip = IP + 0x15, .err = SEAM_SKID_MOMENT},
	{"push, pushed another", CODE(0x53), FROM(-8), .word = 1,
	 .err = SEAM_SKID_MOMENT},
	{"nop, two of them", CODE(0x90, 0x90), FROM(0), .ip = IP + 2,
	 .err = SEAM_SKID_MOMENT},
	{"jne elsewhere", CODE(0x75, 0x10), FROM(0), .ip = IP + 1,
	 .err = SEAM_SKID_MOMENT},
	{"mov %rsp,%rbp, and it is not", CODE(0x48, 0x89, 0xe5), .sp = STACK,
	 .fp = STACK + 8, .err = SEAM_SKID_MOMENT},
	{"enter, rbp below", CODE(0xc8, 16, 0, 0), .sp = STACK, .fp = STACK - 8,
	 .err = SEAM_SKID_MOMENT},
	/* Not understood. */
	{"iretq", CODE(0x48, 0xcf), FROM(0), .err = SEAM_IRREVERSIBLE},
	{"lret", CODE(0xcb), FROM(0), .err = SEAM_IRREVERSIBLE},
	{"data16 ret", CODE(0x66, 0xc3), FROM(0), .err = SEAM_IRREVERSIBLE},
	{"data16 leave", CODE(0x66, 0xc9), FROM(0), .err = SEAM_IRREVERSIBLE},
	{"no instruction", CODE(0x06), FROM(0), .err = SEAM_IRREVERSIBLE},
	{"pop2 into %rsp", CODE(0x62, 0xf4, 0x64, 0x18, 0x8f, 0xc4), FROM(0),
	 .err = SEAM_IRREVERSIBLE},
};

static struct seam_decoder *decoder;

static struct seam_dump dump_of(const struct undo *u, uint8_t *stack)
{
	struct seam_dump d = {
		.stack_avma = u->sp,
		.stack = stack,
		.stack_size = 64,
		.regs.valid = (1u << SEAM_CFI_REGS) - 1,
	};

	for (unsigned int i = 0; i < SEAM_CFI_REGS; i++)
		d.regs.r[i] = REG(i);
	d.regs.r[6] = u->fp;
	d.regs.r[7] = u->sp;
	d.regs.r[16] = u->ip ? u->ip : IP + u->len;
	/* What enter saved. */
	memcpy(stack + 16, &(uint64_t){0x316}, 8);
	memcpy(stack + 24, &(uint64_t){0x324}, 8);
	memcpy(stack, &u->word, 8);
	return d;
}

static void check_one(const struct seam_dump *d, unsigned int reg,
		      uint64_t want)
{
	assert_int_equal(d->regs.valid >> reg & 1, want != LOST);
	if (want != LOST)
		assert_int_equal(d->regs.r[reg], want);
}

static void check_undo(const struct undo *u)
{
	struct seam_skid_insn insn;
	uint8_t stack[64] = {0};
	struct seam_dump d = dump_of(u, stack), was = d;
	int err;

	print_message("%s\n", u->text);
	if (!seam_skid_decode(decoder, u->code, u->len, IP, &insn))
		insn.flow = SEAM_SKID_BAD;
	/* Two of them: the first one alone is read. */
	if (u->code[0] != 0x90 && !u->err)
		assert_int_equal(insn.len, u->len);
	err = seam_skid_undo(&insn, IP, true, &d);
	assert_int_equal(err, u->err);
	if (u->err)
		return;
	assert_int_equal(d.regs.r[16], IP);
	check_one(&d, 7, u->want_sp);
	check_one(&d, 6, u->want_fp);
	assert_int_equal(insn.switches, u->switches);
	for (unsigned int i = 0; i < 16; i++)
		if (i != 6 && i != 7)
			check_one(&d, i, u->lost >> i & 1 ? LOST : REG(i));
	assert_int_equal(d.has_below, u->below != 0);
	if (u->below) {
		assert_int_equal(d.below_avma, STACK - 8);
		assert_int_equal(d.below, was.regs.r[u->below]);
	}
}

static void undo_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(undos) / sizeof(*undos); i++)
		check_undo(&undos[i]);
}

/* Cut short, bytes are no instruction, or another; nothing is read beyond. */
static void cut_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(undos) / sizeof(*undos); i++) {
		const struct undo *u = &undos[i];

		for (size_t n = 0; n < u->len; n++) {
			uint8_t *bytes = test_malloc(n + 1);
			struct seam_skid_insn insn;

			memcpy(bytes, u->code, n);
			if (seam_skid_decode(decoder, bytes, n, IP, &insn))
				assert_true(insn.len <= n);
			test_free(bytes);
		}
	}
}

/* Without the registers' ip, the stack alone can say. */
static void ip_lost(void **state)
{
	const struct undo call = {"call", CODE(0xe8, 0x10, 0, 0, 0), FROM(-8),
				  .word = IP + 5, .ip = IP};
	const struct undo other = {"call", CODE(0xe8, 0x10, 0, 0, 0), FROM(-8),
				   .word = IP, .ip = IP};
	const struct undo ret = {"ret", CODE(0xc3), FROM(8), .ip = IP};
	uint8_t stack[64] = {0};
	struct seam_skid_insn insn;
	struct seam_dump d;

	(void)state;
	assert_true(seam_skid_decode(decoder, call.code, 5, IP, &insn));
	d = dump_of(&call, stack);
	assert_int_equal(seam_skid_undo(&insn, IP, false, &d), 0);
	assert_int_equal(d.regs.r[7], STACK + 8);
	d = dump_of(&other, stack);
	assert_int_equal(seam_skid_undo(&insn, IP, false, &d),
			 SEAM_SKID_MOMENT);
	assert_true(seam_skid_decode(decoder, ret.code, 1, IP, &insn));
	d = dump_of(&ret, stack);
	assert_int_equal(seam_skid_undo(&insn, IP, false, &d), 0);
	assert_false(d.has_below);
	/* It may have been rt_sigreturn. */
	assert_true(seam_skid_decode(decoder, (uint8_t[]){0x0f, 0x05}, 2, IP,
				     &insn));
	d = dump_of(&ret, stack);
	assert_int_equal(seam_skid_undo(&insn, IP, false, &d),
			 SEAM_SKID_MOMENT);
	/* A recording may lack registers. */
	d = dump_of(&ret, stack);
	d.regs.valid = 1u << 16;
	assert_int_equal(seam_skid_undo(&insn, IP, false, &d),
			 SEAM_IRREVERSIBLE);
}

static int begin(void **state)
{
	(void)state;
	return seam_decoder_new(&decoder);
}

static int finish(void **state)
{
	(void)state;
	decoder = seam_decoder_free(decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(undo_all),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(ip_lost),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
