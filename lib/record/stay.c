// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/stay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* After this an entry whose stack came has no more late samples, but for
 * exec and exit, which can take long. */
#define SETTLED_NS 100000000ULL
/* A stack taken at the event is sent before the event's sample. Whoever
 * interrupts in between opens the task's next entry, and is seen first. */
#define EARLY_NS 1000000000ULL
/* And one of a task that went to sleep before its sample, which may be lost. */
#define ASLEEP_NS (3600 * 1000000000ULL)

static void tally_sample(struct seam_tally *t, const struct seam_sample *sample)
{
	t->n++;
	t->by_event[sample->event]++;
}

static void tally_move(struct seam_tally *to, struct seam_tally *from)
{
	to->n += from->n;
	for (size_t i = 0; i < SEAM_CLIENT_MAX_EVENTS; i++)
		to->by_event[i] += from->by_event[i];
	*from = (struct seam_tally){0};
}

void seam_stay_add(struct seam_entries *es, struct seam_stay *s,
		   const struct seam_sample *sample)
{
	if ((!seam_stay_has_samples(s) && !s->lost.n) ||
	    sample->time_ns < s->first_ns)
		s->first_ns = sample->time_ns;
	seam_reach(&s->last_ns, sample->time_ns);
	s->written = false; /* a late one: the stack comes again */
	s->due = false;
	es->max_frames[sample->event] = sample->max_frames;
	tally_sample(s->has_stack ? &s->served : &s->waiting, sample);
}

/* The record of a stack, but for its time. */
static struct seam_pd_stack record_of(const struct seam_entries *es,
				      const struct seam_user_stack *stack,
				      const uint64_t *ips)
{
	struct seam_pd_stack record = {
		.id = {stack->pid, stack->tid, 0, stack->cpu, es->id},
		.cookie = stack->cookie,
		.ips = ips,
		.n_ips = stack->n_ips,
		.end = stack->end,
		.flags = stack->before_exec ? SEAM_PD_STACK_EXEC : 0,
		.methods = stack->methods,
	};

	/* How frames were found takes room, too. */
	if (record.methods && record.n_ips > SEAM_PD_MAX_IPS_METHODS) {
		record.n_ips = SEAM_PD_MAX_IPS_METHODS;
		record.end = SEAM_MAX_STACK;
	}
	return record;
}

int seam_stay_hold(struct seam_entries *es, struct seam_stay *s,
		   const struct seam_user_stack *stack)
{
	size_t size = stack->n_ips * sizeof(*stack->ips);
	/* For no bytes it would free what there was, and say that it failed. */
	uint64_t *ips = realloc(s->ips, size + stack->n_ips + 1);

	if (!ips)
		return -ENOMEM;
	if (size)
		memcpy(ips, stack->ips, size);
	s->ips = ips;
	s->stack = record_of(es, stack, ips);
	if (stack->methods)
		s->stack.methods = memcpy((uint8_t *)ips + size, stack->methods,
					  stack->n_ips);
	s->has_stack = true;
	s->asleep = stack->asleep;
	es->sum->end[SEAM_LOST] -= s->lost.n;
	tally_move(&s->served, &s->lost);
	tally_move(&s->served, &s->waiting);
	return 0;
}

void seam_stay_lose(struct seam_entries *es, struct seam_stay *s)
{
	es->sum->end[SEAM_LOST] += s->waiting.n;
	tally_move(&s->lost, &s->waiting);
}

/* Writes a stack that serves samples behind the last of them. */
static void write_behind(struct seam_entries *es,
			 const struct seam_pd_stack *stack, uint64_t last_ns,
			 const struct seam_stay_names *names)
{
	struct seam_pd_stack record = *stack;

	if (names->other && names->own_ns) {
		record.id.time_ns = names->own_ns + 1;
		seam_entries_note(es, es->write(es->ctx, &record));
	}
	if (names->other) {
		record.id.tid = names->other;
		record.flags |= SEAM_PD_STACK_EXEC;
	}
	record.id.time_ns = last_ns + 1;
	seam_entries_note(es, es->write(es->ctx, &record));
}

/* Counts a stack and what it served. */
static void count_stack(struct seam_entries *es, int end, size_t n_ips,
			const struct seam_tally *served)
{
	bool is_served = end != SEAM_PENDING;

	es->sum->stacks += is_served;
	for (size_t i = 0; i < SEAM_CLIENT_MAX_EVENTS; i++)
		es->sum->end[n_ips > es->max_frames[i] ? SEAM_MAX_STACK
						       : end] +=
			served->by_event[i];
	if (is_served && served->n > es->sum->max_served)
		es->sum->max_served = served->n;
}

void seam_stay_write(struct seam_entries *es, struct seam_stay *s)
{
	write_behind(es, &s->stack, s->last_ns, &s->names);
	s->written = true;
}

void seam_stay_over(struct seam_entries *es, struct seam_stay *s)
{
	if (!s->has_stack)
		return;
	if (s->served.n && !s->written)
		seam_stay_write(es, s);
	if (s->served.n)
		count_stack(es, s->stack.end, s->stack.n_ips, &s->served);
	else
		es->sum->unused++;
	s->has_stack = false;
}

bool seam_stay_keep(struct seam_entries *es, struct seam_idmap *map,
		    uint64_t cookie, struct seam_stay *from)
{
	struct seam_stay *s = malloc(sizeof(*s));

	if (!s || seam_idmap_put(map, cookie, s)) {
		free(s);
		seam_entries_note(es, -ENOMEM);
		return false;
	}
	*s = *from;
	from->ips = NULL;
	return true;
}

void seam_stay_settle(struct seam_entries *es, struct seam_stay *s)
{
	if (s->has_stack && s->served.n && !s->written &&
	    s->last_ns + SETTLED_NS < es->now_ns)
		seam_stay_write(es, s);
}

uint64_t seam_stay_kept_ns(const struct seam_stay *s)
{
	if (s->asleep && s->due)
		return ASLEEP_NS;
	return s->tail ? SEAM_STAY_FORGET_NS : EARLY_NS;
}

void seam_stay_free(void *stay)
{
	struct seam_stay *s = stay;

	free(s->ips);
	free(s);
}
