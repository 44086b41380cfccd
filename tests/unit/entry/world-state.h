/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the model consists of, and core/entry.h with each touch of its state a
 * step of the model. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_STATE_H
#define SEAM_TESTS_ENTRY_WORLD_STATE_H

#include "world.h"

#include <setjmp.h>
#include <stdio.h>

static uint64_t step_value(uint64_t value);
static void step(void);

/* Each a step; what it finds is what the code knows from there on. */
#define SEAM_ENTRY_GET(x) (step(), (__typeof__(x))step_value(x))
#define SEAM_ENTRY_SET(x, to)                                                  \
	do {                                                                   \
		__typeof__(x) set_to = (to);                                   \
		step();                                                        \
		(x) = set_to;                                                  \
	} while (0)
#define SEAM_ENTRY_SWAP(x, from, to)                                           \
	({                                                                     \
		step();                                                        \
		__typeof__(x) was_ = (x);                                      \
		if (was_ == (from))                                            \
			(x) = (to);                                            \
		step_value(was_);                                              \
	})
#define SEAM_ENTRY_ADD(x, bits)                                                \
	({                                                                     \
		step();                                                        \
		__typeof__(x) was_ = (x);                                      \
		(x) |= (bits);                                                 \
		step_value(was_);                                              \
	})
#define SEAM_ENTRY_CLEAR(x, bits)                                              \
	({                                                                     \
		step();                                                        \
		__typeof__(x) was_ = (x);                                      \
		(x) &= ~(bits);                                                \
		step_value(was_);                                              \
	})
#define SEAM_ENTRY_PUT(x, to) SEAM_ENTRY_SET(x, to)
#define SEAM_ENTRY_EXCHANGE(x, to)                                             \
	({                                                                     \
		__typeof__(x) set_to = (to);                                   \
		step();                                                        \
		__typeof__(x) was_ = (x);                                      \
		(x) = set_to;                                                  \
		step_value(was_);                                              \
	})
#define SEAM_ENTRY_HOOK static

#include "core/entry-count.h"
#include "core/entry-other.h"
#include "core/entry-turn.h"

/* Near its end, so that it wraps. */
#define FIRST_COUNT (SEAM_COOKIE_COUNT_MASK - 1)
#define ENOROOM 12
/* Frames that requests want; what exec and exit take is as deep as that. */
#define SHALLOW 1
#define DEEP 2
/* Has no programs: whoever asks, asks for it too (want_all). */
#define LISTENER 8u

enum work { /* as kernel/bpf/helpers.c has it */
	    WORK_STANDBY,
	    WORK_PENDING, /* an irq_work is to queue it */
	    WORK_QUEUED,
	    WORK_RUNNING,
};

/* Where a task's user half is to be had from. */
struct place {
	uint8_t task; /* + 1 */
	uint8_t entry; /* counted from 1 */
	uint8_t image; /* counted up by its execs */
	uint8_t image_before; /* of a request by another task */
};

struct seam_element {
	struct seam_entry entry;
	struct place regs; /* kept */
	struct place left; /* where the last stack was taken */
	uint8_t dropped;
	uint8_t work; /* enum work */
	uint8_t worker; /* the task it is queued for */
	uint8_t cpu; /* that the irq_work is on */
	uint8_t group;
	uint8_t lent; /* its work is a tool's */
	uint32_t no_outside; /* others ask nothing */
	uint64_t self; /* key */
};

/* What others ask of a task: two task works. */
struct other {
	struct seam_outside o;
	uint64_t self; /* key; 0: there is none */
	uint8_t work[2]; /* enum work */
	uint8_t worker, pad[5];
};

struct sample {
	uint64_t cookie;
	struct place at;
	uint32_t end;
	uint16_t flags;
	uint8_t depth; /* wanted */
	uint8_t client; /* that asked, a bit */
	uint8_t heard; /* by the listener */
	/* By another task: of one of these entries, and .at has the image when
	 * it began to ask, beside that when it was answered. */
	uint8_t is_other, first, last;
	uint64_t lost; /* no room in the client's ring */
};

struct stack {
	uint64_t cookie;
	struct place at;
	uint16_t lost; /* clients in whose ring there was no room */
	uint16_t end; /* none, for this reason */
	uint32_t clients; /* it was sent to */
	uint64_t depth; /* at most so many frames */
};

/* A stack's loss, that its client is told of. */
struct loss {
	uint64_t cookie, client;
};

struct task {
	uint64_t start, self;
	uint8_t tid, cpu, entries;
	uint8_t exiting, dead, no_mm, no_work, over, in_user, begun;
	/* A sample taken there says SEAM_SAMPLE_OWN; may say so. */
	uint8_t unwinding[2], inside[2]; /* by group */
	struct place at;
	uint64_t
		known[MAX_LEVELS]; /* hash of what the code at each level saw */
	uint8_t level, waits, pad[5];
};

/* A hash of all is made of so many words side by side, since each of its steps
 * waits for the one before. */
#define LANES 4

/* All that there is, in one piece to be hashed. */
struct world {
	struct task tasks[MAX_TASKS];
	struct seam_element elements[MAX_ELEMENTS];
	struct other other;
	struct sample samples[MAX_SAMPLES];
	struct stack stacks[MAX_STACKS];
	struct loss losses[MAX_STACKS];
	uint64_t n_losses;
	uint64_t counts[N_CPUS];
	uint64_t counted[MAX_CLIENTS][SEAM_COUNT_LOST_UNTOLD + 1];
	struct limits left;
	uint8_t current, n_samples, n_stacks, n_elements;
	uint8_t n_again, n_outside;
	uint8_t asking[MAX_CLIENTS]; /* its programs at work */
	uint8_t ended; /* bits of those that have: they ask nothing */
	uint8_t listens; /* the listener does */
	uint8_t came; /* bits of those that have asked: they are there */
	uint8_t asks_now; /* tasks that are just asking for another's stack */
	uint8_t pad[4];
} __attribute__((aligned(8 * LANES)));

struct seam_entry_env {
	struct task *task;
	bool was_asked, is_own; /* whether the unwind makes the event */
	uint8_t group;
};

static struct world w;
static struct search s;
static enum plan plan;
static const struct limits *limits;
/* Where each goes on. A switch by ucontext would be two system calls, which in
 * a search of millions of runs is most of its time. */
static jmp_buf contexts[MAX_TASKS], main_context;
static char stacks[MAX_TASKS][64 << 10];

static bool is_swept(void)
{
	return plan == PLAN_SWEEP || plan == PLAN_OTHER_SWEEP;
}

static bool is_asked(void)
{
	return plan == PLAN_OTHER || plan == PLAN_OTHER_SWEEP;
}

static uint32_t n_clients(void)
{
	return limits->clients ? limits->clients : 1;
}

/* The bit of a client that may be in another group. */
#define SECOND 2u

static uint32_t group_of(uint32_t clients)
{
	return limits->groups && clients & SECOND;
}

static struct task *self(void)
{
	return &w.tasks[w.current];
}

#define TRACE(...)                                                             \
	do {                                                                   \
		if (s.tracing) {                                               \
			printf("#   task %d, entry %d, level %d: ", w.current, \
			       self()->at.entry, self()->level);               \
			printf(__VA_ARGS__);                                   \
			putchar('\n');                                         \
		}                                                              \
	} while (0)

#define WRONG(...) search_fail(&s, __VA_ARGS__)
#define HOLDS(cond, ...)                                                       \
	do {                                                                   \
		if (!(cond))                                                   \
			WRONG(__VA_ARGS__);                                    \
	} while (0)

#endif
