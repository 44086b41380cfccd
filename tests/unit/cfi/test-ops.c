/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: each call frame instruction, and each form of CIE and FDE,
 * gives exactly these rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image.h"
#include "rows.h"

struct op_case {
	const char *name;
	struct spec spec;
	const char *rows;
};

static const struct op_case op_cases[] = {
	{"nothing", {0}, "0-100 r7+8 16=[c-8]\n"},
	{"nop", {.fde = BYTES(0, 0, 0)}, "0-100 r7+8 16=[c-8]\n"},
	{"advance_loc",
	 {.fde = BYTES(0x41, 0x0e, 16)},
	 "0-1 r7+8 16=[c-8]\n1-100 r7+16 16=[c-8]\n"},
	{"advance_loc1",
	 {.fde = BYTES(0x02, 0x80, 0x0e, 16)},
	 "0-80 r7+8 16=[c-8]\n80-100 r7+16 16=[c-8]\n"},
	{"advance_loc2",
	 {.func_size = 0x1000, .fde = BYTES(0x03, 0x00, 0x02, 0x0e, 16)},
	 "0-200 r7+8 16=[c-8]\n200-1000 r7+16 16=[c-8]\n"},
	{"advance_loc4",
	 {.func_size = 0x20000, .fde = BYTES(0x04, 0, 0, 1, 0, 0x0e, 16)},
	 "0-10000 r7+8 16=[c-8]\n10000-20000 r7+16 16=[c-8]\n"},
	{"advance_loc8",
	 {.fde = BYTES(0x1d, 9, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16)},
	 "0-9 r7+8 16=[c-8]\n9-100 r7+16 16=[c-8]\n"},
	{"advance by the code alignment",
	 {.code_align = 4, .fde = BYTES(0x42, 0x0e, 16)},
	 "0-8 r7+8 16=[c-8]\n8-100 r7+16 16=[c-8]\n"},
	{"advance by nothing makes no row",
	 {.fde = BYTES(0x0e, 16, 0x40, 0x0e, 24, 0x02, 0, 0x0e, 32)},
	 "0-100 r7+32 16=[c-8]\n"},
	{"advance to the end makes no row",
	 {.fde = BYTES(0x03, 0x00, 0x01, 0x0e, 16)},
	 "0-100 r7+8 16=[c-8]\n"},
	{"advance beyond the end is cut",
	 {.fde = BYTES(0x03, 0x00, 0x02, 0x0e, 16, 0x41, 0x0e, 24)},
	 "0-100 r7+8 16=[c-8]\n"},
	{"set_loc",
	 {.aug = "zR",
	  .aug_data = BYTES(0x03),
	  .fde_enc = 0x03,
	  .fde = BYTES(0x01, 0x10, 0x10, 0x01, 0x00, 0x0e, 16)},
	 "0-10 r7+8 16=[c-8]\n10-100 r7+16 16=[c-8]\n"},
	{"offset",
	 {.fde = BYTES(0x83, 2, 0x86, 0x80, 0x01)},
	 "0-100 r7+8 3=[c-16] 6=[c-1024] 16=[c-8]\n"},
	{"offset_extended",
	 {.fde = BYTES(0x05, 3, 2)},
	 "0-100 r7+8 3=[c-16] 16=[c-8]\n"},
	{"offset_extended_sf",
	 {.fde = BYTES(0x11, 3, 0x7e)},
	 "0-100 r7+8 3=[c+16] 16=[c-8]\n"},
	{"GNU_negative_offset_extended",
	 {.fde = BYTES(0x2f, 3, 2)},
	 "0-100 r7+8 3=[c+16] 16=[c-8]\n"},
	{"val_offset",
	 {.fde = BYTES(0x14, 3, 2)},
	 "0-100 r7+8 3=c-16 16=[c-8]\n"},
	{"val_offset_sf",
	 {.fde = BYTES(0x15, 3, 0x7e)},
	 "0-100 r7+8 3=c+16 16=[c-8]\n"},
	{"undefined", {.fde = BYTES(0x07, 16)}, "0-100 r7+8 16=u\n"},
	{"same_value",
	 {.fde = BYTES(0x83, 2, 0x41, 0x08, 3)},
	 "0-1 r7+8 3=[c-16] 16=[c-8]\n1-100 r7+8 16=[c-8]\n"},
	{"register", {.fde = BYTES(0x09, 16, 2)}, "0-100 r7+8 16=r2\n"},
	{"register from one that is not followed",
	 {.fde = BYTES(0x09, 3, 17)},
	 "0-100 r7+8 3=r255 16=[c-8]\n"},
	{"expression",
	 {.fde = BYTES(0x10, 3, 2, 0x77, 8)},
	 "0-100 r7+8 3=[e(77 08)] 16=[c-8]\n"},
	{"val_expression",
	 {.fde = BYTES(0x16, 7, 2, 0x77, 8)},
	 "0-100 r7+8 7=e(77 08) 16=[c-8]\n"},
	{"def_cfa",
	 {.fde = BYTES(0x0c, 6, 0x80, 0x01)},
	 "0-100 r6+128 16=[c-8]\n"},
	{"def_cfa on r16 of APX",
	 {.fde = BYTES(0x0c, 0x82, 0x01, 8)},
	 "0-100 r130+8 16=[c-8]\n"},
	{"def_cfa_sf", {.fde = BYTES(0x12, 6, 0x7e)}, "0-100 r6+16 16=[c-8]\n"},
	{"def_cfa_register",
	 {.fde = BYTES(0x0e, 16, 0x0d, 6)},
	 "0-100 r6+16 16=[c-8]\n"},
	{"def_cfa_offset",
	 {.fde = BYTES(0x0e, 0x90, 0x01)},
	 "0-100 r7+144 16=[c-8]\n"},
	{"def_cfa_offset_sf",
	 {.fde = BYTES(0x13, 0x7e)},
	 "0-100 r7+16 16=[c-8]\n"},
	{"def_cfa_expression",
	 {.fde = BYTES(0x0f, 3, 0x77, 8, 0x06)},
	 "0-100 e(77 08 06) 16=[c-8]\n"},
	{"def_cfa after an expression",
	 {.fde = BYTES(0x0f, 3, 0x77, 8, 0x06, 0x41, 0x0c, 7, 8)},
	 "0-1 e(77 08 06) 16=[c-8]\n1-100 r7+8 16=[c-8]\n"},
	{"def_cfa_register after an expression keeps the old offset",
	 {.fde = BYTES(0x0e, 56, 0x0f, 3, 0x77, 8, 0x06, 0x41, 0x0d, 7)},
	 "0-1 e(77 08 06) 16=[c-8]\n1-100 r7+56 16=[c-8]\n"},
	{"def_cfa_offset under an expression",
	 {.fde = BYTES(0x0f, 2, 0x77, 8, 0x0e, 64, 0x41, 0x0d, 7)},
	 "0-1 e(77 08) 16=[c-8]\n1-100 r7+64 16=[c-8]\n"},
	{"restore",
	 {.cie = BYTES(0x0c, 7, 8, 0x90, 1, 0x83, 5),
	  .fde = BYTES(0x83, 2, 0x41, 0xc3)},
	 "0-1 r7+8 3=[c-16] 16=[c-8]\n1-100 r7+8 3=[c-40] 16=[c-8]\n"},
	{"restore_extended",
	 {.fde = BYTES(0x83, 2, 0x41, 0x06, 3)},
	 "0-1 r7+8 3=[c-16] 16=[c-8]\n1-100 r7+8 16=[c-8]\n"},
	{"remember and restore",
	 {.fde = BYTES(0x0e, 16, 0x83, 2, 0x0a, 0x41, 0x0c, 6, 8, 0xc3, 0x41,
		       0x0b)},
	 "0-1 r7+16 3=[c-16] 16=[c-8]\n1-2 r6+8 16=[c-8]\n"
	 "2-100 r7+16 3=[c-16] 16=[c-8]\n"},
	{"remember nests",
	 {.fde = BYTES(0x0a, 0x41, 0x0e, 16, 0x0a, 0x41, 0x0e, 24, 0x41, 0x0b,
		       0x41, 0x0b)},
	 "0-1 r7+8 16=[c-8]\n1-2 r7+16 16=[c-8]\n2-3 r7+24 16=[c-8]\n"
	 "3-4 r7+16 16=[c-8]\n4-100 r7+8 16=[c-8]\n"},
	{"remember without restore",
	 {.fde = BYTES(0x0a, 0x41, 0x0e, 16)},
	 "0-1 r7+8 16=[c-8]\n1-100 r7+16 16=[c-8]\n"},
	{"GNU_args_size",
	 {.fde = BYTES(0x2e, 0x90, 0x01)},
	 "0-100 r7+8 16=[c-8]\n"},
	{"vector registers are not followed",
	 {.fde = BYTES(0x91, 2, 0x05, 40, 2, 0x07, 17, 0x06, 33, 0xd1, 0x10, 50,
		       1, 0x30)},
	 "0-100 r7+8 16=[c-8]\n"},
	{"padded LEB128",
	 {.fde = BYTES(0x0e, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x80, 0x80, 0x00, 0x13, 0xfe, 0xff, 0xff, 0xff,
		       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)},
	 "0-100 r7+16 16=[c-8]\n"},
	{"signal frame",
	 {.aug = "zRS", .aug_data = BYTES(0x1b), .fde_enc = 0x1b},
	 "0-100 signal r7+8 16=[c-8]\n"},
	{"personality and LSDA",
	 {.aug = "zPLR",
	  .aug_data = BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b),
	  .fde_enc = 0x1b},
	 "0-100 r7+8 16=[c-8]\n"},
	{"aarch64 key letter",
	 {.aug = "zRB", .aug_data = BYTES(0x1b), .fde_enc = 0x1b},
	 "0-100 r7+8 16=[c-8]\n"},
	{"no augmentation", /* the whole address, as it is */
	 {.aug = "", .fde_enc = 0},
	 "0-100 r7+8 16=[c-8]\n"},
	{"version 3", {.version = 3}, "0-100 r7+8 16=[c-8]\n"},
	{"64-bit length", {.dwarf64 = true}, "0-100 r7+8 16=[c-8]\n"},
	{"udata4",
	 {.aug = "zR", .aug_data = BYTES(0x03), .fde_enc = 0x03},
	 "0-100 r7+8 16=[c-8]\n"},
	{"pcrel sdata8",
	 {.aug = "zR", .aug_data = BYTES(0x1c), .fde_enc = 0x1c},
	 "0-100 r7+8 16=[c-8]\n"},
	{"indirect", /* through IMAGE_POINTER */
	 {.aug = "zR",
	  .aug_data = BYTES(0x83),
	  .fde_enc = 0x03,
	  .fde_start = BYTES(0x80, 0x01, 0x01, 0)},
	 "0-100 r7+8 16=[c-8]\n"},
	{".debug_frame", {.debug_frame = true}, "0-100 r7+8 16=[c-8]\n"},
	{".debug_frame, 64-bit",
	 {.debug_frame = true, .dwarf64 = true},
	 "0-100 r7+8 16=[c-8]\n"},
	{".debug_frame, version 4",
	 {.debug_frame = true, .version = 4},
	 "0-100 r7+8 16=[c-8]\n"},
	{".debug_frame, version 4, addresses of 4, selectors of 2",
	 {.debug_frame = true,
	  .version = 4,
	  .address_size = 4,
	  .segment_size = 2},
	 "0-100 r7+8 16=[c-8]\n"},
};

/* What their CIEs begin with. */
#define AARCH64 .cie = BYTES(0x0c, 31, 0), .ra = 30

static const struct op_case aarch64_cases[] = {
	{"negate_ra_state",
	 {AARCH64, .fde = BYTES(0x2d, 0x44, 0x2d)},
	 "0-4 r31+0 pac1\n4-100 r31+0\n"},
	{"negate_ra_state_with_pc",
	 {AARCH64, .fde = BYTES(0x44, 0x2c, 0x44, 0x2c)},
	 "0-4 r31+0\n4-8 r31+0 pac3\n8-100 r31+0\n"},
	{"set_ra_state",
	 {AARCH64, .fde = BYTES(0x44, 0x2b, 1, 0, 0x44, 0x2b, 2, 0x78, 0x44,
				0x2b, 2, 0x80, 0x7f, 0x44, 0x2b, 0, 0x7c)},
	 "0-4 r31+0\n4-8 r31+0 pac1\n8-c r31+0 pac3\nc-10 r31+0 pac3\n"
	 "10-100 r31+0\n"},
	{"set_ra_state ends what a rule says, and is remembered",
	 {AARCH64, .fde = BYTES(0x16, 34, 1, 0x31, 0x44, 0x2b, 1, 0, 0x0a, 0x44,
				0x2b, 0, 0, 0x44, 0x0b)},
	 "0-4 r31+0 pac4\n4-8 r31+0 pac1\n8-c r31+0\nc-100 r31+0 pac1\n"},
};

static void print_bad(void *ctx, uint64_t start, uint64_t end,
		      const struct seam_errinfo *why)
{
	(void)ctx;
	(void)start;
	(void)end;
	print_error("%s at %s+%#" PRIx64 "\n", why->reason, why->where,
		    why->offset);
}

static void run_case(const struct op_case *c, struct image *im)
{
	struct seam_cfi_row row;
	struct text t = {.len = 0}, found = {.len = 0};
	struct seam_elf *elf;
	struct seam_cfi *cfi;

	assert_int_equal(seam_elf_open_mem(im->bytes, im->size, &elf, NULL), 0);
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	assert_int_equal(seam_cfi_each(cfi, add_row, print_bad, &t), 0);
	if (strcmp(t.s, c->rows))
		fail_msg("%s:\n%swanted:\n%s", c->name, t.s, c->rows);
	/* The same rows by look-up, each at its last byte and its first. */
	for (uint64_t at = IMAGE_FUNC; !seam_cfi_find(cfi, at, &row, NULL);
	     at = row.end) {
		assert_true(row.start == at);
		assert_int_equal(seam_cfi_find(cfi, row.end - 1, &row, NULL),
				 0);
		assert_true(row.start == at);
		add_row(&found, &row);
	}
	assert_string_equal(found.s, c->rows);
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

static void run_cases(const struct op_case *cases, size_t n, uint16_t machine)
{
	static struct image im;

	for (size_t i = 0; i < n; i++) {
		image_build(&im, &cases[i].spec);
		((Elf64_Ehdr *)im.bytes)->e_machine = machine;
		run_case(&cases[i], &im);
	}
}

static void each_op(void **state)
{
	(void)state;
	run_cases(op_cases, sizeof(op_cases) / sizeof(*op_cases), EM_X86_64);
}

static void aarch64_ops(void **state)
{
	(void)state;
	run_cases(aarch64_cases, sizeof(aarch64_cases) / sizeof(*aarch64_cases),
		  EM_AARCH64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_op),
		cmocka_unit_test(aarch64_ops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
