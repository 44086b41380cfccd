/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where a process says which SFrame sections describe code that it made while
 * it ran: a private mapping of a memfd, which /proc/PID/maps shows by its name
 * to whoever comes later. A child of fork has its own copy from then on; exec
 * and exit take it away. And what is said to the kernel at each change, which
 * it refuses, for whoever watches then.
 *
 * A reader of another process believes nothing of it, and takes what it copied
 * only if .changes was even and the same before and after.
 */
#ifndef SEAM_CORE_JIT_REGISTRY_H
#define SEAM_CORE_JIT_REGISTRY_H

#include <stdint.h>

#define SEAM_JIT_NAME "seam-jit"
#define SEAM_JIT_MAGIC 0x74696a2d6d616573ULL /* "seam-jit" */
#define SEAM_JIT_VERSION 1
#define SEAM_JIT_MAX_ENTRIES (1u << 18)

struct seam_jit_entry {
	uint64_t code, code_size;
	uint64_t sframe, sframe_size;
	uint64_t id; /* never used again in this process */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};
_Static_assert(sizeof(struct seam_jit_entry) == 48, "as others read it");

struct seam_jit_registry {
	uint64_t magic; /* 0: another registry has taken its place */
	uint32_t version, entry_size;
	uint64_t changes; /* odd: it is being changed */
	uint64_t num;
	struct seam_jit_entry entries[]; /* by code */
};
_Static_assert(sizeof(struct seam_jit_registry) == 32, "likewise");

/*
 * prctl options. Ours is none of the kernel's: arg2 is what has changed in the
 * registry, arg3 and arg4 are the code's start and size. The others are as
 * proposed for Linux 6.16 and later, with the numbers that they had there
 * last: section, its size, text start, text size; and section. Linux knows
 * none of them, and says so by a tracepoint.
 */
#define SEAM_PRCTL_JIT 0x7365616d
#define SEAM_PRCTL_ADD_SFRAME 79
#define SEAM_PRCTL_REMOVE_SFRAME 80
enum seam_jit_change { SEAM_JIT_ADDED = 1, SEAM_JIT_REMOVED = 2 };

#endif
