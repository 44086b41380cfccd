/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Arrays that grow as they fill, and need not fit in memory: from a size on one
 * is in a file without a name, in TMPDIR or else /var/tmp. The kernel writes
 * its pages there when it wants their memory, and seam_spill_let_go gives that
 * back at once. Where no such file can be had, or it has no room, memory may
 * do.
 */
#ifndef SEAM_LIB_BASE_SPILL_H
#define SEAM_LIB_BASE_SPILL_H

#include <stddef.h>

/* All 0: an empty one. */
struct seam_spill {
	void *p; /* the items; they move as it grows */
	size_t max; /* items there is room for */
	size_t mapped; /* bytes of the file; 0: it is in memory */
	int fd; /* of the file, if there is one */
	size_t from; /* bytes from which it is; 0: seam_spill_from */
};

/* Bytes from which one is in a file, at the latest. For tests to change. */
extern size_t seam_spill_from;

/* Makes room for need items of size bytes, doubling it as often as that takes.
 * Return: 0; -ENOMEM: all is as it was. */
int seam_spill_grow(struct seam_spill *s, size_t need, size_t size);
void seam_spill_fini(struct seam_spill *s);
/* Of one in a file: no page of it is in this process's memory then; each comes
 * back when it is touched. */
void seam_spill_let_go(const struct seam_spill *s);

/* Sorts the first n items, whose order is to be a total one.
 * Return: 0; -ENOMEM: they are all there, in some order. */
int seam_spill_sort(struct seam_spill *s, size_t n, size_t size,
		    int (*compare)(const void *, const void *));

/* A file without a name. Return: its descriptor, or -errno. */
int seam_spill_file(void);

#endif
