/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * KEEP: the function stays a function of its own. STAY() after a call keeps
 * that call from becoming a tail call, since something is left to do.
 */
#ifndef TESTS_PROGS_KEEP_H
#define TESTS_PROGS_KEEP_H

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif
#define STAY() __asm__ volatile("" : : : "memory")

#endif
