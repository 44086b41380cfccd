/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Runs a program of our own one instruction at a time: its registers after
 * each, and its memory. Addresses are those without randomization. It knows
 * nothing of stacks: whoever wants pairs of states takes them from here.
 *
 * Only the first thread of the program is stepped. Its children and other
 * threads run as they like, untraced.
 *
 *	struct seam_stepper s;
 *	int event = seam_stepper_start(&s, argv);
 *	while (event == SEAM_STEP_INSN || event == SEAM_STEP_SIGNAL ...) {
 *		look at s.regs
 *		event = seam_stepper_step(&s);
 *	}
 *	seam_stepper_end(&s);
 */
#ifndef SEAM_TESTS_TRUTH_STEPPER_H
#define SEAM_TESTS_TRUTH_STEPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum seam_step_event {
	SEAM_STEP_INSN, /* one instruction ran, or one round of a rep */
	SEAM_STEP_SIGNAL, /* none ran: a handler is at its first */
	SEAM_STEP_EXEC, /* a program is at its first */
	SEAM_STEP_END, /* it has ended */
};

struct seam_stepper {
	pid_t pid;
	int signal; /* to be delivered with the next step */
	int status; /* how it ended, as of wait */
	struct user_regs_struct regs;
};

/* Starts argv[0], found by PATH, with its output thrown away. Return:
 * SEAM_STEP_EXEC, or -errno. */
int seam_stepper_start(struct seam_stepper *s, char *const *argv);
/* Lets it run freely until ip is addr. Return: SEAM_STEP_INSN; _END; -errno. */
int seam_stepper_run_to(struct seam_stepper *s, uint64_t addr);
/* Return: an event, or -errno. */
int seam_stepper_step(struct seam_stepper *s);
/* Return: the bytes read, up to the first page that cannot be. */
size_t seam_stepper_read(const struct seam_stepper *s, uint64_t addr, void *buf,
			 size_t size);
bool seam_stepper_word(const struct seam_stepper *s, uint64_t addr,
		       uint64_t *ret);
/* A value of the auxiliary vector, 0 if it has none. */
uint64_t seam_stepper_auxv(const struct seam_stepper *s, uint64_t type);
/* Kills it if it still runs. */
void seam_stepper_end(struct seam_stepper *s);

#endif
