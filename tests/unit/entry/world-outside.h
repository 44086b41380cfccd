/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is done to a task from outside: its stack is taken, or a client ends.
 * For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_OUTSIDE_H
#define SEAM_TESTS_ENTRY_WORLD_OUTSIDE_H

#include "world-steps.h"

/* Whoever ends a recording looks at a task, and takes its stack if it does not
 * run meanwhile. */
static void take_outside(void)
{
	struct seam_element *el = &w.elements[0];
	uint64_t was = 0, cookie = 0;
	struct place regs;
	uint32_t clients;

	step();
	if (step_value(w.n_elements) && !step_value(el->dropped))
		cookie = seam_entry_asleep(&el->entry, 1, &was);
	if (!cookie)
		return;
	step();
	regs = el->regs;
	step_value(regs.task | regs.entry << 8 | regs.image << 16);
	TRACE("takes cookie %llx from outside", (unsigned long long)cookie);
	clients = seam_who_claim(&el->entry, was, 1);
	if (!clients)
		return;
	w.n_outside++;
	send(regs, seam_who_depth(was), cookie, clients, 0);
}

/* What was asked by the client that ended is nobody's any more. */
static void forget(uint32_t client)
{
	for (int i = 0; i < w.n_samples; i++)
		if (w.samples[i].client == client)
			w.samples[i].cookie = 0;
	for (int i = 0; i < w.n_stacks; i++)
		w.stacks[i].clients &= ~client;
}

/* The client of that number ends, and when its bit was swept it is given to the
 * next. With another that does the same for another at once. */
static void sweep(uint32_t number)
{
	uint32_t client = 1u << number;

	step();
	/* Its programs run to their end, which is long before. */
	if (w.asking[number])
		return;
	w.ended |= client;
	TRACE("client %x ends", client);
	step();
	/* What is sent from here on comes to the next. */
	forget(client);
	/* What is pending may become an entry meanwhile. */
	if (limits->asks)
		seam_outside_sweep(&w.other.o, client);
	HOLDS(!(w.other.o.word & client),
	      "client %x ended, and what it asked for is still to come",
	      client);
	for (int i = 0; i < w.n_elements; i++)
		seam_who_sweep(&w.elements[i].entry, client);
	w.ended &= ~client;
	TRACE("client %x begins", client);
}

#endif
