// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The shared object that dlopen.c opens; it calls back into the program. */
#include "keep.h"

void plugin_enter(void (*back)(unsigned long), unsigned long n);
void plugin_inner(void (*back)(unsigned long), unsigned long n);

KEEP void plugin_inner(void (*back)(unsigned long), unsigned long n)
{
	char vla[n + 1];

	((volatile char *)vla)[n] = 1;
	back(n);
	STAY();
}

KEEP void plugin_enter(void (*back)(unsigned long), unsigned long n)
{
	plugin_inner(back, n);
	STAY();
}
