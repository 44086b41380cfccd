// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: calls through the PLT, bound lazily, at once, or without one
 * (-fno-plt); the short phase is mostly PLT stubs.
 */
#include "path.h"

void lib_outer(void (*back)(void));
void lib_nothing(void);

KEEP void many_stubs(void)
{
	for (int i = 0; i < 8; i++) {
		lib_nothing();
		lib_nothing();
		lib_nothing();
		lib_nothing();
	}
	STAY();
}

KEEP void back(void)
{
	leaf();
	many_stubs();
	STAY();
}

KEEP void run(void)
{
	lib_outer(back);
	STAY();
}

PATH_MAIN(run())
