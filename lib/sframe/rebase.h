/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Moves a section to another address, its functions staying where they are. */
#ifndef SEAM_LIB_SFRAME_REBASE_H
#define SEAM_LIB_SFRAME_REBASE_H

#include <stddef.h>
#include <stdint.h>

/*
 * bytes: of version 2 or 3, written as they have to lie at from; rewritten for
 * to. Return: 0; -EINVAL: not such a section; -EFBIG: a function is too far
 * from there for version 2. It is left as it was then.
 */
int seam_sframe_rebase(uint8_t *bytes, size_t size, uint64_t from, uint64_t to);

#endif
