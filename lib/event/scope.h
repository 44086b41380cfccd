/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Whose perf events are opened: every task's on each CPU, or those of named
 * threads and of what they start. Opening for each CPU all the same is what
 * the kernel wants of events that are inherited and have a buffer.
 */
#ifndef SEAM_LIB_EVENT_SCOPE_H
#define SEAM_LIB_EVENT_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;

struct seam_scope {
	int32_t *tids; /* NULL: every task */
	size_t n;
	bool on_exec; /* they begin at the next exec */
	bool alone; /* what the tasks start is no task of it, */
	bool threads; /* but threads are, of a process that is */
};

int seam_scope_add(struct seam_scope *scope, uint32_t tid);
/* Every thread that the process has now. -ESRCH: there is none. */
int seam_scope_add_process(struct seam_scope *scope, uint32_t pid);
bool seam_scope_has(const struct seam_scope *scope, uint32_t tid);
void seam_scope_fini(struct seam_scope *scope);

/* scope may be NULL, for every task. */
static inline size_t seam_scope_n(const struct seam_scope *scope)
{
	return scope && scope->tids ? scope->n : 1;
}

static inline int seam_scope_tid(const struct seam_scope *scope, size_t i)
{
	return scope && scope->tids ? scope->tids[i] : -1;
}

/* What an event of that scope has to say of itself. */
void seam_scope_set(const struct seam_scope *scope,
		    struct perf_event_attr *attr);

#endif
