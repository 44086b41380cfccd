/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Frames of code that no table describes, as JIT compilers and Go make it:
 * what a candidate for the caller must be to count, and where such a stack
 * ends. DESIGN.md says why each. The includer has what step.h asks for.
 */
#ifndef SEAM_CORE_FALLBACK_H
#define SEAM_CORE_FALLBACK_H

#include "core/code-way.h"
#include "core/cursor.h"
#include "core/err.h"
#include "core/step.h"

/* A saved frame pointer further above than this is none. */
#define SEAM_FP_REACH (8ULL << 20)
/* A frame that ends its thread is its outermost, unless rbp points into it. */
#define SEAM_FP_FRAME 4096

/* The rule of a frame whose frame pointer is set up. */
SEAM_INLINE void seam_fp_rule(bool is_32, struct seam_rule *ret)
{
	*ret = (struct seam_rule){0};
	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.reg = SEAM_AMD64_REG_FP;
	ret->cfa.off = is_32 ? 8 : 16;
	ret->fp.kind = SEAM_REG_DEREF;
	ret->fp.reg = SEAM_AMD64_REG_FP;
}

/* Code that calls rt_sigreturn: mov $15 to eax or rax, syscall. */
SEAM_INLINE bool seam_is_sigreturn(uint64_t code)
{
	return code == 0x0f0000000fc0c748 ||
	       (code & 0x00ffffffffffffff) == 0x00050f0000000fb8;
}

SEAM_INLINE bool seam_fallback_word(struct seam_env *env, uint64_t addr,
				    uint64_t *ret)
{
	if (!seam_env_word(env, addr & ~7ULL, ret))
		return false;
	*ret = (uint32_t)(*ret >> (8 * (addr & 4)));
	return true;
}

/* As seam_step, with words of 4 bytes, for the rules made here. */
SEAM_INLINE int seam_step_32(struct seam_cursor *c,
			     const struct seam_rule *rule, struct seam_env *env)
{
	bool by_fp = rule->cfa.reg == SEAM_AMD64_REG_FP;
	uint64_t cfa, ra, fp = c->fp, at;
	bool fp_lost = c->fp_lost;

	if (by_fp && c->fp_lost)
		return SEAM_NO_RULE;
	cfa = (uint32_t)((by_fp ? c->fp : c->sp) + (int64_t)rule->cfa.off);
	if (cfa & 3 || cfa <= c->sp)
		return SEAM_BAD_CFA;
	at = cfa +
	     (rule->ra.kind == SEAM_CFA_DEREF ? (int64_t)rule->ra.off : -4);
	if (!seam_fallback_word(env, at, &ra))
		return SEAM_UNREADABLE;
	if (rule->fp.kind == SEAM_REG_DEREF) {
		at = rule->fp.reg == SEAM_AMD64_REG_FP ? c->fp : c->sp;
		at = (uint32_t)(at + (int64_t)rule->fp.off);
		if (at & 3)
			fp_lost = true;
		else if (!seam_fallback_word(env, at, &fp))
			return SEAM_UNREADABLE;
	} else if (rule->fp.kind != SEAM_SAME) {
		fp_lost = true;
	}
	c->sp = cfa;
	if (!ra)
		return SEAM_OUTERMOST;
	c->ip = ra;
	c->fp = fp;
	c->fp_lost = fp_lost;
	c->leaf = false;
	c->exact = false;
	return SEAM_OK;
}

/*
 * Of the 32-bit code that a signal's handler returns to, the vDSO's or a C
 * library's: pop eax, mov $119 to eax, int $0x80; or, of a handler with
 * SA_SIGINFO, mov $173 to eax, int $0x80. Return: how far above sp the
 * interrupted registers are (struct sigcontext_32: behind the signal's number;
 * behind that, two pointers, struct siginfo and what struct ucontext has
 * before them); -1: it is other code.
 */
SEAM_INLINE int seam_sigreturn_32(uint64_t code)
{
	if (code == 0x80cd00000077b858)
		return 4;
	return (code & 0x00ffffffffffffff) == 0x0080cd000000adb8 ? 160 : -1;
}

/* The same of the code before the ip of a leaf that is in that call. */
SEAM_INLINE int seam_in_sigreturn_32(uint64_t before)
{
	if (before == 0x80cd00000077b858)
		return 0;
	return before >> 8 == 0x0080cd000000adb8 ? 160 : -1;
}

/* Whether code is what a signal's handler returns to. */
SEAM_INLINE bool seam_is_handler_end(bool is_32, uint64_t code)
{
	return is_32 ? seam_sigreturn_32(code) >= 0 : seam_is_sigreturn(code);
}

/* In struct sigcontext_32. */
#define SEAM_SIGNAL_32_FP 24
#define SEAM_SIGNAL_32_SP 28
#define SEAM_SIGNAL_32_IP 56

/* The step to what the signal interrupted; off, not -1, is of these two. */
SEAM_INLINE int seam_step_signal_32(struct seam_cursor *c, int off,
				    struct seam_env *env)
{
	uint64_t at = c->sp + (uint32_t)off, fp, sp, ip;

	if (at & 3)
		return SEAM_BAD_CFA;
	if (!seam_fallback_word(env, at + SEAM_SIGNAL_32_FP, &fp) ||
	    !seam_fallback_word(env, at + SEAM_SIGNAL_32_SP, &sp) ||
	    !seam_fallback_word(env, at + SEAM_SIGNAL_32_IP, &ip))
		return SEAM_UNREADABLE;
	c->ip = ip;
	c->sp = sp;
	c->fp = fp;
	c->fp_lost = false;
	c->leaf = false;
	c->exact = true;
	return SEAM_OK;
}

/*
 * Whether the frame pointer alone leads from one frame to the next: the saved
 * one lies above, in the same stack as far as that can be told, or is 0, as
 * the ABI has it in the outermost frame.
 */
SEAM_INLINE bool seam_fp_is_chain(const struct seam_cursor *to)
{
	return !to->fp_lost && (!to->fp || (to->fp >= to->sp &&
					    to->fp - to->sp < SEAM_FP_REACH));
}

/* Whether code behind a call that ends its thread or process is the outermost
 * frame: it is no caller's, or rbp would point into its frame. A leaf in a
 * system call may be in a function that does no more than that. */
SEAM_INLINE bool seam_fp_ends(const struct seam_cursor *c)
{
	return !c->exact && !c->leaf &&
	       (c->fp_lost || c->fp < c->sp || c->fp - c->sp >= SEAM_FP_FRAME);
}

#endif
