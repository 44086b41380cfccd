// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "core/arch.h"
#include "core/err.h"
#include "truth/private.h"

#define PAGE 4096
#define READ_FIRST 2048
#define READ_AHEAD (64 << 10)

/* --- core's environment --- */

static void env_begin(struct seam_env *env, const struct seam_check *c)
{
	env->stepper = c->stepper;
	env->base = (c->stepper->regs.rsp - SEAM_AMD64_RED_ZONE) & ~63ULL;
	env->high = c->shadow.current->high + 8;
	env->size = 0;
}

/* Copies the stack up to addr. */
static bool env_extend(struct seam_env *env, uint64_t addr)
{
	size_t want = 2 * env->size + READ_FIRST, got;
	void *stack;

	if (want < addr - env->base)
		want = addr - env->base;
	if (want > env->high - env->base)
		want = env->high - env->base;
	if (want > env->cap) {
		stack = realloc(env->stack, want);
		if (!stack)
			return false;
		env->stack = stack;
		env->cap = want;
	}
	got = seam_stepper_read(env->stepper, env->base + env->size,
				env->stack + env->size, want - env->size);
	env->size += got;
	return addr - env->base <= env->size;
}

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - env->base;

	if (addr < env->base || addr >= env->high || env->high - addr < 8 ||
	    at > env->size + READ_AHEAD ||
	    (at + 8 > env->size && !env_extend(env, addr + 8)))
		return seam_stepper_word(env->stepper, addr, ret);
	memcpy(ret, env->stack + at, sizeof(*ret));
	return true;
}

/* Copies all of it. What was never touched is not there yet, and zero. */
static void env_fill(struct seam_env *env)
{
	size_t all = env->high - env->base, hole;

	while (!env_extend(env, env->high) && env->cap >= all) {
		hole = PAGE - (env->base + env->size) % PAGE;
		if (hole > all - env->size)
			hole = all - env->size;
		memset(env->stack + env->size, 0, hole);
		env->size += hole;
	}
}

static void regs_of(const struct user_regs_struct *r, struct seam_regs *ret)
{
	*ret = (struct seam_regs){
		.r = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp,
		      r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13,
		      r->r14, r->r15, r->rip},
		.valid = (1u << SEAM_CFI_REGS) - 1,
	};
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	struct seam_regs regs;

	regs_of(&env->stepper->regs, &regs);
	if (regnum >= SEAM_CFI_REGS)
		return false;
	*ret = regs.r[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return true;
}

#include "core/step.h" /* made for what stands above */

/* --- by tables --- */

static int find_rule(struct seam_check *c, uint64_t pc, struct seam_rule *ret)
{
	const struct seam_truth_mapping *map = seam_space_find(&c->space, pc);
	uint64_t packed;
	int err;

	if (!map || !map->file || !map->file->table)
		return SEAM_NO_TABLE;
	err = seam_lookup_find(&map->file->lookup, map->file->table,
			       pc - map->start + map->off, &packed, ret);
	if (!err && packed)
		seam_rule_unpack(packed, ret);
	return err;
}

static int step_frame(struct seam_check *c, struct seam_cursor *cursor,
		      uint64_t pc)
{
	struct seam_check_code *code = seam_check_code_at(c, pc);

	if (!code)
		return SEAM_NO_RULE;
	if (code->rule_err == SEAM_CHECK_NOT_ASKED)
		code->rule_err = (uint8_t)find_rule(c, pc, &code->rule);
	return code->rule_err ? code->rule_err
			      : seam_step(cursor, &code->rule, &c->env);
}

/* Return: false, with ret telling why, if the step did not lead where it
 * should have; *ret_done: it was the last. */
static bool judge(const struct seam_cursor *cursor, int err,
		  const struct seam_shadow_frame *is, struct seam_outcome *ret,
		  bool *ret_done)
{
	*ret_done = err == SEAM_OUTERMOST && !is;
	if (*ret_done ||
	    (!err && is && cursor->ip == is->ip && cursor->sp == is->sp))
		return true;
	ret->what = err == SEAM_NO_TABLE || err == SEAM_NO_RULE
			    ? SEAM_TRUTH_HOLE
			    : SEAM_TRUTH_WRONG;
	ret->end = err;
	ret->is = is ? *is : (struct seam_shadow_frame){0};
	ret->said_ip = cursor->ip;
	ret->said_sp = cursor->sp;
	ret->said_fp = cursor->fp;
	return false;
}

void seam_check_by_table(struct seam_check *c, bool exact,
			 struct seam_outcome *ret)
{
	struct seam_shadow_iter it = seam_shadow_begin(&c->shadow);
	const struct user_regs_struct *r = &c->stepper->regs;
	struct seam_cursor cursor = {
		.ip = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		.leaf = true,
		.exact = exact,
	};
	bool done = false;

	*ret = (struct seam_outcome){.who = SEAM_TRUTH_TABLE};
	env_begin(&c->env, c);
	for (size_t i = 0; !done; i++) {
		const struct seam_shadow_frame *is = seam_shadow_next(&it);
		uint64_t pc = seam_cursor_pc(&cursor);
		int err = step_frame(c, &cursor, pc);

		ret->index = i;
		ret->callee_pc = ret->pc;
		ret->pc = pc;
		if (!judge(&cursor, err, is, ret, &done))
			return;
		if (is && !ret->fp_pc && !cursor.fp_lost &&
		    cursor.fp != is->saved.rbp) {
			ret->fp_pc = pc;
			ret->fp_callee_pc = ret->callee_pc;
			ret->fp_index = i;
			ret->is = *is;
			ret->said_fp = cursor.fp;
		}
		c->frames++;
		if (i > c->deepest)
			c->deepest = i;
	}
}

/* --- by full CFI --- */

void seam_check_copy(struct seam_check *c, struct seam_dump *ret)
{
	uint64_t below;

	env_begin(&c->env, c);
	env_fill(&c->env);
	below = c->stepper->regs.rsp - c->env.base;
	*ret = (struct seam_dump){
		.stack_avma = c->stepper->regs.rsp,
		.find = seam_space_dump_find,
		.ctx = &c->space,
		.cut = true,
	};
	if (c->env.size > below) {
		ret->stack = c->env.stack + below;
		ret->stack_size = c->env.size - below;
	}
	regs_of(&c->stepper->regs, &ret->regs);
}

void seam_check_by_library(struct seam_check *c, bool exact,
			   struct seam_outcome *ret)
{
	struct seam_shadow_iter it = seam_shadow_begin(&c->shadow);
	struct seam_dump dump = {
		.stack_avma = c->env.base,
		.find = seam_space_dump_find,
		.ctx = &c->space,
		.cut = true,
		.syscall = !exact,
	};
	const struct seam_shadow_frame *is = NULL;
	size_t n, i;
	int end;

	*ret = (struct seam_outcome){.who = SEAM_TRUTH_LIBRARY};
	env_fill(&c->env);
	dump.stack = c->env.stack;
	dump.stack_size = c->env.size;
	regs_of(&c->stepper->regs, &dump.regs);
	n = seam_dump_unwind(&dump, c->ips, SEAM_CHECK_MAX_FRAMES, &end);
	c->by_cfi++;
	c->cfi_frames += n;
	for (i = 0; i < n; i++, exact = is->signal) {
		is = seam_shadow_next(&it);
		ret->index = i;
		ret->callee_pc = ret->pc;
		ret->pc = c->ips[i] - !exact;
		if (i + 1 == n && !is && end == SEAM_OUTERMOST)
			return;
		if (i + 1 < n && is && is->ip == c->ips[i + 1])
			continue;
		if (i + 1 == n && end == SEAM_COPY_SHORT &&
		    c->shadow.current->below) {
			c->cut++;
			return;
		}
		ret->what = i + 1 == n && (end == SEAM_NO_TABLE ||
					   end == SEAM_NO_RULE)
				    ? SEAM_TRUTH_HOLE
				    : SEAM_TRUTH_WRONG;
		ret->is = is ? *is : (struct seam_shadow_frame){0};
		ret->said_ip = i + 1 < n ? c->ips[i + 1] : 0;
		ret->end = i + 1 < n ? 0 : end;
		return;
	}
}
