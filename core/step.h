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
 * seam_env_reg is asked only for the leaf's registers other than SP and FP, by
 * their DWARF numbers. Words and registers are in this machine's byte order.
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
#include "core/signal-frame.h"

/* A register of the current frame. */
SEAM_INLINE int seam_step_reg(const struct seam_cursor *c, uint32_t regnum,
			      struct seam_env *env, enum seam_arch arch,
			      uint64_t *ret)
{
	if (regnum == seam_arch_sp(arch))
		*ret = c->sp;
	else if (regnum == seam_arch_fp(arch) && !c->fp_lost)
		*ret = c->fp;
	else if (regnum == seam_arch_fp(arch))
		return SEAM_NO_RULE;
	else if (!c->leaf || !seam_env_reg(env, regnum, ret))
		return SEAM_NO_RULE;
	return SEAM_OK;
}

/* Any value but SAME. */
SEAM_INLINE int seam_step_value(const struct seam_cursor *c,
				const struct seam_value *v, uint64_t cfa,
				struct seam_env *env, enum seam_arch arch,
				uint64_t *ret)
{
	uint64_t base = cfa;

	if (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF) {
		if (seam_step_reg(c, v->reg, env, arch, &base))
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

/* The return address where it is not in the fixed place of amd64. */
SEAM_INLINE int seam_step_ra(const struct seam_cursor *c,
			     const struct seam_value *v, uint64_t cfa,
			     struct seam_env *env, enum seam_arch arch,
			     uint64_t *ret)
{
	if (v->kind == SEAM_SAME)
		return seam_step_reg(c, seam_arch_ra(arch), env, arch, ret);
	return seam_step_value(c, v, cfa, env, arch, ret);
}

/* A code pointer without its signature: bit 55 in place of its bits. */
SEAM_INLINE uint64_t seam_strip_pac(uint64_t ra, uint64_t pac_mask)
{
	return ra >> 55 & 1 ? ra | pac_mask : ra & ~pac_mask;
}

SEAM_INLINE bool seam_step_ra_in_reg(const struct seam_rule *rule,
				     enum seam_arch arch)
{
	return rule->ra.kind == SEAM_REG_OFF ||
	       (rule->ra.kind == SEAM_SAME && !seam_arch_ra_off(arch));
}

/*
 * pac_mask: the bits of a return address that hold its signature on aarch64,
 * where a rule says that it has one; see SEAM_AARCH64_PAC_MASK.
 * Return: SEAM_OK, stepped to the caller; SEAM_OUTERMOST, this was the last
 * frame, and c->sp is behind all that was read of it; else SEAM_NO_RULE (needs
 * a register that only the leaf knows), SEAM_BAD_CFA or SEAM_UNREADABLE.
 */
SEAM_INLINE int seam_step_arch(struct seam_cursor *c,
			       const struct seam_rule *rule,
			       struct seam_env *env, enum seam_arch arch,
			       uint64_t pac_mask)
{
	bool signal = rule->flags & SEAM_RULE_SIGNAL;
	uint64_t cfa, sp, ra, fp = c->fp;
	bool fp_lost = c->fp_lost;
	int err;

	if (rule->flags & SEAM_RULE_OUTERMOST)
		return SEAM_OUTERMOST;
	err = seam_step_value(c, &rule->cfa, 0, env, arch, &cfa);
	if (err)
		return err;
	cfa += (int64_t)rule->cfa_add;
	sp = cfa - seam_arch_cfa_bias(arch);
	/* A signal frame may lead to another stack: no order to check. */
	if ((cfa & 7) && !signal)
		return SEAM_BAD_CFA;
	/* A leaf may not have its return address on the stack, as in vfork, or
	 * as most leaves where calls leave it in a register: then SP may be
	 * the caller's. A signal may have come just then. */
	if (!signal &&
	    (sp < c->sp || (sp == c->sp && ((!c->leaf && !c->exact) ||
					    !seam_step_ra_in_reg(rule, arch)))))
		return SEAM_BAD_CFA;
	if (rule->ra.kind == SEAM_SAME && seam_arch_ra_off(arch)) {
		if (!seam_env_word(env, cfa + (int64_t)seam_arch_ra_off(arch),
				   &ra))
			return SEAM_UNREADABLE;
	} else {
		err = seam_step_ra(c, &rule->ra, cfa, env, arch, &ra);
		if (err)
			return err;
	}
	if (rule->flags & SEAM_RULE_MANGLED && arch == SEAM_ARCH_AARCH64)
		ra = seam_strip_pac(ra, pac_mask);
	if (rule->fp.kind != SEAM_SAME) {
		err = seam_step_value(c, &rule->fp, cfa, env, arch, &fp);
		if (err == SEAM_UNREADABLE && !seam_env_lose_fp(env))
			return err;
		fp_lost = err;
	}
	c->sp = sp;
	if (!ra)
		return SEAM_OUTERMOST;
	c->ip = ra;
	c->fp = fp;
	c->fp_lost = fp_lost;
	c->leaf = false;
	c->exact = signal;
	return SEAM_OK;
}

/* The same on amd64: what the architectures differ in is constant. */
SEAM_INLINE int seam_step(struct seam_cursor *c, const struct seam_rule *rule,
			  struct seam_env *env)
{
	return seam_step_arch(c, rule, env, SEAM_ARCH_AMD64, 0);
}

/*
 * After a step by a signal frame's rule: whether the frame is the kernel's
 * own, so that every register of the interrupted code is known again. It is if
 * it has the ip and SP where the kernel puts them that the rule found. sp:
 * what c->sp was before the step. From then on seam_env_reg has to give the
 * words at sp + seam_signal_reg_off(); the caller keeps sp for it. Without
 * this a leaf of aarch64 or s390x that was interrupted ends the stack.
 */
SEAM_INLINE bool seam_step_signal(struct seam_cursor *c, uint64_t sp,
				  struct seam_env *env, enum seam_arch arch)
{
	uint64_t at_ip =
		sp + (uint32_t)seam_signal_reg_off(arch, SEAM_SIGNAL_IP);
	uint64_t at_sp =
		sp + (uint32_t)seam_signal_reg_off(arch, seam_arch_sp(arch));
	uint64_t ip_was, sp_was;

	if (!seam_env_word(env, at_ip, &ip_was) ||
	    !seam_env_word(env, at_sp, &sp_was))
		return false;
	if (ip_was != c->ip || sp_was != c->sp)
		return false;
	c->leaf = true;
	return true;
}

#endif
