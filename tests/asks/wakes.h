/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of wakes exchange. */
enum wakes_mode {
	WAKES_WAKEUP, /* who wakes a thread asks for its stack */
	WAKES_BOTH, /* and the thread does as it goes to sleep */
	WAKES_NEXT, /* who leaves the CPU asks for the thread that gets it */
	WAKES_KICK, /* at each sleep of the process' parent */
	WAKES_MODES,
};

enum wakes_what { WAKES_ASLEEP, WAKES_AWAKE };

struct wake {
	unsigned long long cookie;
	unsigned int what; /* enum wakes_what */
	unsigned int tid;
};
