/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a recording's kernel symbols are from. */
#ifndef SEAM_CLI_INPUT_KERNEL_H
#define SEAM_CLI_INPUT_KERNEL_H

#include "cli/input.h"

/* A recorded kernel's symbols, where perf has kept them. Return: 0, or -1,
 * said. */
int input_find_kallsyms(struct input *in);
/* Of the resolver, which then knows whose they are. */
void input_fit_kernel(struct input *in);

#endif
