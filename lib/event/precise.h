/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How precise an event is to be: the modifiers p, pp, ppp and P. */
#ifndef SEAM_LIB_EVENT_PRECISE_H
#define SEAM_LIB_EVENT_PRECISE_H

#include "event/event-name.h"
#include "event/event.h"

/* Return: 0; -EINVAL: it cannot be. */
int seam_event_precise(const struct seam_event_name *name,
		       struct seam_event *ev, struct seam_errinfo *reterr);

#endif
