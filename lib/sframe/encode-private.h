/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the builder: encode.c takes functions in, encode-sort.c puts them in
 * order, encode-finish.c makes a section of them. */
#ifndef SEAM_LIB_SFRAME_ENCODE_PRIVATE_H
#define SEAM_LIB_SFRAME_ENCODE_PRIVATE_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/env.h"
#include "core/sframe-format.h"
#include "sframe/encode-row.h"
#include "sframe/encode.h"
#include "sframe/forms.h"

struct seam_sframe_entry {
	uint64_t start;
	uint32_t size;
	uint32_t fre_off; /* of the rows; in V3 of the attributes before them */
	uint32_t num_rows;
	uint8_t info, rep_size;
};

/*
 * By the distance of their starts from base, encode-sort.c. Of equal ones, the
 * one added first comes first. Nearly all may be in order as they come; but
 * compilers put code that seldom runs elsewhere, which comes between.
 * -ENOMEM.
 */
int seam_sframe_sort_entries(struct seam_sframe_entry *v, size_t num,
			     uint64_t base);

struct seam_sframe_builder_row {
	uint32_t off;
	uint32_t rule; /* the number of its form */
};

struct seam_sframe_builder {
	struct seam_sframe_target target;
	const char *reason;
	bool in_func;
	struct seam_sframe_builder_func func;
	struct seam_sframe_builder_row *rows; /* of the current function */
	size_t num_rows, cap_rows;
	struct seam_sframe_forms forms;
	bool has_numbers; /* somebody else knows forms by their numbers */
	struct seam_sframe_entry *entries;
	size_t num_entries, cap_entries;
	uint8_t *fres;
	size_t fres_len, cap_fres;
};

/* Return: -EINVAL. reason: a static string. */
static inline int seam_sframe_refuse(struct seam_sframe_builder *b,
				     const char *reason)
{
	b->reason = reason;
	return -EINVAL;
}

/* As seam_sframe_put, but that nothing behind the value is written. */
SEAM_INLINE uint8_t *seam_sframe_put_exact(bool is_big, uint8_t *p,
					   uint64_t value, size_t size)
{
	value = is_big ? htobe64(value << (64 - 8 * size)) : htole64(value);
	memcpy(p, &value, size);
	return p + size;
}

static inline uint8_t *
seam_sframe_builder_put(const struct seam_sframe_builder *b, uint8_t *p,
			uint64_t value, size_t size)
{
	return seam_sframe_put_exact(b->target.is_big, p, value, size);
}

/* In V3 some of what the index has in V2 is in front of the rows. */
static inline size_t seam_sframe_attr_size(const struct seam_sframe_builder *b)
{
	return b->target.version == SEAM_SFRAME_V3 ? SEAM_SFRAME_ATTR_SIZE : 0;
}

#endif
