/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Fills a struct seam_errinfo: what the ELF and CFI readers share. */
#ifndef SEAM_LIB_ELF_FAIL_H
#define SEAM_LIB_ELF_FAIL_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "seam/error.h"

/* Return: -EINVAL, so that a check is one statement. */
static inline int seam_elf_fail(struct seam_errinfo *reterr, int code,
				uint64_t offset, const char *where,
				const char *reason)
{
	if (reterr) {
		*reterr = (struct seam_errinfo){
			.code = code,
			.offset = offset,
		};
		snprintf(reterr->where, sizeof(reterr->where), "%s", where);
		snprintf(reterr->reason, sizeof(reterr->reason), "%s", reason);
	}
	return -EINVAL;
}

#endif
