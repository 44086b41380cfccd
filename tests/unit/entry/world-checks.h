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

/* The entries that a request may be of. */
static uint32_t first_of(const struct sample *a)
{
	return a->is_other ? a->first : a->at.entry;
}

static uint32_t last_of(const struct sample *a)
{
	return a->is_other ? a->last : a->at.entry;
}

static bool may_be_one(const struct sample *a, const struct sample *b)
{
	return a->at.task == b->at.task && first_of(a) <= last_of(b) &&
	       first_of(b) <= last_of(a) &&
	       group_of(a->client) == group_of(b->client);
}

static bool was_told(uint64_t cookie, uint32_t client);

/* Its stack did not come, and it knows, or that is counted. */
static bool is_lost_by_another(const struct sample *a)
{
	return a->is_other && (was_told(a->cookie, a->client) ||
			       w.left.untold < limits->untold);
}

/* One task's requests for another's stack, which is of its next return. */
static bool is_program(const struct sample *a, struct place stack)
{
	if (!a->is_other)
		return is_same(a->at, stack) || (a->flags & SEAM_SAMPLE_TAIL);
	return stack.image == a->at.image || stack.image == a->at.image_before;
}

static void check_cookies(void)
{
	for (int i = 0; i < w.n_stacks; i++)
		for (int k = 0; k < i; k++)
			HOLDS(w.stacks[i].cookie != w.stacks[k].cookie ||
				      (w.stacks[i].at.task ==
					       w.stacks[k].at.task &&
				       w.stacks[i].at.entry ==
					       w.stacks[k].at.entry),
			      "cookie %llx: stacks of two entries",
			      (unsigned long long)w.stacks[i].cookie);
}

static void check_samples(void)
{
	check_cookies();
	for (int i = 0; i < w.n_samples; i++) {
		const struct sample *a = &w.samples[i];
		const struct stack *found = NULL;

		for (int k = 0; k < w.n_samples; k++)
			HOLDS(!a->cookie || a->cookie != w.samples[k].cookie ||
				      may_be_one(a, &w.samples[k]),
			      "cookie %llx names two entries",
			      (unsigned long long)a->cookie);
		for (int k = 0; a->cookie && k < w.n_stacks; k++)
			if (w.stacks[k].cookie == a->cookie &&
			    w.stacks[k].clients & a->client)
				found = &w.stacks[k];
		HOLDS(!a->cookie || found || w.left.unseen < limits->unseen ||
			      is_lost_by_another(a),
		      "cookie %llx: no stack, and no reason, for %x",
		      (unsigned long long)a->cookie, a->client);
		HOLDS(!found || (a->at.task == found->at.task &&
				 found->at.entry >= first_of(a) &&
				 found->at.entry <= last_of(a)),
		      "cookie %llx: another entry's stack",
		      (unsigned long long)a->cookie);
		HOLDS(!a->cookie || !a->heard || was_heard(a->cookie) ||
			      is_lost_by_another(a),
		      "cookie %llx: its stack did not come to who wants all",
		      (unsigned long long)a->cookie);
		/* What exec and exit took is as deep as any may want it. */
		HOLDS(!found || found->end || found->depth >= a->depth,
		      "cookie %llx: wanted %d frames deep, cut at %d",
		      (unsigned long long)a->cookie, a->depth,
		      (int)found->depth);
		HOLDS(!found || found->end || is_program(a, found->at),
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

		if (a->client != client || a->is_other ||
		    (a->flags & SEAM_SAMPLE_OWN))
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
	if (is_swept())
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
