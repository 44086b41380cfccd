// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Frames of code without rules, as bpf/frame-pointer.h has them. */
#include <string.h>

#include "core/wire.h"
#include "seam/tracer.h"
#include "unwind/dump-private.h"

#define PAGE 4096

struct seam_env {
	struct seam_dump_reader *r;
	const struct seam_regs *regs;
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	const struct seam_dump *d = env->r->dump;

	if (!d->is_32 || d->stack_avma - addr != 4)
		return !seam_dump_read(env->r, addr, sizeof(*ret), ret);
	/* The copy begins with the upper half of this word. */
	if (seam_dump_read(env->r, addr + 4, 4, ret))
		return false;
	*ret <<= 32;
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	if (regnum >= SEAM_CFI_REGS || !(env->regs->valid >> regnum & 1))
		return false;
	*ret = env->regs->r[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return true;
}

#include "core/fallback.h"

bool seam_dump_code(struct seam_dump_reader *r, uint64_t avma,
		    enum seam_dump_when when, struct seam_x86_bytes *ret)
{
	uint8_t raw[sizeof(*ret)] = {0};
	const struct seam_dump *d = r->dump;
	size_t n = d->code ? d->code(d->ctx, avma, when, raw, sizeof(raw)) : 0;

	if (!n) {
		if (d->counts)
			d->counts->code_gone++;
		return false;
	}
	memcpy(ret, raw, sizeof(raw));
	return true;
}

bool seam_dump_before(struct seam_dump_reader *r, uint64_t avma,
		      enum seam_dump_when when, uint64_t *ret)
{
	uint64_t there = avma & (PAGE - 1);
	struct seam_x86_bytes b;

	if (seam_dump_code(r, avma - 8, when, &b)) {
		*ret = b.lo;
		return true;
	}
	/* Nothing may be mapped before avma's page. */
	if (!there || there >= 8 || !seam_dump_code(r, avma - there, when, &b))
		return false;
	*ret = b.lo << (64 - 8 * there);
	return true;
}

bool seam_dump_is_code(struct seam_dump_reader *r, uint64_t avma)
{
	struct seam_mapping map;

	return !r->dump->find(r->dump->ctx, avma, &map);
}

static struct seam_cursor cursor_of(const struct seam_dump_frame *f)
{
	return (struct seam_cursor){
		.ip = f->regs.r[SEAM_AMD64_REG_IP],
		.sp = f->regs.r[SEAM_AMD64_REG_SP],
		.fp = f->regs.r[SEAM_AMD64_REG_FP],
		.fp_lost = !(f->regs.valid >> SEAM_AMD64_REG_FP & 1),
		.leaf = f->method == SEAM_METHOD_NONE,
		.exact = f->exact,
		/* What else the leaf has in registers, no rule here asks. */
	};
}

/* The caller that was found counts. Nothing is known of its other registers:
 * the code may have saved and changed them. */
static void take(struct seam_dump_frame *f, const struct seam_cursor *c,
		 bool by_fp)
{
	f->regs.r[SEAM_AMD64_REG_IP] = c->ip;
	f->regs.r[SEAM_AMD64_REG_SP] = c->sp;
	f->regs.r[SEAM_AMD64_REG_FP] = c->fp;
	f->regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP;
	if (!c->fp_lost)
		f->regs.valid |= 1u << SEAM_AMD64_REG_FP;
	f->exact = c->exact;
	f->method = SEAM_METHOD_FP;
	f->is_unproven = true;
	if (by_fp)
		f->by_fp_nr = f->nr + 1;
}

static bool is_returned_to(struct seam_dump_reader *r, uint64_t ip)
{
	struct seam_x86_bytes b;
	uint64_t before;

	if (seam_dump_before(r, ip, SEAM_DUMP_THEN, &before) &&
	    seam_x86_is_behind_call(before))
		return true;
	return seam_dump_code(r, ip, SEAM_DUMP_THEN, &b) &&
	       seam_is_handler_end(r->dump->is_32, b.lo);
}

/* Return: 0, SEAM_OUTERMOST, or SEAM_NO_TABLE: the rule leads nowhere. */
static int try(struct seam_dump_reader *r, struct seam_dump_frame *f,
	       const struct seam_rule *rule, bool is_shown)
{
	struct seam_env env = {r, &f->regs};
	struct seam_cursor c = cursor_of(f);
	bool by_fp = rule->cfa.reg == SEAM_AMD64_REG_FP;
	int err = r->dump->is_32 ? seam_step_32(&c, rule, &env)
				 : seam_step(&c, rule, &env);

	if (err == SEAM_OUTERMOST && is_shown)
		return err;
	if (err || (!is_shown && !seam_fp_is_chain(&c)) ||
	    !seam_dump_is_code(r, c.ip - 1))
		return SEAM_NO_TABLE;
	if ((!by_fp || c.fp) && !is_returned_to(r, c.ip))
		return SEAM_NO_TABLE;
	take(f, &c, by_fp);
	return SEAM_OK;
}

/* Return: as seam_dump_bare; -1: it is no signal's frame. */
static int try_signal(struct seam_dump_reader *r, struct seam_dump_frame *f)
{
	struct seam_env env = {r, &f->regs};
	struct seam_cursor c = cursor_of(f);
	struct seam_x86_bytes code;
	struct seam_rule rule;
	int err;

	if (!seam_dump_code(r, c.ip, SEAM_DUMP_THEN, &code) ||
	    !seam_is_sigreturn(code.lo))
		return -1;
	seam_signal_frame_rule(SEAM_ARCH_AMD64, &rule);
	err = seam_step(&c, &rule, &env);
	if (!err)
		take(f, &c, false);
	return err;
}

static int try_signal_32(struct seam_dump_reader *r, struct seam_dump_frame *f)
{
	struct seam_env env = {r, &f->regs};
	struct seam_cursor c = cursor_of(f);
	struct seam_x86_bytes code;
	uint64_t before;
	int off = -1, err;

	if (seam_dump_code(r, c.ip, SEAM_DUMP_THEN, &code))
		off = seam_sigreturn_32(code.lo);
	if (off < 0 && c.exact &&
	    seam_dump_before(r, c.ip, SEAM_DUMP_THEN, &before))
		off = seam_in_sigreturn_32(before);
	if (off < 0)
		return -1;
	err = seam_step_signal_32(&c, off, &env);
	if (!err)
		take(f, &c, false);
	return err;
}

static void follow(struct seam_dump_reader *r, struct seam_way *way)
{
	while (!way->done) {
		struct seam_x86_bytes b;

		if (!seam_dump_code(r, way->at.ip, SEAM_DUMP_THEN, &b))
			way->done = SEAM_WAY_LOST;
		else
			seam_way_next(way, &b);
	}
}

/* As fp_is_believed in bpf/frame-pointer.h. */
static bool is_believed(uint32_t order, const struct seam_way *way)
{
	return way->has_local || order & SEAM_UNWIND_FP_FIRST ||
	       !(order & SEAM_UNWIND_TABLES);
}

int seam_dump_bare(struct seam_dump_reader *r, struct seam_dump_frame *f)
{
	struct seam_cursor c = cursor_of(f);
	bool is_32 = r->dump->is_32;
	struct seam_rule rule;
	struct seam_way way;
	int err;

	/* It is not known behind some instructions of precise events. */
	if (!(f->regs.valid >> SEAM_AMD64_REG_SP & 1) ||
	    !seam_dump_is_code(r, seam_cursor_pc(&c)))
		return SEAM_NO_TABLE;
	err = is_32 ? try_signal_32(r, f) : try_signal(r, f);
	if (err >= 0)
		return err;
	seam_way_begin(&way, c.ip, is_32, c.exact);
	follow(r, &way);
	if (way.done == SEAM_WAY_EXITS && seam_fp_ends(&c))
		return SEAM_OUTERMOST;
	if (way.done == SEAM_WAY_RETURNS && seam_way_rule(&way, &rule)) {
		err = try(r, f, &rule, true);
		if (err != SEAM_NO_TABLE)
			return err;
	}
	if (!c.fp && !c.fp_lost && !c.exact && f->nr && f->by_fp_nr == f->nr)
		return SEAM_OUTERMOST;
	if (!is_believed(r->dump->order, &way))
		return SEAM_NO_TABLE;
	seam_fp_rule(is_32, &rule);
	return try(r, f, &rule, false);
}
