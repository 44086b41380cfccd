// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What goes to the client, of whatever engine: each cookie that it is told has
 * a stack told, if only that it is lost. */
#include "base/clock.h"
#include "capture/session-priv.h"

static void note(struct seam_session *s, int err)
{
	if (err && !s->deliver_err)
		s->deliver_err = err;
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	struct seam_session *s = ctx;

	if (sample->cookie)
		note(s, seam_awaited_sample(&s->awaited, sample));
	if (s->theirs.on_sample)
		s->theirs.on_sample(s->theirs.ctx, sample);
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct seam_session *s = ctx;

	note(s, seam_awaited_stack(&s->awaited, stack));
	if (s->theirs.on_stack)
		s->theirs.on_stack(s->theirs.ctx, stack);
}

static void on_lost(void *ctx, const struct seam_user_stack *stack)
{
	const struct seam_session *s = ctx;

	s->theirs.on_stack(s->theirs.ctx, stack);
}

static void on_record(void *ctx, uint64_t time_ns,
		      const struct perf_event_header *record)
{
	const struct seam_session *s = ctx;

	if (s->theirs.on_record)
		s->theirs.on_record(s->theirs.ctx, time_ns, record);
}

void seam_session_deliver_to(struct seam_session *s,
			     const struct seam_client_opts *opts)
{
	s->theirs = *opts;
	s->client = *opts;
	s->client.on_sample = on_sample;
	s->client.on_stack = on_stack;
	s->client.on_record = on_record;
	s->client.ctx = s;
}

int seam_session_deliver(struct seam_session *s, bool all)
{
	int err;

	if (all)
		seam_awaited_end(&s->awaited, on_lost, s);
	else
		seam_awaited_sweep(&s->awaited, seam_now_ns(), on_lost, s);
	err = s->deliver_err;
	s->deliver_err = 0;
	return err;
}
