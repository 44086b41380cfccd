/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Unwinds stack copies of the kernel side, in what was mapped at their time. */
#ifndef SEAM_LIB_PROCESS_COPIER_H
#define SEAM_LIB_PROCESS_COPIER_H

#include "core/wire.h"
#include "process/code.h"
#include "process/process.h"
#include "seam/tracer.h"
#include "unwind/dump.h"

struct seam_decoder;

/* A stack copy that has been unwound. */
struct seam_unwound {
	struct seam_user_stack stack;
	uint64_t *ips; /* and behind them registers and methods */
};

struct seam_copier {
	struct seam_processes *processes; /* the caller's */
	uint32_t methods, max_frames;
	uint64_t *ips; /* room for one stack */
	uint8_t *found; /* and the methods of its frames */
	struct seam_code_pages code;
	struct seam_decoder *decoder; /* NULL: not needed yet */
	uint64_t frames, unwind_ns; /* so far, without opening files */
	struct seam_dump_counts counts;
};

/* methods: enum seam_unwind_how. Return: 0 or -ENOMEM, and c holds nothing. */
int seam_copier_init(struct seam_copier *c, struct seam_processes *processes,
		     uint32_t methods, uint32_t max_frames);
/* What is known of a copy that there is no memory to unwind: that it is lost,
 * and its leaf and registers, if there is memory for these. The caller frees
 * ret->ips. */
void seam_copier_lose(const struct seam_wire_copy *copy,
		      struct seam_unwound *ret);
/* copy: with all its bytes. The caller frees ret->ips. Return: 0 or -ENOMEM. */
int seam_copier_unwind(struct seam_copier *c, const struct seam_wire_copy *copy,
		       struct seam_unwound *ret);
void seam_copier_fini(struct seam_copier *c);

#endif
