// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * profile PID SECONDS: where a process spends its time, by whole user stacks.
 * Samples come at once, each stack once for all samples of a stay in the
 * kernel, mostly behind them: the cookie joins them. Needs what `seam record`
 * needs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seam/tracer.h"

/* The last entries into the kernel, and as many of their stacks. */
#define BUCKETS (1u << 14)
#define WAYS 4

static struct slot {
	uint64_t cookie;
	unsigned int n; /* samples that wait for the stack */
	int end;
	char *stack; /* as it is printed; NULL: it did not come yet */
} slots[BUCKETS][WAYS];
static unsigned int n_samples, n_joined, n_none, n_dropped, ends[32];

/* Return: NULL: samples of others wait in every place that it could have. */
static struct slot *slot_of(uint64_t cookie)
{
	/* What a cookie consists of is not told. */
	struct slot *s = slots[(cookie * 0x9e3779b97f4a7c15) >> 50],
		    *ret = NULL;

	for (int i = 0; i < WAYS; i++) {
		if (s[i].cookie == cookie)
			return &s[i];
		if (!s[i].n && (!ret || !s[i].cookie))
			ret = &s[i];
	}
	if (!ret)
		return NULL;
	free(ret->stack);
	*ret = (struct slot){.cookie = cookie};
	return ret;
}

/* The samples that wait have their stack. */
static void join(struct slot *s)
{
	if (!s->n || !s->stack)
		return;
	printf("%u\t%s\n", s->n, s->stack);
	n_joined += s->n;
	if (s->end >= 0 && s->end < 32)
		ends[s->end] += s->n;
	s->n = 0;
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	struct slot *s;

	(void)ctx;
	n_samples++;
	if (!sample->cookie) {
		n_none++; /* sample->end says why */
		return;
	}
	s = slot_of(sample->cookie);
	if (!s) {
		n_dropped++;
		return;
	}
	s->n++;
	if (s->end != SEAM_END_PENDING)
		join(s); /* the stack came first */
}

static char *text_of(const struct seam_user_stack *stack)
{
	char *ret = NULL;
	size_t size;
	FILE *text = open_memstream(&ret, &size);

	if (!text)
		return NULL;
	fputs(seam_err_name(stack->end), text);
	for (size_t i = 0; i < stack->n_ips; i++)
		fprintf(text, "\t%#" PRIx64, stack->ips[i]);
	fclose(text);
	return ret;
}

/* Comes for every cookie, if only to say that its stack is lost. */
static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct slot *s = slot_of(stack->cookie);

	(void)ctx;
	/* It may come once more, of an exec, and for what was pending. */
	if (!s || (s->stack && s->end != SEAM_END_PENDING))
		return;
	free(s->stack);
	s->stack = text_of(stack);
	s->end = stack->end;
	if (s->end != SEAM_END_PENDING)
		join(s);
}

/* No more comes: what was pending stays so. */
static void join_rest(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (int way = 0; way < WAYS; way++)
			join(&slots[i][way]);
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
	join_rest();
	seam_session_close(session);
	fprintf(stderr,
		"%s: %u samples: %u joined, %u of them whole, %u lost; %u want "
		"none, %u dropped\n",
		engine, n_samples, n_joined, ends[SEAM_END_OUTERMOST],
		ends[SEAM_END_LOST], n_none, n_dropped);
	return status;
}
