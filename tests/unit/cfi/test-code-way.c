// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: instructions have the length that capstone gives them, and the
 * way out of a function gives the rule that its CFI gives, at nearly every
 * instruction of real code. Where it has none, or another, callers look at
 * the return address: how often that is asked of them is bounded here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "built.h"
#include "core/code-way.h"
#include "tests/unit/skip.h"

struct text {
	const uint8_t *bytes;
	uint64_t svma, size;
};

struct tally {
	size_t insns, unlike, unknown, skipped; /* lengths */
	size_t ways, right, none, wrong; /* rules */
	size_t fp_wrong; /* of those that are right */
};

static struct seam_x86_bytes at(const struct text *t, uint64_t svma)
{
	struct seam_x86_bytes b = {0};
	uint8_t raw[16] = {0};
	uint64_t off = svma - t->svma, n = 16;

	if (off >= t->size)
		return b;
	if (n > t->size - off)
		n = t->size - off;
	memcpy(raw, t->bytes + off, n);
	memcpy(&b.lo, raw, 8);
	memcpy(&b.hi, raw + 8, 8);
	return b;
}

static bool is_in(const struct text *t, uint64_t svma)
{
	return svma - t->svma < t->size;
}

/* Return: whether it has a rule. */
static bool way_from(const struct text *t, uint64_t svma, struct seam_rule *ret)
{
	struct seam_way w;

	seam_way_begin(&w, svma, false, true);
	while (!w.done) {
		struct seam_x86_bytes b = at(t, w.at.ip);

		if (!is_in(t, w.at.ip))
			return false;
		seam_way_next(&w, &b);
	}
	return w.done == SEAM_WAY_RETURNS && seam_way_rule(&w, ret);
}

/* Whether rbp is read from where the CFI has it. The CFI need not say when it
 * has its value back, nor is it said before it is changed. */
static bool is_fp_like(const struct seam_cfi_row *row,
		       const struct seam_rule *rule)
{
	const struct seam_cfi_reg *v = &row->regs[SEAM_AMD64_REG_FP];

	return rule->fp.kind == SEAM_SAME ||
	       (rule->fp.kind == SEAM_REG_DEREF &&
		rule->fp.reg == rule->cfa.reg && v->how == SEAM_CFI_OFFSET &&
		rule->fp.off - rule->cfa.off == v->off);
}

/* A frame's registers may be said in two ways where rbp is a frame pointer:
 * only what is reckoned from the same register is compared. */
static void compare(const struct object *o, const struct text *t, uint64_t svma,
		    struct tally *n)
{
	struct seam_cfi_row row;
	struct seam_rule rule;

	if (seam_cfi_find(o->cfi, svma, &row, NULL) || row.cfa_is_expr ||
	    (row.cfa_reg != SEAM_AMD64_REG_SP &&
	     row.cfa_reg != SEAM_AMD64_REG_FP))
		return;
	n->ways++;
	if (!way_from(t, svma, &rule))
		n->none++;
	else if (rule.cfa.reg != row.cfa_reg)
		n->right++;
	else if (rule.cfa.off != row.cfa_off)
		n->wrong++;
	else {
		n->right++;
		n->fp_wrong += !is_fp_like(&row, &rule);
	}
}

/* capstone 4 does not know all of AVX-512; what it skips is not compared. */
static void judge(const struct object *o, const struct text *t, csh cs,
		  struct tally *n)
{
	cs_insn *insn = cs_malloc(cs);
	const uint8_t *p = t->bytes;
	size_t left = t->size;
	uint64_t svma = t->svma;

	while (left && cs_disasm_iter(cs, &p, &left, &svma, insn)) {
		struct seam_x86_bytes b = at(t, insn->address);
		struct seam_x86 x;

		if (!insn->id) {
			n->skipped++;
			continue;
		}
		seam_x86_decode(&b, false, &x);
		n->insns++;
		n->unknown += !x.len;
		n->unlike += x.len && x.len != insn->size;
		if (x.len && x.len != insn->size)
			printf("%#lx: %s %s: %u, not %u\n", insn->address,
			       insn->mnemonic, insn->op_str, insn->size, x.len);
		compare(o, t, insn->address, n);
	}
	cs_free(insn, 1);
}

/* Return: false if there is no such file here. */
static bool real_code(const char *path)
{
	struct tally n = {0};
	struct object o;
	struct seam_elf_section sec;
	csh cs;

	if (!object_open(path, &o))
		return false;
	assert_non_null(o.cfi);
	assert_int_equal(seam_elf_section(o.elf, ".text", &sec), 0);
	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &cs), 0);
	cs_option(cs, CS_OPT_SKIPDATA, CS_OPT_ON);
	judge(&o, &(struct text){sec.data, sec.svma, sec.size}, cs, &n);
	printf("%s: %zu instructions, %zu skipped, %zu of another length, %zu "
	       "unknown; of %zu places %zu as in the CFI, %zu of them with "
	       "another rbp, %zu without, %zu wrong\n",
	       path, n.insns, n.skipped, n.unlike, n.unknown, n.ways, n.right,
	       n.fp_wrong, n.none, n.wrong);
	cs_close(&cs);
	object_close(&o);
	assert_true(n.insns > 1000);
	assert_true(n.unlike == 0 && n.unknown * 1000 < n.insns);
	/* Behind calls that never return, mostly. */
	assert_true(n.wrong * 50 < n.right && n.right > n.none);
	assert_true(n.fp_wrong * 1000 < n.right);
	return true;
}

static void executables(void **state)
{
	(void)state;
	if (!real_code("/usr/lib/x86_64-linux-gnu/libgmp.so.10"))
		skip_since("there is no libgmp.so.10");
	real_code("/usr/bin/git");
}

static struct seam_way way_of(const char *code, size_t size, bool is_32,
			      bool exact)
{
	struct text t = {(const uint8_t *)code, 0x1000, size};
	struct seam_way w;

	seam_way_begin(&w, 0x1000, is_32, exact);
	while (!w.done) {
		struct seam_x86_bytes b = at(&t, w.at.ip);

		assert_true(is_in(&t, w.at.ip));
		seam_way_next(&w, &b);
	}
	return w;
}

#define WAY(code, is_32, exact) way_of(code, sizeof(code) - 1, is_32, exact)

static void expect(struct seam_way w, uint8_t reg, int32_t cfa, uint8_t fp_kind,
		   int32_t fp)
{
	struct seam_rule rule;

	assert_int_equal(w.done, SEAM_WAY_RETURNS);
	assert_true(seam_way_rule(&w, &rule));
	assert_int_equal(rule.cfa.reg, reg);
	assert_int_equal(rule.cfa.off, cfa);
	assert_int_equal(rule.ra.kind, w.dropped ? SEAM_CFA_DEREF : SEAM_SAME);
	assert_int_equal(rule.fp.kind, fp_kind);
	if (fp_kind == SEAM_REG_DEREF)
		assert_int_equal(rule.fp.off, fp);
}

#define SP SEAM_AMD64_REG_SP
#define FP SEAM_AMD64_REG_FP

/* Before, inside and after the frame of push %rbp; mov %rsp, %rbp. */
static void frame_pointer(void **state)
{
	(void)state;
	expect(WAY("\x55\x48\x89\xe5", false, true), SP, 8, SEAM_SAME, 0);
	expect(WAY("\x48\x89\xe5", false, true), SP, 16, SEAM_REG_DEREF, 0);
	expect(WAY("\xc9\xc3", false, true), FP, 16, SEAM_REG_DEREF, 0);
	expect(WAY("\x5d\xc3", false, true), SP, 16, SEAM_REG_DEREF, 0);
	expect(WAY("\xc3", false, true), SP, 8, SEAM_SAME, 0);
	expect(WAY("\x89\xe5", true, true), SP, 8, SEAM_REG_DEREF, 0);
	expect(WAY("\xc9\xc3", true, false), FP, 8, SEAM_REG_DEREF, 0);
}

/* ret $N drops what lies behind the return address: of 32-bit functions that
 * give a struct, and of Linux's page for probes. */
static void drops(void **state)
{
	struct seam_rule rule;
	struct seam_way w = WAY("\x5b\xc2\x04\x00", true, true);

	(void)state;
	expect(w, SP, 4 + 4 + 4, SEAM_SAME, 0);
	assert_true(seam_way_rule(&w, &rule));
	assert_int_equal(rule.ra.off, -8);
	w = WAY("\x58\x41\x5b\x59\xc2\x80\x00", false, true);
	expect(w, SP, 3 * 8 + 8 + 128, SEAM_SAME, 0);
	assert_true(seam_way_rule(&w, &rule));
	assert_int_equal(rule.ra.off, -136);
	/* All of its 16 bits count. */
	expect(WAY("\xc2\xf8\xff", false, true), SP, 8 + 0xfff8, SEAM_SAME, 0);
}

/* What rbp holds survives a tail call, whose function puts it elsewhere, where
 * something else lay before. */
static void tail_calls(void **state)
{
	(void)state;
	/* pop %rbx; pop %rbp; jmp 1f; 1: push %r12; push %rbp; pop %rbp;
	 * pop %r12; ret */
	expect(WAY("\x5b\x5d\xeb\x00\x41\x54\x55\x5d\x41\x5c\xc3", false, true),
	       SP, 24, SEAM_REG_DEREF, 8);
	/* leave; jmp 1f; 1: push %r15; push %rbp; pop %rbp; pop %r15; ret */
	expect(WAY("\xc9\xeb\x00\x41\x57\x55\x5d\x41\x5f\xc3", false, true), FP,
	       16, SEAM_REG_DEREF, 0);
	/* pop %rbp; jmp 1f; 1: push %rbp; mov %rsp, %rbp */
	expect(WAY("\x5d\xeb\x00\x55\x48\x89\xe5", false, true), SP, 16,
	       SEAM_REG_DEREF, 0);
	/* push %rbp; mov $1, %ebp; push %rbp; pop %rax; pop %rbp; ret */
	expect(WAY("\x55\xbd\x01\x00\x00\x00\x55\x58\x5d\xc3", false, true), SP,
	       8, SEAM_SAME, 0);
	/* push %rax; pop %rbp; ret */
	expect(WAY("\x50\x5d\xc3", false, true), SP, 8, SEAM_REG_OFF, 0);
}

/* Behind a call that does not return, another function may begin. */
static void borders(void **state)
{
	(void)state;
	assert_int_equal(WAY("\x55\x5d\xc3", false, false).done, SEAM_WAY_LOST);
	assert_int_equal(WAY("\x0f\x1f\x00\xc3", false, false).done,
			 SEAM_WAY_LOST);
	/* The longest nop. */
	assert_int_equal(WAY("\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84"
			     "\x00\x00\x00\x00\x00\xc3",
			     false, false)
				 .done,
			 SEAM_WAY_LOST);
	assert_int_equal(WAY("\x0f\x0b\xc3", false, false).done, SEAM_WAY_LOST);
	/* ud1 2(%eax), %eax: clang's traps */
	assert_int_equal(WAY("\x67\x0f\xb9\x40\x02\xc3", false, false).done,
			 SEAM_WAY_LOST);
	/* ja 1f; ud2; 1: add $8, %rsp; ret */
	expect(WAY("\x77\x02\x0f\x0b\x48\x83\xc4\x08\xc3", false, false), SP,
	       16, SEAM_SAME, 0);
	/* mov $60, %eax; xor %edi, %edi; syscall */
	assert_int_equal(
		WAY("\xb8\x3c\x00\x00\x00\x31\xff\x0f\x05", false, false).done,
		SEAM_WAY_EXITS);
	/* 1: jmp 1b */
	assert_int_equal(WAY("\xeb\xfe", false, true).done, SEAM_WAY_LOST);
}

/* rsp moved out of all bounds: sanitizers see whether that is reckoned with. */
static void hostile(void **state)
{
	struct seam_rule rule;
	struct seam_way w;

	(void)state;
	/* add $0x7fffffff, %rsp; the same; ret */
	w = WAY("\x48\x81\xc4\xff\xff\xff\x7f\x48\x81\xc4\xff\xff\xff\x7f\xc3",
		false, true);
	assert_int_equal(w.done, SEAM_WAY_RETURNS);
	assert_false(seam_way_rule(&w, &rule));
	/* sub $-0x80000000, %rsp; pop %rbp; ret */
	w = WAY("\x48\x81\xec\x00\x00\x00\x80\x5d\xc3", false, true);
	assert_false(seam_way_rule(&w, &rule));
	/* lea 0x7fffffff(%rsp), %rsp; pop %rax; lea 0x7fffffff(%rbp), %rsp;
	 * mov 0x7fffffff(%rsp), %rbp; ret */
	w = WAY("\x48\x8d\xa4\x24\xff\xff\xff\x7f\x58"
		"\x48\x8d\xa5\xff\xff\xff\x7f"
		"\x48\x8b\xac\x24\xff\xff\xff\x7f\xc3",
		false, true);
	expect(w, FP, INT32_MIN + 7, SEAM_REG_DEREF, -2);
}

static bool behind(const char *last, size_t n)
{
	uint64_t word = 0;

	memcpy((uint8_t *)&word + 8 - n, last, n);
	return seam_x86_is_behind_call(word);
}

#define BEHIND(code) behind(code, sizeof(code) - 1)

static void calls(void **state)
{
	(void)state;
	assert_true(BEHIND("\xe8\x01\x02\x03\x04"));
	assert_true(BEHIND("\xff\xd0"));
	assert_true(BEHIND("\x41\xff\xd3"));
	assert_true(BEHIND("\xff\x50\x08"));
	assert_true(BEHIND("\xff\x14\xc3"));
	assert_true(BEHIND("\xff\x54\x24\x08"));
	assert_true(BEHIND("\xff\x15\x01\x02\x03\x04"));
	assert_true(BEHIND("\xff\x94\x24\x01\x02\x03\x04"));
	assert_true(BEHIND("\xff\x14\xc5\x01\x02\x03\x04"));
	assert_false(BEHIND("\xff\x15\x02\x03\x04"));
	assert_false(BEHIND("\xff\xe0")); /* jmp */
	assert_false(BEHIND("\xff\x50"));
	assert_false(BEHIND("\x90\x90\x90\x90\x90\x90\x90"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(executables), cmocka_unit_test(frame_pointer),
		cmocka_unit_test(drops),       cmocka_unit_test(tail_calls),
		cmocka_unit_test(borders),     cmocka_unit_test(hostile),
		cmocka_unit_test(calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
