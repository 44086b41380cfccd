/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of slow-calls exchange, by the cookie of its stack. */
struct call {
	unsigned long long took_ns, args[3];
	unsigned int nr;
};
