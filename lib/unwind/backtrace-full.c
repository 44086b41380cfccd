// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Rules follow SP and FP, and a rule by another register is good in the leaf
 * alone. But _dl_runtime_resolve has its CFA from rbx, which what it calls has
 * pushed; so do realigned functions and hand-written code. There all registers
 * are needed, and those of the first frame are known: of interrupted code from
 * the signal's frame, else here, in our own frame, from which CFI leads to the
 * caller as to any other.
 */
#include "unwind/backtrace-full.h"

#ifdef __x86_64__

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "cfi/private.h"
#include "core/err.h"
#include "core/signal-frame.h"
#include "unwind/row.h"

#define REG_SP 7
#define REG_IP 16
#define OWN_FRAMES_MAX 16 /* from here to who called seam_backtrace */

/*
 * What an evaluation writes to is too large for a signal handler's stack. With
 * signals blocked nobody leaves one behind, nor needs two.
 */
#define DESKS 64
static struct desk {
	bool taken;
	struct seam_cfi_small work;
	struct seam_cfi_row row;
} desks[DESKS];

void seam_backtrace_full_forked(void)
{
	for (int i = 0; i < DESKS; i++)
		__atomic_store_n(&desks[i].taken, false, __ATOMIC_RELAXED);
}

/* NULL: as many threads as there are desks are at it. */
static struct desk *desk_take(void)
{
	for (int i = 0; i < DESKS; i++)
		if (!__atomic_exchange_n(&desks[i].taken, true,
					 __ATOMIC_ACQUIRE))
			return &desks[i];
	return NULL;
}

static void desk_leave(struct desk *desk)
{
	__atomic_store_n(&desk->taken, false, __ATOMIC_RELEASE);
}

/* Not libc's, which keeps some signals out of it. */
static void set_mask(const uint64_t *set, uint64_t *old)
{
	long ret;
	register long size __asm__("r10") = 8;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_rt_sigprocmask), "D"(2L /* SIG_SETMASK */),
			   "S"(set), "d"(old), "r"(size)
			 : "rcx", "r11", "memory");
	(void)ret;
}

struct walk {
	const struct seam_snapshot *snapshot;
	struct desk *desk;
	struct seam_stretch stack;
	struct seam_regs regs;
	bool exact; /* the ip is about to run */
};

/* seam_read_fn: words, and what lies in one or two. */
static int read_own(void *ctx, uint64_t avma, size_t size, uint64_t *ret)
{
	struct walk *w = ctx;
	unsigned int shift = (avma & 7) * 8;
	uint64_t value, next = 0;

	if (!seam_own_read(&w->stack, avma & ~UINT64_C(7), &value))
		return -EFAULT;
	if (shift + size * 8 > 64 &&
	    !seam_own_read(&w->stack, (avma | 7) + 1, &next))
		return -EFAULT;
	if (shift)
		value = value >> shift | next << (64 - shift);
	*ret = size < 8 ? value & ((UINT64_C(1) << size * 8) - 1) : value;
	return 0;
}

/* Return: SEAM_OK or an end code. */
static int find_row(struct walk *w, const struct seam_code *code, uint64_t pc)
{
	struct seam_rule rule;
	int r = -ENOENT;

	if (code->cfi)
		r = seam_cfi_find_detached(code->cfi, &w->desk->work,
					   pc - code->bias, &w->desk->row);
	if (r == -ENOENT && !seam_code_rule(code, pc, &rule) &&
	    seam_row_from_rule(&rule, &w->desk->row))
		r = 0;
	return r ? SEAM_NO_RULE : SEAM_OK;
}

/* Return: SEAM_OK or an end code. */
static int step(struct walk *w)
{
	uint64_t pc = w->regs.r[REG_IP] - !w->exact;
	const struct seam_code *code =
		seam_code_at(w->snapshot->codes, w->snapshot->n_codes, pc);
	int err, end = SEAM_NO_RULE;

	if (!code)
		return SEAM_NO_TABLE;
	err = find_row(w, code, pc);
	if (err)
		return err;
	if (seam_cfi_step_why(&w->desk->row, &w->regs, code->bias, read_own, w,
			      &end) != 1)
		return end;
	if (!w->regs.r[REG_IP])
		return SEAM_OUTERMOST;
	w->exact = w->desk->row.signal;
	if (!seam_own_holds(&w->stack, w->regs.r[REG_SP]))
		w->stack = seam_own_stretch(w->regs.r[REG_SP]);
	return SEAM_OK;
}

static void begin_in_context(struct walk *w, uint64_t context)
{
	for (uint8_t reg = 0; reg < SEAM_CFI_REGS; reg++)
		w->regs.r[reg] = seam_own_word(
			context + (uint32_t)seam_signal_amd64(reg));
	w->regs.valid = (1u << SEAM_CFI_REGS) - 1;
	w->exact = true;
	w->stack = seam_own_stretch(w->regs.r[REG_SP]);
}

/* From the registers that w has, of a frame of ours. */
static bool begin_in_caller(struct walk *w, const struct seam_full_start *start)
{
	w->exact = true;
	w->stack = seam_own_stretch(w->regs.r[REG_SP]);
	for (int i = 0; i < OWN_FRAMES_MAX; i++) {
		if (step(w))
			return false;
		if (w->regs.r[REG_SP] >= start->sp)
			return w->regs.r[REG_SP] == start->sp &&
			       w->regs.r[REG_IP] == start->ip;
	}
	return false;
}

/* Here and now; a macro, since a function would have a frame of its own. */
#define CAPTURE(regs)                                                          \
	do {                                                                   \
		__asm__ volatile("mov %%rbx, 3*8(%0)\n\t"                      \
				 "mov %%rbp, 6*8(%0)\n\t"                      \
				 "mov %%rsp, 7*8(%0)\n\t"                      \
				 "mov %%r12, 12*8(%0)\n\t"                     \
				 "mov %%r13, 13*8(%0)\n\t"                     \
				 "mov %%r14, 14*8(%0)\n\t"                     \
				 "mov %%r15, 15*8(%0)\n\t"                     \
				 "lea 0f(%%rip), %%rax\n"                      \
				 "0:\tmov %%rax, 16*8(%0)\n\t"                 \
				 :                                             \
				 : "D"((regs)->r)                              \
				 : "rax", "memory");                           \
		(regs)->valid =                                                \
			1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;   \
	} while (0)

/* The first n addresses have to be those that are known. */
static int go_on(struct walk *w, void **buffer, int n, int size, int *ret_end)
{
	int at = 0, end;

	for (;;) {
		void *ip = (void *)(uintptr_t)w->regs.r[REG_IP];

		if (at == size) {
			end = SEAM_MAX_STACK;
			break;
		}
		if (at < n && buffer[at] != ip)
			return n;
		buffer[at++] = ip;
		end = step(w);
		if (end)
			break;
	}
	if (at < n)
		return n;
	if (at > n || end == SEAM_OUTERMOST)
		*ret_end = end;
	return at;
}

static __attribute__((noinline)) int full(const struct seam_full_start *start,
					  struct desk *desk, void **buffer,
					  int n, int size, int *ret_end)
{
	struct walk w = {.snapshot = start->snapshot, .desk = desk};

	CAPTURE(&w.regs);
	if (start->context)
		begin_in_context(&w, start->context);
	else if (!begin_in_caller(&w, start))
		return n;
	return go_on(&w, buffer, n, size, ret_end);
}

/* Else all would be done anew to end there again, in each stack of a program
 * whose first frame has no CFI. */
static bool has_cfi(const struct seam_full_start *start)
{
	const struct seam_snapshot *s = start->snapshot;
	const struct seam_code *code =
		seam_code_at(s->codes, s->n_codes, start->pc);

	return code && code->cfi &&
	       seam_cfi_range_find(code->cfi, start->pc - code->bias);
}

int seam_backtrace_full(const struct seam_full_start *start, void **buffer,
			int n, int size, int *ret_end)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	struct desk *desk;

	if (!has_cfi(start))
		return n;
	set_mask(&all, &before);
	desk = desk_take();
	if (desk) {
		n = full(start, desk, buffer, n, size, ret_end);
		desk_leave(desk);
	}
	set_mask(&before, NULL);
	return n;
}

#endif
