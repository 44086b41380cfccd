/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of asks exchange. */
enum asks_type {
	ASKS_PERF_EVENT,
	ASKS_TRACEPOINT,
	ASKS_RAW_TP,
	ASKS_TP_BTF,
	ASKS_FENTRY,
	ASKS_FEXIT,
	ASKS_UPROBE,
	ASKS_URETPROBE,
	ASKS_UPROBE_S,
	ASKS_KPROBE,
	ASKS_IRQ, /* where it is the one type that asks */
	ASKS_NMI, /* likewise */
	ASKS_TYPES,
};

struct ask {
	unsigned long long cookie;
	unsigned int type; /* enum asks_type */
	unsigned int tid;
};

#define FOUND_IPS 16

/* A stack that a program has found by its cookie. */
struct found {
	unsigned long long cookie;
	unsigned int end, nr;
	unsigned long long ips[FOUND_IPS];
};
