/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What /proc and signals tell of a task that is recorded, and its files. */
#ifndef SEAM_LIB_CAPTURE_TARGET_H
#define SEAM_LIB_CAPTURE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a task has ended. A zombie has, unless it is the first thread of a
 * process whose other threads live. */
bool seam_task_gone(uint32_t tid);
/*
 * Whether what is kept of a task can go: it ended SEAM_KEEP_DEAD_NS before
 * now, or earlier, so that its records are in. *exited_ns is 0 until an exit
 * is known of, and moves on where the task turns out to live.
 */
#define SEAM_KEEP_DEAD_NS 5000000000ULL
bool seam_task_over(uint32_t tid, uint64_t *exited_ns, uint64_t now_ns);
/* The process that a thread belongs to; 0: it is gone. */
uint32_t seam_task_process(uint32_t tid);

/*
 * Opens the file of a mapping: through the process while it lives, else by
 * its path. Return: a descriptor, or -errno. The caller checks that it is
 * the right file.
 */
int seam_open_mapped(uint32_t pid, uint64_t start, uint64_t end);
int seam_open_path(uint32_t pid, const char *path);

#endif
