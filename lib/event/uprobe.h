/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Probes in programs: where a symbol is, and the kernel's event for it. */
#ifndef SEAM_LIB_EVENT_UPROBE_H
#define SEAM_LIB_EVENT_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "seam/error.h"

/*
 * Opens a probe in a file: at SYMBOL, SYMBOL+OFFSET, or an address of the file
 * that begins with 0x; returns: where that function returns to. Symbols are
 * the file's own, or of its debug file. Return: a descriptor, whose hits come
 * from every task; or -errno, with what is wrong.
 */
int seam_uprobe_open(const char *file, const char *where, bool returns,
		     struct seam_errinfo *reterr);

#endif
