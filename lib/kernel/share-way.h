/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What makes a group of clients, and by which it is told from others. */
#ifndef SEAM_LIB_KERNEL_SHARE_WAY_H
#define SEAM_LIB_KERNEL_SHARE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/tracer.h"

struct seam_share_way {
	const char *order; /* as event/order.h has it; NULL: not known */
	uint32_t stack_copy; /* bytes */
	enum seam_tables_from tables_from;
};

/* Of clients with these programs, and with this build's user space. */
uint64_t seam_share_build(const void *object, size_t size);
/* The group's number. */
uint64_t seam_share_group_of(uint64_t build, uint32_t methods,
			     uint32_t stack_copy,
			     enum seam_tables_from tables_from);
/* What a group of that name is. Return: false: of another build. It takes a
 * tenth of a second to say so. */
bool seam_share_way_of(uint64_t build, const char *name,
		       struct seam_share_way *ret);

#endif
