/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The ways to get user stacks, and which of them `auto` takes. */
#ifndef SEAM_LIB_KERNEL_ENGINE_H
#define SEAM_LIB_KERNEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "seam/tracer.h"

/* Return: false: no engine is called that. */
bool seam_engine_by_name(const char *name, enum seam_engine *ret);
/* Whether it reads samples from the kernel's perf events themselves. */
bool seam_engine_is_direct(enum seam_engine engine);

/*
 * The first that this process and kernel can be expected to run. why: a text
 * for the reader, of why none that is better; empty for the best.
 */
enum seam_engine seam_engine_choose(char *why, size_t size);

#endif
