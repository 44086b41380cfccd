/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Registers of two moments. For a signal's handler the kernel replaces a task's
 * ip and sp one after the other, on the way back to user space; an event may
 * come between. Of the pair it finds one is still of the code that the signal
 * interrupts, and the other of the handler. At the return all is told: the
 * handlers that are about to begin have their frames one upon the other, and
 * each frame holds the pair that was there before it.
 *
 * Whoever includes this reads a frame:
 *
 *   bool seam_signal_env_pair(env, at, ret)   the pair in the frame at `at`,
 *                                             its return address' place
 */
#ifndef SEAM_CORE_SIGNAL_PART_H
#define SEAM_CORE_SIGNAL_PART_H

#include "core/signal-frame.h"

struct seam_signal_env;

struct seam_signal_pair {
	uint64_t sp, ip; /* side by side, as in a frame on amd64 */
};

#ifndef SEAM_SIGNAL_HOOK
#define SEAM_SIGNAL_HOOK SEAM_INLINE
#endif

SEAM_SIGNAL_HOOK bool seam_signal_env_pair(struct seam_signal_env *env,
					   uint64_t at,
					   struct seam_signal_pair *ret);

/* From a frame's return address to its pair. */
#define SEAM_SIGNAL_PAIR (8 + 40 + 8 * 15)

/* As many handlers as may begin at one return; more are left as they are. */
#define SEAM_SIGNALS_AT_ONCE 8

/*
 * now: at the return. Makes of the event's pair the one that was interrupted.
 * Return: whether it was of two moments.
 */
SEAM_INLINE bool seam_signal_part(struct seam_signal_env *env,
				  struct seam_signal_pair *event,
				  struct seam_signal_pair now)
{
	struct seam_signal_pair before = {0};
	uint32_t i;

	for (i = 0; i < SEAM_SIGNALS_AT_ONCE; i++) {
		bool same_sp = now.sp == event->sp,
		     same_ip = now.ip == event->ip;

		if ((same_sp && same_ip) ||
		    !seam_signal_env_pair(env, now.sp, &before))
			return false;
		if (same_sp) { /* the handler's, when ip was not */
			if (before.ip != event->ip)
				return false;
			event->sp = before.sp;
			return true;
		}
		if (same_ip && before.sp == event->sp) {
			event->ip = before.ip;
			return true;
		}
		now = before;
	}
	return false;
}

#endif
