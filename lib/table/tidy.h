/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Keeps the folder of the disk cache in order. Other processes may write,
 * read and tidy it at the same time: a file is only ever removed whole, and
 * who has it open reads on. Failing to remove is no error.
 */
#ifndef SEAM_LIB_TABLE_TIDY_H
#define SEAM_LIB_TABLE_TIDY_H

#include <stdint.h>

#define SEAM_CACHE_TMP ".tmp-" /* how private names of writers begin */

/* Private names whose writer was killed; no writer takes an hour. */
void seam_cache_remove_stale(int dir);

/* Removes the tables used longest ago until those left have at most max
 * bytes, each counted in blocks. A table's modification time is its last
 * use. Files of other names are neither counted nor touched. */
void seam_cache_shrink(int dir, uint64_t max);

#endif
