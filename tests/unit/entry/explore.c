// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* With it longjmp goes down no stack, and so not to another one. */
#undef _FORTIFY_SOURCE

#include "explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 4096
#define FIRST_SLOTS (1u << 16)

struct answer {
	uint16_t at, of;
};

static struct answer answers[MAX_DEPTH];
static uint32_t n_answers, n_asked;
static uint64_t *seen;
static uint64_t n_slots;
static jmp_buf home; /* in search(), for whoever gives a run up */

static bool add(uint64_t *slots, uint64_t n, uint64_t hash)
{
	uint64_t i = hash & (n - 1);

	for (; slots[i]; i = (i + 1) & (n - 1))
		if (slots[i] == hash)
			return false;
	slots[i] = hash;
	return true;
}

static void grow(void)
{
	uint64_t n = n_slots ? n_slots * 2 : FIRST_SLOTS;
	uint64_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		abort();
	for (uint64_t i = 0; i < n_slots; i++)
		if (seen[i])
			add(slots, n, seen[i]);
	free(seen);
	seen = slots;
	n_slots = n;
}

/* Return: whether the state is new. */
static bool see(struct search *s, uint64_t hash)
{
	if ((s->states + 1) * 2 > n_slots)
		grow();
	if (!add(seen, n_slots, hash ? hash : 1))
		return false;
	s->states++;
	return true;
}

static void give_up(void)
{
	_longjmp(home, 1);
}

uint32_t choose(struct search *s, uint32_t n)
{
	struct answer *a = &answers[n_asked];

	if (n_asked == MAX_DEPTH)
		search_fail(s, "a run of more than %d choices", MAX_DEPTH);
	if (n_asked++ < n_answers)
		return a->at;
	if (!see(s, s->hash(s->arg)) ||
	    (s->max_states && s->states > s->max_states)) {
		n_asked--;
		give_up();
	}
	*a = (struct answer){0, (uint16_t)n};
	n_answers = n_asked;
	if (n_asked > s->deepest)
		s->deepest = n_asked;
	return 0;
}

void search_fail(struct search *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	s->failed = true;
	give_up();
	abort();
}

/* The next answers that were not given yet. Return: whether there are any. */
static bool advance(void)
{
	while (n_answers) {
		struct answer *last = &answers[n_answers - 1];

		if (++last->at < last->of)
			return true;
		n_answers--;
	}
	return false;
}

/* Runs it with one row of answers after the other, or once. */
static void run_all(struct search *s, bool once)
{
	volatile bool begun = false;

	_setjmp(home); /* and here goes on who gives a run up */
	while (!begun || (!once && !s->failed && advance())) {
		begun = true;
		s->runs++;
		n_asked = 0;
		s->run(s->arg);
	}
}

bool search(struct search *s)
{
	n_answers = 0;
	run_all(s, false);
	free(seen);
	seen = NULL;
	n_slots = 0;
	if (s->failed) {
		n_answers = n_asked; /* and nothing is asked behind them */
		s->tracing = true;
		run_all(s, true);
	}
	return !s->failed;
}
