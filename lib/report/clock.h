/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a recording's times are by the clock that files are stamped by. */
#ifndef SEAM_LIB_REPORT_CLOCK_H
#define SEAM_LIB_REPORT_CLOCK_H

#include "perfdata/reader.h"

struct seam_clock_fit {
	bool is_known; /* by how much that clock is ahead: */
	uint64_t ahead_ns; /* modulo 2^64 */
	uint64_t until_ns; /* by it, of the recording's end; 0: none yet */
};

/* path: of the recording; NULL: it comes by a pipe. is_live: it is made
 * meanwhile. */
void seam_clock_fit(const struct seam_pd_reader *r, const char *path,
		    bool is_live, struct seam_clock_fit *ret);

#endif
