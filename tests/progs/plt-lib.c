// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The library that plt.c calls through its PLT; it has a PLT of its own. */
#include "keep.h"

void lib_outer(void (*back)(void));
void lib_inner(void (*back)(void));
void lib_nothing(void);

KEEP void lib_nothing(void)
{
}

KEEP void lib_inner(void (*back)(void))
{
	back();
	lib_nothing();
	STAY();
}

KEEP void lib_outer(void (*back)(void))
{
	lib_inner(back);
	STAY();
}
