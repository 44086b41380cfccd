// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: known-bad.def's entries are found where their instructions are
 * and the CFI says what they claim, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../cfi/built.h"
#include "sframe/known-bad.h"

/* RBP at *(RBP), the CFA as it is: as GCC says it of a realigned function. */
#define STALE ".cfi_escape 0x10, 6, 2, 0x76, 0; "
#define REALIGN "lea -8(%r10), %rsp; ret; "
#define RETURN "mov %rcx, %rsp; pop %rcx; jmp *%rcx; "
#define JUMP                                                                   \
	"mov (%rdi), %rbx; mov 16(%rdi), %r12; mov 24(%rdi), %r13; "           \
	"mov 32(%rdi), %r14; mov 40(%rdi), %r15; mov %esi, %eax; "             \
	"mov %r8, %rsp; mov %r9, %rbp; jmp *%rdx; "

static const struct {
	const char *name, *text;
	const char *bad; /* NULL: none */
	int from, to; /* in it */
} cases[] = {
	{"stale", STALE "nop; " REALIGN "nop", "REALIGN", 1, 6},
	{"mended", STALE "nop; .cfi_restore 6; " REALIGN, NULL, 0, 0},
	{"half_mended", STALE "lea -8(%r10), %rsp; .cfi_restore 6; ret",
	 "REALIGN", 0, 4},
	{"other", STALE "lea -16(%r10), %rsp; ret", NULL, 0, 0},
	/* `nop` 200 times: not all of it leads there. */
	{"leaves",
	 ".cfi_offset 6, -16; .cfi_def_cfa 6, 16; .skip 200, 0x90; " RETURN
	 "nop",
	 "EH_RETURN", 72, 206},
	{"jumps", ".cfi_def_cfa 2, 8; " RETURN "nop", "EH_JUMP", 0, 6},
	{"clones",
	 "nop; .cfi_endproc; syscall; test %rax, %rax; jl 1f; je 1f; "
	 "ret; 1: nop; .cfi_startproc",
	 "CLONE", 3, 11},
	{"told", "nop; syscall; test %rax, %rax; jl 1f; je 1f; ret; 1: nop",
	 NULL, 0, 0},
	{"longjmp", ".cfi_def_cfa 5, 0; " JUMP, NULL, 0, 0},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

struct found {
	const char *name[32];
	uint64_t start[32], end[32];
	size_t n;
};

static int note(void *ctx, const struct seam_known_bad *bad, uint64_t start,
		uint64_t end)
{
	struct found *found = ctx;

	assert_true(found->n < 32);
	found->name[found->n] = bad->name;
	found->start[found->n] = start;
	found->end[found->n++] = end;
	return 0;
}

static int setup(void **state)
{
	static struct object o;
	char *dir = temp_dir(), path[PATH_MAX];
	FILE *f;
	bool ok;

	if (!dir)
		return -1;
	snprintf(path, sizeof(path), "%s/code.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, ".text\n");
	for (size_t i = 0; i < CASES; i++)
		fprintf(f,
			".globl %s; .type %s, @function\n.p2align 8, 0xcc\n"
			"%s: .cfi_startproc; %s\n.cfi_endproc\n",
			cases[i].name, cases[i].name, cases[i].name,
			cases[i].text);
	/* The last bytes are the beginning of an entry's code. */
	fprintf(f, ".byte 0x49, 0x8d, 0x62\n");
	assert_int_equal(fclose(f), 0);
	ok = run_in(dir, "cc -shared -nostdlib -o code.so code.s");
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

static bool is_note(const struct found *found, const char *name, uint64_t start,
		    uint64_t end)
{
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->name[i], name) && found->start[i] == start &&
		    found->end[i] == end)
			return true;
	return false;
}

static void test_each(void **state)
{
	struct object *o = *state;
	struct found found = {.n = 0};
	size_t expected = 0;

	assert_int_equal(
		seam_known_bad_each(o->elf, o->cfi, "/x/code.so", note, &found),
		0);
	for (size_t i = 0; i < found.n; i++)
		print_message("%s %#" PRIx64 "-%#" PRIx64 "\n", found.name[i],
			      found.start[i], found.end[i]);
	for (size_t i = 0; i < CASES; i++) {
		uint64_t at = symbol(o, cases[i].name);

		assert_int_not_equal(at, 0);
		if (!cases[i].bad)
			continue;
		expected++;
		print_message("%s\n", cases[i].name);
		assert_true(is_note(&found, cases[i].bad, at + cases[i].from,
				    at + cases[i].to));
	}
	assert_int_equal(found.n, expected);
}

static void test_at(void **state)
{
	struct object *o = *state;

	for (size_t i = 0; i < CASES; i++) {
		uint64_t at = symbol(o, cases[i].name);

		for (int in = 0; in < 220; in++) {
			const struct seam_known_bad *bad = seam_known_bad_at(
				o->elf, o->cfi, "code.so", at + in);
			bool is_bad = cases[i].bad && in >= cases[i].from &&
				      in < cases[i].to;

			assert_int_equal(bad != NULL, is_bad);
			if (bad)
				assert_string_equal(bad->name, cases[i].bad);
		}
	}
	assert_null(seam_known_bad_at(o->elf, o->cfi, "code.so", UINT64_MAX));
}

/* An entry may be of some files only. */
static void test_files(void **state)
{
	struct object *o = *state;
	uint64_t at = symbol(o, "longjmp");
	const struct seam_known_bad *bad;

	bad = seam_known_bad_at(o->elf, o->cfi, "/lib/libc.so.6", at);
	assert_non_null(bad);
	assert_string_equal(bad->name, "LONGJMP");
	assert_non_null(
		seam_known_bad_at(o->elf, o->cfi, "libc.so.6", at + 28));
	assert_null(seam_known_bad_at(o->elf, o->cfi, "libc.so.6", at + 29));
	assert_null(seam_known_bad_at(o->elf, o->cfi, "/libc.so.6/xlibc", at));
}

/* A listed entry is well-formed: what reads the code trusts it. */
static void test_list(void **state)
{
	const struct seam_known_bad *all;
	size_t count;

	(void)state;
	all = seam_known_bad_all(&count);
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(all[i].code);

		assert_true(all[i].from < all[i].to);
		assert_int_equal(len % 3, 2);
		assert_true((len + 1) / 3 <= 64);
		assert_true(all[i].to <= (int)(len + 1) / 3);
		assert_int_not_equal(all[i].code[0], '?');
		assert_int_equal(strspn(all[i].code, "0123456789abcdef? "),
				 len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_at),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
