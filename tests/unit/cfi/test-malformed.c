/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: malformed CFI is refused with the one right reason, gives no
 * row, and does not take the FDEs beside it along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "core/err.h"
#include "image.h"
#include "rows.h"

struct bad_case {
	const char *name;
	int code;
	struct spec spec;
};

static const struct bad_case bad_cases[] = {
	{"operation 0x17", SEAM_CFI_BAD_OP, {.fde = BYTES(0x17)}},
	{"operation 0x1c", SEAM_CFI_BAD_OP, {.fde = BYTES(0x1c)}},
	{"GNU_window_save", SEAM_CFI_BAD_OP, {.fde = BYTES(0x2d)}},
	{"AARCH64_set_ra_state on x86-64",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x2b, 1, 0)}},
	{"operation 0x3f", SEAM_CFI_BAD_OP, {.fde = BYTES(0x3f)}},
	{"bad operation after good rows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x3f)}},
	{"advance_loc1 is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x02)}},
	{"advance_loc2 is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x03, 1)}},
	{"advance_loc4 is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x04, 1, 1, 1)}},
	{"set_loc is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x01, 1, 1, 1)}},
	{"set_loc backwards",
	 SEAM_CFI_BAD_OP,
	 {.aug = "zR",
	  .aug_data = BYTES(0x03),
	  .fde_enc = 0x03,
	  .fde = BYTES(0x01, 0xff, 0x0f, 0x01, 0x00)}},
	{"offset is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x83)}},
	{"offset ends in a LEB128", SEAM_CFI_SHORT, {.fde = BYTES(0x83, 0x80)}},
	{"offset_extended is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x05, 3)}},
	{"register is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x09, 3)}},
	{"def_cfa is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x0c, 7)}},
	{"def_cfa_sf is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x12, 7)}},
	{"undefined is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x07)}},
	{"def_cfa_register is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x0d)}},
	{"def_cfa_offset is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x0e)}},
	{"def_cfa_offset_sf is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x13)}},
	{"same_value is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x08)}},
	{"offset_extended_sf is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x11, 3)}},
	{"val_offset is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x14, 3)}},
	{"val_offset_sf is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x15, 3)}},
	{"GNU_negative_offset_extended is cut",
	 SEAM_CFI_SHORT,
	 {.fde = BYTES(0x2f, 3)}},
	{"GNU_args_size is cut", SEAM_CFI_SHORT, {.fde = BYTES(0x2e)}},
	{"an expression is longer than the FDE",
	 SEAM_CFI_SHORT,
	 {.fde = BYTES(0x0f, 3, 0x77, 8)}},
	{"a rule's expression is longer than the FDE",
	 SEAM_CFI_SHORT,
	 {.fde = BYTES(0x10, 3, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x77, 8)}},
	{"LEB128 over 64 bits",
	 SEAM_CFI_SHORT,
	 {.fde = BYTES(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		       0xff, 0x02)}},
	{"an offset of 2^63",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x01)}},
	{"a factored offset overflows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x40)}},
	{"a factor of 2^63",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x01)}},
	{"a negative offset's factor of 2^63",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x2f, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x01)}},
	{"a signed factored offset overflows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x11, 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x7f)}},
	{"a signed factored CFA offset overflows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x13, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x7f)}},
	{"a signed factored CFA overflows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x12, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0x7f)}},
	{"the location overflows",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)}},
	{"the location overflows in the code alignment",
	 SEAM_CFI_BAD_OP,
	 {.code_align = 16, .fde = BYTES(0x1d, 0, 0, 0, 0, 0, 0, 0, 0x80)}},
	{"restore_state of nothing", SEAM_CFI_STATE, {.fde = BYTES(0x0b)}},
	{"restore_state once too often",
	 SEAM_CFI_STATE,
	 {.fde = BYTES(0x0a, 0x41, 0x0b, 0x41, 0x0b)}},
	{"65 remembered states",
	 SEAM_CFI_STATE,
	 {.fde = BYTES(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
		       10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
		       10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
		       10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
		       10, 10, 10, 10, 10, 10, 10, 10, 10)}},
	{"the CFA by register 17",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x0c, 17, 8)}},
	{"the CFA by register 256",
	 SEAM_CFI_BAD_OP,
	 {.fde = BYTES(0x0d, 0x80, 0x02)}},
	{"no CFA", SEAM_CFI_BAD_OP, {.cie = BYTES(0x90, 1)}},
	{"half a CFA",
	 SEAM_CFI_BAD_OP,
	 {.cie = BYTES(0x90, 1), .fde = BYTES(0x0e, 8)}},
	{"the other half",
	 SEAM_CFI_BAD_OP,
	 {.cie = BYTES(0x90, 1), .fde = BYTES(0x0d, 7)}},
	{"the CIE restores",
	 SEAM_CFI_BAD_OP,
	 {.cie = BYTES(0x0c, 7, 8, 0x90, 1, 0xd0)}},
	{"the CIE moves",
	 SEAM_CFI_BAD_OP,
	 {.cie = BYTES(0x0c, 7, 8, 0x90, 1, 0x41)}},
	{"the CIE's instructions are cut",
	 SEAM_CFI_SHORT,
	 {.cie = BYTES(0x0c, 7)}},
	{"version 2", SEAM_CFI_BAD_CIE, {.version = 2}},
	{"version 5", SEAM_CFI_BAD_CIE, {.version = 5}},
	{"augmentation eh", SEAM_CFI_BAD_CIE, {.aug = "eh", .fde_enc = 0}},
	{"augmentation zRX",
	 SEAM_CFI_BAD_CIE,
	 {.aug = "zRX", .aug_data = BYTES(0x1b), .fde_enc = 0x1b}},
	{"augmentation data is too short",
	 SEAM_CFI_BAD_CIE,
	 {.aug = "zPR", .aug_data = BYTES(0x9b, 1, 2, 3), .fde_enc = 0x1b}},
	{"unknown personality encoding",
	 SEAM_CFI_BAD_CIE,
	 {.aug = "zPR",
	  .aug_data = BYTES(0x0e, 1, 2, 3, 4, 0x1b),
	  .fde_enc = 0x1b}},
	{"addresses of 3",
	 SEAM_CFI_BAD_CIE,
	 {.debug_frame = true, .version = 4, .address_size = 3}},
	{"selectors of 9",
	 SEAM_CFI_BAD_CIE,
	 {.debug_frame = true, .version = 4, .segment_size = 9}},
	{"pointer format 5",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR", .aug_data = BYTES(0x05), .fde_enc = 0x03}},
	{"no pointer at all",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR", .aug_data = BYTES(0xff), .fde_enc = 0x03}},
	{"relative to the text",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR", .aug_data = BYTES(0x2b), .fde_enc = 0x03}},
	{"relative to data that is not there",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR", .aug_data = BYTES(0x3b), .fde_enc = 0x03}},
	{"relative to the function itself",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR", .aug_data = BYTES(0x4b), .fde_enc = 0x03}},
	{"indirect through nothing",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR",
	  .aug_data = BYTES(0x83),
	  .fde_enc = 0x03,
	  .fde_start = BYTES(0, 0, 9, 0)}},
	{"the function's end overflows",
	 SEAM_CFI_ENCODING,
	 {.aug = "zR",
	  .aug_data = BYTES(0x0b),
	  .fde_enc = 0x0b,
	  .fde_start = BYTES(0xff, 0xff, 0xff, 0xff)}},
};

struct seen {
	int code, count;
	uint64_t start;
};

static void note_bad(void *ctx, uint64_t start, uint64_t end,
		     const struct seam_errinfo *why)
{
	struct seen *s = ctx;

	(void)end;
	s->code = why->code;
	s->start = start;
	s->count++;
	assert_true(why->reason[0]);
	assert_true(why->offset < IMAGE_MAX);
}

struct each {
	struct seen seen;
	struct text text;
};

static int note_row(void *ctx, const struct seam_cfi_row *row)
{
	struct each *e = ctx;

	return add_row(&e->text, row);
}

static void read_image(const struct image *im, struct each *e,
		       struct seam_cfi **ret_cfi, struct seam_elf **ret_elf)
{
	memset(e, 0, sizeof(*e));
	assert_int_equal(seam_elf_open_mem(im->bytes, im->size, ret_elf, NULL),
			 0);
	assert_int_equal(seam_cfi_open(*ret_elf, ret_cfi, NULL), 0);
	assert_int_equal(seam_cfi_each(*ret_cfi, note_row, note_bad, e), 0);
}

static void bad_fde(void **state)
{
	static struct image im;
	struct seam_errinfo why;
	struct seam_cfi_row row;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct each e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_cases) / sizeof(*bad_cases); i++) {
		const struct bad_case *c = &bad_cases[i];

		image_build(&im, &c->spec);
		read_image(&im, &e, &cfi, &elf);
		if (e.seen.count != 1 || e.seen.code != c->code || e.text.len)
			fail_msg("%s: %d times %s, rows:\n%s", c->name,
				 e.seen.count, seam_err_name(e.seen.code),
				 e.text.s);
		/* By look-up: the same reason if its range is known. */
		memset(&why, 0, sizeof(why));
		if (e.seen.start == IMAGE_FUNC &&
		    c->code != SEAM_CFI_ENCODING) {
			assert_int_equal(
				seam_cfi_find(cfi, IMAGE_FUNC, &row, &why),
				-EINVAL);
			assert_int_equal(why.code, c->code);
		} else {
			assert_int_equal(
				seam_cfi_find(cfi, IMAGE_FUNC, &row, &why),
				-ENOENT);
		}
		assert_int_equal(
			seam_cfi_find(cfi, IMAGE_FUNC + 0x800000, &row, NULL),
			-ENOENT);
		seam_cfi_close(cfi);
		seam_elf_close(elf);
	}
}

/* A good FDE on either side of the bad one. */
static void neighbours(void **state)
{
	struct spec good = {0}, bad = {.fde = BYTES(0x3f)};
	struct seam_cfi_extent extent;
	static struct image im;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct each e;

	(void)state;
	spec_defaults(&good);
	spec_defaults(&bad);
	image_begin(&im);
	for (int i = 0; i < 3; i++) {
		struct image one;

		/* Each with a CIE of its own, right before it. */
		image_begin(&one);
		put_cie(&one, &good);
		memcpy(im.bytes + im.size, one.bytes + IMAGE_CFI_OFF,
		       one.size - IMAGE_CFI_OFF);
		size_t cie = im.size;
		im.size += one.size - IMAGE_CFI_OFF;
		size_t fde = im.size;
		put_fde(&im, i == 1 ? &bad : &good,
			IMAGE_FUNC + 0x100 * (uint64_t)i);
		uint32_t back = (uint32_t)(fde + 4 - cie);
		memcpy(im.bytes + fde + 4, &back, 4);
	}
	image_end(&im, false);
	read_image(&im, &e, &cfi, &elf);
	assert_int_equal(e.seen.count, 1);
	assert_int_equal(e.seen.start, IMAGE_FUNC + 0x100);
	assert_string_equal(e.text.s, "0-100 r7+8 16=[c-8]\n"
				      "0-100 r7+8 16=[c-8]\n");
	/* Where a function is, its rules have no say in. */
	for (uint64_t at = 0; at < 0x300; at++) {
		assert_int_equal(
			seam_cfi_find_extent(cfi, IMAGE_FUNC + at, &extent), 0);
		assert_int_equal(extent.start, IMAGE_FUNC + (at & ~0xffULL));
		assert_int_equal(extent.end - extent.start, 0x100);
		assert_false(extent.signal);
	}
	assert_int_equal(seam_cfi_find_extent(cfi, IMAGE_FUNC + 0x300, &extent),
			 -ENOENT);
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

struct raw_case {
	const char *name;
	int code;
	struct bytes section;
};

/* The frame of entries: lengths and CIE pointers. */
static const struct raw_case raw_cases[] = {
	{"a length is cut", SEAM_CFI_SHORT, BYTES(1, 0, 0)},
	{"a 64-bit length is cut", SEAM_CFI_SHORT,
	 BYTES(0xff, 0xff, 0xff, 0xff, 8, 0, 0, 0)},
	{"a reserved length", SEAM_CFI_SHORT,
	 BYTES(0xf0, 0xff, 0xff, 0xff, 0, 0, 0, 0)},
	{"an entry longer than the section", SEAM_CFI_SHORT,
	 BYTES(5, 0, 0, 0, 0, 0, 0, 0)},
	{"a 64-bit entry longer than the section", SEAM_CFI_SHORT,
	 BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	       0xff, 0, 0, 0, 0)},
	{"an entry shorter than its CIE field", SEAM_CFI_SHORT,
	 BYTES(3, 0, 0, 0, 1, 1, 1)},
	{"a CIE pointer before the section", SEAM_CFI_BAD_CIE,
	 BYTES(4, 0, 0, 0, 5, 0, 0, 0)},
	{"a CIE pointer to the FDE itself", SEAM_CFI_BAD_CIE,
	 BYTES(4, 0, 0, 0, 4, 0, 0, 0)},
	{"a CIE pointer to a terminator", SEAM_CFI_BAD_CIE,
	 BYTES(0, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0)},
	{"a CIE without a version", SEAM_CFI_BAD_CIE,
	 BYTES(4, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 12, 0, 0, 0)},
	{"a CIE whose augmentation does not end", SEAM_CFI_BAD_CIE,
	 BYTES(6, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 4, 0, 0, 0, 14, 0, 0, 0)},
	{"a CIE without alignments", SEAM_CFI_BAD_CIE,
	 BYTES(6, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 14, 0, 0, 0)},
	{"an FDE without an address", SEAM_CFI_SHORT,
	 BYTES(9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 4, 0, 0, 0, 17, 0, 0,
	       0)},
};

static void raw_section(void **state)
{
	static struct image im;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct each e;

	(void)state;
	for (size_t i = 0; i < sizeof(raw_cases) / sizeof(*raw_cases); i++) {
		const struct raw_case *c = &raw_cases[i];

		image_begin(&im);
		put_bytes(&im, c->section);
		image_end(&im, false);
		read_image(&im, &e, &cfi, &elf);
		if (e.seen.count != 1 || e.seen.code != c->code || e.text.len)
			fail_msg("%s: %d times %s, rows:\n%s", c->name,
				 e.seen.count, seam_err_name(e.seen.code),
				 e.text.s);
		seam_cfi_close(cfi);
		seam_elf_close(elf);
	}
}

static void large_cie(void **state)
{
	static uint8_t nops[5000] = {0x0c, 7, 8, 0x90, 1};
	struct spec spec = {.cie = {nops, sizeof(nops)}};
	static struct image im;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct each e;

	(void)state;
	image_build(&im, &spec);
	read_image(&im, &e, &cfi, &elf);
	assert_int_equal(e.seen.code, SEAM_CFI_BAD_CIE);
	assert_int_equal(e.text.len, 0);
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

/* Overlaps: at each address the FDE that starts last answers; after it, the
 * one around it again. Of equal starts, the later entry. */
static void overlaps(void **state)
{
	static const struct {
		uint32_t start, size;
	} fdes[] = {{0, 0x100},	   {0x40, 0x10}, {0x20, 0x40},
		    {0x200, 0x10}, {0x200, 8},	 {0x44, 0x300}};
	static const struct {
		uint32_t at, start, size; /* size 0: none */
	} want[] = {
		{0, 0, 0x100},	      {0x1f, 0, 0x100},
		{0x20, 0x20, 0x40},   {0x3f, 0x20, 0x40},
		{0x40, 0x40, 0x10},   {0x43, 0x40, 0x10},
		{0x44, 0x44, 0x300},  {0x60, 0x44, 0x300},
		{0x1ff, 0x44, 0x300}, {0x200, 0x200, 8},
		{0x207, 0x200, 8},    {0x208, 0x200, 0x10},
		{0x20f, 0x200, 0x10}, {0x210, 0x44, 0x300},
		{0x343, 0x44, 0x300}, {0x344, 0, 0},
	};
	struct spec spec = {0};
	static struct image im;
	struct seam_cfi_row row;
	struct seam_elf *elf;
	struct seam_cfi *cfi;
	uint64_t next;
	struct each e;

	(void)state;
	spec_defaults(&spec);
	image_begin(&im);
	put_cie(&im, &spec);
	for (size_t i = 0; i < sizeof(fdes) / sizeof(*fdes); i++) {
		spec.func_size = fdes[i].size;
		put_fde(&im, &spec, IMAGE_FUNC + fdes[i].start);
	}
	image_end(&im, false);
	read_image(&im, &e, &cfi, &elf);
	assert_int_equal(e.seen.count, 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		int rc =
			seam_cfi_find(cfi, IMAGE_FUNC + want[i].at, &row, NULL);

		if (!want[i].size) {
			assert_int_equal(rc, -ENOENT);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(row.func_start, IMAGE_FUNC + want[i].start);
		assert_int_equal(row.func_end - row.func_start, want[i].size);
	}
	assert_int_equal(seam_cfi_find(cfi, IMAGE_FUNC - 1, &row, NULL),
			 -ENOENT);
	assert_true(seam_cfi_next(cfi, 0, &next));
	assert_int_equal(next, IMAGE_FUNC);
	assert_false(seam_cfi_next(cfi, IMAGE_FUNC + 0x343, &next));
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_fde),     cmocka_unit_test(neighbours),
		cmocka_unit_test(raw_section), cmocka_unit_test(large_cie),
		cmocka_unit_test(overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
