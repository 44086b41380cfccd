// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <string.h>

#include "core/arch.h"
#include "offline/unwind.h"
#include "seam/tracer.h"

#define REG_AX 0
#define REG_CX 2
#define REG_IP 16

struct seam_env {
	const struct seam_dump *dump;
	struct seam_dump_reach *reach;
	bool is_beyond; /* the last failure was behind the copy */
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	const struct seam_dump *d = env->dump;
	uint64_t off = addr - d->stack_avma;

	env->is_beyond = false;
	if (addr < d->stack_avma)
		return false;
	if (off > d->stack_size || d->stack_size - off < 8) {
		env->is_beyond = true;
		env->reach->missing = off + 8;
		return false;
	}
	memcpy(ret, d->stack + off, 8);
	if (off + 8 > env->reach->read)
		env->reach->read = off + 8;
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
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
	struct seam_rule rule = {0};
	int err;

	if (dump->is_32 || may_be_child(dump))
		return false;
	ret->methods[0] = SEAM_METHOD_NONE;
	for (ret->n = 0; ret->n < SEAM_OFFLINE_FRAMES;) {
		if (ret->n)
			ret->methods[ret->n] = SEAM_METHOD_SFRAME;
		ret->ips[ret->n++] = c.ip;
		if (!find_rule(o, copy, seam_cursor_pc(&c), &rule))
			return false;
		err = seam_step(&c, &rule, &env);
		if (err) {
			ret->end = err;
			return err == SEAM_OUTERMOST ||
			       (err == SEAM_UNREADABLE && env.is_beyond);
		}
	}
	ret->end = SEAM_MAX_STACK;
	return true;
}
