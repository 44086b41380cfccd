/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that may never answer who opens or reads them: of file systems that
 * another process, or another machine, serves. Who has one thread for all does
 * not touch them. Asking the file system itself, by fstatfs(2) too, is a
 * question to that process already; so the kernel side says what it is.
 */
#ifndef SEAM_LIB_PROCESS_FAR_H
#define SEAM_LIB_PROCESS_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file system's s_magic, and the fs_flags of its type. */
bool seam_is_far(uint64_t fs_magic, uint64_t fs_flags);

/*
 * The same of a path, where the kernel side does not say: by the mounts that a
 * process has, which to read asks nobody. What is not known to be of this
 * machine's own disks or memory is far, overlayfs too, whose layers may be
 * anything. *ret_dev: the kernel's number of the file system; 0: unknown.
 * mounts: as /proc/PID/mountinfo is.
 */
bool seam_far_in(const char *mounts, const char *path, uint32_t *ret_dev);

/* What was read of a process's mounts, good for a second. Zeroed: nothing. */
struct seam_far {
	struct seam_far_mounts {
		uint32_t pid;
		uint64_t read_ns;
		char *text;
		size_t room;
	} theirs, ours;
};

/* Of a path in a process, if it lives, and of the same one here. */
bool seam_far_path(struct seam_far *f, uint32_t pid, const char *path,
		   uint32_t *ret_dev);
void seam_far_fini(struct seam_far *f);

#endif
