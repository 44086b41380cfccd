/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What /proc/PID/stat says of a process. Its name stands before that, in
 * brackets, and may have brackets, blanks and newlines in it.
 */
#ifndef SEAM_LIB_BASE_PROC_STAT_H
#define SEAM_LIB_BASE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct seam_proc_stat {
	char state;
	unsigned long long start_ticks; /* from the machine's start to its */
};

/* Return: false: it does not run, or cannot be seen. */
bool seam_proc_stat_read(uint32_t pid, struct seam_proc_stat *ret);

#endif
