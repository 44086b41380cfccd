/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: several files' CFI run in one working memory: what one left
 * there of its CIE is never another's, not even that of a file which has the
 * place of one that was closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../table/image.h"
#include "cfi/cfi.h"

#define FILES 4
#define FUNC (IMAGE_SVMA + 0x1000)

static struct image images[FILES];
static struct seam_elf *elfs[FILES];

/* Its CIE says CFA = rsp + 8 * (i + 2), at the same place in all files. */
static void make_image(int i)
{
	struct image *im = &images[i];
	uint8_t *cie, *cfa;

	image_init(im, ET_DYN, 0);
	image_segment(im, 0, IMAGE_SVMA, IMAGE_SIZE, PF_R | PF_X);
	image_fde(im, FUNC, 64, false, NULL, 0);
	image_finish(im);
	cie = im->bytes + IMAGE_EH + im->plain_cie;
	/* DW_CFA_def_cfa: rsp (7), 8 */
	cfa = memmem(cie, 32, "\x0c\x07\x08", 3);
	assert_non_null(cfa);
	cfa[2] = (uint8_t)(8 * (i + 2));
	assert_int_equal(
		seam_elf_open_mem(im->bytes, IMAGE_SIZE, &elfs[i], NULL), 0);
}

static int open_all(void **state)
{
	(void)state;
	for (int i = 0; i < FILES; i++)
		make_image(i);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (int i = 0; i < FILES; i++)
		seam_elf_close(elfs[i]);
	return 0;
}

static struct seam_cfi *open_cfi(int i, struct seam_cfi_work *work)
{
	struct seam_cfi *cfi;

	assert_int_equal(seam_cfi_open(elfs[i], &cfi, NULL), 0);
	seam_cfi_share(cfi, work);
	return cfi;
}

/* At addresses that were not asked for before, so that it is run. */
static void check(struct seam_cfi *cfi, int i, uint64_t at)
{
	struct seam_cfi_row row;

	assert_int_equal(seam_cfi_find(cfi, FUNC + at, &row, NULL), 0);
	assert_int_equal(row.cfa_off, 8 * (i + 2));
}

static void test_in_turn(void **state)
{
	struct seam_cfi_work *work = seam_cfi_work_new();
	struct seam_cfi *cfis[FILES];

	(void)state;
	assert_non_null(work);
	for (int i = 0; i < FILES; i++)
		cfis[i] = open_cfi(i, work);
	for (uint64_t at = 0; at < 64; at++)
		for (int i = 0; i < FILES; i++)
			check(cfis[i], i, at);
	for (int i = 0; i < FILES; i++)
		seam_cfi_close(cfis[i]);
	seam_cfi_work_free(work);
}

/* Memory is given out again where it was. */
static void test_same_place(void **state)
{
	struct seam_cfi_work *work = seam_cfi_work_new();
	struct seam_cfi *cfi, *last = NULL;
	unsigned int again = 0;

	(void)state;
	assert_non_null(work);
	for (int n = 0; n < 100; n++) {
		cfi = open_cfi(n % FILES, work);
		again += cfi == last;
		last = cfi;
		check(cfi, n % FILES, 0);
		if (n % 3 == 0)
			assert_int_equal(seam_cfi_detach(cfi), 0);
		seam_cfi_close(cfi);
	}
#ifndef __SANITIZE_ADDRESS__ /* which holds back what was freed */
	assert_true(again > 0);
#endif
	seam_cfi_work_free(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_same_place),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
