/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Are this machine's kernel symbols those of a recording? */
#ifndef SEAM_LIB_STITCH_KERNEL_H
#define SEAM_LIB_STITCH_KERNEL_H

#include <stdbool.h>

#include "perfdata/reader.h"

struct seam_kernel_fit {
	bool other; /* another kernel: its symbols would be wrong */
	bool other_runs; /* whatever kallsyms is given, a vDSO of here is not
			  * that of the recording */
	bool unplaced; /* where it lay at its boot is not in kallsyms */
	int64_t shift; /* the same, but placed elsewhere at its boot: what to
			* take off recorded addresses */
};

/*
 * Where another kernel runs here than the recorded one, perf may have kept the
 * symbols of that, by its build-id. *ret: to be freed; NULL: there is nothing.
 * Return: 0, -ENOMEM, or SEAM_DOUBTED: *ret is not to be taken (elf/doubt.h).
 */
int seam_kernel_kept(const struct seam_pd_reader *r, char **ret);
/* kallsyms: a file given for this recording; NULL: /proc/kallsyms. */
void seam_kernel_fit(const struct seam_pd_reader *r, const char *kallsyms,
		     struct seam_kernel_fit *ret);

#endif
