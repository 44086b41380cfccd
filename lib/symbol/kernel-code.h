/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where a kernel writes the registers that its tasks entered with, by its
 * symbols: core/kernel-entry.h says what for.
 */
#ifndef SEAM_LIB_SYMBOL_KERNEL_CODE_H
#define SEAM_LIB_SYMBOL_KERNEL_CODE_H

#include "core/kernel-entry.h"

/*
 * For those who have not the stack pointer that tells whether all registers are
 * saved. Parts of the doors:
 */
struct seam_kernel_doors {
	/* On the way out, where they still are. */
	struct seam_kernel_range out[16];
	/* From SEAM_KERNEL_SAVING bytes on they are there: that is behind the
	 * last push. */
	struct seam_kernel_range saving[4];
	/* They are not, and yet others are called. */
	struct seam_kernel_range early[8];
	/* What a page fault comes to: its door, and what that calls, as one may
	 * serve for all. */
	struct seam_kernel_range fault[4];
};

#define SEAM_KERNEL_SAVING 0x40

/* path: NULL is /proc/kallsyms. ret_doors: NULL: not asked for. -EACCES: it
 * hides addresses from us; -ENOENT: the kernel has not the code that each has;
 * another -errno. */
int seam_kernel_code_read(const char *path, struct seam_kernel_entry *ret,
			  struct seam_kernel_doors *ret_doors);

/* What all names that are looked for are, as a number. */
uint64_t seam_kernel_code_sought(void);

/* What is read of the running kernel, which is kept on disk until it is booted
 * again: to print all of its symbols takes it longer than most recordings take
 * us. */
int seam_kernel_code_here(struct seam_kernel_entry *ret,
			  struct seam_kernel_doors *ret_doors);

#endif
