/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Unwinds a stepped program's whole stack and compares it with the truth: by
 * the tables and the step of the kernel side, from the same headers; where
 * those have no rule, and for a share of all instructions, by full CFI as the
 * library does it. And none of them may be doubted, as if it were another
 * moment's.
 */
#ifndef SEAM_TESTS_TRUTH_CHECK_H
#define SEAM_TESTS_TRUTH_CHECK_H

#include "base/idmap.h"
#include "sframe/known-bad.h"
#include "truth/shadow.h"
#include "truth/space.h"

enum seam_truth_what {
	SEAM_TRUTH_RIGHT,
	SEAM_TRUTH_WRONG, /* another caller, or an end that is none */
	SEAM_TRUTH_HOLE, /* nothing says how to go on */
	SEAM_TRUTH_FILLED, /* no rule in the table; the library is right */
	SEAM_TRUTH_FP, /* the stack is right; a caller's FP is not */
};

/* Whose unwinding. */
enum seam_truth_who { SEAM_TRUTH_TABLE, SEAM_TRUTH_LIBRARY };

/* Instructions at which one frame goes wrong in one way. */
struct seam_truth_place {
	struct seam_truth_place *next;
	uint8_t what, who;
	char *file; /* NULL: anonymous memory */
	uint64_t svma; /* of the frame that is left in a wrong way */
	char *symbol; /* NULL: none known */
	uint64_t symbol_off;
	uint8_t code[32]; /* 16 bytes before svma, 16 from it on */
	uint64_t count, as_leaf;
	/* Why it is excused: itself, or the frame that it called. */
	const struct seam_known_bad *known;
	/* The first time: where the caller is, and where it was looked for. */
	struct seam_shadow_frame is;
	uint64_t said_ip, said_sp, said_fp;
	int end; /* what it ended with; 0: it went on */
	/* How often elfutils was asked, and was wrong there as well. */
	unsigned int asked, alike;
	bool no_fde; /* elfutils sees none there */
};

struct seam_env {
	const struct seam_stepper *stepper;
	uint8_t *stack; /* copied when asked for, from the red zone on */
	uint64_t base, high; /* high: read no further */
	size_t size, cap;
};

struct seam_check {
	struct seam_stepper *stepper;
	struct seam_shadow shadow;
	struct seam_space space;
	struct seam_env env;
	struct seam_decoder *decoder;
	struct seam_idmap codes; /* by address; emptied with the mappings */
	struct seam_truth_place *places;
	struct seam_confirm *confirm;
	uint64_t *ips; /* of the library, SEAM_CHECK_MAX_FRAMES */
	uint64_t insns, frames, deepest, by_cfi, cfi_frames;
	uint64_t cut; /* the library's copy ended at another stack */
	uint64_t unsettled; /* not compared: see shadow.h */
	uint64_t in_syscall;
	/* Return addresses that were asked for; taken for another moment's;
	 * and what had to look at all that is mapped. */
	uint64_t entered, doubted, entered_by_maps;
	uint64_t undecoded; /* capstone does not know them; SP stood still */
};

#define SEAM_CHECK_MAX_FRAMES 65536
/* Of all instructions one in so many goes to the library as well, and each
 * the first times it is run. */
#define SEAM_CHECK_LIBRARY_EACH 61
#define SEAM_CHECK_LIBRARY_FIRST 2
/* elfutils is asked so often about each place. */
#define SEAM_CHECK_CONFIRM 3

int seam_check_init(struct seam_check *c, struct seam_stepper *stepper);
void seam_check_fini(struct seam_check *c);
/* What the last event led to: compares. Return: 0 or -errno. */
int seam_check_compare(struct seam_check *c);
/* One more event. Return: it, or -errno. */
int seam_check_step(struct seam_check *c);

#endif
