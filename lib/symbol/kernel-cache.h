/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The running kernel's symbols, kept on disk until it is booted again: to
 * print /proc/kallsyms takes the kernel longer than most recordings take us.
 *
 * Only what stays the same as long as the kernel runs is kept, so nothing of
 * modules, BPF programs and the like. An address that is not found here may
 * still have a symbol in /proc/kallsyms; one that is has the same one there.
 */
#ifndef SEAM_LIB_SYMBOL_KERNEL_CACHE_H
#define SEAM_LIB_SYMBOL_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"
#include "symbol/symtab.h"

struct seam_kernel_cache {
	const uint8_t *bytes; /* of the file, mapped; NULL: there is none */
	size_t size;
};

/* Without one, all that is asked for is not found. */
void seam_kernel_cache_open(struct seam_kernel_cache *c);
void seam_kernel_cache_close(struct seam_kernel_cache *c);
bool seam_kernel_cache_find(const struct seam_kernel_cache *c, uint64_t addr,
			    struct seam_symbol *ret);

/* tab: finished, of all of /proc/kallsyms. That it cannot be kept is no
 * error. */
void seam_kernel_cache_store(const struct seam_symtab *tab);

#endif
