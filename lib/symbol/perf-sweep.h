/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which of symbols that overlap holds what, if the later one in the table took
 * the earlier one's place. */
#ifndef SEAM_LIB_SYMBOL_PERF_SWEEP_H
#define SEAM_LIB_SYMBOL_PERF_SWEEP_H

#include "symbol/perf-map.h"

/* Return: 0, and *ret is to be freed; -ENOMEM. */
int seam_perf_sweep(const struct seam_symtab *tab, struct seam_perf_piece **ret,
		    size_t *ret_n);

#endif
