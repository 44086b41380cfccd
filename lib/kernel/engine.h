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
 * Whether the kernel is PREEMPT_RT: its irq_work may be done when the task is
 * back in user space, and a stack that was asked for in an interrupt would be
 * of a later entry. path: NULL: /sys/kernel/realtime.
 */
bool seam_kernel_is_realtime(const char *path);
#define SEAM_REALTIME_WHY                                                      \
	"the kernel is PREEMPT_RT, where a task may be back in user space "    \
	"before it is told to take its stack"

/*
 * The first that this process and kernel can be expected to run. why: a text
 * for the reader, of why none that is better; empty for the best.
 */
enum seam_engine seam_engine_choose(char *why, size_t size);

#endif
