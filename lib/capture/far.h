/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that may never answer who opens or reads them: of file systems that
 * another process, or another machine, serves. Who has one thread for all does
 * not touch them. Asking the file system itself, by fstatfs(2) too, is a
 * question to that process already; so the kernel side says what it is.
 */
#ifndef SEAM_LIB_CAPTURE_FAR_H
#define SEAM_LIB_CAPTURE_FAR_H

#include <stdbool.h>
#include <stdint.h>

/* The file system's s_magic, and the fs_flags of its type. */
bool seam_is_far(uint64_t fs_magic, uint64_t fs_flags);

#endif
