// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ITEMS 64

int seam_grow(void *array, size_t need, size_t *max, size_t size)
{
	size_t n = *max ? *max : FIRST_ITEMS;
	void *old, *p;

	if (need <= *max)
		return 0;
	/* No object is larger; sanitizers would end the program over it. */
	if (need > PTRDIFF_MAX / 2 / size)
		return -ENOMEM;
	while (n < need)
		n *= 2;
	memcpy(&old, array, sizeof(old));
	p = reallocarray(old, n, size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*max = n;
	return 0;
}
