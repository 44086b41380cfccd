// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "core/err.h"
#include "unwind/dump-private.h"
#include "unwind/skid-insn.h"

#define SP SEAM_AMD64_REG_SP
#define FP SEAM_AMD64_REG_FP
#define IP SEAM_AMD64_REG_IP

static bool knows(const struct seam_dump *d, uint8_t reg)
{
	return reg < SEAM_CFI_REGS && d->regs.valid & SEAM_SKID_BIT(reg);
}

/* A word behind the instruction. Return: false if the copy has it not. */
static bool word_at(const struct seam_dump *d, uint64_t avma, uint64_t *ret)
{
	struct seam_dump_reader r = {.dump = d};

	return !seam_dump_read(&r, avma, sizeof(*ret), ret);
}

static bool leads_to(const struct seam_skid_insn *insn, uint64_t ip,
		     uint64_t next)
{
	bool to_target = !insn->is_direct || next == insn->target;

	switch ((enum seam_skid_flow)insn->flow) {
	case SEAM_SKID_NEXT:
		return insn->len ? next == ip + insn->len
				 : next - ip <= SEAM_SKID_INSN_MAX;
	case SEAM_SKID_BRANCH:
		return to_target || next == ip + insn->len;
	case SEAM_SKID_JUMP:
	case SEAM_SKID_CALL:
		return to_target;
	case SEAM_SKID_RET:
		return true;
	case SEAM_SKID_BAD:
		break;
	}
	return false;
}

/* Where it says what is on the stack, that must be there. */
static bool has_pushed(const struct seam_skid_insn *insn,
		       const struct seam_dump *d)
{
	uint64_t want = insn->value, word;

	if (!insn->has_value && !knows(d, insn->reg))
		return true;
	if (!insn->has_value)
		want = d->regs.r[insn->reg] + (insn->reg == SP ? 8 : 0);
	return !word_at(d, d->regs.r[SP], &word) || word == want;
}

static bool is_of_one_moment(const struct seam_skid_insn *insn, uint64_t ip,
			     bool is_ip_known, const struct seam_dump *d)
{
	const uint64_t *r = d->regs.r;

	if (is_ip_known && !leads_to(insn, ip, r[IP]))
		return false;
	if (insn->op == SEAM_SKID_PUSHES)
		return has_pushed(insn, d);
	if (!knows(d, FP))
		return true;
	if (insn->op == SEAM_SKID_FP_SET)
		return r[FP] == r[SP] + insn->value;
	return insn->op != SEAM_SKID_ENTER || r[FP] >= r[SP];
}

static void below_is(struct seam_dump *d, uint64_t value)
{
	d->has_below = true;
	d->below_avma = d->regs.r[SP] - 8;
	d->below = value;
}

static void undo_enter(struct seam_dump *d, uint32_t *lost)
{
	uint64_t fp = d->regs.r[FP];

	if (!knows(d, FP)) {
		*lost |= SEAM_SKID_BIT(SP);
		return;
	}
	if (!word_at(d, fp, &d->regs.r[FP]))
		*lost |= SEAM_SKID_BIT(FP);
	d->regs.r[SP] = fp + 8;
}

/* rsp is gone; rbp was where the word was that rbp has now. */
static void undo_leave(struct seam_dump *d, uint32_t *lost)
{
	if (knows(d, FP))
		below_is(d, d->regs.r[FP]);
	d->regs.r[FP] = d->regs.r[SP] - 8;
	d->regs.valid |= SEAM_SKID_BIT(FP);
	*lost |= SEAM_SKID_BIT(SP);
}

/* Where it wrote, by registers that it has left alone. */
static void find_store(const struct seam_skid_insn *insn,
		       const struct seam_dump *behind, struct seam_dump *d)
{
	uint64_t avma = (uint64_t)insn->store_disp;

	if (!insn->store_size || insn->lost & SEAM_SKID_BIT(insn->store_base) ||
	    !knows(behind, insn->store_base))
		return;
	avma += behind->regs.r[insn->store_base];
	if (insn->store_index != SEAM_SKID_NO_REG) {
		if (insn->lost & SEAM_SKID_BIT(insn->store_index) ||
		    !knows(behind, insn->store_index))
			return;
		avma += behind->regs.r[insn->store_index] * insn->store_scale;
	}
	d->over_avma = avma;
	d->over_size = insn->store_size;
}

int seam_skid_undo(const struct seam_skid_insn *insn, uint64_t ip,
		   bool is_ip_known, struct seam_dump *dump)
{
	const struct seam_dump behind = *dump;
	uint32_t lost = insn->lost;

	if (insn->flow == SEAM_SKID_BAD || !knows(dump, SP))
		return SEAM_IRREVERSIBLE;
	/* What comes back may be another's registers: rt_sigreturn's. */
	if (insn->is_syscall && !is_ip_known)
		return SEAM_SKID_MOMENT;
	if (!is_of_one_moment(insn, ip, is_ip_known, dump))
		return SEAM_SKID_MOMENT;
	find_store(insn, &behind, dump);
	if (insn->op == SEAM_SKID_POPS && knows(dump, insn->reg))
		below_is(dump, dump->regs.r[insn->reg]);
	if (insn->flow == SEAM_SKID_RET && insn->by == 8 && is_ip_known)
		below_is(dump, dump->regs.r[IP]);
	if (insn->op == SEAM_SKID_ENTER)
		undo_enter(dump, &lost);
	else if (insn->op == SEAM_SKID_LEAVE)
		undo_leave(dump, &lost);
	else
		dump->regs.r[SP] -= (uint64_t)insn->by;
	if (insn->op == SEAM_SKID_FP_SET)
		lost |= SEAM_SKID_BIT(FP);
	dump->regs.r[IP] = ip;
	dump->regs.valid &= ~lost;
	dump->regs.valid |= SEAM_SKID_BIT(IP);
	dump->syscall = false;
	return 0;
}
