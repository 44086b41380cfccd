/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/backtrace.h: the calling thread's own stack, without frame pointers.
 *
 * A drop-in for backtrace(3) that may be called in a signal handler, wherever
 * the signal came, and costs a few nanoseconds a frame. For x86-64.
 *
 *	seam_backtrace_init();
 *	...
 *	void *stack[64];
 *	int n = seam_backtrace(stack, 64);
 *
 * Rules come from the .sframe or .eh_frame of what is loaded, as it lies in
 * memory; no file is read. They are made by seam_backtrace_init and
 * seam_backtrace_refresh, which allocate and take locks. All other calls here
 * are async-signal-safe once either has returned.
 *
 * A frame that needs more registers than rules follow, as in lazy binding, has
 * its stack taken by full CFI: half a microsecond a frame, while signals are
 * blocked.
 */
#ifndef SEAM_BACKTRACE_H
#define SEAM_BACKTRACE_H

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes the rules for all code that is loaded now. To be called before the
 * first signal handler needs them; again, it is seam_backtrace_refresh.
 * Return: 0; -ENOMEM; -ENOSYS: not on this architecture.
 */
int seam_backtrace_init(void);

/*
 * To be called after dlopen, or stacks end at code that is not known; and
 * after dlclose, whose code's rules are still believed until then. Costs
 * microseconds where nothing has changed. Others may take stacks meanwhile.
 * Return: 1: there are new rules; 0: nothing was loaded or unloaded; -ENOMEM:
 * all is as it was.
 */
int seam_backtrace_refresh(void);

/*
 * The return addresses of the calling function and its callers, at most size
 * of them. Without an init before, the first call makes one, and is not safe
 * in a signal handler.
 * Return: how many, 0 if size is not above 0.
 */
int seam_backtrace(void **buffer, int size);

/*
 * Why the calling thread's last stack ended: SEAM_END_OUTERMOST if it is
 * whole, or another end code. In a signal handler, that of a stack of the
 * interrupted code may be overwritten; seam_backtrace_ex has it in time.
 */
int seam_backtrace_end(void);

/*
 * As seam_backtrace. ucontext: the third argument of a signal handler: the
 * stack begins at the instruction that was interrupted, and its address is
 * the first; or NULL: at the caller. flags: 0. *ret_end: an end code; may be
 * NULL; not written where the return is not above 0.
 * Return: how many; 0: size is not above 0; -EINVAL: a flag is not known.
 */
int seam_backtrace_ex(void **buffer, int size, const void *ucontext,
		      unsigned int flags, int *ret_end);

#ifdef __cplusplus
}
#endif

#endif
