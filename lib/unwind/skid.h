/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Samples of precise events (PEBS and its like): the ip is that of the
 * instruction that made the event, the registers and the stack may be those
 * behind it. At a call, a push, a ret the two contradict each other, and what
 * unwinds ip and sp together goes wrong by that instruction.
 *
 * So the instruction is read, and what it did to the registers is taken back;
 * the callers are unwound from the ip and the registers of before it. What it
 * overwrote is unknown then, which matters only if a rule asks for it. Where it
 * does, and it is known where the registers' own ip is, the callers are those
 * of the state behind the instruction, if they must be the same ones.
 *
 *	struct seam_skid skid = {.decoder = d, .ip = sample_ip};
 *	n = seam_skid_unwind(&skid, &dump, ips, max, &end);
 */
#ifndef SEAM_LIB_UNWIND_SKID_H
#define SEAM_LIB_UNWIND_SKID_H

#include "cfi/decoder.h"
#include "unwind/dump.h"
#include "unwind/skid-kind.h"

struct seam_skid {
	struct seam_decoder *decoder;
	uint64_t ip; /* the sample's */
	/* The registers' own ip has been lost: perf puts the sample's there.
	 * They are taken for those behind the instruction. */
	bool is_ip_lost;
	struct seam_skid_outcome *outcome; /* may be NULL */
};

/*
 * As seam_dump_unwind, of which dump is the interrupted state: the first of
 * the ips is skid->ip. Code is read by dump->code. *ret_end may be besides:
 * SEAM_IRREVERSIBLE: a rule wants what the instruction has overwritten, or it
 * is not understood; SEAM_BELOW_SP: it wants what lay below the copy;
 * SEAM_SKID_MOMENT: the instruction does not lead from the ip to these
 * registers.
 */
size_t seam_skid_unwind(const struct seam_skid *skid,
			const struct seam_dump *dump, uint64_t *ret_ips,
			size_t max_ips, int *ret_end);

#endif
