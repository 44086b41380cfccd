// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: rules derived for code without CFI. Functions that have to be
 * given up, by what is in them, and the exact rows of those that are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "built.h"

/* One function in assembly; what is behind the dot names its labels. */
struct bad {
	const char *name, *text;
};

static const struct bad bads[] = {
	{"unbalanced", "push %rbx; ret"},
	{"too_far", "add $8, %rsp; ret"},
	{"ret_imm", "ret $8"},
	{"merge", "test %edi, %edi; je 1f; push %rbx; 1: xor %eax, %eax; ret"},
	{"table", "sub $8, %rsp; lea bads(%rip), %rax; jmp *(%rax,%rdi,8)"},
	{"table_leaf", "lea bads(%rip), %rax; jmp *(%rax,%rdi,8)"},
	{"table_reg", "push %rbx; lea bads(%rip), %rax; jmp *%rax"},
	{"sp_load", "mov (%rdi), %rsp; ret"},
	{"sp_mov", "mov %rdi, %rsp; ret"},
	{"sp_xchg", "xchg %rsp, %rdi; xchg %rsp, %rdi; ret"},
	{"sp_pop", "push %rsp; pop %rsp; ret"},
	{"sp_short", "sub $8, %esp; add $8, %esp; ret"},
	{"align", "push %rbp; mov %rsp, %rbp; and $-16, %rsp; leave; ret"},
	{"alloca", "push %rbp; mov %rsp, %rbp; sub %rdi, %rsp; leave; ret"},
	{"lea_index", "lea (%rsp,%rdi), %rsp; ret"},
	{"fp_unsaved", "xor %ebp, %ebp; ret"},
	{"fp_kept", "push %rbp; mov %rdi, %rbp; add $8, %rsp; ret"},
	{"fp_other", "push %rbp; mov %rdi, %rbp; leave; ret"},
	{"fp_moved", "push %rbp; mov %rsp, %rbp; add $8, %rbp; leave; ret"},
	{"fp_wrong", "push %rbp; push %rbx; mov %rdi, %rbp; pop %rbp; "
		     "pop %rbx; ret"},
	{"fp_below", "push %rbp; mov %rsp, %rbp; add $8, %rsp; nop; "
		     "sub $8, %rsp; pop %rbp; ret"},
	{"fp_low", "push %rbp; mov $1, %bpl; add $8, %rsp; ret"},
	{"thunk", "call 1f; 2: pause; jmp 2b; 1: mov %rdi, (%rsp); ret"},
	{"getpc", "call 1f; 1: pop %rax; ret"},
	{"ra_store", "mov %rdi, (%rsp); ret"},
	{"ra_half", "movl $1, 4(%rsp); ret"},
	{"ra_vector", "sub $8, %rsp; movups %xmm0, (%rsp); add $8, %rsp; ret"},
	{"ra_by_fp", "push %rbp; mov %rsp, %rbp; mov %rdi, 8(%rbp); pop %rbp; "
		     "ret"},
	{"fp_store", "push %rbp; mov %rdi, (%rsp); pop %rbp; ret"},
	{"index_store", "sub $24, %rsp; mov %al, (%rsp,%rdi); add $24, %rsp; "
			"ret"},
	{"ra_push", "push %rdi; ret"},
	{"tail_high", "push %rbx; jmp good"},
	{"tail_fp", "push %rbp; mov %rdi, %rbp; pop %rax; jmp good"},
	{"system", "mov $15, %eax; syscall; ret"},
	{"trap", "int3; ret"},
	{"far", "lretl"},
	{"invalid", ".byte 0x06; ret"},
	{"endless", ".fill 5000, 1, 0x90; ret"},
	{"short_push", "pushw $1; popw %ax; ret"},
	{"pushw", "pushw $1; 1: jmp 1b"},
	{"fp_gone", "xor %ebp, %ebp; 1: jmp 1b"},
	{"fp_dead", "push %rbp; mov %rdi, %rbp; pop %rax; 1: jmp 1b"},
	{"enter", "enter $8, $0; leave; ret"},
	{"flags", "pushf; ret"},
	{"calls_bad", "sub $8, %rsp; call unbalanced; add $8, %rsp; ret"},
	{"tail_bad", "jmp unbalanced"},
	{"calls_tail", "sub $8, %rsp; call tail_bad; add $8, %rsp; ret"},
	{"inside", "sub $8, %rsp; jmp 1f + 2; 1: mov $0xc308c483, %eax; "
		   "add $8, %rsp; ret; jmp 1b"},
	{"middle", "push %rbx; 1: .globl middle_in; middle_in: nop; pop %rbx; "
		   "ret"},
	{"near", "push %rbx; near_in: nop; pop %rbx; ret"},
	{"overlap", "sub $8, %rsp; test %edi, %edi; je 1f; add $8, %rsp; ret; "
		    ".globl overlap_in; .type overlap_in, @function; "
		    "overlap_in: 1: add $8, %rsp; ret"},
	{"loops", "1: push %rbx; jmp 1b"},
	{"xsave", "sub $8, %rsp; xsave (%rsp); add $8, %rsp; ret"},
};

static const char goods[] =
	"good: ret\n"
	".globl tail, crt, frame, leaver, noreturn, args, moves, recurse\n"
	".type tail, @function\n"
	"tail: jmp good\n"
	".size tail, . - tail\n"
	".type crt, @function\n"
	"crt: endbr64; cmpb $0, bads(%rip); jne 1f; push %rbp\n"
	" mov %rsp, %rbp; call tail; pop %rbp; ret; 1: ret\n"
	".size crt, . - crt\n"
	".type leaver, @function\n"
	"leaver: push %rbp; lea -16(%rsp), %rbp; push %rbx; sub $0x100, %rsp\n"
	" lea 16(%rbp), %rsp; pop %rbp; ret\n"
	".size leaver, . - leaver\n"
	".type noreturn, @function\n"
	"noreturn: sub $24, %rsp; call *bads(%rip)\n"
	".size noreturn, . - noreturn\n"
	".type args, @function\n"
	"args: push $1; push %rsp; pushq (%rdi); call good; add $24, %rsp; "
	"mov %rax, 8(%rsp); pushf; popf; rep ret\n"
	".size args, . - args\n"
	".type moves, @function\n"
	"moves: push %rbp; push %rbx; mov %rdi, %rbp; movups %xmm0, -24(%rsp)\n"
	" pop %rbx; pop %rbp; notrack jmp *%rax\n"
	".size moves, . - moves\n"
	".type recurse, @function\n"
	"recurse: sub $8, %rsp; call recurse; add $8, %rsp; ret\n"
	".size recurse, . - recurse\n"
	/* Jumps from code with an FDE. */
	".skip 400, 0x90\n"
	".globl fde; .type fde, @function\n"
	"fde: .cfi_startproc; test %edi, %edi; je 1f; jmp middle_in + 0\n"
	" 1: jmp tail; .cfi_endproc\n"
	".size fde, . - fde\n"
	".skip 400, 0x90\n";

/* System calls behind an FDE's end; what is before them, and whether that
 * leaves a rule for it. */
static const struct tail {
	const char *name, *text;
	int height, fp; /* 0: no rule */
} tails[] = {
	{"clone", "mov $435, %eax", 8, 0},
	{"clone_jump", "test %edi, %edi; je 1f; mov $1, %eax; 1: nop", 8, 0},
	{"saved",
	 "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset 6, -16; "
	 "mov %rdi, %rbp; nop",
	 16, -16},
	{"jumps", "jmp good", 0, 0},
	{"returns", "ret", 0, 0},
	{"branches", "test %edi, %edi; je good", 0, 0},
	{"calls", "call good", 0, 0},
	{"traps", "ud2", 0, 0},
	{"half", "mov $435, %eax; .byte 0xb8", 0, 0},
	{"pushes", "mov $1, %eax; push %rdi", 0, 0},
	{"stores", "mov %rdi, (%rsp)", 0, 0},
	{"by_fp", "push %rbp; mov %rsp, %rbp; .cfi_def_cfa 6, 16; nop", 0, 0},
	{"fp_lies", ".cfi_offset 6, -16; nop", 0, 0},
	{"fp_in_reg", ".cfi_register 6, 3; nop", 0, 0},
	{"ra_in_reg", ".cfi_register 16, 3; nop", 0, 0},
	{"ra_elsewhere", ".cfi_offset 16, -16; nop", 0, 0},
	{"signals", ".cfi_signal_frame; nop", 0, 0},
	{"jumped", "jmp jumped_end; nop", 0, 0},
	{"called", "nop", 0, 0},
};

/* What is between two FDEs, behind a last instruction. */
static const struct pad {
	const char *name, *text, *filler;
	int height, fp; /* 0: no rule */
} pads[] = {
	{"pad", "cmp %rdx, %rcx; jb good", ".nops 21", 8, 0},
	{"pad_one", "cmp %rdx, %rcx; jb 1f; 1: jb 1b", "nop", 8, 0},
	{"pad_old", "cmp %rdx, %rcx; jne good",
	 "xchg %ax, %ax; .byte 0x66; nop", 8, 0},
	/* What it runs into is a function's beginning, jumped over or not. */
	{"pad_other", "push %rbp; mov %rsp, %rbp; .cfi_def_cfa 6, 16; jb good",
	 ".nops 8", 8, 0},
	{"pad_jumped", "jb good; jmp pad_jumped_at + 1; jb good",
	 "nop; nop; nop", 8, 0},
	{"pad_traps", "cmp %rdx, %rcx; jb good", "int3; int3", 0, 0},
	{"pad_code", "cmp %rdx, %rcx; jb good", "nop; xor %eax, %eax", 0, 0},
	{"pad_long", "cmp %rdx, %rcx; jb good", ".nops 64", 0, 0},
	{"pad_behind_jump", "cmp %rdx, %rcx; jmp good", ".nops 8", 0, 0},
	{"pad_behind_ret", "cmp %rdx, %rcx; jb good; ret", ".nops 8", 0, 0},
	{"pad_behind_call", "cmp %rdx, %rcx; call good", ".nops 8", 0, 0},
};

static void write_pads(FILE *f)
{
	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++)
		fprintf(f,
			".cfi_startproc; %s\n.cfi_endproc\n"
			".globl %s_at; %s_at: %s\n"
			".cfi_startproc; ret; .cfi_endproc\n"
			".skip 200, 0xcc\n",
			pads[i].text, pads[i].name, pads[i].name,
			pads[i].filler);
}

static void write_tails(FILE *f)
{
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		fprintf(f,
			".cfi_startproc; %s\n.cfi_endproc\n"
			".globl %s_end; %s_end: syscall\n"
			"test %%rax, %%rax; jl 1f; je 1f; ret; 1: ud2\n"
			".skip 200, 0xcc\n",
			tails[i].text, tails[i].name, tails[i].name);
	fprintf(f, ".globl calls_tail_end; .type calls_tail_end, @function\n"
		   "calls_tail_end: sub $8, %%rsp; call called_end\n"
		   " add $8, %%rsp; ret; .skip 200, 0xcc\n");
}

/* What is behind such a system call: what has a rule for whoever's rax is not
 * 0, and what has none. */
static const struct fork {
	const char *name, *known, *rest;
} forks[] = {
	{"as_clone", "test %rax, %rax; jl good; je orphan; ret", ""},
	{"near", "test %rax, %rax; js good; je near_child; ret",
	 "ud2; .cfi_startproc; .cfi_undefined 16; near_child: ud2; "
	 ".cfi_endproc"},
	{"alone", "test %rax, %rax; je orphan", "ud2"},
	{"runs_on", "test %rax, %rax; je orphan", "add $8, %rsp; ret"},
	{"other_reg", "", "test %rdi, %rdi; je orphan; ret"},
	{"half_reg", "", "test %al, %al; nop; je orphan; ret"},
	{"untested", "", "je orphan; ret"},
	{"other_way", "", "test %rax, %rax; jne good; je orphan; ret"},
	{"pushes_rax", "", "test %rax, %rax; push %rax; je orphan; ret"},
	{"has_caller", "", "test %rax, %rax; je fde; ret"},
	{"no_fde", "", "test %rax, %rax; je good; ret"},
	{"no_child", "", "test %rax, %rax; jl good; ret"},
	{"entered", "",
	 "test %rax, %rax; 1: je orphan; ret; .skip 8, 0xcc; "
	 "xor %eax, %eax; jmp 1b"},
};

static void write_forks(FILE *f)
{
	fprintf(f, ".cfi_startproc; .cfi_undefined 16\n"
		   "orphan: xor %%ebp, %%ebp; ud2\n.cfi_endproc\n");
	for (size_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++) {
		const char *name = forks[i].name;

		fprintf(f,
			".cfi_startproc; mov $435, %%eax\n.cfi_endproc\n"
			"syscall; .globl %s_fork, %s_known\n"
			"%s_fork: %s\n%s_known: %s\n.skip 200, 0xcc\n",
			name, name, name, forks[i].known, name, forks[i].rest);
	}
}

static void write_source(const char *dir)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/code.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, ".text\n.data\nbads: .quad 0\n.text\n");
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
		fprintf(f,
			".globl %s\n.type %s, @function\n%s: %s\n"
			".size %s, . - %s\n",
			bads[i].name, bads[i].name, bads[i].name, bads[i].text,
			bads[i].name, bads[i].name);
	fprintf(f, "%s", goods);
	write_tails(f);
	write_pads(f);
	write_forks(f);
	/* The last one: it runs into code with an FDE. */
	fprintf(f, ".globl falls; .type falls, @function\nfalls: nop; nop\n"
		   ".type after, @function\nafter: .cfi_startproc\n"
		   " nop; ret; .cfi_endproc\n"
		   ".globl hop; hop: .cfi_startproc; jmp hop_in; .cfi_endproc\n"
		   ".globl hopped; .type hopped, @function\n"
		   "hopped: push %%rbx; hop_in: pop %%rbx; ret\n");
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	static struct object o;
	char *dir = temp_dir(), path[PATH_MAX];
	bool ok;

	if (!dir)
		return -1;
	write_source(dir);
	ok = run_in(dir, "cc -shared -nostdlib -Wl,-Bsymbolic -Wl,--build-id "
			 "-o code.so code.s");
	snprintf(path, sizeof(path), "%s/code.so", dir);
	ok = ok && object_open(path, &o);
	remove_dir(dir);
	*state = &o;
	return ok ? 0 : -1;
}

static int teardown(void **state)
{
	object_close(*state);
	return 0;
}

static void test_given_up(void **state)
{
	const struct object *o = *state;
	struct seam_rule rule;
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		uint64_t at = symbol(o, bads[i].name);

		assert_int_not_equal(at, 0);
		/* "near" is the one that nothing is wrong with. */
		if (seam_derived_find(o->derived, at, &rule) ==
		    !strcmp(bads[i].name, "near"))
			continue;
		print_message("%s has %s\n", bads[i].name,
			      strcmp(bads[i].name, "near") ? "rules"
							   : "no rules");
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_false(seam_derived_find(o->derived, symbol(o, "falls"), &rule));
	assert_false(seam_derived_find(o->derived, symbol(o, "hopped"), &rule));
	assert_false(seam_derived_find(o->derived, symbol(o, "fde"), &rule));
	assert_false(seam_derived_find(NULL, symbol(o, "tail"), &rule));
}

struct row {
	uint32_t start, end;
	int32_t height, fp;
};

static void expect(const struct object *o, const char *name,
		   const struct row *want, size_t n)
{
	const struct seam_derived_row *rows;
	uint64_t at = symbol(o, name);
	size_t count, have = 0;

	rows = seam_derived_rows(o->derived, &count);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].func_start != at)
			continue;
		print_message("%s %#x-%#x %d %d\n", name,
			      (unsigned int)(rows[i].start - at),
			      (unsigned int)(rows[i].end - at),
			      rows[i].rule.cfa.off, rows[i].rule.fp.off);
		assert_true(have < n);
		assert_int_equal(rows[i].start - at, want[have].start);
		assert_int_equal(rows[i].end - at, want[have].end);
		assert_int_equal(rows[i].rule.cfa.off, want[have].height);
		assert_int_equal(rows[i].rule.cfa.kind, SEAM_REG_OFF);
		assert_int_equal(rows[i].rule.cfa.reg, 7);
		assert_int_equal(rows[i].rule.fp.off, want[have].fp);
		assert_int_equal(rows[i].rule.fp.kind,
				 want[have].fp ? SEAM_CFA_DEREF : SEAM_SAME);
		assert_int_equal(rows[i].rule.ra.kind, SEAM_SAME);
		have++;
	}
	assert_int_equal(have, n);
}

#define EXPECT(o, name, ...)                                                   \
	expect(o, name, (const struct row[]){__VA_ARGS__},                     \
	       sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

static void test_rows(void **state)
{
	const struct object *o = *state;

	EXPECT(o, "tail", {0, 2, 8, 0});
	EXPECT(o, "crt", {0, 14, 8, 0}, {14, 23, 16, -16}, {23, 25, 8, 0});
	EXPECT(o, "leaver", {0, 1, 8, 0}, {1, 7, 16, -16}, {7, 14, 24, -16},
	       {14, 18, 280, -16}, {18, 19, 16, -16}, {19, 20, 8, 0});
	EXPECT(o, "noreturn", {0, 4, 8, 0}, {4, 10, 32, 0});
}

static void test_tails(void **state)
{
	const struct object *o = *state;
	struct seam_rule rule;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		const struct tail *t = &tails[i];
		char name[64];
		uint64_t at;
		bool found;

		snprintf(name, sizeof(name), "%s_end", t->name);
		at = symbol(o, name);
		assert_int_not_equal(at, 0);
		found = seam_derived_find(o->derived, at, &rule);
		print_message("%s: %s\n", name, found ? "a rule" : "none");
		assert_int_equal(found, t->height != 0);
		assert_false(seam_derived_find(o->derived, at - 1, &rule));
		/* The child may stand there. */
		assert_false(seam_derived_find(o->derived, at + 2, &rule));
		if (!found)
			continue;
		assert_true(seam_derived_find(o->derived, at + 1, &rule));
		assert_int_equal(rule.cfa.off, t->height);
		assert_int_equal(rule.fp.off, t->fp);
	}
	/* It need not come back as a function does. */
	assert_false(seam_derived_find(o->derived, symbol(o, "calls_tail_end"),
				       &rule));
}

static void test_padding(void **state)
{
	const struct object *o = *state;
	struct seam_rule rule;

	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		const struct pad *p = &pads[i];
		char name[64];
		uint64_t at;
		bool found;

		snprintf(name, sizeof(name), "%s_at", p->name);
		at = symbol(o, name);
		assert_int_not_equal(at, 0);
		found = seam_derived_find(o->derived, at, &rule);
		print_message("%s: %s\n", name, found ? "a rule" : "none");
		assert_int_equal(found, p->height != 0);
		assert_false(seam_derived_find(o->derived, at - 1, &rule));
		if (!found)
			continue;
		assert_true(seam_derived_find(o->derived, at, &rule));
		assert_int_equal(rule.cfa.off, p->height);
		assert_int_equal(rule.fp.off, p->fp);
	}
	/* To its very end, and no further. */
	for (uint64_t in = 0; in < 22; in++)
		assert_int_equal(seam_derived_find(o->derived,
						   symbol(o, "pad_at") + in,
						   &rule),
				 in < 21);
}

static void test_forks(void **state)
{
	const struct object *o = *state;
	struct seam_rule rule;

	for (size_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++) {
		char name[64], known[64];
		uint64_t at, end;

		snprintf(name, sizeof(name), "%s_fork", forks[i].name);
		snprintf(known, sizeof(known), "%s_known", forks[i].name);
		at = symbol(o, name);
		end = symbol(o, known);
		print_message("%s: %d bytes\n", name, (int)(end - at));
		assert_true(at && at <= end);
		assert_false(
			seam_derived_find_forked(o->derived, at - 1, &rule));
		assert_false(seam_derived_find_forked(o->derived, end, &rule));
		for (; at < end; at++) {
			assert_true(seam_derived_find_forked(o->derived, at,
							     &rule));
			assert_int_equal(rule.cfa.off, 8);
			assert_false(seam_derived_find(o->derived, at, &rule));
		}
	}
	assert_false(seam_derived_find_forked(NULL, 0, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tails), cmocka_unit_test(test_padding),
		cmocka_unit_test(test_forks), cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
