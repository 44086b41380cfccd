/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Processes that are there now, as /proc lists them. */
#ifndef SEAM_CLI_PROCESSES_H
#define SEAM_CLI_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* They are added to *ids, which is the caller's to free. Return: 0 or -errno.
 */
int processes_of_user(uid_t uid, uint32_t **ids, size_t *n);
/* The process, and all that it and its children have started. */
int processes_below(uint32_t pid, uint32_t **ids, size_t *n);
/* The threads that the process has now. -ESRCH: there is no such process. */
int processes_threads(uint32_t pid, uint32_t **ids, size_t *n);
/* Without those that have ended since. Return: whether there were any. */
bool processes_drop_ended(uint32_t *ids, size_t *n);

#endif
