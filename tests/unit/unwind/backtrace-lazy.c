// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A function that the dynamic linker asks us for when it is first called: the
 * resolver runs inside of _dl_fixup, below _dl_runtime_resolve. */
#include <stddef.h>

void (*lazy_resolving)(void);
int lazy_function(int x);

static int plus_one(int x)
{
	return x + 1;
}

static __attribute__((used, no_sanitize("all"))) int (*resolve(void))(int)
{
	if (lazy_resolving)
		lazy_resolving();
	return plus_one;
}

int lazy_function(int x) __attribute__((ifunc("resolve")));
