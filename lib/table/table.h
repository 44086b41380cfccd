/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tables: SFrame V3 bytes for one ELF file.
 *
 * Two forms. The file form is plain SFrame V3, as a linker would write it,
 * addresses as if the section were loaded at svma 0. The kernel form is what
 * is laid out for BPF (lookup.h); it differs in four ways, all made by
 * seam_table_build_kernel:
 *  - addresses are file offsets (of the mapping: ip - vm_start + pgoff), so
 *    that a mapping alone locates a row; section address 0 as well;
 *  - rules CFA = *(reg + off) + add use SEAM_SFRAME_FDE_FLEX_ADD;
 *  - code without CFI at the ELF entry point gets an outermost row: from
 *    e_entry to the next FDE or symbol, at most SEAM_TABLE_ENTRY_MAX bytes;
 *  - other code without CFI gets the rows that cfi/derive.h finds for it.
 */
#ifndef SEAM_LIB_TABLE_H
#define SEAM_LIB_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "seam/error.h"
#include "sframe/hole.h"

#define SEAM_TABLE_ENTRY_MAX 128

/*
 * hole_bytes is the sum of holes, all in bytes. A function is
 * outside if its code lies in no executable PT_LOAD (left behind by the
 * linker, or from another file): it is skipped and counted nowhere else. So is
 * what of a row lies beyond the end of its start's PT_LOAD.
 */
struct seam_table_stats {
	uint64_t functions, rows; /* in the table: splits and merges count */
	uint64_t code_bytes; /* covered by CFI */
	uint64_t hole_bytes; /* of those, without a rule */
	uint64_t holes[SEAM_HOLE_NUM]; /* the same by cause */
	uint64_t outside; /* rows of such functions, or rows' ends */
	uint64_t overlap_bytes; /* given up where functions overlap */
	uint64_t malformed; /* FDEs, those without a range too */
};

/*
 * Both: caller frees *ret_bytes with free(); ret_stats may be NULL.
 * -ENOENT: no CFI at all (and, kernel form, no entry point either).
 */
int seam_table_build(const struct seam_elf *elf, uint8_t **ret_bytes,
		     size_t *ret_size, struct seam_table_stats *ret_stats,
		     struct seam_errinfo *reterr);
/* The file form in another version of SFrame, 2 or 3. In 2, which holds fewer
 * rules, what it does not hold is a hole, SEAM_HOLE_FORM. */
int seam_table_build_as(const struct seam_elf *elf, uint8_t version,
			uint8_t **ret_bytes, size_t *ret_size,
			struct seam_table_stats *ret_stats,
			struct seam_errinfo *reterr);
int seam_table_build_kernel(const struct seam_elf *elf, uint8_t **ret_bytes,
			    size_t *ret_size,
			    struct seam_table_stats *ret_stats,
			    struct seam_errinfo *reterr);

/*
 * The disk cache of kernel-form tables, keyed by build-id (files without one
 * are not cached). Safe with concurrent writers: a table is written to a
 * private name and renamed. Each file carries a version, its length and a
 * checksum, and is verified in full before it is believed; a bad one is
 * rebuilt. dir NULL: $XDG_CACHE_HOME/seam, ~/.cache/seam, root:
 * /var/cache/seam. Failing to write the cache is no error. Who stored tables
 * removes those used longest ago, by anybody, where there are more than
 * SEAM_TABLE_CACHE_MAX bytes of them.
 */
#define SEAM_TABLE_CACHE_MAX ((size_t)512 << 20)
struct seam_table_cache;
int seam_table_cache_open(const char *dir, struct seam_table_cache **ret);
struct seam_table_cache *seam_table_cache_close(struct seam_table_cache *cache);
/* cache may be NULL. As seam_table_build_kernel. */
int seam_table_load_kernel(struct seam_table_cache *cache,
			   const struct seam_elf *elf, uint8_t **ret_bytes,
			   size_t *ret_size, struct seam_table_stats *ret_stats,
			   struct seam_errinfo *reterr);

#endif
