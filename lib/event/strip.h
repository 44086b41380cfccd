/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Kernel stacks taken at a tracepoint begin with the program that takes them
 * and the way there; what the tracepoint itself is in comes behind.
 */
#ifndef SEAM_LIB_EVENT_STRIP_H
#define SEAM_LIB_EVENT_STRIP_H

#include <stddef.h>
#include <stdint.h>

struct seam_strip {
	struct seam_strip_range {
		uint64_t start, end;
	} * ranges;
	size_t n;
};

/* Learns from /proc/kallsyms. Hidden addresses: nothing is stripped. */
int seam_strip_open(struct seam_strip *strip);
/* Return: how many frames at the beginning are not the tracepoint's. */
size_t seam_strip_count(const struct seam_strip *strip, const uint64_t *ips,
			size_t n);
void seam_strip_fini(struct seam_strip *strip);

#endif
