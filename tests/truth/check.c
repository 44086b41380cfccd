// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "truth/private.h"

struct seam_check_code *seam_check_code_at(struct seam_check *c, uint64_t pc)
{
	struct seam_check_code *code = seam_idmap_get(&c->codes, pc);

	if (code)
		return code;
	code = seam_idmap_make(&c->codes, pc, sizeof(*code));
	if (code)
		code->rule_err = SEAM_CHECK_NOT_ASKED;
	return code;
}

static const struct seam_insn_about *insn_at(struct seam_check *c, uint64_t ip,
					     struct seam_check_code *code)
{
	uint8_t bytes[16];
	size_t n;

	if (!code->insn_known) {
		n = seam_stepper_read(c->stepper, ip, bytes, sizeof(bytes));
		seam_insn_read(c->decoder, bytes, n, ip, &code->insn);
		code->insn_known = true;
	}
	return &code->insn;
}

/* exact: see private.h. share: the library is asked in any case. */
static int compare(struct seam_check *c, bool exact, bool share)
{
	struct seam_outcome table, library = {0};

	seam_check_by_table(c, exact, &table);
	if (share || table.what == SEAM_TRUTH_HOLE)
		seam_check_by_library(c, exact, &library);
	if (table.what == SEAM_TRUTH_HOLE && library.what == SEAM_TRUTH_RIGHT)
		table.what = SEAM_TRUTH_FILLED;
	/* It does not say which of its frames had a wrong FP. */
	if (table.fp_pc && library.index >= table.fp_index) {
		library.fp_pc = table.fp_pc;
		library.fp_callee_pc = table.fp_callee_pc;
		library.fp_index = table.fp_index;
	}
	if (library.what != SEAM_TRUTH_RIGHT && seam_check_note(c, &library))
		return -ENOMEM;
	return seam_check_note(c, &table);
}

int seam_check_compare(struct seam_check *c)
{
	struct seam_check_code *code =
		seam_check_code_at(c, c->stepper->regs.rip);
	bool share;

	if (!code)
		return -ENOMEM;
	c->insns++;
	if (!c->shadow.current->settled) {
		c->unsettled++;
		return 0;
	}
	seam_check_entered(c, code, true);
	share = code->runs++ < SEAM_CHECK_LIBRARY_FIRST ||
		c->insns % SEAM_CHECK_LIBRARY_EACH == 0;
	return compare(c, true, share);
}

/* As the kernel side sees a system call: with the ip behind it. */
static int compare_syscall(struct seam_check *c)
{
	if (!c->shadow.current->settled)
		return 0;
	c->in_syscall++;
	seam_check_entered(c, NULL, false);
	return compare(c, false, true);
}

static int read_space(struct seam_check *c)
{
	seam_idmap_fini(&c->codes, free);
	seam_confirm_stale(c->confirm);
	return seam_space_read(&c->space, c->stepper);
}

int seam_check_init(struct seam_check *c, struct seam_stepper *stepper)
{
	int err;

	*c = (struct seam_check){.stepper = stepper};
	err = seam_decoder_new(&c->decoder);
	if (err)
		return err;
	c->ips = calloc(SEAM_CHECK_MAX_FRAMES, sizeof(*c->ips));
	if (!c->ips)
		return -ENOMEM;
	err = seam_shadow_reset(&c->shadow, stepper);
	return err ? err : read_space(c);
}

void seam_check_fini(struct seam_check *c)
{
	seam_check_free_places(c);
	seam_confirm_free(c->confirm);
	seam_idmap_fini(&c->codes, free);
	seam_shadow_fini(&c->shadow);
	seam_space_fini(&c->space);
	seam_decoder_free(c->decoder);
	free(c->env.stack);
	free(c->ips);
}

static bool changes_space(const struct user_regs_struct *before)
{
	switch (before->rax) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
		return true;
	}
	return false;
}

static int after_insn(struct seam_check *c, const struct seam_insn_about *insn,
		      const struct user_regs_struct *before)
{
	int err = seam_shadow_step(&c->shadow, insn, before);

	if (err || insn->kind != SEAM_INSN_SYSCALL ||
	    before->rax == SYS_rt_sigreturn)
		return err;
	if (changes_space(before))
		err = read_space(c);
	return err ? err : compare_syscall(c);
}

int seam_check_step(struct seam_check *c)
{
	struct user_regs_struct before = c->stepper->regs;
	struct seam_check_code *code = seam_check_code_at(c, before.rip);
	struct seam_insn_about insn;
	int event, err = 0;

	if (!code)
		return -ENOMEM;
	insn = *insn_at(c, before.rip, code);
	event = seam_stepper_step(c->stepper);
	if (insn.kind == SEAM_INSN_BAD && event == SEAM_STEP_INSN &&
	    c->stepper->regs.rsp != before.rsp)
		return -EILSEQ;
	c->undecoded += insn.kind == SEAM_INSN_BAD;
	if (event == SEAM_STEP_INSN)
		err = after_insn(c, &insn, &before);
	else if (event == SEAM_STEP_SIGNAL)
		err = seam_shadow_signal(&c->shadow);
	else if (event == SEAM_STEP_EXEC)
		err = seam_shadow_reset(&c->shadow, c->stepper);
	if (!err && event == SEAM_STEP_EXEC)
		err = read_space(c);
	return err ? err : event;
}
