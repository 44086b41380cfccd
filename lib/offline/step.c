// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <string.h>

#include "core/arch.h"
#include "offline/steps.h"
#include "offline/unwind.h"
#include "seam/tracer.h"

#define REG_AX 0
#define REG_CX 2
#define REG_IP 16

struct seam_env {
	const struct seam_dump *dump;
	struct seam_dump_reach *reach;
	bool is_beyond; /* the last failure was behind the copy */
	bool has_asked; /* for a register */
	/* What was read, of which two are kept. */
	size_t n_words;
	uint64_t at[2], words[2];
};

/* Whether what a precise event's instruction has written is in that word. */
static bool is_gone(const struct seam_dump *d, uint64_t addr)
{
	return d->over_size &&
	       (addr - d->over_avma < d->over_size || d->over_avma - addr < 8);
}

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	const struct seam_dump *d = env->dump;
	uint64_t off = addr - d->stack_avma;

	env->is_beyond = false;
	if (is_gone(d, addr))
		return false;
	if (addr < d->stack_avma) {
		*ret = d->below;
		return d->has_below && addr == d->below_avma;
	}
	if (off > d->stack_size || d->stack_size - off < 8) {
		env->is_beyond = true;
		env->reach->missing = off + 8;
		return false;
	}
	memcpy(ret, d->stack + off, 8);
	if (off + 8 > env->reach->read)
		env->reach->read = off + 8;
	if (env->n_words < 2) {
		env->at[env->n_words] = addr;
		env->words[env->n_words] = *ret;
	}
	env->n_words++;
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	env->has_asked = true;
	if (regnum >= SEAM_CFI_REGS || !(env->dump->regs.valid >> regnum & 1))
		return false;
	*ret = env->dump->regs.r[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return true;
}

#include "core/step.h"

static bool find_rule(struct seam_offline *o,
		      const struct seam_offline_copy *copy, uint64_t pc,
		      struct seam_rule *ret)
{
	struct seam_offline_file *f = NULL;
	uint64_t off, packed = 0;

	if (!copy->find(copy->ctx, pc, &f, &off) || !f ||
	    !seam_offline_have(&o->files, f) || !f->table ||
	    seam_lookup_find(&f->lookup, f->table, off, &packed, ret))
		return false;
	if (packed)
		seam_rule_unpack(packed, ret);
	return true;
}

/* The child of a fork, before it ran, may have rules of its own. */
static bool may_be_child(const struct seam_dump *dump)
{
	return !dump->regs.r[REG_AX] &&
	       dump->regs.r[REG_CX] == dump->regs.r[REG_IP];
}

/* --- steps that were taken before: see steps.h --- */

static bool is_kept(const struct seam_step_kept *k,
		    const struct seam_offline_copy *copy,
		    const struct seam_cursor *c)
{
	return k->ip == c->ip && k->sp == c->sp && k->fp == c->fp &&
	       k->maps[0] == copy->maps[0] && k->maps[1] == copy->maps[1];
}

static bool has_word(struct seam_env *env, uint64_t addr, uint64_t word)
{
	uint64_t now;

	return seam_env_word(env, addr, &now) && now == word;
}

static bool step_again(const struct seam_step_kept *k, struct seam_cursor *c,
		       struct seam_env *env)
{
	if (!has_word(env, c->sp + k->ip_at, k->caller_ip))
		return false;
	if (k->fp_at != SEAM_STEP_NO_WORD &&
	    !has_word(env, c->sp + k->fp_at, k->caller_fp))
		return false;
	c->ip = k->caller_ip;
	c->fp = k->caller_fp;
	c->sp += k->caller_sp;
	return true;
}

/* All that the step followed from is in what is kept, or it is not kept. */
static void keep(struct seam_step_kept *k, const struct seam_offline_copy *copy,
		 const struct seam_cursor *c, const struct seam_cursor *caller,
		 const struct seam_env *env)
{
	uint64_t sp_by = caller->sp - c->sp, ip_by = env->at[0] - c->sp;
	uint64_t fp_by = SEAM_STEP_NO_WORD;

	if (env->has_asked || !env->n_words || env->n_words > 2 ||
	    env->words[0] != caller->ip || caller->exact || caller->fp_lost ||
	    sp_by > UINT32_MAX || ip_by > UINT32_MAX)
		return;
	if (env->n_words == 2) {
		fp_by = env->at[1] - c->sp;
		if (env->words[1] != caller->fp || fp_by >= SEAM_STEP_NO_WORD)
			return;
	}
	*k = (struct seam_step_kept){
		.ip = c->ip,
		.sp = c->sp,
		.fp = c->fp,
		.caller_ip = caller->ip,
		.caller_fp = caller->fp,
		.maps = {copy->maps[0], copy->maps[1]},
		.caller_sp = (uint32_t)sp_by,
		.ip_at = (uint32_t)ip_by,
		.fp_at = (uint32_t)fp_by,
	};
}

/* Return: NULL: such a step is not kept. */
static struct seam_step_kept *place_of(const struct seam_offline_copy *copy,
				       const struct seam_cursor *c)
{
	if (!copy->steps || !copy->maps[0] || c->leaf || c->exact || c->fp_lost)
		return NULL;
	return seam_steps_at(copy->steps, c->ip, c->sp);
}

/* Return: enum seam_err; or -1: there is no rule. */
static int step_by_rule(struct seam_offline *o,
			const struct seam_offline_copy *copy,
			struct seam_cursor *c, struct seam_env *env,
			struct seam_step_kept *k)
{
	const struct seam_cursor was = *c;
	struct seam_rule rule = {0};
	int err;

	if (!find_rule(o, copy, seam_cursor_pc(c), &rule))
		return -1;
	env->n_words = 0;
	env->has_asked = false;
	err = seam_step(c, &rule, env);
	if (!err && k)
		keep(k, copy, &was, c, env);
	return err;
}

bool seam_offline_step(struct seam_offline *o,
		       const struct seam_offline_copy *copy,
		       const struct seam_dump *dump,
		       struct seam_offline_stack *ret)
{
	struct seam_env env = {.dump = dump, .reach = &ret->reach};
	struct seam_cursor c = {
		.ip = dump->regs.r[REG_IP],
		.sp = dump->regs.r[SEAM_AMD64_REG_SP],
		.fp = dump->regs.r[SEAM_AMD64_REG_FP],
		.fp_lost = !(dump->regs.valid >> SEAM_AMD64_REG_FP & 1),
		.leaf = true,
		.exact = !dump->syscall,
	};
	struct seam_step_kept *k;
	int err;

	if (dump->is_32 || may_be_child(dump))
		return false;
	ret->methods[0] = SEAM_METHOD_NONE;
	for (ret->n = 0; ret->n < SEAM_OFFLINE_FRAMES;) {
		if (ret->n)
			ret->methods[ret->n] = SEAM_METHOD_SFRAME;
		ret->ips[ret->n++] = c.ip;
		k = place_of(copy, &c);
		if (k && is_kept(k, copy, &c) && step_again(k, &c, &env))
			continue;
		err = step_by_rule(o, copy, &c, &env, k);
		if (err < 0)
			return false;
		if (err) {
			ret->end = err;
			return err == SEAM_OUTERMOST ||
			       (err == SEAM_UNREADABLE && env.is_beyond);
		}
	}
	ret->end = SEAM_MAX_STACK;
	return true;
}
