// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/skid.h"

#include "core/err.h"
#include "core/wire.h"
#include "seam/tracer.h"
#include "unwind/skid-insn.h"

#define SP_BIT SEAM_SKID_BIT(SEAM_AMD64_REG_SP)

struct job {
	const struct seam_skid *skid;
	const struct seam_dump *dump; /* behind the instruction */
	struct seam_skid_outcome outcome;
	uint64_t *ips;
	size_t max;
	/* The last unwind wanted what lies below the copy; what is gone. */
	bool is_below, is_over;
};

static void put(struct job *j, uint64_t ip)
{
	j->ips[0] = ip;
	if (j->dump->methods)
		j->dump->methods[0] = SEAM_METHOD_NONE;
}

static size_t give_up(struct job *j, int end, int *ret_end)
{
	put(j, j->skid->ip);
	j->outcome.fate = end == SEAM_SKID_MOMENT ? SEAM_SKID_MOMENT_END
						  : SEAM_SKID_IRREVERSIBLE;
	*ret_end = end;
	return 1;
}

static bool is_good(int end)
{
	return end == SEAM_OUTERMOST || end == SEAM_UNPROVEN ||
	       end == SEAM_MAX_STACK;
}

/*
 * Behind the first pop of an epilogue rules want words below rsp. That these
 * are in their registers counts only if it leads to the outermost frame.
 */
static size_t unwind(struct job *j, struct seam_dump *dump, size_t from,
		     int *ret_end)
{
	struct seam_dump_counts *total = dump->counts, counts = {0};
	size_t n;

	j->is_below = j->is_over = false;
	dump->is_below = &j->is_below;
	dump->is_over = &j->is_over;
	dump->counts = &counts;
	if (dump->methods)
		dump->methods += from;
	n = seam_dump_unwind(dump, j->ips + from, j->max - from, ret_end);
	if (!is_good(*ret_end) && j->is_below) {
		counts = (struct seam_dump_counts){0};
		dump->is_popped = true;
		n = seam_dump_unwind(dump, j->ips + from, j->max - from,
				     ret_end);
		dump->is_popped = false;
	}
	if (!is_good(*ret_end) && j->is_below) {
		counts = (struct seam_dump_counts){0};
		n = seam_dump_unwind(dump, j->ips + from, j->max - from,
				     ret_end);
	}
	if (total) {
		total->by_fp += counts.by_fp;
		total->guessed += counts.guessed;
		total->code_gone += counts.code_gone;
	}
	return n + from;
}

/* Why a stack ended that was unwound with less than all there was. */
static int name_end(struct job *j, int end, uint32_t lost,
		    enum seam_skid_fate otherwise)
{
	if (j->is_below && (end == SEAM_UNREADABLE || end == SEAM_NO_RULE)) {
		j->outcome.fate = SEAM_SKID_BELOW_SP;
		return SEAM_BELOW_SP;
	}
	if ((lost && end == SEAM_NO_RULE) ||
	    (j->is_over && (end == SEAM_UNREADABLE || end == SEAM_NO_RULE))) {
		j->outcome.fate = SEAM_SKID_IRREVERSIBLE;
		return SEAM_IRREVERSIBLE;
	}
	j->outcome.fate = otherwise;
	return end;
}

/* The state behind: that of the function returned to, whose ip is the return
 * address; or one in the same function, so that the callers are the same. */
static size_t behind(struct job *j, const struct seam_dump *before,
		     bool has_returned, int *ret_end)
{
	struct seam_dump dump = *j->dump;
	size_t n = 1;
	int end = SEAM_MAX_STACK;

	j->is_below = j->is_over = false;
	dump.over_avma = before->over_avma;
	dump.over_size = before->over_size;
	if (!has_returned || j->max > 1)
		n = unwind(j, &dump, has_returned, &end);
	if (has_returned && n > 1 && j->dump->methods)
		j->dump->methods[1] = SEAM_METHOD_CFI;
	put(j, j->skid->ip);
	*ret_end = name_end(j, end, 0, SEAM_SKID_BEHIND);
	return n;
}

static size_t undone(struct job *j, const struct seam_skid_insn *insn,
		     struct seam_dump *before, int *ret_end)
{
	uint32_t lost = j->dump->regs.valid & ~before->regs.valid;
	size_t n;
	int end;

	/* What scans the stack has to know where it begins. */
	if (lost & SP_BIT)
		before->order &=
			~(uint32_t)(SEAM_UNWIND_GUESS | SEAM_UNWIND_GUESS_ALL);
	n = unwind(j, before, 0, &end);
	if (!is_good(end) && !j->skid->is_ip_lost &&
	    insn->flow == SEAM_SKID_NEXT && !insn->switches)
		return behind(j, before, false, ret_end);
	*ret_end = name_end(j, end, lost, SEAM_SKID_UNDONE);
	return n;
}

static size_t unwind_pair(struct job *j, int *ret_end)
{
	const struct seam_skid *skid = j->skid;
	const struct seam_dump *dump = j->dump;
	bool is_known = !skid->is_ip_lost;
	struct seam_dump before = *dump;
	struct seam_skid_insn insn;
	uint8_t code[SEAM_SKID_INSN_MAX];
	size_t n;
	int end;

	if (is_known && dump->regs.r[SEAM_AMD64_REG_IP] == skid->ip) {
		j->outcome.fate = SEAM_SKID_SAME;
		return seam_dump_unwind(dump, j->ips, j->max, ret_end);
	}
	j->outcome.kind = SEAM_SKID_KIND_UNKNOWN;
	n = dump->code && !dump->is_32
		    ? dump->code(dump->ctx, skid->ip, SEAM_DUMP_THEN, code,
				 sizeof(code))
		    : 0;
	if (!n || !seam_skid_decode(skid->decoder, code, n, skid->ip, &insn))
		return give_up(j, SEAM_IRREVERSIBLE, ret_end);
	j->outcome.kind = insn.kind;
	end = seam_skid_undo(&insn, skid->ip, is_known, &before);
	if (end)
		return give_up(j, end, ret_end);
	if (is_known && insn.flow == SEAM_SKID_RET)
		return behind(j, &before, true, ret_end);
	return undone(j, &insn, &before, ret_end);
}

size_t seam_skid_unwind(const struct seam_skid *skid,
			const struct seam_dump *dump, uint64_t *ret_ips,
			size_t max_ips, int *ret_end)
{
	struct job j = {
		.skid = skid, .dump = dump, .ips = ret_ips, .max = max_ips};
	size_t n = unwind_pair(&j, ret_end);

	if (skid->outcome)
		*skid->outcome = j.outcome;
	return n;
}
