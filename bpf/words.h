/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The kernel's memory at any address. A bad one reads 0.
 *
 * The verifier of Linux 6.12 casts to a kernel's type only ("kfunc
 * bpf_rdonly_cast type ID argument must be of a struct"), in which it takes no
 * index that changes. Programs that take stacks at the event are for such
 * kernels, too: theirs see struct pt_regs, which begins with a word.
 */
#ifndef SEAM_BPF_WORDS_H
#define SEAM_BPF_WORDS_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

extern void *bpf_rdonly_cast(const void *obj, uint32_t btf_id) __ksym;

static __always_inline void *untrusted(uint64_t addr, uint32_t btf_id)
{
	return bpf_rdonly_cast((const void *)addr, btf_id);
}

/* of: what lies off bytes below, a typed pointer. */
static __always_inline const void *untrusted_below(const void *of, uint64_t off,
						   uint32_t btf_id)
{
#ifdef SEAM_AT_ONCE
	return bpf_rdonly_cast((const char *)of - off, btf_id);
#else
	return (const char *)bpf_rdonly_cast(of, 0) - off;
#endif
}

#define TYPE_ID(type) bpf_core_type_id_kernel(type)
#define VIEW(type, addr) ((type *)untrusted((uint64_t)(addr), TYPE_ID(type)))

#ifdef SEAM_AT_ONCE
#define WORD_AT(addr) (VIEW(struct pt_regs___kernel, addr)->r15)
#define BYTE_AT(addr) ((uint8_t)WORD_AT(addr))
#define ROW_AT(addr) ((const uint64_t *)(addr))
#define ROW_WORD(row, i) WORD_AT((row) + (i))
#else
#define WORD_AT(addr) (*(const uint64_t *)untrusted((uint64_t)(addr), 0))
#define BYTE_AT(addr) (*(const uint8_t *)untrusted((uint64_t)(addr), 0))
#define ROW_AT(addr) ((const uint64_t *)untrusted((uint64_t)(addr), 0))
#define ROW_WORD(row, i) ((row)[i])
#endif

/*
 * A pointer member, as a number: the verifier tracks typed ones. Where it
 * trusts what they are in, a task, it also looks a type up by its name for each
 * such load, four times through all of the kernel's (Linux 6.18): 150 us.
 */
#define ADDRESS(type, addr, field)                                             \
	WORD_AT((uint64_t)(addr) + bpf_core_field_offset(type, field))

#define TS_COMPAT 2

/* Whether the system call that it is in has a number of 32-bit code's. */
static __always_inline bool is_32bit_call(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* When the task's process began. */
static __always_inline uint64_t process_start(const struct task_struct *task)
{
	return VIEW(struct task_struct,
		    ADDRESS(struct task_struct, task, group_leader))
		->start_boottime;
}

#endif
