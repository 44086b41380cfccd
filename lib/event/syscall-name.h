/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tracepoints of single system calls, syscalls:sys_enter_NAME and
 * sys_exit_NAME. The kernel makes them of those of all calls, which alone can
 * have a BPF program without a perf event; nothing says which number is whose.
 */
#ifndef SEAM_LIB_EVENT_SYSCALL_NAME_H
#define SEAM_LIB_EVENT_SYSCALL_NAME_H

/* Return: the call's number, and *ret the name of the tracepoint of all; -1,
 * and *ret as it was: it is no such name, or of a call that is not known. */
int seam_syscall_of(const char *name, const char **ret);

#endif
