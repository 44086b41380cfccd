/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file's own .sframe, where whoever runs the file has it mapped: whether the
 * kernel side can read it there, and what it has to know. */
#ifndef SEAM_LIB_PROCESS_MAPPED_H
#define SEAM_LIB_PROCESS_MAPPED_H

#include "core/wire.h"
#include "elf/elf.h"

/* -ENOENT: there is none that it can read. */
int seam_mapped_of_elf(const struct seam_elf *elf, struct seam_mapped *ret);

#endif
