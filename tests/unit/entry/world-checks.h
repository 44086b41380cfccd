/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is true of the model whenever a task is back in user space, and at the
 * end. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_CHECKS_H
#define SEAM_TESTS_ENTRY_WORLD_CHECKS_H

#include "world-kernel.h"

static void check_user(void)
{
	const struct task *t = self();

	for (int i = 0; i < w.n_elements; i++) {
		const struct seam_element *el = &w.elements[i];

		if (el->entry.self != t->self || el->entry.start != t->start ||
		    el->dropped)
			continue;
		HOLDS(!el->entry.cookie,
		      "back in user space, and its entry is open for ever");
		HOLDS(!el->entry.flags, "back in user space, with flags %u",
		      el->entry.flags);
	}
}

static bool was_heard(uint64_t cookie)
{
	for (int i = 0; i < w.n_stacks; i++)
		if (w.stacks[i].cookie == cookie &&
		    w.stacks[i].clients & LISTENER)
			return true;
	return false;
}

static void check_samples(void)
{
	for (int i = 0; i < w.n_samples; i++) {
		const struct sample *a = &w.samples[i];
		const struct stack *found = NULL;

		for (int k = 0; k < w.n_samples; k++)
			HOLDS(!a->cookie || a->cookie != w.samples[k].cookie ||
				      (a->at.task == w.samples[k].at.task &&
				       a->at.entry == w.samples[k].at.entry &&
				       group_of(a->client) ==
					       group_of(w.samples[k].client)),
			      "cookie %llx names two entries",
			      (unsigned long long)a->cookie);
		for (int k = 0; a->cookie && k < w.n_stacks; k++)
			if (w.stacks[k].cookie == a->cookie &&
			    w.stacks[k].clients & a->client)
				found = &w.stacks[k];
		HOLDS(!a->cookie || found || w.left.unseen < limits->unseen,
		      "cookie %llx: no stack, and no reason, for %x",
		      (unsigned long long)a->cookie, a->client);
		HOLDS(!found || (a->at.task == found->at.task &&
				 a->at.entry == found->at.entry),
		      "cookie %llx: another entry's stack",
		      (unsigned long long)a->cookie);
		HOLDS(!a->cookie || !a->heard || was_heard(a->cookie),
		      "cookie %llx: its stack did not come to who wants all",
		      (unsigned long long)a->cookie);
		/* What exec and exit took is as deep as any may want it. */
		HOLDS(!found || found->end || found->depth >= a->depth,
		      "cookie %llx: wanted %d frames deep, cut at %d",
		      (unsigned long long)a->cookie, a->depth,
		      (int)found->depth);
		HOLDS(!found || found->end || is_same(a->at, found->at) ||
			      (a->flags & SEAM_SAMPLE_TAIL),
		      "cookie %llx: joined across an exec",
		      (unsigned long long)a->cookie);
	}
}

/* The client's stack of a cookie did not come. */
static bool is_missing(uint64_t cookie, uint32_t client)
{
	for (int i = 0; i < w.n_stacks; i++)
		if (w.stacks[i].cookie == cookie &&
		    w.stacks[i].clients & client)
			return w.stacks[i].lost & client;
	return false;
}

/* Whether the client was given the cookie by no sample before. */
static bool is_first_of(const struct sample *a)
{
	for (const struct sample *b = w.samples; b < a; b++)
		if (b->cookie == a->cookie && b->client == a->client)
			return false;
	return true;
}

static bool is_first_of_cookie(const struct sample *a)
{
	for (const struct sample *b = w.samples; b < a; b++)
		if (!b->lost && b->cookie == a->cookie &&
		    b->client == a->client)
			return false;
	return true;
}

/* What the client got and what was counted for it is all that it wanted: a
 * sample that came has its stack, or a reason, or one more stack was lost. */
static void check_losses(uint32_t client)
{
	const uint64_t *counted = w.counted[__builtin_ctz(client)];
	uint64_t wanted = 0, came = 0, without = 0;

	for (int i = 0; i < w.n_samples; i++) {
		const struct sample *a = &w.samples[i];

		if (a->client != client || (a->flags & SEAM_SAMPLE_OWN))
			continue;
		wanted++;
		came += !a->lost;
		without += !a->lost && a->cookie &&
			   is_missing(a->cookie, client) &&
			   is_first_of_cookie(a);
	}
	HOLDS(wanted == counted[SEAM_COUNT_WANTED],
	      "client %x: %d samples are wanted, counted %d", client,
	      (int)wanted, (int)counted[SEAM_COUNT_WANTED]);
	HOLDS(came + counted[SEAM_COUNT_LOST_SAMPLE] == wanted,
	      "client %x: %d of %d samples came, %d are counted as lost",
	      client, (int)came, (int)wanted,
	      (int)counted[SEAM_COUNT_LOST_SAMPLE]);
	HOLDS(without <= counted[SEAM_COUNT_LOST_STACK],
	      "client %x: %d stacks did not come, %d are counted as lost",
	      client, (int)without, (int)counted[SEAM_COUNT_LOST_STACK]);
}

static bool was_told(uint64_t cookie, uint32_t client)
{
	for (uint64_t i = 0; i < w.n_losses; i++)
		if (w.losses[i].cookie == cookie &&
		    w.losses[i].client == client)
			return true;
	return false;
}

static bool has_come(uint64_t cookie, uint32_t client)
{
	for (int i = 0; i < w.n_stacks; i++)
		if (w.stacks[i].cookie == cookie &&
		    w.stacks[i].clients & client)
			return !(w.stacks[i].lost & client);
	return false;
}

/* Each cookie that the client's programs were given has its stack, or it is
 * told that this is lost, or one more is counted that it is not told of. */
static void check_told(uint32_t client)
{
	const uint64_t *counted = w.counted[__builtin_ctz(client)];
	uint64_t untold = 0;

	for (uint64_t i = 0; i < w.n_losses; i++) {
		const struct loss *loss = &w.losses[i];

		HOLDS(loss->client != client || !has_come(loss->cookie, client),
		      "cookie %llx: it came, and is told as lost",
		      (unsigned long long)loss->cookie);
		for (uint64_t k = 0; k < i; k++)
			HOLDS(loss->cookie != w.losses[k].cookie ||
				      loss->client != w.losses[k].client,
			      "cookie %llx: told twice as lost",
			      (unsigned long long)loss->cookie);
	}
	for (int i = 0; i < w.n_samples; i++) {
		const struct sample *a = &w.samples[i];

		if (a->client == client && a->cookie && is_first_of(a) &&
		    !has_come(a->cookie, client) &&
		    !was_told(a->cookie, client))
			untold++;
	}
	HOLDS(untold <= counted[SEAM_COUNT_LOST_UNTOLD],
	      "client %x: is not told of %d stacks that are lost, %d are "
	      "counted",
	      client, (int)untold, (int)counted[SEAM_COUNT_LOST_UNTOLD]);
}

/* Each further stack of one stay in the kernel was counted. */
static void check_again(void)
{
	/* It is counted when it is seen to, and then may not come. */
	int n = 0, unseen = limits->unseen - w.left.unseen;

	/* Where each event has its own, none is another's. */
	if (limits->at_once) {
		HOLDS(!w.n_again, "again %d times, at once", w.n_again);
		return;
	}
	/* What is counted for a client that ends need not come any more. */
	if (plan == PLAN_SWEEP)
		return;
	for (int i = 0; i < w.n_stacks; i++)
		for (int k = 0; k < i; k++)
			if (is_same(w.stacks[i].at, w.stacks[k].at) &&
			    group_of(w.stacks[i].clients) ==
				    group_of(w.stacks[k].clients)) {
				n++;
				break;
			}
	/* But not what user code asks for, when an interrupt's own request was
	 * refused in the very middle of that. */
	HOLDS(n + unseen >= w.n_again &&
		      n - w.n_again <=
			      limits->refusals - w.left.refusals + w.n_outside,
	      "again %d times, counted %d", n, w.n_again);
}

#endif
