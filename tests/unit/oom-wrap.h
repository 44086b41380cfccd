/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * When memory runs out at any call of an allocator that the library makes: of
 * a test that is linked with oom_wrap_args, which put these between the library
 * and the C library.
 */
#ifndef SEAM_TESTS_OOM_WRAP_H
#define SEAM_TESTS_OOM_WRAP_H

#include <stdio.h>

#include "tests/unit/oom.h"

#define OOM_WRAP(type, name, failed, params, args)                             \
	type __real_##name params;                                             \
	type __wrap_##name params;                                             \
	type __wrap_##name params                                              \
	{                                                                      \
		return may_allocate() ? __real_##name args : failed;           \
	}

OOM_WRAP(void *, malloc, NULL, (size_t size), (size))
OOM_WRAP(void *, calloc, NULL, (size_t num, size_t size), (num, size))
OOM_WRAP(void *, realloc, NULL, (void *p, size_t size), (p, size))
OOM_WRAP(void *, reallocarray, NULL, (void *p, size_t num, size_t size),
	 (p, num, size))
OOM_WRAP(char *, strdup, NULL, (const char *s), (s))
/* These allocate inside the C library. */
OOM_WRAP(FILE *, fopen, NULL, (const char *path, const char *mode),
	 (path, mode))
OOM_WRAP(ssize_t, getline, -1, (char **line, size_t *room, FILE *f),
	 (line, room, f))

#endif
