/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The engines without BPF: the kernel's perf events make the samples, and
 * have the user's half with them.
 *
 * `dump`: each sample has the user's registers and a copy of the stack from SP
 * on; the session's worker unwinds it with what was mapped at its time. Each
 * is an entry of its own, with a cookie that is made here.
 *
 * `native`: the kernel defers the user's half and walks it by frame pointers
 * (event/native.h); nothing is unwound here.
 *
 * Events are opened in the tasks to record and inherited by what these start.
 * So they need no rights for a user's own tasks; and a clock starts a whole
 * period with each task, of which a short one sees no end.
 */
#ifndef SEAM_LIB_CAPTURE_DIRECT_H
#define SEAM_LIB_CAPTURE_DIRECT_H

#include "event/event.h"
#include "event/native.h"
#include "seam/error.h"
#include "seam/tracer.h"
#include "stitch/kernel-doubt.h"

struct seam_session;

/* What is counted here; the rest of seam_counts is the BPF engines'. */
struct seam_direct {
	struct seam_event_direct ask; /* of sampled events; and whose */
	struct seam_scope processes; /* whose sideband */
	uint64_t lost_records; /* of all kinds, as LOST says */
	uint64_t cookies;
	uint64_t events, samples, wanted, excluded;
	uint64_t copies, copy_bytes;
	uint8_t *copy; /* room for one record for the worker */
	uint8_t *payload; /* room for one, as it is without addresses */
	uint64_t payload_addresses; /* that were taken out */
	uint64_t lost_payloads;
	struct seam_kernel_doubt doubt; /* of the running kernel */
	struct seam_native native; /* of that engine; else zeros */
};

/* Opens events and sideband for the client's tasks. */
int seam_direct_open(struct seam_session *s, struct seam_errinfo *reterr);
int seam_direct_start(struct seam_session *s);
/* all: the last time, nothing is held back. */
int seam_direct_read(struct seam_session *s, bool all);
/* After the last reading: what is still to come will not. */
void seam_direct_end(struct seam_session *s);
void seam_direct_counts(const struct seam_session *s, struct seam_counts *ret);
/* Whether records were lost, as far as events tell. */
bool seam_direct_lost_any(const struct seam_session *s);
void seam_direct_fini(struct seam_direct *d);

#endif
