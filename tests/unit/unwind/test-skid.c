// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: stacks of precise events. The callers are those at the sample's
 * ip, whether the registers are of before the instruction or behind it; and
 * where they cannot be, the end says why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "seam/tracer.h"
#include "sframe/encode.h"
#include "unwind/skid-insn.h"

#define OUTER 0x1000u /* code of 256 bytes, the outermost frame */
#define MIDDLE 0x2000u /* rbp's frame: CFA = rbp + 16, rbp saved */
#define LEAF 0x3000u
#define BY_SP (LEAF + 0x10) /* CFA = rsp + 16, rbp saved in it */
#define POPPED (BY_SP + 8) /* CFA = rsp + 8 from here on */
#define BY_FP (LEAF + 0x20) /* CFA = rbp + 16, likewise */
#define ENTRY LEAF /* CFA = rsp + 8 */

static struct seam_decoder *decoder;
static struct seam_sframe sframe;
static uint8_t *section;
static uint8_t code[16];
static size_t code_size;
static uint64_t stack[32];
static uint64_t ips[8];
static uint8_t methods[8];
static struct seam_skid_counts counts;

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	if (avma < OUTER || avma >= LEAF + 0x100)
		return -ENOENT;
	*ret = (struct seam_mapping){.sframe = &sframe};
	return 0;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	(void)ctx;
	(void)avma;
	assert_int_equal(when, SEAM_DUMP_THEN);
	assert_true(size >= code_size);
	memcpy(to, code, code_size);
	return code_size;
}

static void add(struct seam_sframe_builder *b, uint64_t start, uint64_t size,
		const struct seam_rule *rule, const struct seam_rule *at_8)
{
	const struct seam_sframe_builder_func func = {.start = start};

	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, rule), 0);
	if (at_8)
		assert_int_equal(seam_sframe_builder_row(b, 8, at_8), 0);
	assert_int_equal(seam_sframe_builder_end(b, size), 0);
}

static int begin(void **state)
{
	const struct seam_rule outer = {.flags = SEAM_RULE_OUTERMOST};
	const struct seam_rule by_fp = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 6, .off = 16},
		.ra = {.kind = SEAM_CFA_DEREF, .off = -8},
		.fp = {.kind = SEAM_CFA_DEREF, .off = -16}};
	const struct seam_rule entry = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 8},
		.ra = by_fp.ra};
	struct seam_rule by_sp = by_fp;
	struct seam_sframe_builder *b;
	size_t size;

	(void)state;
	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	by_sp.cfa.reg = 7;
	add(b, OUTER, 0x100, &outer, NULL);
	add(b, MIDDLE, 0x100, &by_fp, NULL);
	add(b, ENTRY, 16, &entry, NULL);
	add(b, BY_SP, 16, &by_sp, &entry);
	add(b, BY_FP, 16, &by_fp, NULL);
	assert_int_equal(
		seam_sframe_builder_finish(b, 0, &section, &size, NULL), 0);
	seam_sframe_builder_free(b);
	assert_int_equal(seam_sframe_open(&sframe, section, size), 0);
	return seam_decoder_new(&decoder);
}

static int finish(void **state)
{
	(void)state;
	decoder = seam_decoder_free(decoder);
	free(section);
	return 0;
}

#define AT(i) ((uint64_t)(uintptr_t)&stack[i])

/* The leaf was called with the return address at stack[8], MIDDLE's frame is
 * behind it. */
static void fill(void)
{
	memset(stack, 0, sizeof(stack));
	stack[7] = AT(12); /* rbp, where it is saved */
	stack[8] = MIDDLE + 0x40;
	stack[12] = 0;
	stack[13] = OUTER + 0x40;
	memset(&counts, 0, sizeof(counts));
	memset(methods, 0xff, sizeof(methods));
}

struct behind {
	uint64_t ip; /* the sample's */
	uint64_t next; /* the registers'; 0: lost */
	size_t sp; /* in words of the stack */
	uint64_t fp;
	uint64_t bx;
};

#define UNWIND(b, end, ...)                                                    \
	do {                                                                   \
		static const uint8_t bytes[] = {__VA_ARGS__};                  \
		memcpy(code, bytes, sizeof(bytes));                            \
		code_size = sizeof(bytes);                                     \
		n = unwind(b, end);                                            \
	} while (0)

static size_t unwind(const struct behind *b, int want_end)
{
	struct seam_dump dump = {
		.regs = {.valid = (1u << SEAM_CFI_REGS) - 1},
		.stack_avma = AT(b->sp),
		.stack = (const uint8_t *)&stack[b->sp],
		.stack_size = sizeof(stack) - 8 * b->sp,
		.find = find,
		.code = read_code,
		.methods = methods,
	};
	struct seam_skid_outcome outcome = {0};
	struct seam_skid skid = {decoder, b->ip, !b->next, &outcome};
	int end = -1;
	size_t n;

	dump.regs.r[3] = b->bx;
	dump.regs.r[6] = b->fp;
	dump.regs.r[7] = AT(b->sp);
	dump.regs.r[16] = b->next ? b->next : b->ip;
	n = seam_skid_unwind(&skid, &dump, ips, 8, &end);
	assert_int_not_equal(outcome.fate, SEAM_SKID_NONE);
	seam_skid_count(&counts, &outcome);
	assert_int_equal(end, want_end);
	assert_true(n >= 1);
	assert_int_equal(ips[0], b->ip);
	assert_int_equal(methods[0], SEAM_METHOD_NONE);
	if (end != SEAM_OUTERMOST)
		return n;
	assert_int_equal(n, 3);
	assert_int_equal(ips[1], MIDDLE + 0x40);
	assert_int_equal(methods[1], SEAM_METHOD_CFI);
	assert_int_equal(ips[2], OUTER + 0x40);
	return n;
}

static void same(void **state)
{
	const struct behind b = {BY_SP, BY_SP, 7, 1, 0};
	size_t n;

	(void)state;
	fill();
	UNWIND(&b, SEAM_OUTERMOST, 0x90);
	assert_int_equal(n, 3);
	assert_int_equal(counts.n[SEAM_SKID_SAME], 1);
}

/* push %rbp, known or not; then call from there, and the return from it. */
static void undone(void **state)
{
	const struct behind push = {ENTRY, ENTRY + 1, 7, AT(12), 0};
	const struct behind push_lost = {ENTRY, 0, 7, AT(12), 0};
	const struct behind call = {BY_SP, 0x3080, 6, 1, 0};
	const struct behind pop = {BY_SP, BY_SP + 1, 8, AT(12), 0};
	const struct behind pop_lost = {BY_SP, 0, 8, AT(12), 0};
	size_t n;

	(void)state;
	fill();
	UNWIND(&push, SEAM_OUTERMOST, 0x55);
	UNWIND(&push_lost, SEAM_OUTERMOST, 0x55);
	stack[6] = BY_SP + 2;
	UNWIND(&call, SEAM_OUTERMOST, 0xff, 0xd0);
	/* What it has popped is what lay below. */
	UNWIND(&pop, SEAM_OUTERMOST, 0x5d);
	UNWIND(&pop_lost, SEAM_OUTERMOST, 0x5d);
	assert_int_equal(n, 3);
	assert_int_equal(counts.n[SEAM_SKID_UNDONE], 5);
}

/* leave overwrites rsp, and the frame is rbp's. */
static void left(void **state)
{
	const struct behind leave = {BY_FP, 0, 8, AT(12), 0};
	const struct behind by_sp = {BY_SP, 0, 8, AT(12), 0};
	const struct behind known = {POPPED - 1, POPPED, 8, AT(12), 0};
	size_t n;

	(void)state;
	fill();
	UNWIND(&leave, SEAM_OUTERMOST, 0xc9);
	assert_int_equal(counts.n[SEAM_SKID_UNDONE], 1);
	UNWIND(&by_sp, SEAM_IRREVERSIBLE, 0xc9);
	assert_int_equal(n, 1);
	assert_int_equal(counts.n[SEAM_SKID_IRREVERSIBLE], 1);
	assert_int_equal(
		counts.by[SEAM_SKID_IRREVERSIBLE][SEAM_SKID_KIND_LEAVE], 1);
	/* It goes on in the same function, whose caller is the same. */
	UNWIND(&known, SEAM_OUTERMOST, 0xc9);
	assert_int_equal(counts.n[SEAM_SKID_BEHIND], 1);
}

static void returned(void **state)
{
	const struct behind known = {ENTRY, MIDDLE + 0x40, 9, AT(12), 0};
	const struct behind lost = {ENTRY, 0, 9, AT(12), 0};
	size_t n;

	(void)state;
	fill();
	stack[8] = 0; /* written over since, by a signal's frame */
	UNWIND(&known, SEAM_OUTERMOST, 0xc3);
	assert_int_equal(counts.n[SEAM_SKID_BEHIND], 1);
	UNWIND(&lost, SEAM_BELOW_SP, 0xc3);
	assert_int_equal(n, 1);
	assert_int_equal(counts.n[SEAM_SKID_BELOW_SP], 1);
}

/* Another stack: what is behind says nothing of the callers. */
static void switched(void **state)
{
	const struct behind b = {BY_SP, BY_SP + 3, 12, AT(12), 0};
	const struct behind by_fp = {BY_FP, BY_FP + 3, 12, AT(7), 0};
	size_t n;

	(void)state;
	fill();
	stack[13] = MIDDLE + 0x80;
	UNWIND(&b, SEAM_IRREVERSIBLE, 0x48, 0x89, 0xcc);
	assert_int_equal(n, 1);
	/* It is in no copy any more. */
	UNWIND(&by_fp, SEAM_BELOW_SP, 0x48, 0x89, 0xcc);
	assert_int_equal(n, 1);
}

/* Over the return address itself, or beside it. */
static void written_over(void **state)
{
	const struct behind b = {ENTRY, ENTRY + 4, 8, AT(12), 0};
	const struct behind next = {ENTRY, ENTRY + 5, 8, AT(12), 0};
	const struct behind lost = {ENTRY, 0, 8, AT(12), AT(8)};
	size_t n;

	(void)state;
	fill();
	UNWIND(&b, SEAM_IRREVERSIBLE, 0x48, 0x89, 0x04, 0x24);
	assert_int_equal(n, 1);
	UNWIND(&lost, SEAM_IRREVERSIBLE, 0x48, 0x83, 0x03, 0x02);
	assert_int_equal(counts.n[SEAM_SKID_IRREVERSIBLE], 2);
	UNWIND(&next, SEAM_OUTERMOST, 0x48, 0x89, 0x44, 0x24, 0x08);
}

static void two_moments(void **state)
{
	const struct behind b = {BY_SP, BY_SP + 2, 7, AT(12), 0};
	size_t n;

	(void)state;
	fill();
	UNWIND(&b, SEAM_SKID_MOMENT, 0x90);
	assert_int_equal(n, 1);
	assert_int_equal(counts.n[SEAM_SKID_MOMENT_END], 1);
	/* Nothing to read: it is not known what it was. */
	code_size = 0;
	assert_int_equal(unwind(&b, SEAM_IRREVERSIBLE), 1);
	UNWIND(&b, SEAM_IRREVERSIBLE, 0x06);
	assert_int_equal(counts.n[SEAM_SKID_IRREVERSIBLE], 2);
}

/* Each is counted as what it is. */
static void kinds(void **state)
{
	static const struct {
		const char *name;
		uint8_t size, code[8];
	} v[] = {
		{"call", 5, {0xe8, 1, 2, 3, 0}},
		{"call", 2, {0xff, 0xd0}},
		{"push", 1, {0x55}},
		{"push", 2, {0x6a, 1}},
		{"push", 1, {0x9c}}, /* pushf */
		{"push", 3, {0xd5, 0x10, 0x50}}, /* r16 */
		{"pop", 2, {0x41, 0x5c}},
		{"pop", 3, {0xd5, 0x10, 0x58}},
		{"pop", 1, {0x5c}}, /* rsp */
		{"ret", 1, {0xc3}},
		{"ret", 3, {0xc2, 8, 0}},
		{"leave", 1, {0xc9}},
		{"enter", 4, {0xc8, 16, 0, 0}},
		{"add-sp", 4, {0x48, 0x83, 0xc4, 8}},
		{"add-sp", 4, {0x48, 0x83, 0xec, 8}},
		{"add-sp", 5, {0x48, 0x8d, 0x64, 0x24, 8}}, /* lea 8(%rsp) */
		{"sub-sp", 3, {0x48, 0x29, 0xc4}},
		{"and-sp", 4, {0x48, 0x83, 0xe4, 0xe0}},
		{"mov-sp", 3, {0x48, 0x89, 0xec}}, /* from rbp */
		{"mov-sp", 3, {0x48, 0x8b, 0x20}}, /* from memory */
		{"mov-sp", 4, {0x48, 0x8d, 0x65, 0xd8}}, /* lea -40(%rbp) */
		{"xchg-sp", 3, {0x48, 0x87, 0xe0}},
		{"set-sp", 3, {0x48, 0xff, 0xc4}}, /* inc */
		{"set-fp", 3, {0x48, 0x89, 0xe5}},
		{"store", 4, {0x48, 0x89, 0x04, 0x24}},
		{"jump", 2, {0xeb, 2}},
		{"jump", 2, {0x75, 2}},
		{"syscall", 2, {0x0f, 0x05}},
		{"other", 1, {0x90}},
		{"other", 3, {0x48, 0x89, 0xc3}},
	};
	struct seam_skid_insn insn;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		assert_true(seam_skid_decode(decoder, v[i].code, v[i].size,
					     0x1000, &insn));
		assert_string_equal(seam_skid_kind_name(insn.kind), v[i].name);
	}
	for (int i = 0; i < SEAM_SKID_KINDS; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(seam_skid_kind_name(i),
						seam_skid_kind_name(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),       cmocka_unit_test(same),
		cmocka_unit_test(undone),      cmocka_unit_test(left),
		cmocka_unit_test(returned),    cmocka_unit_test(switched),
		cmocka_unit_test(two_moments), cmocka_unit_test(written_over),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
