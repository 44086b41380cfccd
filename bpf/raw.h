/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_BPF_RAW_H
#define SEAM_BPF_RAW_H

#include "bpf/clients.h"

/*
 * What raw tracepoints' programs share: a sample whose buffer they have filled,
 * or the stack at an exec or exit. So what takes stacks is verified once for
 * all of them. They are programs of their own since the kernel runs each only
 * once at a time on a CPU: a tick must not be lost that comes amid an exec's.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SEAM_RAW_SLOTS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} raw_programs SEC(".maps");

static __always_inline void to_raw(struct bpf_raw_tracepoint_args *ctx)
{
	bpf_tail_call(ctx, &raw_programs, SEAM_RAW_SHARED);
}

#endif
