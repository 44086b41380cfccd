// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/strip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program, the dispatcher and the tracepoint's iterator. */
#define STRIP_DEPTH 6

static bool is_way(const char *name)
{
	return !strncmp(name, "bpf_trace_run", 13) ||
	       !strncmp(name, "__bpf_trace_", 12) ||
	       !strncmp(name, "__traceiter_", 12);
}

static int add_range(struct seam_strip *strip, uint64_t start)
{
	struct seam_strip_range *ranges =
		realloc(strip->ranges, (strip->n + 1) * sizeof(*strip->ranges));

	if (!ranges)
		return -ENOMEM;
	strip->ranges = ranges;
	ranges[strip->n].start = start;
	ranges[strip->n].end = UINT64_MAX;
	strip->n++;
	return 0;
}

int seam_strip_open(struct seam_strip *strip)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256], type;
	bool open = false;
	uint64_t addr;
	int err = 0;

	while (f && !err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) !=
			    3 ||
		    !addr)
			continue;
		/* A symbol ends where the next one begins. */
		if (open && addr > strip->ranges[strip->n - 1].start) {
			strip->ranges[strip->n - 1].end = addr;
			open = false;
		}
		if (!open && is_way(name)) {
			err = add_range(strip, addr);
			open = !err;
		}
		if (strchr(line, '[')) /* modules: addresses begin anew */
			break;
	}
	if (f)
		fclose(f);
	return err;
}

static bool in_ranges(const struct seam_strip *strip, uint64_t ip)
{
	for (size_t i = 0; i < strip->n; i++)
		if (ip >= strip->ranges[i].start && ip < strip->ranges[i].end)
			return true;
	return false;
}

size_t seam_strip_count(const struct seam_strip *strip, const uint64_t *ips,
			size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n && i < STRIP_DEPTH; i++)
		if (in_ranges(strip, ips[i]))
			count = i + 1;
	return count;
}

void seam_strip_fini(struct seam_strip *strip)
{
	free(strip->ranges);
	*strip = (struct seam_strip){0};
}
