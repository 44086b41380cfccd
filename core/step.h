/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * One step: executes a rule on a machine state. Checks come first, the
 * state is written last: on failure it is as it was, and the frames found
 * so far stay valid.
 *
 * The includer defines, before including this file, what a target's memory
 * and registers are to it:
 *
 *   struct seam_env;
 *   bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret);
 *   bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret);
 *   bool seam_env_lose_fp(struct seam_env *env);
 *
 * seam_env_reg is asked only for the leaf's registers other than SP and FP.
 * seam_env_lose_fp is asked where the caller's FP could not be read: true
 * goes on without it. A rule for FP may be stale, after `pop %rbp` or where
 * FP is an ordinary register that nobody needs; the rest of the stack is
 * none the worse for it.
 */
#ifndef SEAM_CORE_STEP_H
#define SEAM_CORE_STEP_H

#include "core/arch.h"
#include "core/cursor.h"
#include "core/err.h"
#include "core/rule.h"

/* A register of the current frame. */
SEAM_INLINE int seam_step_reg(const struct seam_cursor *c, uint32_t regnum,
			      struct seam_env *env, uint64_t *ret)
{
	if (regnum == SEAM_AMD64_REG_SP)
		*ret = c->sp;
	else if (regnum == SEAM_AMD64_REG_FP && !c->fp_lost)
		*ret = c->fp;
	else if (regnum == SEAM_AMD64_REG_FP)
		return SEAM_NO_RULE;
	else if (!c->leaf || !seam_env_reg(env, regnum, ret))
		return SEAM_NO_RULE;
	return SEAM_OK;
}

/* Any value but SAME. */
SEAM_INLINE int seam_step_value(const struct seam_cursor *c,
				const struct seam_value *v, uint64_t cfa,
				struct seam_env *env, uint64_t *ret)
{
	uint64_t base = cfa;

	if (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF) {
		if (seam_step_reg(c, v->reg, env, &base))
			return SEAM_NO_RULE;
	}
	base += (int64_t)v->off;
	if (v->kind == SEAM_CFA_DEREF || v->kind == SEAM_REG_DEREF) {
		if (!seam_env_word(env, base, &base))
			return SEAM_UNREADABLE;
	}
	*ret = base;
	return SEAM_OK;
}

/*
 * Return: SEAM_OK, stepped to the caller; SEAM_OUTERMOST, this was the last
 * frame, and c->sp is behind all that was read of it; else SEAM_NO_RULE (needs
 * a register that only the leaf knows), SEAM_BAD_CFA or SEAM_UNREADABLE.
 */
SEAM_INLINE int seam_step(struct seam_cursor *c, const struct seam_rule *rule,
			  struct seam_env *env)
{
	bool signal = rule->flags & SEAM_RULE_SIGNAL;
	uint64_t cfa, ra, fp = c->fp;
	bool fp_lost = c->fp_lost;
	int err;

	if (rule->flags & SEAM_RULE_OUTERMOST)
		return SEAM_OUTERMOST;
	err = seam_step_value(c, &rule->cfa, 0, env, &cfa);
	if (err)
		return err;
	cfa += (int64_t)rule->cfa_add;
	/* A signal frame may lead to another stack: no order to check. */
	if ((cfa & 7) && !signal)
		return SEAM_BAD_CFA;
	/* A leaf may have taken its return address off the stack, as vfork
	 * does: then the CFA may be sp itself. */
	if (!signal &&
	    (cfa < c->sp ||
	     (cfa == c->sp && (!c->leaf || rule->ra.kind != SEAM_REG_OFF))))
		return SEAM_BAD_CFA;
	if (rule->ra.kind == SEAM_SAME) {
		if (!seam_env_word(env, cfa + SEAM_AMD64_RA_OFF, &ra))
			return SEAM_UNREADABLE;
	} else {
		err = seam_step_value(c, &rule->ra, cfa, env, &ra);
		if (err)
			return err;
	}
	if (rule->fp.kind != SEAM_SAME) {
		err = seam_step_value(c, &rule->fp, cfa, env, &fp);
		if (err == SEAM_UNREADABLE && !seam_env_lose_fp(env))
			return err;
		fp_lost = err;
	}
	c->sp = cfa;
	if (!ra)
		return SEAM_OUTERMOST;
	c->ip = ra;
	c->fp = fp;
	c->fp_lost = fp_lost;
	c->leaf = false;
	c->exact = signal;
	return SEAM_OK;
}

#endif
