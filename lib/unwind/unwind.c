// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "seam/unwind.h"

#include <errno.h>
#include <stdbool.h>

#include "core/arch.h"
#include "core/err.h"
#include "unwind/tables.h"
#include "unwind/unwind-full.h"

struct seam_env {
	const struct seam_unwind_state *state;
	seam_read_memory read;
	void *ctx;
	bool is_big;
	enum seam_arch arch;
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	uint64_t word;

	if (env->read(env->ctx, addr, &word, sizeof(word)))
		return false;
	*ret = env->is_big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		       ? word
		       : __builtin_bswap64(word);
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	if (regnum >= SEAM_UNWIND_REGS || !(env->state->valid >> regnum & 1))
		return false;
	*ret = env->state->regs[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return true;
}

#include "core/step.h"

#define PAC_VA_BITS 48

/* Return: one of SEAM_SFRAME_ABI_*; 0: no machine of ours. */
static uint8_t abi_of(uint32_t machine)
{
	switch (machine) {
	case SEAM_MACHINE_AMD64:
		return SEAM_SFRAME_ABI_AMD64;
	case SEAM_MACHINE_AARCH64:
		return SEAM_SFRAME_ABI_AARCH64_LE;
	case SEAM_MACHINE_AARCH64_BE:
		return SEAM_SFRAME_ABI_AARCH64_BE;
	case SEAM_MACHINE_S390X:
		return SEAM_SFRAME_ABI_S390X;
	default:
		return 0;
	}
}

/* All that a signal's frame at sp has of the code it interrupted. */
static void fill_from_signal(struct seam_unwind_state *state,
			     struct seam_env *env, uint64_t sp)
{
	state->valid = 0;
	for (uint8_t reg = 0; reg < SEAM_UNWIND_REGS; reg++) {
		int32_t off = seam_signal_reg_off(env->arch, reg);

		if (env->arch == SEAM_ARCH_AMD64 && reg >= SEAM_AMD64_REG_IP)
			break;
		if (off >= 0 &&
		    seam_env_word(env, sp + (uint32_t)off, &state->regs[reg]))
			state->valid |= 1u << reg;
	}
}

static void store(struct seam_unwind_state *state, struct seam_env *env,
		  const struct seam_cursor *c, uint64_t signal_sp)
{
	uint8_t sp = seam_arch_sp(env->arch), fp = seam_arch_fp(env->arch);

	state->valid = 0;
	if (c->leaf)
		fill_from_signal(state, env, signal_sp);
	state->pc = c->ip;
	state->regs[sp] = c->sp;
	state->valid |= 1u << sp;
	if (!c->fp_lost) {
		state->regs[fp] = c->fp;
		state->valid |= 1u << fp;
	}
	state->is_caller = !c->leaf;
	state->is_return = !c->exact;
}

int seam_unwind(struct seam_unwind_state *state, struct seam_tables *tables,
		seam_read_memory read, void *ctx)
{
	uint8_t abi = abi_of(state->machine);
	enum seam_arch arch = seam_abi_arch(abi);
	struct seam_env env = {
		.state = state,
		.read = read,
		.ctx = ctx,
		.arch = arch,
		.is_big = seam_abi_is_big(abi),
	};
	struct seam_cursor c;
	struct seam_rule rule;
	uint64_t sp;
	int err;

	if (state->sz != sizeof(*state) || arch == SEAM_ARCH_NONE ||
	    !(state->valid >> seam_arch_sp(arch) & 1))
		return -EINVAL;
	sp = state->regs[seam_arch_sp(arch)];
	c = (struct seam_cursor){
		.ip = state->pc,
		.sp = sp,
		.fp = state->regs[seam_arch_fp(arch)],
		.fp_lost = !(state->valid >> seam_arch_fp(arch) & 1),
		.leaf = !state->is_caller,
		.exact = !state->is_return,
	};
	err = seam_tables_rule(tables, abi, seam_cursor_pc(&c), &rule);
	if (!err)
		err = seam_step_arch(
			&c, &rule, &env, arch,
			state->pac_mask ? state->pac_mask
					: SEAM_AARCH64_PAC_MASK(PAC_VA_BITS));
	if (err == SEAM_NO_RULE && arch == SEAM_ARCH_AMD64)
		return seam_unwind_full(state, tables, read, ctx);
	if (err)
		return err;
	if (rule.flags & SEAM_RULE_SIGNAL)
		seam_step_signal(&c, sp, &env, arch);
	if (!state->is_caller)
		state->base = seam_unwind_base_of(state);
	store(state, &env, &c, sp);
	return 0;
}
