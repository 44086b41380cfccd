/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * SFrame sections for tests, put together field by field in either byte order,
 * as the format's text has them.
 */
#ifndef SEAM_TESTS_CORE_SECTION_H
#define SEAM_TESTS_CORE_SECTION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/sframe-read.h"
#include "tests/unit/core/values.h"

/* One function, with rows as bytes. */
struct func_in {
	int64_t start; /* what the field holds */
	uint32_t size;
	uint32_t fre_off, num_rows;
	uint8_t info, info2, rep_size;
};

struct section {
	uint8_t bytes[1024];
	size_t size;
	bool is_big;
};

static inline void put(struct section *s, uint64_t v, int size)
{
	for (int i = 0; i < size; i++)
		s->bytes[s->size++] =
			(uint8_t)(v >> 8 * (s->is_big ? size - 1 - i : i));
}

static inline void put_bytes(struct section *s, const uint8_t *from,
			     size_t size)
{
	memcpy(s->bytes + s->size, from, size);
	s->size += size;
}

static inline int abi_is_big(int abi)
{
	return abi == 1 || abi == 4;
}

static inline void put_header(struct section *s, int version, int flags,
			      int abi, uint32_t num_fdes, uint32_t num_fres,
			      uint32_t fre_len)
{
	static const uint8_t fde_sizes[] = {0, 17, 20, 16};

	memset(s, 0, sizeof(*s));
	s->is_big = abi_is_big(abi);
	put(s, 0xdee2, 2);
	put(s, (uint64_t)version, 1);
	put(s, (uint64_t)flags, 1);
	put(s, (uint64_t)abi, 1);
	put(s, 0, 1);
	put(s, abi == 3 ? 0xf8 : 0, 1);
	put(s, 0, 1);
	put(s, num_fdes, 4);
	put(s, num_fres, 4);
	put(s, fre_len, 4);
	put(s, 0, 4);
	put(s, num_fdes * fde_sizes[version], 4);
}

static inline void put_func(struct section *s, int version,
			    const struct func_in *f)
{
	put(s, (uint64_t)f->start, version == 3 ? 8 : 4);
	put(s, f->size, 4);
	put(s, f->fre_off, 4);
	if (version == 3)
		return;
	put(s, f->num_rows, 4);
	put(s, f->info, 1);
	if (version == 1)
		return;
	put(s, f->rep_size, 1);
	put(s, 0, 2);
}

/* A section with one function at its beginning + start, whose attributes in
 * V3 and rows are these. */
static inline void put_one(struct section *s, int version, int abi,
			   const struct func_in *func, const uint8_t *rows,
			   size_t rows_size)
{
	struct func_in f = *func;
	uint32_t attr = version == 3 ? 5 : 0;

	put_header(s, version, version == 1 ? 1 : 5, abi, 1, f.num_rows,
		   (uint32_t)rows_size + attr);
	if (version != 1)
		f.start -= 28; /* counted from the field */
	put_func(s, version, &f);
	if (version == 3) {
		put(s, f.num_rows, 2);
		put(s, f.info, 1);
		put(s, f.info2, 1);
		put(s, f.rep_size, 1);
	}
	put_bytes(s, rows, rows_size);
}

static inline struct seam_sframe open_it(const struct section *s)
{
	struct seam_sframe sf;

	assert_int_equal(seam_sframe_open(&sf, s->bytes, s->size), SEAM_OK);
	return sf;
}

static inline struct seam_rule rule_at(const struct section *s, uint64_t pc)
{
	struct seam_sframe sf = open_it(s);
	struct seam_rule rule = {0};

	assert_int_equal(seam_sframe_find(&sf, pc, &rule), SEAM_OK);
	return rule;
}

#define SAME                                                                   \
	{                                                                      \
		.kind = SEAM_SAME                                              \
	}

static inline void check_value(const struct seam_value *got,
			       const struct seam_value *want)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->off, want->off);
	assert_int_equal(got->reg, want->reg);
}

static inline void check_rule(const struct section *s, uint64_t pc,
			      const struct seam_rule *want)
{
	struct seam_rule got = rule_at(s, pc);

	assert_int_equal(got.flags, want->flags);
	check_value(&got.cfa, &want->cfa);
	check_value(&got.ra, &want->ra);
	check_value(&got.fp, &want->fp);
	assert_int_equal(got.cfa_add, want->cfa_add);
}

static inline void check_err(const struct section *s, uint64_t pc, int err)
{
	struct seam_sframe sf = open_it(s);
	struct seam_rule rule;

	assert_int_equal(seam_sframe_find(&sf, pc, &rule), err);
}

#endif
