// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record-pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "event/tracepoint-match.h"

#define EVENTS                                                                 \
	(sizeof(((struct record_options *)0)->events) /                        \
	 sizeof(((struct record_options *)0)->events[0]))

/* SUBSYSTEM:NAME, with which a text begins. */
static size_t base_len(const char *name, size_t len)
{
	size_t n = strcspn(name, ":/,");

	if (n < len && name[n] == ':')
		n += 1 + strcspn(name + n + 1, ":/,");
	return n < len ? n : len;
}

bool record_is_pattern(const char *name, size_t len)
{
	size_t n = base_len(name, len);
	const char *colon = memchr(name, ':', n);

	/* Files of probes may be called so. */
	if (!colon || !strncmp(name, "uprobe:", 7) ||
	    !strncmp(name, "uretprobe:", 10))
		return false;
	return strcspn(name, "*?[") < n;
}

static int bad(const char *pattern, const char *why)
{
	say("seam: record: -e '%s': %s\n", pattern, why);
	return 2;
}

/* perf opens them all. */
static int too_many(const char *pattern, int n)
{
	const char *instead = "name those that are wanted";
	char why[160];

	if (!strncmp(pattern, "syscalls:", 9))
		instead = "all system calls are raw_syscalls:sys_enter and "
			  "raw_syscalls:sys_exit";
	snprintf(why, sizeof(why),
		 "that is %d tracepoints, and 16 events are the most; %s", n,
		 instead);
	return bad(pattern, why);
}

static int add_one(struct record_options *o, const char *name, const char *rest,
		   size_t len,
		   int (*add)(struct record_options *o, const char *name,
			      size_t len))
{
	char *text;
	int status;

	if (asprintf(&text, "%s%.*s", name, (int)len, rest) < 0)
		return bad(name, "no memory");
	status = add(o, text, strlen(text));
	free(text);
	return status;
}

int record_pattern(struct record_options *o, const char *name, size_t len,
		   int (*add)(struct record_options *o, const char *name,
			      size_t len))
{
	size_t base = base_len(name, len);
	char *pattern = strndup(name, base), **names = NULL;
	int n = pattern ? seam_tracepoint_match(pattern, &names) : -ENOMEM;
	int status = -1;

	if (n == -ENOMEM)
		status = bad(name, "no memory");
	else if (n < 0)
		status = bad(
			name,
			"tracepoints cannot be looked for; that takes root, "
			"and a kernel with tracefs");
	else if (!n)
		status = bad(pattern, "no tracepoint is called so");
	else if ((size_t)n > EVENTS - o->n_events)
		status = too_many(pattern, n);
	for (int i = 0; status < 0 && i < n; i++)
		status = add_one(o, names[i], name + base, len - base, add);
	seam_tracepoint_names_free(names);
	free(pattern);
	return status;
}
