/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of slow-calls exchange. */
struct call {
	unsigned long long cookie, took_ns, args[3];
	unsigned int tid, nr;
};
