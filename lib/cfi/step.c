/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Executes a row on x86-64. Source: the psABI, 3.2.1 (which registers belong
 * to the caller) and 3.7 (their DWARF numbers).
 */
#include "cfi/private.h"
#include "core/err.h"
#include "core/sframe-format.h"

#define REG_SP 7
#define REG_IP 16

/* rbx 3, rbp 6, r12 to r15: a function gives them back as it got them. */
#define CALLEE_SAVED (1u << 3 | 1u << 6 | 0xfu << 12)

struct step {
	const struct seam_cfi_row *row;
	struct seam_cfi_target target;
	uint64_t cfa;
	struct seam_regs next;
	int *ret_end;
};

static int stop(const struct step *s, int end, int rc)
{
	*s->ret_end = end;
	return rc;
}

static bool is_valid(const struct seam_regs *regs, unsigned int reg)
{
	return reg < SEAM_CFI_REGS && regs->valid & 1u << reg;
}

static void set(struct seam_regs *regs, unsigned int reg, uint64_t value)
{
	regs->r[reg] = value;
	regs->valid |= 1u << reg;
}

/* -EINVAL or the reader's error, under the end code that it means. */
static int eval_failed(const struct step *s, int rc)
{
	if (rc == -EINVAL)
		return stop(s, SEAM_NO_RULE, -EINVAL);
	return stop(s, SEAM_UNREADABLE, -EFAULT);
}

static int find_cfa(struct step *s)
{
	const struct seam_cfi_row *row = s->row;
	const struct seam_regs *regs = s->target.regs;
	int rc;

	if (row->cfa_is_expr) {
		rc = seam_cfi_eval(row->cfa_expr, row->cfa_expr_len, NULL,
				   &s->target, &s->cfa);
		if (rc)
			return eval_failed(s, rc);
	} else {
		if (!is_valid(regs, row->cfa_reg))
			return stop(s, SEAM_NO_RULE, -EINVAL);
		s->cfa = regs->r[row->cfa_reg] + (uint64_t)row->cfa_off;
	}
	if (s->cfa & 7)
		return stop(s, SEAM_BAD_CFA, -EINVAL);
	return 0;
}

static int read_word(struct step *s, uint64_t addr, uint64_t *ret)
{
	if (s->target.read(s->target.read_ctx, addr, 8, ret))
		return stop(s, SEAM_UNREADABLE, -EFAULT);
	return 0;
}

/* Return: 0 and *ret_known, or an error. */
static int rule_value(struct step *s, const struct seam_cfi_reg *rule,
		      uint64_t *ret, bool *ret_known)
{
	const struct seam_regs *regs = s->target.regs;
	int rc;

	*ret_known = true;
	switch ((enum seam_cfi_how)rule->how) {
	case SEAM_CFI_SAME:
	case SEAM_CFI_UNDEFINED:
		*ret_known = false;
		return 0;
	case SEAM_CFI_OFFSET:
		return read_word(s, s->cfa + (uint64_t)rule->off, ret);
	case SEAM_CFI_VAL_OFFSET:
		*ret = s->cfa + (uint64_t)rule->off;
		return 0;
	case SEAM_CFI_REGISTER:
		*ret_known = is_valid(regs, rule->reg);
		if (*ret_known)
			*ret = regs->r[rule->reg];
		return 0;
	case SEAM_CFI_EXPRESSION:
	case SEAM_CFI_VAL_EXPRESSION:
		rc = seam_cfi_eval(rule->expr, rule->expr_len, &s->cfa,
				   &s->target, ret);
		if (rc)
			return eval_failed(s, rc);
		if (rule->how == SEAM_CFI_EXPRESSION)
			return read_word(s, *ret, ret);
		return 0;
	}
	return stop(s, SEAM_NO_RULE, -EINVAL);
}

static int restore_reg(struct step *s, unsigned int reg)
{
	const struct seam_cfi_reg *rule = &s->row->regs[reg];
	const struct seam_regs *regs = s->target.regs;
	uint64_t value;
	bool known;
	int rc;

	if (rule->how == SEAM_CFI_SAME) {
		if (reg == REG_SP)
			set(&s->next, reg, s->cfa);
		else if (CALLEE_SAVED & 1u << reg && is_valid(regs, reg))
			set(&s->next, reg, regs->r[reg]);
		return 0;
	}
	rc = rule_value(s, rule, &value, &known);
	if (!rc && known)
		set(&s->next, reg, value);
	/* The way back does not hang on it, and its rule may be stale: after
	 * `pop %rbp` GCC leaves it in place. It is unknown, no more. */
	if (rc == -EFAULT && reg != REG_IP && reg != REG_SP)
		return 0;
	return rc;
}

/*
 * A stack grows down: a caller's frame is above. Signal frames may change
 * stacks, and so may code that says where sp is. A leaf that holds its return
 * address in a register (vfork) may have no frame at all.
 */
static bool makes_progress(const struct step *s)
{
	const struct seam_regs *old = s->target.regs, *new = &s->next;
	bool moves = new->r[REG_SP] != old->r[REG_SP] ||
		     new->r[REG_IP] != old->r[REG_IP];

	if (!is_valid(old, REG_SP))
		return true;
	if (s->row->signal || s->row->regs[REG_SP].how != SEAM_CFI_SAME)
		return moves;
	if (s->row->regs[REG_IP].how == SEAM_CFI_REGISTER)
		return moves && new->r[REG_SP] >= old->r[REG_SP];
	return new->r[REG_SP] > old->r[REG_SP];
}

int seam_cfi_step_why(const struct seam_cfi_row *row, struct seam_regs *regs,
		      uint64_t bias, seam_read_fn *read, void *read_ctx,
		      int *ret_end)
{
	struct step s = {
		.row = row,
		.target = {regs, bias, read, read_ctx},
		.ret_end = ret_end,
	};
	int rc;

	if (row->odd_column || (row->abi && row->abi != SEAM_SFRAME_ABI_AMD64))
		return stop(&s, SEAM_NO_RULE, -EINVAL);
	if (row->regs[REG_IP].how == SEAM_CFI_UNDEFINED)
		return stop(&s, SEAM_OUTERMOST, 0);
	rc = find_cfa(&s);
	if (rc)
		return rc;
	for (unsigned int reg = 0; reg < SEAM_CFI_REGS; reg++) {
		rc = restore_reg(&s, reg);
		if (rc)
			return rc;
	}
	if (!is_valid(&s.next, REG_IP) || !is_valid(&s.next, REG_SP))
		return stop(&s, SEAM_NO_RULE, -EINVAL);
	if (!makes_progress(&s))
		return stop(&s, SEAM_BAD_CFA, -EINVAL);
	*regs = s.next;
	return 1;
}

int seam_cfi_step(const struct seam_cfi_row *row, struct seam_regs *regs,
		  uint64_t bias, seam_read_fn *read, void *read_ctx)
{
	int end;

	return seam_cfi_step_why(row, regs, bias, read, read_ctx, &end);
}
