/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tables as they are laid out for finding rules (core/lookup.h), kept on disk
 * beside those that they are made of: so a file whose stacks are unwound again
 * need not even be read.
 *
 * What was made of a file is believed as long as this is the same file, and
 * nothing has changed it: by device, inode, size and ctime. One that changed in
 * the last seconds is not kept, since it may change once more in the same tick
 * of the clock.
 */
#ifndef SEAM_LIB_TABLE_LAID_OUT_H
#define SEAM_LIB_TABLE_LAID_OUT_H

#include <sys/stat.h>

#include "core/lookup.h"
#include "table/table.h"

struct seam_laid_out {
	const uint8_t *build_id;
	size_t build_id_len;
	const struct stat *st; /* of the file */
};

/* ret_bytes: ret->size bytes, at most max, the caller's to free. Return: 0 or
 * -errno: there is none. */
int seam_laid_out_load(const struct seam_table_cache *cache,
		       const struct seam_laid_out *of, uint64_t max,
		       struct seam_lookup *ret, uint8_t **ret_bytes);

/* Failing is no error. */
void seam_laid_out_store(struct seam_table_cache *cache,
			 const struct seam_laid_out *of,
			 const struct seam_lookup *lookup,
			 const uint8_t *bytes);

#endif
