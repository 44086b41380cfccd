/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the recorder needs of a session beside <seam/tracer.h>. */
#ifndef SEAM_LIB_CAPTURE_SESSION_H
#define SEAM_LIB_CAPTURE_SESSION_H

#include "capture/event.h"
#include "seam/tracer.h"

/* The events as opened; the sideband's own is the last. */
size_t seam_session_events(const struct seam_session *s,
			   const struct seam_event *ret[static 17]);
/* Whether the client named tasks, and the last of them has ended. */
bool seam_session_targets_gone(const struct seam_session *s);
/* The name of what a client's event became: "cpu-clock". */
const char *seam_session_event_name(const struct seam_session *s, size_t i);

#endif
