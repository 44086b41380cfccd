/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What debuginfod's clients, debuginfod-find and gdb for two, have fetched; and
 * what perf record has kept of each file that was hit. */
#ifndef SEAM_LIB_ELF_FETCHED_H
#define SEAM_LIB_ELF_FETCHED_H

#include <limits.h>
#include <stdbool.h>

/*
 * Names the file that a build-id's `what` would be in: "executable" or
 * "debuginfo". hex: the build-id.
 * Return: false: there is no such folder, or its name is too long.
 */
bool seam_fetched_name(char to[static PATH_MAX], const char *hex,
		       const char *what);
/* So in perf's cache: "elf", the file itself; "vdso"; "debug", its debugging
 * information; "kallsyms", of a kernel. */
bool seam_perf_kept_name(char to[static PATH_MAX], const char *hex,
			 const char *what);

#endif
