/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a recording's kernel symbols are from. Both say what fails. Return: 0
 * or -1. */
#ifndef SEAM_CLI_INPUT_KERNEL_H
#define SEAM_CLI_INPUT_KERNEL_H

#include "cli/input.h"

/* A recorded kernel's symbols, where perf has kept them. */
int input_find_kallsyms(struct input *in);
/* Of the resolver, which then knows whose they are. */
int input_fit_kernel(struct input *in);

#endif
