// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the C library between: callbacks from qsort and bsearch. */
#include "path.h"

KEEP int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	leaf();
	return x < y ? -1 : x > y;
}

KEEP int compare_key(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	leaf();
	return x < y ? -1 : x > y;
}

KEEP void sort_it(int *v)
{
	qsort(v, 2, sizeof(v[0]), compare);
	STAY();
}

KEEP void search_it(int *v)
{
	int key = 7;

	path_sink += bsearch(&key, v, 2, sizeof(v[0]), compare_key) != NULL;
	STAY();
}

KEEP void run(void)
{
	int v[2] = {9, 3};

	sort_it(v);
	search_it(v);
	STAY();
}

PATH_MAIN(run())
