/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A section as a JIT compiler would write one: version 3, one function. */
#ifndef SEAM_TESTS_JIT_MADE_H
#define SEAM_TESTS_JIT_MADE_H

#include <stdint.h>

struct made_section {
	uint16_t magic;
	uint8_t version, flags, abi;
	int8_t fixed_fp, fixed_ra;
	uint8_t aux;
	uint32_t num_functions, num_rows, rows_size, index, rows;
	int64_t start;
	uint32_t size, at;
	uint16_t n;
	uint8_t info, info2, block;
	uint8_t row[2][3];
} __attribute__((packed));

/* For code of so many bytes, at the distance of code from the section, with a
 * frame of its own from byte 4 on. */
static inline struct made_section made_section(int64_t distance, uint32_t size,
					       uint8_t frame)
{
	return (struct made_section){
		.magic = 0xdee2,
		.version = 3,
		.flags = 5,
		.abi = 3,
		.fixed_ra = -8,
		.num_functions = 1,
		.num_rows = 2,
		.rows_size = 11,
		.rows = 16,
		.start = distance - 28,
		.size = size,
		.n = 2,
		.row = {{0, 3, 8}, {4, 3, frame}},
	};
}

#endif
