// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * profile PID SECONDS: where a process spends its time, by whole user stacks.
 * Samples come at once, each stack once for all samples of a stay in the
 * kernel, and later: the cookie joins them. Needs what `seam record` needs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seam/tracer.h"

#define SLOTS (1u << 16) /* cookies that wait for their stack */

static struct {
	uint64_t cookie;
	unsigned int n; /* samples */
} waiting[SLOTS];
static unsigned int n_samples, n_joined, n_none, n_dropped, ends[32];

/* A cookie's place, or a free one. */
static unsigned int place_of(uint64_t cookie)
{
	unsigned int at = (cookie >> 16 ^ cookie) % SLOTS, i;

	for (i = 0; i < 16 && waiting[at].n && waiting[at].cookie != cookie;
	     i++)
		at = (at + 1) % SLOTS;
	return at;
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	unsigned int at = place_of(sample->cookie);

	(void)ctx;
	n_samples++;
	if (!sample->cookie) {
		n_none++; /* sample->end says why */
		return;
	}
	if (waiting[at].n && waiting[at].cookie != sample->cookie) {
		n_dropped++;
		return;
	}
	waiting[at].cookie = sample->cookie;
	waiting[at].n++;
}

/* Comes for every cookie, if only to say that its stack is lost. */
static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	unsigned int at = place_of(stack->cookie), n = waiting[at].n;

	(void)ctx;
	if (!n || waiting[at].cookie != stack->cookie)
		return;
	printf("%u\t%s", n, seam_err_name(stack->end));
	for (size_t i = 0; i < stack->n_ips; i++)
		printf("\t%#" PRIx64, stack->ips[i]);
	putchar('\n');
	n_joined += n;
	if (stack->end >= 0 && stack->end < 32)
		ends[stack->end] += n;
	/* Samples of a long exec or exit may come behind its stack. */
	waiting[at].n = 0;
}

static int failed(const char *what, const struct seam_errinfo *info)
{
	fprintf(stderr, "%s: %s\n", what, info->reason);
	return 1;
}

static int run(struct seam_session *session, double seconds)
{
	struct seam_errinfo info = {0};

	if (seam_session_start(session, &info))
		return failed("start", &info);
	if (seam_session_run(session, (int)(seconds * 1000)) < 0) {
		fprintf(stderr, "cannot read what comes\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct seam_session_opts session_opts = {
		.sz = sizeof(session_opts)};
	const struct seam_client_event event = {.freq = 999};
	uint32_t pid = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	const struct seam_client_opts opts = {
		.sz = sizeof(opts),
		.name = "profile",
		.events = &event,
		.n_events = 1,
		.tasks = SEAM_TASKS_PROCESSES,
		.ids = &pid,
		.n_ids = 1,
		.max_frames = 127,
		.on_sample = on_sample,
		.on_stack = on_stack,
	};
	struct seam_errinfo info = {0};
	struct seam_session *session;
	const char *engine;
	int status;

	if (!pid)
		return fprintf(stderr, "usage: %s PID SECONDS\n", argv[0]), 2;
	if (seam_session_open(&session_opts, &session, &info))
		return failed("session", &info);
	if (seam_client_add(session, &opts, &info))
		return failed("client", &info);
	engine = seam_engine_name(seam_session_engine(session, NULL));
	status = run(session, atof(argv[2]));
	seam_client_remove(session); /* hands out what waits */
	seam_session_close(session);
	fprintf(stderr,
		"%s: %u samples: %u joined, %u of them whole, %u lost; %u want "
		"none, %u dropped\n",
		engine, n_samples, n_joined, ends[SEAM_END_OUTERMOST],
		ends[SEAM_END_LOST], n_none, n_dropped);
	return status;
}
