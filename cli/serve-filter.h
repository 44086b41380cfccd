/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The system calls that are left to the processes of seam serve. */
#ifndef SEAM_CLI_SERVE_FILTER_H
#define SEAM_CLI_SERVE_FILTER_H

/*
 * From now on, for good, and without the right to get rights by execve before.
 * What they do not take fails with EPERM and is logged by the kernel where it
 * logs such: another C library's call must not end a process that can do
 * without. A call of another architecture's table ends it. Under a sanitizer
 * nothing is filtered. Return: 0 or -errno.
 */
int serve_filter(void);
int serve_filter_opener(void);

#endif
