/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Are this machine's kernel symbols those of a recording? */
#ifndef SEAM_LIB_REPORT_KERNEL_H
#define SEAM_LIB_REPORT_KERNEL_H

#include <stdbool.h>

#include "perfdata/reader.h"

struct seam_kernel_fit {
	bool other; /* another kernel: its symbols would be wrong */
	int64_t shift; /* the same, but placed elsewhere at its boot: what to
			* take off recorded addresses */
};

/* kallsyms: a file given for this recording; NULL: /proc/kallsyms. */
void seam_kernel_fit(const struct seam_pd_reader *r, const char *kallsyms,
		     struct seam_kernel_fit *ret);

#endif
