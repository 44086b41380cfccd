/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How the tools here print a stack that they are given; asks.py reads it. */
#ifndef SEAM_TESTS_ASKS_STACK_H
#define SEAM_TESTS_ASKS_STACK_H

#include <stdio.h>

#include "seam/tracer.h"

static inline void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	(void)ctx;
	printf("stack %#llx %s", (unsigned long long)stack->cookie,
	       seam_err_name(stack->end));
	for (size_t i = 0; i < stack->n_ips; i++)
		printf(" %#llx", (unsigned long long)stack->ips[i]);
	putchar('\n');
}

#endif
