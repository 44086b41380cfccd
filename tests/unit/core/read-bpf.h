/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What read.bpf.c and who asks it exchange. */
#ifndef SEAM_TESTS_CORE_READ_BPF_H
#define SEAM_TESTS_CORE_READ_BPF_H

#include <stdint.h>

#include "core/rule.h"

#define READ_MAX_SIZE (1 << 20) /* of a section */
#define READ_MAP_SIZE (READ_MAX_SIZE + 8)
/* The map is an arena, and the section lies behind its first page. */
#define READ_ARENA_AT 4096

struct read_args {
	uint64_t pc; /* section space */
	uint32_t size; /* of the section */
	uint32_t is_relocatable; /* and its relocations have been applied */
	int32_t open_err, err; /* enum seam_err; err: if the other is 0 */
	struct seam_rule rule; /* if both are 0 */
};

#endif
