/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows that a test writes down, and what the builder makes of them. */
#ifndef SEAM_TESTS_SFRAME_ROWS_H
#define SEAM_TESTS_SFRAME_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../random.h"
#include "core/sframe-read.h"
#include "sframe/encode.h"
#include "sframe/verify.h"
#include "tests/unit/core/values.h"
#include "tests/unit/sframe/mini.h"

#define FP 6
#define SP 7

struct in_row {
	uint32_t off;
	struct seam_rule rule;
};

#define OUTERMOST                                                              \
	{                                                                      \
		.flags = SEAM_RULE_OUTERMOST                                   \
	}

static inline struct seam_sframe_builder *new_builder(uint32_t flags)
{
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new(flags, &b), 0);
	return b;
}

static inline void add(struct seam_sframe_builder *b,
		       struct seam_sframe_builder_func func, uint32_t size,
		       const struct in_row *rows, size_t num)
{
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	for (size_t i = 0; i < num; i++)
		assert_int_equal(
			seam_sframe_builder_row(b, rows[i].off, &rows[i].rule),
			0);
	assert_int_equal(seam_sframe_builder_end(b, size), 0);
}

static inline uint8_t *finish(struct seam_sframe_builder *b, uint64_t addr,
			      size_t *ret_size,
			      struct seam_sframe_builder_totals *totals)
{
	uint8_t *bytes = NULL;

	assert_int_equal(
		seam_sframe_builder_finish(b, addr, &bytes, ret_size, totals),
		0);
	seam_sframe_builder_free(b);
	return bytes;
}

#endif
