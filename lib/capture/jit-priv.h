/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What jit.c and jit-list.c share. */
#ifndef SEAM_LIB_CAPTURE_JIT_PRIV_H
#define SEAM_LIB_CAPTURE_JIT_PRIV_H

#include "capture/jit.h"
#include "core/jit-registry.h"

/* Reads a section, or counts why not. id 0: it is in no list. */
int seam_jit_read(struct seam_jit *j, uint32_t pid,
		  const struct seam_jit_section *s, uint64_t id);
void seam_jit_keep(struct seam_jit *j,
		   bool (*keep)(const struct seam_jit_table *t, void *ctx),
		   void *ctx);

#endif
