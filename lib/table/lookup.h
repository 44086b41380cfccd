/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Lays a table out for the kernel side (core/lookup.h). */
#ifndef SEAM_LIB_TABLE_LOOKUP_H
#define SEAM_LIB_TABLE_LOOKUP_H

#include <stdint.h>

#include "core/lookup.h"
#include "core/sframe-read.h"

/*
 * sf: a section for amd64 that seam_sframe_verify took. Rules beyond the
 * 65,535th that differ, and functions beyond 4 GiB, become holes: *ret_left_out
 * rows (may be NULL). ret_bytes: ret->size bytes, the caller frees them with
 * free(). Return: 0; -ENOMEM; -EINVAL: the section is not what it was said to
 * be; -E2BIG: it would be larger than max bytes.
 */
int seam_lookup_build(const struct seam_sframe *sf, uint64_t max,
		      struct seam_lookup *ret, uint8_t **ret_bytes,
		      uint64_t *ret_left_out);

#endif
