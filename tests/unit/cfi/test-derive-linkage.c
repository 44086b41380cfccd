// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: rules derived for linkage tables without an FDE: where each
 * instruction of what linkers make has one, and what has none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "built.h"

#define SLOT "slots(%rip)"
#define NEXT "; .balign 16, 0xcc; "
#define NEXT_EVEN ".balign 32, 0xcc; "
#define HEADER "pushq " SLOT "; jmp *" SLOT NEXT
#define MOLD "endbr64; push %r11; pushq " SLOT "; jmp *" SLOT NEXT
/* With all 32 bits of what each is encoded by, as linkers do. */
#define PUSH ".byte 0x68; .long 0; "
#define JMP(to) ".byte 0xe9; .long " to " - . - 4"

/* CFA - rsp at an offset into the table; 0: no rule. */
struct at {
	int off, height;
};

static const struct {
	const char *name, *plt, *text;
	struct at at[12];
} cases[] = {
	{"lazy", /* lld */
	 HEADER "jmp *" SLOT "; " PUSH JMP("table"),
	 "",
	 {{0, 16},
	  {5, 16},
	  {6, 24},
	  {11, 24},
	  {12, 24},
	  {15, 24},
	  {16, 8},
	  {21, 8},
	  {22, 8},
	  {26, 8},
	  {27, 16},
	  {32, 0}}},
	{"of_ibt",
	 HEADER "endbr64; " PUSH ".byte 0xf2; " JMP("table") NEXT
	 "endbr64; bnd jmp *" SLOT "; nop",
	 "",
	 {{0, 16},
	  {6, 24},
	  {16, 8},
	  {20, 8},
	  {25, 16},
	  {30, 16},
	  {31, 16},
	  {32, 8},
	  {36, 8},
	  {42, 8},
	  {43, 0}}},
	{"mold",
	 MOLD "endbr64; mov $7, %r11d; jmp *" SLOT,
	 "",
	 {{0, 8},
	  {4, 8},
	  {6, 16},
	  {12, 24},
	  {17, 24},
	  {18, 0},
	  {32, 8},
	  {36, 8},
	  {42, 8},
	  {47, 8}}},
	{"of_8_bytes", /* ld, of a static program */
	 "jmp *" SLOT "; xchg %ax, %ax; jmp *" SLOT "; xchg %ax, %ax",
	 "",
	 {{0, 8}, {5, 8}, {6, 8}, {7, 8}, {8, 8}, {13, 8}, {14, 0}}},
	{"to_nowhere", /* lld, of a static program */
	 "jmp *" SLOT "; " PUSH ".byte 0xe9; .long -0x100000",
	 "",
	 {{0, 8}, {5, 8}, {6, 0}, {11, 0}}},
	{"retpoline", /* lld -z retpolineplt */
	 "pushq " SLOT "; mov " SLOT ", %r11; call 1f; 2: pause; lfence; "
	 "jmp 2b" NEXT NEXT_EVEN "1: mov %r11, (%rsp); ret" NEXT "mov " SLOT
	 ", %r11; call 1b; " JMP("2b") "; " PUSH JMP("table") NEXT,
	 "",
	 {{0, 0},
	  {6, 0},
	  {13, 0},
	  {32, 0},
	  {36, 0},
	  {48, 0},
	  {55, 0},
	  {65, 0},
	  {70, 0}}},
	/* The second leads into the first, with a word more. */
	{"two_heights",
	 MOLD PUSH JMP("table") NEXT "jmp *" SLOT,
	 "",
	 {{0, 0}, {6, 0}, {12, 0}, {32, 0}, {37, 0}, {48, 8}}},
	{"returns",
	 "ret" NEXT PUSH JMP("table"),
	 "",
	 {{0, 0}, {16, 0}, {21, 0}}},
	{"leaves", PUSH JMP("out"), "out: jmp *" SLOT, {{0, 0}, {5, 0}}},
	{"is_jumped_into",
	 HEADER PUSH JMP("table"),
	 ".cfi_startproc; jmp table + 6; .cfi_endproc",
	 {{0, 0}, {6, 0}, {16, 0}, {21, 0}}},
	{"other_push", PUSH "nop; jmp *" SLOT, "", {{0, 0}, {5, 0}}},
	{"unaligned", "nop; jmp *" SLOT, "", {{0, 0}, {1, 0}}},
	{"cut_off", ".byte 0xff, 0x25, 0", "", {{0, 0}}},
	/* What an FDE says of it is CFI's, and what is behind it is not. */
	{"has_fde",
	 ".cfi_startproc; jmp *" SLOT "; .cfi_endproc" NEXT "jmp *" SLOT,
	 "",
	 {{0, 0}, {5, 0}, {16, 8}, {21, 8}, {22, 0}}},
	/* Nothing is known of a stub that is jumped into, before its lazy part.
	 */
	{"fails_between",
	 HEADER "endbr64; mov $7, %r11d; jmp *" SLOT "; jmp *" SLOT
		"; " PUSH JMP("table"),
	 ".cfi_startproc; jmp table + 34; .cfi_endproc",
	 {{0, 16}, {16, 8}, {31, 8}, {32, 0}, {37, 0}, {38, 8}, {43, 16}}},
	/* Shorter than a stub, and where padding would be. */
	{"fde_between",
	 "jmp *" SLOT "; nop; .cfi_startproc; nop; .cfi_endproc; jmp *" SLOT,
	 "",
	 {{0, 8}, {5, 8}, {6, 0}, {7, 0}, {8, 8}, {13, 8}}},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* A library with text in .text and plt in a section of that name. */
static void build(const char *dir, const char *name, const char *plt,
		  const char *text, struct object *o)
{
	char *source, *command, path[PATH_MAX];

	assert_true(asprintf(&source,
			     ".data\nslots: .quad 0\n.text\n"
			     ".skip 64, 0xcc\n%s\n.skip 64, 0xcc\n"
			     ".section .plt, \"ax\", @progbits\n"
			     ".balign 16\ntable: %s\n",
			     text, plt) > 0);
	assert_true(write_text(dir, "code.s", source));
	assert_true(asprintf(&command,
			     "cc -shared -nostdlib -o code.so code.s && "
			     "objcopy --rename-section .plt=%s code.so",
			     name) > 0);
	assert_true(run_in(dir, command));
	free(command);
	free(source);
	snprintf(path, sizeof(path), "%s/code.so", dir);
	assert_true(object_open(path, o));
}

static bool is_as_said(const struct object *o, const struct at *at)
{
	struct seam_rule rule = {0};
	bool found = seam_derived_find(
		o->derived, symbol(o, "table") + (uint64_t)at->off, &rule);

	if (found == (at->height != 0) &&
	    (!found ||
	     (rule.cfa.kind == SEAM_REG_OFF && rule.cfa.reg == 7 &&
	      rule.cfa.off == at->height && rule.ra.kind == SEAM_SAME &&
	      rule.fp.kind == SEAM_SAME)))
		return true;
	print_message("  +%d: %d, not %d\n", at->off, found ? rule.cfa.off : 0,
		      at->height);
	return false;
}

static void test_tables(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < CASES; i++) {
		const struct at *at = cases[i].at;
		struct object o;

		build(*state, ".plt", cases[i].plt, cases[i].text, &o);
		print_message("%s\n", cases[i].name);
		assert_int_not_equal(symbol(&o, "table"), 0);
		for (size_t n = 0; n < 12 && (!n || at[n].off); n++)
			wrong += !is_as_said(&o, &at[n]);
		object_close(&o);
	}
	assert_int_equal(wrong, 0);
}

static void test_sections(void **state)
{
	static const struct {
		const char *name;
		int height;
	} sections[] = {{".plt", 8},
			{".plt.sec", 8},
			{".plt.got", 8},
			{".iplt", 8},
			{".other", 0}};

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		struct object o;

		print_message("%s\n", sections[i].name);
		build(*state, sections[i].name, "jmp *" SLOT, "", &o);
		assert_true(
			is_as_said(&o, &(struct at){0, sections[i].height}));
		object_close(&o);
	}
}

/* Rows of a table are one function in 4 KiB, without a gap. */
static void test_pieces(void **state)
{
	const struct seam_derived_row *rows;
	struct object o;
	uint64_t at;
	size_t n;

	build(*state, ".plt.sec",
	      ".rept 300; endbr64; bnd jmp *" SLOT "; .balign 16, 0xcc; .endr",
	      "", &o);
	at = symbol(&o, "table");
	rows = seam_derived_rows(o.derived, &n);
	assert_int_equal(n, 2);
	assert_int_equal(rows[0].start, at);
	assert_int_equal(rows[0].func_start, at);
	assert_int_equal(rows[0].func_end, at + 4096);
	/* The last stub's padding is behind its piece's last row. */
	assert_int_equal(rows[0].end, at + 4096 - 5);
	assert_int_equal(rows[1].start, at + 4096);
	assert_int_equal(rows[1].func_start, at + 4096);
	assert_int_equal(rows[1].func_end, at + 300 * 16);
	assert_int_equal(rows[1].end, at + 300 * 16 - 5);
	object_close(&o);
}

static int setup(void **state)
{
	*state = temp_dir();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	remove_dir(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
