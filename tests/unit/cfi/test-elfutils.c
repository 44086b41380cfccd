/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: at the start of every row of the files installed here, our
 * row says what elfutils' libdw says. A sample of the files by default;
 * SEAM_TEST_ALL=1 takes every one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/bytes.h"
#include "cfi/cfi.h"

#define SAMPLE 60
#define REG_SP 7
#define CALLEE_SAVED (1u << 3 | 1u << 6 | 0xfu << 12)

struct compare {
	Dwarf_CFI *dw;
	struct seam_cfi *cfi;
	const char *path;
	uint64_t expr_func; /* the last function that had a CFA expression */
	unsigned long rows, find_rows, exprs, differ, bad;
};

static struct {
	unsigned long files, rows, exprs, undecided;
} total;

static int difference(struct compare *c, const struct seam_cfi_row *row,
		      const char *what, int reg)
{
	if (c->differ++ < 10)
		print_error("%s: %#" PRIx64 ": %s of register %d differs\n",
			    c->path, row->start, what, reg);
	return 0;
}

static bool operand(struct seam_bytes *b, const Dwarf_Op *op)
{
	uint64_t u;
	int64_t s;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return seam_bytes_sleb(b, &s) && (uint64_t)s == op->number;
	switch (op->atom) {
	case DW_OP_plus_uconst:
	case DW_OP_constu:
		return seam_bytes_uleb(b, &u) && u == op->number;
	case DW_OP_consts:
		return seam_bytes_sleb(b, &s) && (uint64_t)s == op->number;
	case DW_OP_const1u:
	case DW_OP_deref_size:
		return seam_bytes_uint(b, 1, &u) && u == op->number;
	case DW_OP_const1s:
		return seam_bytes_sint(b, 1, &s) && (uint64_t)s == op->number;
	case DW_OP_const2u:
		return seam_bytes_uint(b, 2, &u) && u == op->number;
	case DW_OP_const2s:
		return seam_bytes_sint(b, 2, &s) && (uint64_t)s == op->number;
	case DW_OP_const4u:
		return seam_bytes_uint(b, 4, &u) && u == op->number;
	case DW_OP_const4s:
		return seam_bytes_sint(b, 4, &s) && (uint64_t)s == op->number;
	case DW_OP_const8u:
	case DW_OP_const8s:
		return seam_bytes_uint(b, 8, &u) && u == op->number;
	}
	return true;
}

/* Our bytes against their decoded operations. */
static bool same_expr(const uint8_t *expr, size_t len, const Dwarf_Op *ops,
		      size_t nops)
{
	struct seam_bytes b = {.p = expr, .end = expr + len};
	uint8_t op;

	for (size_t i = 0; i < nops; i++) {
		if (!seam_bytes_u8(&b, &op) || op != ops[i].atom ||
		    !operand(&b, &ops[i]))
			return false;
	}
	return b.p == b.end;
}

static bool same_cfa(struct compare *c, const struct seam_cfi_row *row,
		     Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nops;

	if (dwarf_frame_cfa(frame, &ops, &nops) || !nops)
		return false;
	if (row->cfa_is_expr) {
		c->exprs++;
		c->expr_func = row->func_start;
		return same_expr(row->cfa_expr, row->cfa_expr_len, ops, nops);
	}
	return nops == 1 && ops[0].atom == DW_OP_bregx &&
	       ops[0].number == row->cfa_reg &&
	       (int64_t)ops[0].number2 == row->cfa_off;
}

/* CFA + off, as libdw spells it: call_frame_cfa, plus_uconst, and a
 * stack_value if it is the value itself. */
static bool same_offset(const struct seam_cfi_reg *r, const Dwarf_Op *ops,
			size_t nops)
{
	bool is_value = r->how == SEAM_CFI_VAL_OFFSET;
	size_t i = 0;

	if (i == nops || ops[i++].atom != DW_OP_call_frame_cfa)
		return false;
	if (r->off && (i == nops || ops[i].atom != DW_OP_plus_uconst ||
		       (int64_t)ops[i++].number != r->off))
		return false;
	if (is_value && (i == nops || ops[i++].atom != DW_OP_stack_value))
		return false;
	return i == nops;
}

static bool same_value(int reg, const Dwarf_Op *mem, const Dwarf_Op *ops,
		       size_t nops)
{
	struct seam_cfi_reg cfa = {.how = SEAM_CFI_VAL_OFFSET};

	/* Unspecified: what the psABI says of each register. */
	if (reg == REG_SP)
		return same_offset(&cfa, ops, nops);
	/* libdw 0.188 takes 0 for rbx's number, which is 3. */
	if (reg == 0 || reg == 3)
		return !nops;
	if (CALLEE_SAVED & 1u << reg)
		return !nops && !ops;
	return !nops && (!ops || ops == mem);
}

static bool same_reg(struct compare *c, const struct seam_cfi_reg *r, int reg,
		     Dwarf_Frame *frame)
{
	Dwarf_Op mem[3], *ops;
	size_t nops;

	if (dwarf_frame_register(frame, reg, mem, &ops, &nops))
		return false;
	switch ((enum seam_cfi_how)r->how) {
	case SEAM_CFI_SAME:
		return same_value(reg, mem, ops, nops);
	case SEAM_CFI_UNDEFINED:
		return !nops && ops == mem;
	case SEAM_CFI_OFFSET:
	case SEAM_CFI_VAL_OFFSET:
		return same_offset(r, ops, nops);
	case SEAM_CFI_REGISTER:
		return nops == 1 && ops[0].atom == DW_OP_regx &&
		       ops[0].number == r->reg;
	case SEAM_CFI_VAL_EXPRESSION:
		if (!nops || ops[--nops].atom != DW_OP_stack_value)
			return false;
		/* fallthrough */
	case SEAM_CFI_EXPRESSION:
		c->exprs++;
		return nops && ops[0].atom == DW_OP_call_frame_cfa &&
		       same_expr(r->expr, r->expr_len, ops + 1, nops - 1);
	}
	return false;
}

static int compare_row(void *ctx, const struct seam_cfi_row *row)
{
	struct compare *c = ctx;
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool signal;

	c->rows++;
	if (dwarf_cfi_addrframe(c->dw, row->start, &frame))
		return difference(c, row, dwarf_errmsg(-1), -1);
	dwarf_frame_info(frame, &start, &end, &signal);
	/* libdw's restore_state brings back the start of the remembered row as
	 * well, so that only the end can be compared. */
	if (start > row->start || end != row->end || signal != row->signal)
		difference(c, row, "the extent", -1);
	if (!same_cfa(c, row, frame)) {
		/* libdw keeps expression and offset in one place, so that a
		 * register set after an expression gets a random offset:
		 * libgcrypt has two such functions. test-ops.c knows better. */
		if (!row->cfa_is_expr && c->expr_func == row->func_start)
			total.undecided++;
		else
			difference(c, row, "the CFA", -1);
	}
	for (int reg = 0; reg < SEAM_CFI_REGS; reg++)
		if (!same_reg(c, &row->regs[reg], reg, frame))
			difference(c, row, "the rule", reg);
	free(frame);
	return 0;
}

static bool rows_equal(const struct seam_cfi_row *a,
		       const struct seam_cfi_row *b)
{
	/* Both were assigned whole, so padding is equal too. */
	return a->start == b->start && a->end == b->end &&
	       a->func_start == b->func_start && a->cfa_reg == b->cfa_reg &&
	       a->cfa_off == b->cfa_off && a->cfa_expr == b->cfa_expr &&
	       !memcmp(a->regs, b->regs, sizeof(a->regs));
}

struct find_ctx {
	struct compare *c;
	struct seam_cfi *other;
};

/* A look-up at a row's first and last byte gives that row. */
static int find_row(void *ctx, const struct seam_cfi_row *row)
{
	struct find_ctx *f = ctx;
	struct seam_cfi_row found;

	/* Every row of a short function, some of a long one. */
	if (f->c->find_rows++ % 7)
		return 0;
	if (seam_cfi_find(f->other, row->start, &found, NULL) ||
	    !rows_equal(row, &found) ||
	    seam_cfi_find(f->other, row->end - 1, &found, NULL) ||
	    !rows_equal(row, &found))
		difference(f->c, row, "a look-up", -1);
	return 0;
}

static void on_bad(void *ctx, uint64_t start, uint64_t end,
		   const struct seam_errinfo *why)
{
	struct compare *c = ctx;

	c->bad++;
	print_error("%s: %#" PRIx64 "-%#" PRIx64 ": %s at %s+%#" PRIx64 "\n",
		    c->path, start, end, why->reason, why->where, why->offset);
}

static void compare_file(const char *path, struct seam_elf *elf)
{
	Dwarf_CFI *dw = dwarf_getcfi_elf(seam_elf_libelf(elf));
	struct compare c = {.path = path, .dw = dw};
	struct find_ctx f = {.c = &c};

	assert_int_equal(seam_cfi_open(elf, &c.cfi, NULL), 0);
	assert_int_equal(seam_cfi_open(elf, &f.other, NULL), 0);
	if (!dw)
		goto out; /* .debug_frame only */
	assert_int_equal(seam_cfi_each(c.cfi, compare_row, on_bad, &c), 0);
	assert_int_equal(seam_cfi_each(c.cfi, find_row, NULL, &f), 0);
	dwarf_cfi_end(dw);
	total.files++;
	total.rows += c.rows;
	total.exprs += c.exprs;
	if (c.differ || c.bad)
		fail_msg("%s: %lu differences, %lu bad FDEs in %lu rows", path,
			 c.differ, c.bad, c.rows);
out:
	seam_cfi_close(f.other);
	seam_cfi_close(c.cfi);
}

static void try_file(const char *path)
{
	struct seam_elf_section eh;
	struct seam_elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!seam_elf_open_fd(fd, 0, &elf, NULL)) {
		if (seam_elf_machine(elf) == EM_X86_64 &&
		    !seam_elf_section(elf, ".eh_frame", &eh) && eh.size)
			compare_file(path, elf);
		seam_elf_close(elf);
	}
	close(fd);
}

static void try_sample(const char *pattern, size_t count)
{
	const char *all = getenv("SEAM_TEST_ALL");
	char real[PATH_MAX];
	size_t every;
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return;
	every = all || g.gl_pathc < count ? 1 : g.gl_pathc / count;
	for (size_t i = 0; i < g.gl_pathc; i += every) {
		/* A symbolic link's target has its own turn. */
		if (realpath(g.gl_pathv[i], real) &&
		    (!all || !strcmp(real, g.gl_pathv[i])))
			try_file(real);
	}
	globfree(&g);
}

/* These have what others have not: signal frames, PLT expressions,
 * assembly with expressions, deep remember and restore. */
static void special_files(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/bin/python3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		try_file(paths[i]);
	assert_true(total.rows > 25000);
	assert_true(total.exprs > 100);
	assert_int_equal(total.undecided, 0);
}

static void programs(void **state)
{
	(void)state;
	try_sample("/usr/bin/*", SAMPLE / 2);
}

static void libraries(void **state)
{
	(void)state;
	try_sample("/usr/lib/x86_64-linux-gnu/*.so*", SAMPLE / 2);
}

static void compilers(void **state)
{
	(void)state;
	try_sample("/usr/lib/gcc/x86_64-linux-gnu/*/*1*", SAMPLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_files), cmocka_unit_test(programs),
		cmocka_unit_test(libraries),
		cmocka_unit_test(compilers), /* of the long form */
	};
	size_t n = sizeof(tests) / sizeof(tests[0]) - !getenv("SEAM_TEST_ALL");
	int failed =
		_cmocka_run_group_tests("cfi-elfutils", tests, n, NULL, NULL);

	printf("%lu files, %lu rows, %lu expressions, %lu undecided\n",
	       total.files, total.rows, total.exprs, total.undecided);
	return failed;
}
