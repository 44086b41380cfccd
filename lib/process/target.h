/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What /proc and signals tell of a task that is recorded, and its files. */
#ifndef SEAM_LIB_PROCESS_TARGET_H
#define SEAM_LIB_PROCESS_TARGET_H

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

/* A task to record: by descriptors, since its numbers may become another's. */
struct seam_target {
	int task; /* pidfd of the process or thread, or its folder */
	int process; /* of a thread's process; else -1 */
	uint32_t tgid, id;
	bool is_folder; /* of a thread, in /proc */
	bool exited; /* the caller knows */
};
/* Return: 0 or -errno; -ESRCH: there is no such process, or thread. */
int seam_target_open(uint32_t id, bool is_thread, struct seam_target *ret);
void seam_target_close(struct seam_target *target);
/* Whether it ended. A thread whose exec gave it its process's number has to
 * all appearance; its process has not. */
bool seam_target_ended(const struct seam_target *target);
bool seam_target_process_ended(const struct seam_target *target);

/*
 * Opens the file of a mapping: through the process while it lives, else by
 * its path. Return: a descriptor, or -errno. The caller checks that it is
 * the right file.
 */
int seam_open_mapped(uint32_t pid, uint64_t start, uint64_t end);
int seam_open_path(uint32_t pid, const char *path);

#endif
