// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/perf-regs.h"

#include <errno.h>
#include <string.h>

/* DWARF's numbers. */
#define REG_AX 0
#define REG_CX 2
#define REG_BX 3
#define REG_BP 6
#define REG_SP 7
#define REG_R11 11
#define REG_R12 12
#define REG_IP 16
#define NO_DWARF 0xff
/* Perf's. */
#define PERF_FLAGS 9
#define PERF_REGS 24

/* By perf's number: ax bx cx dx si di bp sp ip; flags, cs to gs; r8 to r15. */
static const uint8_t dwarf_of[PERF_REGS] = {
	0,	  3,	    2,	      1,	4,	  5,
	6,	  7,	    16,	      NO_DWARF, NO_DWARF, NO_DWARF,
	NO_DWARF, NO_DWARF, NO_DWARF, NO_DWARF, 8,	  9,
	10,	  11,	    12,	      13,	14,	  15,
};

static uint64_t word(const struct seam_perf_user *user, size_t i)
{
	uint64_t v;

	memcpy(&v, user->regs + 8 * i, sizeof(v));
	return v;
}

/*
 * A system call leaves the ip in rcx and the flags in r11. Its instruction may
 * be its function's last. Where ax is 0 already, it is on its way out, or a
 * child that has yet to run: then the instruction behind is the one to look
 * up, which says what is left of a child's stack.
 */
static bool in_syscall(const struct seam_regs *regs, uint64_t flags)
{
	return regs->r[REG_CX] == regs->r[REG_IP] &&
	       regs->r[REG_R11] == flags && regs->r[REG_AX];
}

/*
 * Of what an NMI meets in the kernel, Linux reports no registers but those
 * that every system call saves: the others are all -1.
 */
static void drop_unreported(struct seam_regs *regs)
{
	const uint32_t saved = 1u << REG_BX | 0xfu << REG_R12;

	for (unsigned i = 0; i < 16; i++)
		if ((saved >> i & 1) &&
		    (!(regs->valid >> i & 1) || regs->r[i] != UINT64_MAX))
			return;
	regs->valid &= ~saved;
	if (regs->r[REG_BP] == UINT64_MAX)
		regs->valid &= ~(1u << REG_BP);
}

int seam_dump_from_perf(const struct seam_perf_user *user,
			struct seam_dump *ret)
{
	const uint32_t needed = 1u << REG_SP | 1u << REG_IP;
	const uint32_t judged =
		1u << REG_AX | 1u << REG_CX | 1u << REG_R11 | 1u << REG_IP;
	struct seam_dump dump = {0};
	uint64_t flags = 0;
	bool has_flags = false;
	size_t at = 0;

	if (user->abi == SEAM_PERF_ABI_NONE || !user->n_regs)
		return -ENODATA;
	for (unsigned i = 0; i < 64 && at < user->n_regs; i++) {
		if (!(user->mask >> i & 1))
			continue;
		if (i == PERF_FLAGS) {
			flags = word(user, at);
			has_flags = true;
		} else if (i < PERF_REGS && dwarf_of[i] != NO_DWARF) {
			dump.regs.r[dwarf_of[i]] = word(user, at);
			dump.regs.valid |= 1u << dwarf_of[i];
		}
		at++;
	}
	if ((dump.regs.valid & needed) != needed)
		return -EINVAL;
	/* Linux 6.1 has such for the threads that work for io_uring. */
	if (!dump.regs.r[REG_IP] && !dump.regs.r[REG_SP])
		return -ENODATA;
	if (user->in_kernel)
		drop_unreported(&dump.regs);
	dump.is_32 = user->abi == SEAM_PERF_ABI_32;
	dump.stack_avma = dump.regs.r[REG_SP];
	dump.stack = user->stack;
	dump.stack_size = user->stack ? user->stack_size : 0;
	dump.cut = dump.stack_size && dump.stack_size >= user->stack_room;
	dump.syscall = user->in_kernel && has_flags &&
		       (dump.regs.valid & judged) == judged &&
		       in_syscall(&dump.regs, flags);
	*ret = dump;
	return 0;
}

bool seam_perf_user_ip(const struct seam_perf_user *user, uint64_t *ret)
{
	const uint64_t before = user->mask & (SEAM_PERF_IP_MASK - 1);
	const size_t at = (size_t)__builtin_popcountll(before);

	if (user->abi == SEAM_PERF_ABI_NONE ||
	    !(user->mask & SEAM_PERF_IP_MASK) || at >= user->n_regs)
		return false;
	*ret = word(user, at);
	return true;
}
