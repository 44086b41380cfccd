// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a section moved to an address is what would have been written
 * for it, in each version and byte order; one that cannot be there stays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/sframe-format.h"
#include "sframe/encode.h"
#include "sframe/rebase.h"

#define FROM 0x1000
#define TO 0x7654321

static const struct kind {
	uint8_t version, abi;
	uint32_t flags;
} kinds[] = {
	{SEAM_SFRAME_V3, SEAM_SFRAME_ABI_AMD64, 0},
	{SEAM_SFRAME_V2, SEAM_SFRAME_ABI_AMD64, 0},
	{SEAM_SFRAME_V2, SEAM_SFRAME_ABI_AMD64, SEAM_SFRAME_SECTION_RELATIVE},
	{SEAM_SFRAME_V3, SEAM_SFRAME_ABI_AARCH64_BE, 0},
	{SEAM_SFRAME_V2, SEAM_SFRAME_ABI_AARCH64_BE, 0},
	{SEAM_SFRAME_V2, SEAM_SFRAME_ABI_AARCH64_LE, 0},
};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint8_t *section_at(const struct kind *kind, uint64_t addr,
			   size_t *ret_size)
{
	const struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF,
			.reg = kind->abi == SEAM_SFRAME_ABI_AMD64 ? 7 : 31,
			.off = 16}};
	struct seam_sframe_builder *b;
	uint8_t *bytes;

	assert_int_equal(seam_sframe_builder_new_for(kind->version, kind->abi,
						     kind->flags, &b),
			 0);
	/* On both sides of the section, and at no round place. */
	for (uint64_t start = 0x404; start < 0x3000; start += 0x7f4) {
		const struct seam_sframe_builder_func func = {.start = start};

		assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
		assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
		assert_int_equal(seam_sframe_builder_end(b, 64), 0);
	}
	assert_int_equal(
		seam_sframe_builder_finish(b, addr, &bytes, ret_size, NULL), 0);
	seam_sframe_builder_free(b);
	return bytes;
}

static void moves(void **state)
{
	(void)state;
	for (size_t i = 0; i < NUM_KINDS; i++) {
		size_t size, want_size;
		uint8_t *bytes = section_at(&kinds[i], FROM, &size);
		uint8_t *want = section_at(&kinds[i], TO, &want_size);

		assert_int_equal(size, want_size);
		assert_memory_not_equal(bytes, want, size);
		assert_int_equal(seam_sframe_rebase(bytes, size, FROM, TO), 0);
		assert_memory_equal(bytes, want, size);
		assert_int_equal(seam_sframe_rebase(bytes, size, TO, FROM), 0);
		free(want);
		want = section_at(&kinds[i], FROM, &want_size);
		assert_memory_equal(bytes, want, size);
		free(want);
		free(bytes);
	}
}

/* 32 bits do not reach so far: not one start is moved. */
static void too_far(void **state)
{
	const struct kind *v2 = &kinds[1];
	uint64_t limit = FROM + 0x80000000ULL;
	size_t size;
	uint8_t *bytes = section_at(v2, FROM, &size), *was = malloc(size);

	(void)state;
	assert_non_null(was);
	memcpy(was, bytes, size);
	assert_int_equal(seam_sframe_rebase(bytes, size, FROM, limit), -EFBIG);
	assert_int_equal(seam_sframe_rebase(bytes, size, FROM, 1ULL << 63),
			 -EFBIG);
	assert_memory_equal(bytes, was, size);
	assert_int_equal(seam_sframe_rebase(bytes, size, FROM, limit - 0x4000),
			 0);
	assert_int_equal(seam_sframe_rebase(bytes, size, limit - 0x4000, FROM),
			 0);
	assert_memory_equal(bytes, was, size);
	bytes[2] = 1; /* version 1 */
	assert_int_equal(seam_sframe_rebase(bytes, size, FROM, TO), -EINVAL);
	free(was);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves),
		cmocka_unit_test(too_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
