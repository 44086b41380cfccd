// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: what a table of either form holds, for images made to show
 * it: file offsets, split functions, holes, the linkage table, the entry
 * point, code outside the segments, and statistics that add up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/sframe-read.h"
#include "sframe/verify.h"
#include "table/table.h"
#include "tests/unit/table/image.h"

#define CODE (IMAGE_SVMA + 0x1000)
#define OPS(...)                                                               \
	(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define CFA_IS(off) 0x0e, (off)
#define ADVANCE(n) 0x40 | (n)

static struct image im;

struct tables {
	uint8_t *bytes[2]; /* file form, kernel form */
	struct seam_sframe sf[2];
	struct seam_table_stats stats[2];
};

static void start(uint64_t entry)
{
	image_init(&im, ET_EXEC, entry);
	image_segment(&im, 0, IMAGE_SVMA, IMAGE_SIZE, PF_R | PF_X);
}

static struct tables build(void)
{
	struct seam_sframe_limits limits = {0};
	struct seam_elf *elf;
	struct tables t;
	size_t size;

	image_finish(&im);
	assert_int_equal(seam_elf_open_mem(im.bytes, IMAGE_SIZE, &elf, NULL),
			 0);
	assert_int_equal(
		seam_table_build(elf, &t.bytes[0], &size, &t.stats[0], NULL),
		0);
	assert_int_equal(seam_sframe_verify(t.bytes[0], size, NULL, NULL), 0);
	assert_int_equal(seam_sframe_open(&t.sf[0], t.bytes[0], size), 0);
	assert_int_equal(seam_table_build_kernel(elf, &t.bytes[1], &size,
						 &t.stats[1], NULL),
			 0);
	limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
	limits.text_end = IMAGE_SIZE;
	assert_int_equal(seam_sframe_verify(t.bytes[1], size, &limits, NULL),
			 0);
	assert_int_equal(seam_sframe_open(&t.sf[1], t.bytes[1], size), 0);
	seam_elf_close(elf);
	return t;
}

static void done(struct tables *t)
{
	free(t->bytes[0]);
	free(t->bytes[1]);
}

/* Both forms say CFA = rsp + off at svma; off 0: neither has a rule. */
static void expect_cfa(const struct tables *t, uint64_t svma, int32_t off)
{
	struct seam_rule rule;

	for (int form = 0; form < 2; form++) {
		uint64_t pc = form ? svma - IMAGE_SVMA : svma;
		int err = seam_sframe_find(&t->sf[form], pc, &rule);

		if (!off) {
			assert_int_equal(err, SEAM_NO_RULE);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(rule.cfa.kind, SEAM_REG_OFF);
		assert_int_equal(rule.cfa.off, off);
	}
}

static bool kernel_outermost(const struct tables *t, uint64_t svma)
{
	struct seam_rule rule;

	return !seam_sframe_find(&t->sf[1], svma - IMAGE_SVMA, &rule) &&
	       (rule.flags & SEAM_RULE_OUTERMOST);
}

static void test_forms(void **state)
{
	struct tables t;

	(void)state;
	start(0);
	/* Not in order of addresses. */
	image_fde(&im, CODE + 0x100, 0x20, false, OPS(ADVANCE(4), CFA_IS(16)));
	image_fde(&im, CODE, 0x10, false, NULL, 0);
	t = build();
	expect_cfa(&t, CODE - 1, 0);
	expect_cfa(&t, CODE, 8);
	expect_cfa(&t, CODE + 0xf, 8);
	expect_cfa(&t, CODE + 0x10, 0);
	expect_cfa(&t, CODE + 0x103, 8);
	expect_cfa(&t, CODE + 0x104, 16);
	expect_cfa(&t, CODE + 0x120, 0);
	for (int form = 0; form < 2; form++) {
		assert_int_equal(t.stats[form].functions, 2);
		assert_int_equal(t.stats[form].rows, 3);
		assert_int_equal(t.stats[form].code_bytes, 0x30);
		assert_int_equal(t.stats[form].hole_bytes, 0);
	}
	done(&t);
}

static void test_many_rows(void **state)
{
	uint8_t ops[3 * 40];
	struct tables t;

	(void)state;
	for (int i = 0; i < 40; i++) {
		ops[3 * i] = ADVANCE(2);
		ops[3 * i + 1] = 0x0e;
		ops[3 * i + 2] = (uint8_t)(16 + 8 * (i % 8));
	}
	start(0);
	image_fde(&im, CODE, 100, false, ops, 3 * 14);
	image_fde(&im, CODE + 0x100, 100, false, ops, sizeof(ops));
	t = build();
	for (int form = 0; form < 2; form++) {
		assert_int_equal(t.stats[form].functions, 2);
		assert_int_equal(t.stats[form].rows, 15 + 41);
	}
	for (uint64_t i = 0; i < 100; i++)
		expect_cfa(&t, CODE + 0x100 + i,
			   i < 2    ? 8
			   : i < 82 ? 16 + 8 * ((int32_t)i / 2 - 1) % 64
				    : 16 + 8 * (39 % 8));
	done(&t);
}

/* A hole has no row, and what follows it has its own. */
static void test_holes(void **state)
{
	struct tables t;

	(void)state;
	start(0);
	image_fde(&im, CODE, 0x40, false,
		  OPS(ADVANCE(8), 0x0f, 2, 0x9c, 0x12, /* a CFA of nonsense */
		      ADVANCE(4), 0x0c, 7, 24, /* rsp + 24 */
		      ADVANCE(4), 0x09, 7, 0, /* rsp in rax */
		      ADVANCE(2), 0xc7, /* rsp as it was */
		      ADVANCE(1), 0x07, 6)); /* rbp undefined */
	/* Malformed: an operation that there is none of. */
	image_fde(&im, CODE + 0x40, 0x18, false, OPS(ADVANCE(8), 0x3f));
	t = build();
	expect_cfa(&t, CODE + 7, 8);
	expect_cfa(&t, CODE + 8, 0);
	expect_cfa(&t, CODE + 11, 0);
	expect_cfa(&t, CODE + 12, 24);
	expect_cfa(&t, CODE + 15, 24);
	expect_cfa(&t, CODE + 16, 0);
	expect_cfa(&t, CODE + 17, 0);
	expect_cfa(&t, CODE + 18, 24);
	expect_cfa(&t, CODE + 19, 0);
	expect_cfa(&t, CODE + 0x40, 0);
	for (int form = 0; form < 2; form++) {
		const struct seam_table_stats *s = &t.stats[form];

		assert_int_equal(s->code_bytes, 0x58);
		assert_int_equal(s->holes[SEAM_HOLE_CFA_EXPR], 4);
		assert_int_equal(s->holes[SEAM_HOLE_SP], 2);
		assert_int_equal(s->holes[SEAM_HOLE_FP], 0x40 - 19);
		assert_int_equal(s->holes[SEAM_HOLE_BAD], 0x18);
		assert_int_equal(s->holes[SEAM_HOLE_RANGE], 0);
		assert_int_equal(s->hole_bytes, 4 + 2 + 0x40 - 19 + 0x18);
		assert_int_equal(s->malformed, 1);
	}
	done(&t);
}

/* CFA = *(rsp + 152) + 8: a rule in the kernel form, a hole in a file. */
static void test_add(void **state)
{
	struct seam_rule rule;
	struct tables t;

	(void)state;
	start(0);
	image_fde(&im, CODE, 0x20, false,
		  OPS(ADVANCE(4), 0x0f, 6, 0x77, 0x98, 1, 6, 0x23, 8));
	t = build();
	assert_int_equal(t.stats[0].holes[SEAM_HOLE_CFA_EXPR], 0x1c);
	assert_int_equal(t.stats[1].hole_bytes, 0);
	assert_int_equal(seam_sframe_find(&t.sf[0], CODE + 4, &rule),
			 SEAM_NO_RULE);
	assert_int_equal(
		seam_sframe_find(&t.sf[1], CODE + 4 - IMAGE_SVMA, &rule), 0);
	assert_int_equal(rule.cfa.kind, SEAM_REG_DEREF);
	assert_int_equal(rule.cfa.off, 152);
	assert_int_equal(rule.cfa_add, 8);
	done(&t);
}

/* A linkage table wherever it starts and ends. */
static void test_plt(void **state)
{
	static const uint64_t starts[] = {CODE, CODE + 5, CODE + 13};
	static const uint32_t sizes[] = {0x40, 0x47, 3, 14, 20, 40};

	(void)state;
	for (int i = 0; i < 18; i++) {
		uint64_t from = starts[i % 3];
		uint32_t size = sizes[i / 3];
		struct tables t;

		start(0);
		image_fde(&im, from, size, false,
			  OPS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
			      0x2a, 0x33, 0x24, 0x22));
		t = build();
		expect_cfa(&t, from - 1, 0);
		for (uint64_t pc = from; pc < from + size; pc++)
			expect_cfa(&t, pc, (pc & 15) >= 11 ? 16 : 8);
		expect_cfa(&t, from + size, 0);
		assert_int_equal(t.stats[0].hole_bytes, 0);
		done(&t);
	}
}

static void test_signal(void **state)
{
	struct seam_rule rule;
	struct tables t;

	(void)state;
	start(0);
	/* Next to each other, but no one function. */
	image_fde(&im, CODE, 0x10, false, NULL, 0);
	image_fde(&im, CODE + 0x10, 0x10, true,
		  OPS(0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 7, 3, 0x77, 0xa0, 1,
		      0x10, 16, 3, 0x77, 0xa8, 1));
	t = build();
	assert_int_equal(seam_sframe_find(&t.sf[0], CODE + 0xf, &rule), 0);
	assert_int_equal(rule.flags, 0);
	assert_int_equal(seam_sframe_find(&t.sf[0], CODE + 0x10, &rule), 0);
	assert_int_equal(rule.flags, SEAM_RULE_SIGNAL);
	assert_int_equal(rule.cfa.kind, SEAM_REG_DEREF);
	assert_int_equal(rule.cfa.off, 160);
	assert_int_equal(rule.ra.kind, SEAM_REG_DEREF);
	assert_int_equal(rule.ra.off, 168);
	done(&t);
}

/* Code that no executable segment holds is no code, and a function's end that
 * none holds neither. */
static void test_outside(void **state)
{
	struct tables t;

	(void)state;
	image_init(&im, ET_EXEC, 0);
	image_segment(&im, 0, IMAGE_SVMA, 0x1000, PF_R);
	image_segment(&im, 0x1000, CODE, 0x1000, PF_R | PF_X);
	/* Reaches beyond the end of the file. */
	image_segment(&im, 0x7800, IMAGE_SVMA + 0x7800, 0x2000, PF_R | PF_X);
	image_fde(&im, IMAGE_SVMA + 0x10, 0x10, false, NULL, 0);
	image_fde(&im, CODE, 0x10, false, NULL, 0);
	image_fde(&im, CODE + 0xff8, 0x10, false, NULL, 0);
	image_fde(&im, IMAGE_SVMA + 0x7ff0, 0x10, false, NULL, 0);
	image_fde(&im, IMAGE_SVMA + 0x8000, 0x10, false, NULL, 0);
	image_fde(&im, 0x10, 0x10, false, NULL, 0);
	t = build();
	expect_cfa(&t, CODE, 8);
	expect_cfa(&t, CODE + 0xfff, 8);
	expect_cfa(&t, IMAGE_SVMA + 0x7ff0, 8);
	for (int form = 0; form < 2; form++) {
		assert_int_equal(t.stats[form].functions, 3);
		assert_int_equal(t.stats[form].outside, 4);
		assert_int_equal(t.stats[form].code_bytes, 0x28);
	}
	done(&t);
}

/* A function that goes on in a segment from elsewhere in the file. */
static void test_two_segments(void **state)
{
	struct seam_rule rule;
	struct tables t;

	(void)state;
	image_init(&im, ET_EXEC, 0);
	image_segment(&im, 0x1000, CODE, 0x1000, PF_R | PF_X);
	image_segment(&im, 0x3000, CODE + 0x1000, 0x1000, PF_R | PF_X);
	image_fde(&im, CODE + 0xff0, 0x20, false, OPS(ADVANCE(16), CFA_IS(16)));
	t = build();
	assert_int_equal(t.stats[0].functions, 1);
	assert_int_equal(t.stats[1].functions, 2);
	assert_int_equal(seam_sframe_find(&t.sf[1], 0x1fff, &rule), 0);
	assert_int_equal(rule.cfa.off, 8);
	assert_int_equal(seam_sframe_find(&t.sf[1], 0x2000, &rule),
			 SEAM_NO_RULE);
	assert_int_equal(seam_sframe_find(&t.sf[1], 0x3000, &rule), 0);
	assert_int_equal(rule.cfa.off, 16);
	assert_int_equal(seam_sframe_find(&t.sf[1], 0x3010, &rule),
			 SEAM_NO_RULE);
	done(&t);
}

/* The later start keeps the bytes, as seam_cfi_find has it. */
static void test_overlap(void **state)
{
	struct tables t;

	(void)state;
	start(0);
	image_fde(&im, CODE + 8, 0x10, false, OPS(CFA_IS(32)));
	image_fde(&im, CODE, 0x10, false, NULL, 0);
	t = build();
	expect_cfa(&t, CODE + 7, 8);
	expect_cfa(&t, CODE + 8, 32);
	expect_cfa(&t, CODE + 0x17, 32);
	assert_int_equal(t.stats[0].overlap_bytes, 8);
	done(&t);
}

static void expect_entry(uint64_t end)
{
	struct tables t = build();
	struct seam_rule rule;

	assert_int_equal(seam_sframe_find(&t.sf[0], CODE + 0x20, &rule),
			 SEAM_NO_RULE);
	assert_false(kernel_outermost(&t, CODE + 0x1f));
	for (uint64_t pc = CODE + 0x20; pc < end; pc++)
		assert_true(kernel_outermost(&t, pc));
	assert_false(kernel_outermost(&t, end));
	done(&t);
}

static void test_entry(void **state)
{
	struct tables t;

	(void)state;
	/* Up to the limit, the next function, the next symbol. */
	start(CODE + 0x20);
	image_fde(&im, CODE, 0x20, false, NULL, 0);
	expect_entry(CODE + 0x20 + SEAM_TABLE_ENTRY_MAX);
	image_fde(&im, CODE + 0x60, 0x10, false, NULL, 0);
	expect_entry(CODE + 0x60);
	image_symbol(&im, CODE + 0x30);
	image_symbol(&im, CODE + 0x20); /* the entry's own */
	expect_entry(CODE + 0x30);
	/* With CFI of its own, whatever that says, nothing is made up. */
	image_fde(&im, CODE + 0x10, 0x18, false, OPS(0x0f, 2, 0x9c, 0x12));
	t = build();
	assert_false(kernel_outermost(&t, CODE + 0x20));
	assert_false(kernel_outermost(&t, CODE + 0x28));
	done(&t);
}

/* What the kernel's table of im says of an offset into it. */
static int find_in_kernel(uint64_t at, struct seam_rule *ret_rule)
{
	struct seam_table_stats stats;
	struct seam_sframe sf = {0};
	struct seam_elf *elf;
	uint8_t *bytes;
	size_t size;
	int end;

	assert_int_equal(seam_elf_open_mem(im.bytes, IMAGE_SIZE, &elf, NULL),
			 0);
	assert_int_equal(
		seam_table_build_kernel(elf, &bytes, &size, &stats, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, size), 0);
	end = seam_sframe_find(&sf, at, ret_rule);
	free(bytes);
	seam_elf_close(elf);
	return end;
}

/* Linkers write an entry into libraries as well. */
static void test_entry_of_library(void **state)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(im.bytes + IMAGE_SHDRS);
	struct seam_rule rule;

	(void)state;
	start(CODE + 0x20);
	image_fde(&im, CODE, 0x20, false, NULL, 0);
	image_finish(&im);
	image_ehdr(&im)->e_type = ET_DYN;
	/* As ld.so, which needs nothing: real. */
	assert_int_equal(find_in_kernel(0x1020, &rule), 0);
	/* The symbol table becomes a dynamic section that needs a library. */
	sections[2].sh_type = SHT_DYNAMIC;
	sections[2].sh_size = 16;
	((Elf64_Dyn *)(im.bytes + IMAGE_SYMTAB))->d_tag = DT_NEEDED;
	assert_int_equal(find_in_kernel(0x1020, &rule), SEAM_NO_RULE);
}

/* No CFI: an entry point still is the end of the stack. */
static void test_no_cfi(void **state)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(im.bytes + IMAGE_SHDRS);
	struct seam_rule rule;
	struct seam_elf *elf;
	uint8_t *bytes;
	size_t size;

	(void)state;
	start(CODE);
	image_finish(&im);
	sections[1].sh_type = SHT_NULL;
	sections[1].sh_name = 0;
	assert_int_equal(seam_elf_open_mem(im.bytes, IMAGE_SIZE, &elf, NULL),
			 0);
	assert_int_equal(seam_table_build(elf, &bytes, &size, NULL, NULL),
			 -ENOENT);
	seam_elf_close(elf);
	assert_int_equal(find_in_kernel(0x1000, &rule), 0);
	assert_int_equal(rule.flags, SEAM_RULE_OUTERMOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_two_segments),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_entry_of_library),
		cmocka_unit_test(test_no_cfi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
