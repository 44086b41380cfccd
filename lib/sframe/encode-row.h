/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the builder: one rule, and its bytes as a row. */
#ifndef SEAM_LIB_SFRAME_ENCODE_ROW_H
#define SEAM_LIB_SFRAME_ENCODE_ROW_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/arch.h"
#include "core/rule.h"

/* What is written for whom. */
struct seam_sframe_target {
	uint8_t version, abi;
	bool is_big;
	enum seam_arch arch;
	uint32_t flags; /* enum seam_sframe_builder_flags */
};

struct seam_sframe_in_row {
	uint32_t off;
	struct seam_rule rule; /* normalised */
};

/* A row's largest size: start, info and 7 words (FLEX_ADD with all three
 * values); and 8 bytes, since values are stored whole before they are cut. */
#define SEAM_SFRAME_ROW_ROOM (4 + 1 + 4 * 7 + 8)

/*
 * One form for each rule, so that equal rules have equal bytes.
 * Return: NULL; or, a static string, why the target cannot hold the rule.
 */
const char *seam_sframe_normalise(const struct seam_sframe_target *t,
				  const struct seam_rule *rule,
				  struct seam_rule *ret);

/* The simplest SEAM_SFRAME_FDE type that holds every row. */
uint8_t seam_sframe_rows_type(const struct seam_sframe_target *t,
			      const struct seam_sframe_in_row *rows,
			      size_t num);

/* Stores the lowest size bytes of a value in the target's order; 8 bytes are
 * written, of which the rest is to be overwritten. Return: p + size. */
static inline uint8_t *seam_sframe_put(const struct seam_sframe_target *t,
				       uint8_t *p, uint64_t value, size_t size)
{
	value = t->is_big ? htobe64(value << (64 - 8 * size)) : htole64(value);
	memcpy(p, &value, 8);
	return p + size;
}

/* Writes a row into SEAM_SFRAME_ROW_ROOM bytes. Return: its end. */
uint8_t *seam_sframe_put_row(const struct seam_sframe_target *t, uint8_t *p,
			     uint32_t start, unsigned int start_log2,
			     const struct seam_rule *rule, uint8_t type);

#endif
