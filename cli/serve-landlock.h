/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The files that are left to the process of seam serve that keeps tables. */
#ifndef SEAM_CLI_SERVE_LANDLOCK_H
#define SEAM_CLI_SERVE_LANDLOCK_H

/*
 * From now on, for good, and without the right to get rights by execve before:
 * what is open stays so, and of the rest /proc can be read, tables be kept in
 * the folder cache (NULL: seam_cache_folder's own), and those in meeting, where
 * clients do, be made and removed. Return: 0; -EOPNOTSUPP: this kernel has no
 * Landlock, or it is off; another -errno.
 */
int serve_landlock(const char *cache, const char *meeting);

#endif
