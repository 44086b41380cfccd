/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A unit's line program. source-line-head.c reads what is before it, the
 * names of files, source-line.c runs it. */
#ifndef SEAM_LIB_SYMBOL_SOURCE_LINE_PRIVATE_H
#define SEAM_LIB_SYMBOL_SOURCE_LINE_PRIVATE_H

#include "symbol/source-bytes.h"
#include "symbol/source-private.h"

struct seam_source_program {
	struct seam_source *s;
	struct seam_source_lines *lines;
	struct seam_source_bytes b; /* the program, once the head is read */
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_inst, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256]; /* of standard opcodes */
	int err; /* -ENOMEM */
};

/* b: from the unit's length on. Return: false: damaged, or err. */
bool seam_source_line_head(struct seam_source_program *p);

#endif
