/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A kernel for core/entry.h: tasks that enter it and leave, events that
 * interrupt them and each other at every step, task work as BPF has it, maps
 * that fill. Beside that it keeps what is true, and says when what entry.h
 * made of it is not.
 *
 * A client is a bit; each has programs of its own at every exec and exit, which
 * the kernel calls one after the other.
 *
 * A step is one load, store or atomic of an entry's state, or one call of the
 * surroundings. At each an interrupt may come, or another task run on.
 */
#ifndef SEAM_TEST_WORLD_H
#define SEAM_TEST_WORLD_H

#include "explore.h"

#define MAX_TASKS 3 /* or who does something to one from outside */
#define MAX_CLIENTS 3
#define MAX_LEVELS 3 /* a task, interrupted, that interrupted */
#define MAX_ELEMENTS 6
#define MAX_SAMPLES 6
#define MAX_STACKS 10
#define MAX_FAULTS 2
#define N_CPUS 2

/* States of a search at most; 0: as many as there are. Sanitizers see how the
 * code runs, not where it gets to: few states show them all of it. */
#ifdef __SANITIZE_ADDRESS__
#define WORLD_STATES 20000
#else
#define WORLD_STATES 0
#endif

/* How far a search goes. */
struct limits {
	uint8_t samples; /* at most MAX_SAMPLES */
	uint8_t interrupts; /* of those, by interrupts */
	uint8_t entries; /* of one task, besides its exit */
	uint8_t refusals; /* the kernel has no memory for a task work */
	uint8_t full; /* no room for an element */
	uint8_t drops; /* a ring buffer is full: of a stack */
	uint8_t sample_drops; /* of a sample */
	uint8_t untold; /* of what tells that a stack is lost */
	uint8_t unseen; /* an exit's programs, or its task work, do not run */
	uint8_t switches; /* another task goes on in the middle of a step */
	uint8_t moves; /* to the other CPU */
	uint8_t outside; /* stacks tried to be taken from outside */
	bool depths; /* interrupts of interrupts want deeper stacks */
	uint8_t clients; /* that ask; 0 is 1 */
	bool groups; /* the second has another's elements, and its own stacks */
	bool late; /* some may have begun when an exec or exit had */
	bool told; /* at an exec or exit it is known who else wants the stack */
	bool may_exec, may_exit;
	bool at_once; /* each stack is taken at its event */
	uint8_t lent; /* bits of those that ask by programs of a tool's */
	uint8_t faults; /* pages that a stack lacks when such a one takes it */
	bool listener; /* some client may begin to want whatever others ask */
	uint8_t asks; /* by other tasks, each */
	uint8_t askers; /* of these; 0 is 1 */
};

/* What the tasks do. */
enum plan {
	PLAN_ONE, /* one task */
	PLAN_REUSE, /* one, and when it is freed another in its place */
	PLAN_MOVE, /* a thread's exec, which takes its process's first tid */
	PLAN_OUTSIDE, /* one, and whoever takes its stack from outside */
	/* One, and each client but the first ends; then another has its bit. */
	PLAN_SWEEP,
	PLAN_OTHER, /* one, whose stack other tasks ask for */
	/* One, whose stack another task asks for, and some client ends. */
	PLAN_OTHER_SWEEP,
};

/* Searches it all, prints what it was, and tells where it went wrong.
 * Return: the number of states, 0 if one was wrong. */
uint64_t world_search(const char *name, enum plan plan,
		      const struct limits *limits);

#endif
