/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the check. walk.c unwinds, places.c keeps what was found wrong,
 * confirm.c asks elfutils, entered.c whether it is doubted, and check.c goes
 * from one instruction to the next.
 */
#ifndef SEAM_TESTS_TRUTH_PRIVATE_H
#define SEAM_TESTS_TRUTH_PRIVATE_H

#include "truth/check.h"

#define SEAM_CHECK_NOT_ASKED 255

struct seam_check_code { /* of an address */
	struct seam_rule rule;
	/* SEAM_OK, or why there is no rule; or SEAM_CHECK_NOT_ASKED. */
	uint8_t rule_err;
	bool insn_known;
	struct seam_insn_about insn;
	uint32_t runs;
	uint64_t entered_from; /* what was asked last: entered.c */
};

/* Return: NULL: no memory. */
struct seam_check_code *seam_check_code_at(struct seam_check *c, uint64_t pc);

/* One whole stack, as somebody found it. */
struct seam_outcome {
	enum seam_truth_what what;
	enum seam_truth_who who;
	size_t index; /* of the frame whose caller is wrong, 0: the leaf */
	uint64_t pc, callee_pc; /* as that frame was looked up; its callee's */
	/* The first frame whose caller's FP is wrong. */
	size_t fp_index;
	uint64_t fp_pc, fp_callee_pc;
	int end;
	struct seam_shadow_frame is;
	uint64_t said_ip, said_sp, said_fp;
};

/* exact: the leaf's ip is looked up as it is, and not as behind a call. */
void seam_check_by_table(struct seam_check *c, bool exact,
			 struct seam_outcome *ret);
/* After that: it has copied some of the stack. */
void seam_check_by_library(struct seam_check *c, bool exact,
			   struct seam_outcome *ret);

/* What perf would store of where it is: its registers, and the stack from rsp
 * on, as long as c is as it is. */
void seam_check_copy(struct seam_check *c, struct seam_dump *ret);

/* Asks whether its leaf can have been called from where it was. */
void seam_check_entered(struct seam_check *c, struct seam_check_code *code,
			bool exact);

/* What known-bad.def says of an instruction. Return: NULL: nothing. */
const struct seam_known_bad *seam_check_known_at(const struct seam_check *c,
						 uint64_t pc);
/* Notes what is wrong with it, if anything is. Return: 0 or -ENOMEM. */
int seam_check_note(struct seam_check *c, struct seam_outcome *o);
void seam_check_free_places(struct seam_check *c);

/* elfutils' own unwinder on the stopped program. */
struct seam_confirm *seam_confirm_free(struct seam_confirm *f);
/* The mappings have changed. */
void seam_confirm_stale(struct seam_confirm *f);
/* What elfutils finds. Return: the number of ips. */
size_t seam_confirm_stack(struct seam_confirm **f, pid_t pid, uint64_t *ret_ips,
			  size_t max);
/* Whether it has an FDE for an address; and its symbol, to be freed. */
bool seam_confirm_has_fde(struct seam_confirm **f, pid_t pid, uint64_t avma);
char *seam_confirm_symbol(struct seam_confirm **f, pid_t pid, uint64_t avma,
			  uint64_t *ret_off);

#endif
