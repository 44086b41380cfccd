/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_TABLE_CACHE_PRIV_H
#define SEAM_LIB_TABLE_CACHE_PRIV_H

#include <stdint.h>

#include "elf/elf.h"
#include "table/table.h"

/* Raise it whenever the converter makes different tables. */
#define SEAM_CACHE_VERSION 5
#define SEAM_CACHE_NAME_SIZE (2 * SEAM_BUILD_ID_MAX + 16)

struct seam_table_cache {
	int dir;
	uint64_t stored; /* bytes since the folder was last made smaller */
};

/* BUILDID.kN; kind: 'k'. */
void seam_cache_name(char name[static SEAM_CACHE_NAME_SIZE], const uint8_t *id,
		     size_t id_len, char kind, int version);
/* So many bytes more are in the folder. */
void seam_cache_stored(struct seam_table_cache *cache, uint64_t bytes);

#endif
