// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a loaded object that has an .sframe of its own, and memory that
 * runs out wherever it is wanted: it says so, and nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sframe/encode.h"
#include "unwind/object.h"

/* Behind those that have a name of its own for something else. */
#include "tests/unit/oom-wrap.h"

#define PT_SFRAME 0x6474e554
#define CODE 256 /* bytes of code in front of the section */

static _Alignas(4096) uint8_t memory[4096];

static size_t put_section(void)
{
	const struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 24}};
	const struct seam_sframe_builder_func func = {.start = 16};
	struct seam_sframe_builder *b;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 64), 0);
	assert_int_equal(
		seam_sframe_builder_finish(b, CODE, &bytes, &size, NULL), 0);
	seam_sframe_builder_free(b);
	assert_true(CODE + size <= sizeof(memory));
	memcpy(memory + CODE, bytes, size);
	free(bytes);
	return size;
}

static void running_out(void **state)
{
	const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = sizeof(memory),
		 .p_memsz = sizeof(memory)},
		{.p_type = PT_SFRAME,
		 .p_vaddr = CODE,
		 .p_filesz = put_section()},
	};
	const struct seam_loaded loaded = {
		.bias = (uintptr_t)memory, .phdrs = phdrs, .n_phdrs = 2};
	struct seam_object *object = NULL;
	long n = 0;
	int r;

	(void)state;
	for (;; n++) {
		left = n;
		r = seam_object_make(&loaded, &object);
		left = -1;
		if (!r)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(object);
	}
	printf("# %ld places\n", n);
	/* The object's, and its section's. */
	assert_true(n >= 2);
	assert_non_null(object);
	seam_object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
