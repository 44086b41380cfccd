/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What session.c, session-client.c, session-start.c and read.c share. */
#ifndef SEAM_LIB_CAPTURE_SESSION_PRIV_H
#define SEAM_LIB_CAPTURE_SESSION_PRIV_H

#include "capture/awaited.h"
#include "capture/batch.h"
#include "capture/direct.h"
#include "capture/worker.h"
#include "event/payload.h"
#include "event/sideband.h"
#include "event/strip.h"
#include "kernel/engine.h"
#include "kernel/kernel.h"
#include "pager/tables.h"
#include "process/followed.h"
#include "process/process.h"
#include "process/target.h"
#include "seam/tracer.h"
#include "unwind/refused.h"

struct seam_session {
	struct seam_session_opts asked; /* as the session was opened */
	struct seam_session_opts opts; /* as its client made them */
	struct seam_client_opts theirs; /* the client, as it was given */
	struct seam_client_opts client; /* with our callbacks before its own */
	struct seam_awaited awaited; /* cookies that it was told */
	int deliver_err; /* the first since the last reading */
	uint32_t methods; /* enum seam_unwind_how, that the client chose */
	struct seam_event events[SEAM_MAX_EVENTS];
	size_t n_events;
	struct seam_sideband *sideband;
	enum seam_engine engine;
	char why[160]; /* auto took no better one */
	struct seam_direct direct; /* of engines without BPF; these have no */
	struct seam_kernel *kernel; /* and no tables */
	struct seam_images images;
	struct seam_refusals refused; /* the worker's while it is at work */
	struct seam_processes processes;
	struct seam_tables *tables;
	struct seam_followed followed; /* whose records are delivered */
	struct seam_target *targets; /* the client's ids */
	size_t n_targets;
	struct seam_strip strip; /* for tracepoints */
	struct seam_payloads *payloads; /* NULL: no event has any */
	int poll_fd; /* of these and the kernel side; else 0 */
	uint64_t start_ns;
	bool running;
	bool lent; /* to programs that ask for stacks of client.max_frames */
	bool hears_losses; /* from the kernel side */

	struct seam_batch samples, copies;
	struct seam_batch losses; /* stacks that are lost, to be told */
	struct seam_held held; /* files of the requests in copies */
	uint64_t copies_until_ns; /* see read.c */
	struct seam_worker *worker; /* has images, processes, tables */
	uint64_t lost_sideband;
	/* No memory, or of copies no room with the worker. */
	uint64_t lost_samples, lost_stacks, lost_waiting;
	uint64_t lost_malformed; /* records */
	uint64_t lost_requests; /* for tables, likewise */
	uint64_t lost_made; /* and what programs said of their code */
	bool looked_for_unmaps; /* whether or not it could be had */
	uint8_t *found; /* methods of one stack: SEAM_MAX_FRAMES */
};

/* Whether it is told of stacks whose cookies came with no sample of its own:
 * its programs' and others'. */
static inline bool seam_session_is_told(const struct seam_session *s)
{
	return s->lent || s->client.all;
}

/* session-client.c: opens the client's next event; direct: see event/event.h.
 */
int seam_session_open_event(struct seam_session *s,
			    struct seam_event_direct *direct,
			    struct seam_errinfo *reterr);
/* deliver.c: makes this the client, whose callbacks are called through ours. */
void seam_session_deliver_to(struct seam_session *s,
			     const struct seam_client_opts *opts);
/* Says which of its cookies are lost; all: no more comes. Return: the first
 * error since the last call. */
int seam_session_deliver(struct seam_session *s, bool all);
/* read.c: what engines share. Hands out the records of followed processes,
 * which stay at the front of side. Return: how many those are, or -ENOMEM. */
long seam_session_give_records(struct seam_session *s,
			       struct seam_side_record *side, size_t n);
/* Gives s->copies, s->held and sideband to the worker, or loses the copies;
 * until_ns: see struct seam_worker_side. */
int seam_session_give_worker(struct seam_session *s,
			     const struct seam_side_record *side, size_t n,
			     uint64_t until_ns);
/* lost.c: keep what a ring has in the batch for it, or count it and say so in
 * that of losses. ctx is the session. */
void seam_session_keep_sample(void *ctx, const struct seam_wire *rec,
			      size_t size);
void seam_session_keep_copy(void *ctx, const struct seam_wire *rec,
			    size_t size);
void seam_session_keep_loss(void *ctx, const struct seam_wire *rec,
			    size_t size);
/* Copies and requests for tables that the worker does not get. */
void seam_session_lose_copies(struct seam_session *s);

#endif
