/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What jit.c, jit-list.c and jit-unmap.c share. */
#ifndef SEAM_LIB_PROCESS_JIT_PRIV_H
#define SEAM_LIB_PROCESS_JIT_PRIV_H

#include "core/jit-registry.h"
#include "process/jit.h"

/* Reads a section, or counts why not. id 0: it is in no list. */
int seam_jit_read(struct seam_jit *j, uint32_t pid,
		  const struct seam_jit_section *s, uint64_t id);
/* The first table that ends behind an address. */
size_t seam_jit_search(const struct seam_jit *j, uint64_t addr);
void seam_jit_table_put(struct seam_jit *j, struct seam_jit_table *t);
/* Whether code that a list has only told of now may be unmapped already. */
bool seam_jit_is_over(const struct seam_jit *j,
		      const struct seam_jit_section *s);
void seam_jit_keep(struct seam_jit *j,
		   bool (*keep)(const struct seam_jit_table *t, void *ctx),
		   void *ctx);
/* The same, and those that go are past, if their end is to be told. */
void seam_jit_pass(struct seam_jit *j,
		   bool (*keep)(const struct seam_jit_table *t, void *ctx),
		   void *ctx);

/* jit-past.c */
void seam_jit_past_add(struct seam_jit *j, struct seam_jit_table *t);
void seam_jit_past_keep(struct seam_jit *j,
			bool (*keep)(const struct seam_jit_table *t, void *ctx),
			void *ctx);
int seam_jit_past_copy(struct seam_jit *to, const struct seam_jit *from);
void seam_jit_past_fini(struct seam_jit *j);

#endif
