/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* event.c's other half. */
#ifndef SEAM_LIB_EVENT_EVENT_DIRECT_H
#define SEAM_LIB_EVENT_EVENT_DIRECT_H

#include "event/event.h"

/* Sets .opened so that samples have both halves, as far as this kernel and our
 * rights let it. */
int seam_event_settle(struct seam_event *ev, struct seam_event_direct *direct,
		      struct seam_errinfo *reterr);
/* Says why the kernel opens it not, and what to do. tid -1: every task's.
 * Return: err. */
int seam_event_fail(const struct seam_event *ev, int tid, int cpu, int err,
		    struct seam_errinfo *reterr);

#endif
