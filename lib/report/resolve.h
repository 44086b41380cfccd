/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Names for the frames of stitched stacks. A return address is looked up
 * one byte earlier, since a call may be the last instruction of its
 * function; the leaf, and what a signal interrupted, are looked up exactly.
 */
#ifndef SEAM_LIB_REPORT_RESOLVE_H
#define SEAM_LIB_REPORT_RESOLVE_H

#include "report/kernel.h"
#include "stitch/stitch.h"
#include "symbol/symbol.h"

struct seam_resolver;

struct seam_name {
	const char *sym; /* NULL: no symbol known */
	uint64_t off; /* of ip in it */
	const char *dso; /* the file, "[kernel.kallsyms]", "[module]"; NULL */
	uint64_t dso_off; /* of ip in the file; kernel, no file: ip */
	bool kernel;
};

int seam_resolver_new(const struct seam_symbol_opts *opts,
		      struct seam_resolver **ret);
struct seam_resolver *seam_resolver_free(struct seam_resolver *r);
/* ret[i] belongs to frames[i]; its strings to the resolver and the
 * stitcher. Return: 0 or -ENOMEM. */
int seam_resolve(struct seam_resolver *r, const struct seam_frame *frames,
		 size_t n, struct seam_name *ret);
/* No names for the kernel and the vDSO (other), or at shifted addresses. */
void seam_resolver_kernel(struct seam_resolver *r,
			  const struct seam_kernel_fit *fit);
struct seam_symbolizer *seam_resolver_symbolizer(struct seam_resolver *r);

/* A name for people and for folded stacks, which is never empty: the
 * symbol, else [file+0xoff], else [0xip]. snprintf's return. */
int seam_name_format(const struct seam_name *name, char *buf, size_t size);

#endif
