// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Unwinds the calling thread.
 *
 * What is fast: for a return address a node of the snapshot's cache has its
 * rule, so that a frame is one look-up, one addition and one load from the
 * stack. These depend on each other from frame to frame, some 15 cycles of
 * latency. So a node also has the address that was found last: the processor
 * goes on with that, and the comparison with what the stack says is off the
 * path. A wrong guess costs a mispredicted branch, and nothing else.
 *
 * What is faster: most frames were there when the thread was last walked. As
 * soon as one is met, the rest is compared with what the stack says, and no
 * look-up is needed (memo.h).
 */
#include "seam/backtrace.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/signal-frame.h"
#include "unwind/backtrace-full.h"

#ifdef __x86_64__
#include <ucontext.h>

struct seam_env {
	const struct seam_snapshot *snapshot;
	struct seam_stretch stack;
	uint64_t context; /* ucontext of the interrupted leaf; 0: none */
	struct seam_memo *memo; /* NULL: none, or it is done with */
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	return seam_own_read(&env->stack, addr, ret);
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	int32_t off = -1;

	if (env->context && regnum < SEAM_AMD64_REGS)
		off = seam_signal_reg_off(SEAM_ARCH_AMD64, (uint8_t)regnum);
	return off >= 0 &&
	       seam_env_word(env, env->context + (uint32_t)off, ret);
}

/* A stale rule for FP, or one that led nowhere, is no harm until a frame's
 * CFA is FP's. */
static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return true;
}

#include "core/step.h"

/*
 * A node's rule: the upper bits of the address, and below them
 *
 *   bits 0..15   the CFA's distance from its register, in words
 *   bits 16..23  where FP is saved, in words below the CFA; 0: it is not
 *   bit 24       the CFA's register is FP, else SP
 *
 * All bits are set: the outermost frame. An address has 47 bits, and its lower
 * 12 choose the node.
 */
#define TAG_SHIFT 29
#define NODE_CFA_MAX 0xfffeu
#define NODE_FP_SHIFT 16
#define NODE_FP_MAX 0xffu
#define NODE_BASE_FP (1u << 24)
#define NODE_OUTERMOST ((1u << TAG_SHIFT) - 1)
#define ROW_MIN 8
#define ADDRESS_MAX (UINT64_C(1) << 47)

/* The cache is the one part that readers write. */
static inline struct seam_nodes *nodes_of(const struct seam_env *env)
{
	return (struct seam_nodes *)&env->snapshot->nodes;
}

/* Return: 0 if the rule is not one of these. */
static uint32_t node_pack(const struct seam_rule *rule)
{
	uint64_t packed = seam_rule_pack(rule);
	int64_t cfa = rule->cfa.off, fp = 0;

	if (packed & SEAM_PACKED_OUTERMOST)
		return NODE_OUTERMOST;
	if (packed & SEAM_PACKED_FP_SAVED) {
		fp = -(int64_t)rule->fp.off;
		if (fp < 8 || fp & 7 || fp / 8 > NODE_FP_MAX)
			return 0;
	}
	/* What is saved lies above SP, where it needs no check. */
	if (packed & SEAM_PACKED_SP && fp > cfa)
		return 0;
	if (!packed || cfa < 8 || cfa & 7 || cfa / 8 > NODE_CFA_MAX)
		return 0;
	return (uint32_t)(cfa / 8) | (uint32_t)(fp / 8) << NODE_FP_SHIFT |
	       (packed & SEAM_PACKED_SP ? 0 : NODE_BASE_FP);
}

static void remember(const struct seam_env *env, uint64_t address,
		     const struct seam_rule *rule)
{
	uint64_t packed = node_pack(rule);

	if (!packed || address >= ADDRESS_MAX)
		return;
	packed |= address >> SEAM_NODE_BITS << TAG_SHIFT;
	__atomic_store_n(&nodes_of(env)->rules[address % SEAM_NODES], packed,
			 __ATOMIC_RELAXED);
}

/* Not inline: were the compiler to see that this is what the stack says, it
 * would go on with that where the guess is right as well. */
static __attribute__((noinline)) uint64_t guess_anew(struct seam_nodes *nodes,
						     uint64_t i, uint64_t ra)
{
	__atomic_store_n(&nodes->callers[i], ra, __ATOMIC_RELAXED);
	return ra;
}

/*
 * Steps as long as nodes know how, and writes the addresses found, and memo
 * if there is one, which has room. Any doubt is left to step_slowly. Return:
 * behind the last address written.
 */
static inline __attribute__((always_inline)) void **
step_known(const struct seam_env *env, struct seam_memo *memo,
	   struct seam_cursor *c, void **to, void **end)
{
	struct seam_nodes *nodes = nodes_of(env);
	const uint64_t hi = env->stack.hi;
	uint64_t ip = c->ip + c->exact, sp = c->sp, fp = c->fp;
	bool fp_lost = c->fp_lost;
	struct seam_memo_frame *frame = memo ? &memo->frames[memo->n] : NULL;
	struct seam_memo_fp *by_fp = memo ? &memo->fps[memo->n] : NULL;
	void **begin = to;

	if (sp & 7 || sp < env->stack.lo || sp > hi)
		return to;
	while (to < end) {
		uint64_t i = ip % SEAM_NODES, ra, slot;
		uint64_t rule =
			__atomic_load_n(&nodes->rules[i], __ATOMIC_RELAXED);
		uint64_t guess =
			__atomic_load_n(&nodes->callers[i], __ATOMIC_RELAXED);
		uint64_t cfa = (uint64_t)(uint16_t)rule * 8;
		uint64_t saved = (uint8_t)(rule >> NODE_FP_SHIFT);

		/* An empty node has the tag of the first page, where a call of
		 * a null pointer leads. */
		if (rule >> TAG_SHIFT != ip >> SEAM_NODE_BITS || !rule)
			break;
		if (rule & NODE_BASE_FP) {
			/* NODE_OUTERMOST has this bit, and no CFA. */
			if ((uint16_t)rule > NODE_CFA_MAX)
				break;
			cfa += fp;
			slot = cfa - 8 * saved;
			/* Below SP nothing is saved. */
			if (cfa <= sp || cfa & 7 || slot < sp || fp_lost)
				break;
		} else {
			cfa += sp;
			slot = cfa - 8 * saved;
		}
		if (cfa > hi)
			break;
		ra = seam_own_word(cfa - 8);
		if (__builtin_expect(guess != ra, 0)) {
			if (!ra)
				break;
			guess = guess_anew(nodes, i, ra);
		}
		if (saved) {
			fp = seam_own_word(slot);
			fp_lost = false;
		}
		sp = cfa;
		ip = guess;
		if (memo) {
			frame->ra_slot = cfa - 8;
			frame++->ra = ip;
			by_fp->slot =
				(saved ? slot : 0) | !!(rule & NODE_BASE_FP);
			by_fp++->fp = fp;
		}
		*to++ = (void *)(uintptr_t)ip;
	}
	if (memo)
		memo->n = (uint32_t)(frame - memo->frames);
	if (to > begin)
		*c = (struct seam_cursor){
			.ip = ip, .sp = sp, .fp = fp, .fp_lost = fp_lost};
	return to;
}

/* FP in the frame last, which the walk came to from next: what it is where it
 * was saved last. */
static void find_fp(const struct seam_memo *memo, uint32_t last,
		    struct seam_cursor *c)
{
	for (; last > memo->next; last--) {
		uint64_t slot = memo->fps[last].slot & SEAM_MEMO_SLOT;

		if (!slot)
			continue;
		c->fp = seam_own_word(slot);
		c->fp_lost = false;
		return;
	}
}

/*
 * Goes on from the kept frame next along those behind it, as long as they are
 * the same. All that is read lies between SP and the last of them. Return:
 * behind the last address written; *ret_last: the last that is the same.
 */
static void **follow(const struct seam_memo *memo, struct seam_cursor *c,
		     void **to, void **end, uint32_t *ret_last)
{
	const uint32_t most = SEAM_MEMO_FRAMES - 1 - memo->next;
	const struct seam_memo_frame *f = &memo->frames[memo->next + 1], *stop;
	uint32_t last;

	stop = f + (end - to < most ? (uint32_t)(end - to) : most);
	for (; f < stop; f++) {
		if (seam_own_word(f->ra_slot) != f->ra ||
		    seam_own_word(f->fp_slot) != f->fp)
			break;
		*to++ = (void *)(uintptr_t)f->ra;
	}
	last = (uint32_t)(f - memo->frames) - 1;
	*ret_last = last;
	if (last == memo->next)
		return to;
	/* Behind the outermost frame nobody asks for FP. */
	if (last < SEAM_MEMO_FRAMES - 1 || !memo->is_whole)
		find_fp(memo, last, c);
	c->ip = f[-1].ra;
	c->sp = f[-1].ra_slot + 8;
	c->leaf = c->exact = false;
	return to;
}

/*
 * As follow, from the first kept frame, where frames lie at other places, and
 * how far SP and FP are from what they were says where. Both mostly as far:
 * then what a rule demands of places is as true as it was.
 */
static void **follow_moved(const struct seam_env *env,
			   const struct seam_memo *memo, struct seam_cursor *c,
			   void **to, void **end)
{
	const struct seam_memo_frame *f = &memo->frames[memo->first];
	const struct seam_memo_fp *kept = &memo->fps[memo->first];
	const uint32_t most = SEAM_MEMO_FRAMES - 1 - memo->first;
	uint64_t sp_moved = c->sp - 8 - f->ra_slot;
	uint64_t fp_moved = c->fp - kept->fp;
	void **begin = to;

	if (c->sp & 7 || c->sp < env->stack.lo || c->sp > env->stack.hi)
		return to;
	if ((uint64_t)(end - to) > most)
		end = to + most;
	for (; to < end; f++, kept++) {
		const uint64_t slot = kept[1].slot & SEAM_MEMO_SLOT;
		uint64_t moved = sp_moved, fp;

		if (kept[1].slot & SEAM_MEMO_BY_FP &&
		    __builtin_expect(fp_moved != sp_moved, 0)) {
			uint64_t sp = f->ra_slot + 8 + sp_moved;
			uint64_t cfa = f[1].ra_slot + 8 + fp_moved;

			if (cfa <= sp || cfa & 7 ||
			    (slot && slot + fp_moved < sp))
				break;
			moved = fp_moved;
		}
		if (f[1].ra_slot + 8 + moved > env->stack.hi ||
		    seam_own_word(f[1].ra_slot + moved) != f[1].ra)
			break;
		sp_moved = moved;
		if (slot) {
			fp = seam_own_word(slot + moved);
			/* Seldom, and then guessed: so no load waits for the
			 * one before. */
			if (__builtin_expect(fp - kept[1].fp != fp_moved, 0)) {
				fp_moved = fp - kept[1].fp;
				__asm__("" : "+r"(fp_moved));
			}
		}
		*to++ = (void *)(uintptr_t)f[1].ra;
	}
	if (to > begin)
		*c = (struct seam_cursor){.ip = f->ra,
					  .sp = f->ra_slot + 8 + sp_moved,
					  .fp = kept->fp + fp_moved};
	return to;
}

/*
 * step_known, some steps. Where they are written there is room for one.
 * Return: behind the last address; *ret_stop: where steps would have ended.
 */
static void **step_some(const struct seam_env *env, struct seam_cursor *c,
			void **to, void **end, void ***ret_stop)
{
	struct seam_memo *memo = env->memo;
	uint32_t most = SEAM_MEMO_STEPS;
	void **begin = to;

	if (memo->is_written && seam_memo_room(memo) < most)
		most = seam_memo_room(memo);
	*ret_stop = end - to < most ? end : to + most;
	if (memo->is_written)
		to = step_known(env, memo, c, to, *ret_stop);
	else
		to = step_known(env, NULL, c, to, *ret_stop);
	memo->alone += (uint32_t)(to - begin);
	return to;
}

/* step_known on the thread's own stack. */
static void **step_own(struct seam_env *env, struct seam_cursor *c, void **to,
		       void **end)
{
	struct seam_memo *memo = env->memo;
	void **stop, **begin = to;

	if (seam_memo_moved(memo, c)) {
		uint32_t behind = SEAM_MEMO_FRAMES - 1 - memo->first;
		bool are_all;

		to = follow_moved(env, memo, c, to, end);
		are_all = to == end || (memo->is_whole && to == begin + behind);
		seam_memo_end_moved(memo, (uint32_t)(to - begin), are_all);
		if (are_all) {
			env->memo = NULL;
			return to;
		}
	}
	do {
		if (seam_memo_meets(memo, c, env->stack.hi)) {
			uint32_t last;

			to = follow(memo, c, to, end, &last);
			if (to == end || last == SEAM_MEMO_FRAMES - 1) {
				seam_memo_join(memo);
				env->memo = NULL;
				return to;
			}
			seam_memo_part(memo, last);
		}
		if (!seam_memo_begin_writing(memo, c)) {
			env->memo = NULL;
			return step_known(env, NULL, c, to, end);
		}
		to = step_some(env, c, to, end, &stop);
	} while (to == stop && to < end);
	return to;
}

/* Whether a node says so. */
static bool is_outermost(const struct seam_env *env,
			 const struct seam_cursor *c)
{
	uint64_t address = c->ip + c->exact;
	uint64_t rule = __atomic_load_n(
		&nodes_of(env)->rules[address % SEAM_NODES], __ATOMIC_RELAXED);

	return rule ==
	       (address >> SEAM_NODE_BITS << TAG_SHIFT | NODE_OUTERMOST);
}

/* One step by whatever rule there is. Return: SEAM_OK or an end code. */
static int step_slowly(struct seam_env *env, struct seam_cursor *c)
{
	uint64_t pc = seam_cursor_pc(c), sp = c->sp;
	const struct seam_code *code =
		seam_code_at(env->snapshot->codes, env->snapshot->n_codes, pc);
	struct seam_rule rule;
	int err;

	if (!code)
		return SEAM_NO_TABLE;
	err = seam_code_rule(code, pc, &rule);
	if (err)
		return err;
	remember(env, pc + 1, &rule);
	err = seam_step(c, &rule, env);
	if (err)
		return err;
	/* What it interrupted is a leaf again: its registers are there. */
	if (rule.flags & SEAM_RULE_SIGNAL &&
	    seam_step_signal(c, sp, env, SEAM_ARCH_AMD64))
		env->context = sp;
	if (!seam_own_holds(&env->stack, c->sp))
		env->stack = seam_own_stretch(c->sp);
	return SEAM_OK;
}

/*
 * Frames in a row that nodes know end here. Few of them are not worth what was
 * kept before: of a walk there is one row. by_rule: the last one's, which
 * has no caller; a return address of 0 may be another one at the next walk.
 */
static void end_row(struct seam_env *env, int err, bool by_rule)
{
	if (!env->memo)
		return;
	if (env->memo->n >= (err ? 2 : ROW_MIN)) {
		seam_memo_keep(env->memo, by_rule);
		env->memo = NULL;
	} else {
		seam_memo_drop(env->memo);
	}
}

/* buffer has the first address already. */
static int walk(struct seam_env *env, struct seam_cursor *c, void **buffer,
		int size, int *ret_end)
{
	void **to = buffer + 1, **end = buffer + size;
	bool by_rule;
	int err;

	env->stack = seam_own_stretch(c->sp);
	for (;;) {
		if (env->memo && env->stack.is_own)
			to = step_own(env, c, to, end);
		else
			to = step_known(env, NULL, c, to, end);
		by_rule = to < end && is_outermost(env, c);
		if (to == end)
			err = SEAM_MAX_STACK;
		else if (by_rule)
			err = SEAM_OUTERMOST;
		else
			err = step_slowly(env, c);
		end_row(env, err, by_rule);
		if (err)
			break;
		*to++ = (void *)(uintptr_t)c->ip;
	}
	*ret_end = err;
	return (int)(to - buffer);
}

static __thread int last_end __attribute__((tls_model("initial-exec")));

static int backtrace_from(struct seam_cursor *c, const void *context,
			  void **buffer, int size, int *ret_end)
{
	struct seam_reading reading = seam_snapshot_read();
	struct seam_env env = {.context = (uintptr_t)context};
	int n = 1;
	const struct seam_cursor start = *c;

	/* The first call may make the rules; it waits for nobody. */
	if (__builtin_expect(!reading.snapshot, 0)) {
		seam_snapshot_done(&reading);
		seam_snapshot_refresh(false);
		reading = seam_snapshot_read();
	}
	env.snapshot = reading.snapshot;
	env.memo = env.snapshot ? reading.memo : NULL;
	if (env.memo && !seam_memo_begin(env.memo, env.snapshot->serial))
		env.memo = NULL;
	buffer[0] = (void *)(uintptr_t)c->ip;
	*ret_end = SEAM_NO_TABLE;
	if (env.snapshot)
		n = walk(&env, c, buffer, size, ret_end);
	if (__builtin_expect(*ret_end == SEAM_NO_RULE, 0))
		n = seam_backtrace_full(
			&(struct seam_full_start){
				.snapshot = env.snapshot,
				.context = (uintptr_t)context,
				.ip = start.ip,
				.sp = start.sp,
				.pc = seam_cursor_pc(c),
			},
			buffer, n, size, ret_end);
	seam_snapshot_done(&reading);
	return n;
}

static void cursor_from(const ucontext_t *uc, struct seam_cursor *ret)
{
	const greg_t *gregs = uc->uc_mcontext.gregs;

	*ret = (struct seam_cursor){
		.ip = (uint64_t)gregs[REG_RIP],
		.sp = (uint64_t)gregs[REG_RSP],
		.fp = (uint64_t)gregs[REG_RBP],
		.leaf = true,
		.exact = true,
	};
}

/*
 * The frame of the exported call itself, which __builtin_frame_address makes
 * the compiler set up: FP of the caller, return address, then the caller's
 * stack.
 */
#define CURSOR_OF_CALLER(c)                                                    \
	do {                                                                   \
		uint64_t frame = (uintptr_t)__builtin_frame_address(0);        \
		*(c) = (struct seam_cursor){                                   \
			.ip = seam_own_word(frame + 8),                        \
			.sp = frame + 16,                                      \
			.fp = seam_own_word(frame),                            \
		};                                                             \
	} while (0)

int seam_backtrace_init(void)
{
	int r = seam_snapshot_refresh(true);

	return r < 0 ? r : 0;
}

int seam_backtrace_refresh(void)
{
	return seam_snapshot_refresh(true);
}

__attribute__((noinline)) int seam_backtrace(void **buffer, int size)
{
	struct seam_cursor c;

	if (size <= 0)
		return 0;
	CURSOR_OF_CALLER(&c);
	return backtrace_from(&c, NULL, buffer, size, &last_end);
}

__attribute__((noinline)) int seam_backtrace_ex(void **buffer, int size,
						const void *ucontext,
						unsigned int flags,
						int *ret_end)
{
	const ucontext_t *uc = ucontext;
	struct seam_cursor c;
	int end, n;

	if (flags)
		return -EINVAL;
	if (size <= 0)
		return 0;
	if (uc)
		cursor_from(uc, &c);
	else
		CURSOR_OF_CALLER(&c);
	n = backtrace_from(&c, uc, buffer, size, &end);
	last_end = end;
	if (ret_end)
		*ret_end = end;
	return n;
}

int seam_backtrace_end(void)
{
	return last_end;
}

#endif
