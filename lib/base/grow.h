/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Arrays that grow as they fill. */
#ifndef SEAM_LIB_BASE_GROW_H
#define SEAM_LIB_BASE_GROW_H

#include <stddef.h>

/*
 * Makes room in an array for need items of size bytes, doubling it as often
 * as that takes. array: the address of the pointer to it, which may be NULL;
 * *max: how many items it has room for.
 * Return: 0; -ENOMEM: all is as it was.
 */
int seam_grow(void *array, size_t need, size_t *max, size_t size);

#endif
