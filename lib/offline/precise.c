// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "offline/precise.h"

#include <string.h>

#include "core/arch.h"
#include "core/err.h"
#include "offline/steps.h"
#include "unwind/skid-insn.h"

#define REG_IP 16

size_t seam_offline_code_at(struct seam_offline *o,
			    const struct seam_offline_copy *copy, uint64_t avma,
			    void *to, size_t size)
{
	struct seam_offline_file *f = NULL;
	uint64_t off;

	if (!copy->find(copy->ctx, avma, &f, &off) || !f ||
	    !seam_offline_have_locked(&o->files, f))
		return 0;
	return seam_offline_code(&o->files, f, off, to, size);
}

struct seam_decoder *seam_offline_decoder(struct seam_offline *o)
{
	if (!o->decoder && seam_decoder_new(&o->decoder))
		o->decoder = NULL;
	return o->decoder;
}

static void decode(struct seam_offline *o, const struct seam_offline_copy *copy,
		   struct seam_skid_insn *ret)
{
	uint8_t code[SEAM_SKID_INSN_MAX];
	struct seam_decoder *decoder;
	size_t n;

	*ret = (struct seam_skid_insn){.flow = SEAM_SKID_BAD};
	pthread_mutex_lock(&o->files.lock);
	decoder = seam_offline_decoder(o);
	n = decoder ? seam_offline_code_at(o, copy, copy->ip, code,
					   sizeof(code))
		    : 0;
	if (n)
		seam_skid_decode(decoder, code, n, copy->ip, ret);
	pthread_mutex_unlock(&o->files.lock);
}

/* Where its target lies depends on where it does. */
static bool is_kept(const struct seam_insn_kept *k,
		    const struct seam_offline_copy *copy)
{
	return k->ip == copy->ip && k->maps[0] == copy->maps[0] &&
	       k->maps[1] == copy->maps[1];
}

static void read_insn(struct seam_offline *o,
		      const struct seam_offline_copy *copy,
		      struct seam_skid_insn *ret)
{
	struct seam_insn_kept *k =
		copy->steps && copy->maps[0]
			? &copy->steps->insns[copy->ip % SEAM_OFFLINE_INSNS]
			: NULL;

	if (k && is_kept(k, copy)) {
		*ret = k->insn;
		return;
	}
	decode(o, copy, ret);
	if (k)
		*k = (struct seam_insn_kept){
			.ip = copy->ip,
			.maps = {copy->maps[0], copy->maps[1]},
			.insn = *ret,
		};
}

/* What ends with the copy may have its callers behind the instruction. */
static bool is_good(int end, bool is_ip_known)
{
	return end == SEAM_OUTERMOST || end == SEAM_MAX_STACK ||
	       (end == SEAM_UNREADABLE && !is_ip_known);
}

bool seam_offline_precise(struct seam_offline *o,
			  const struct seam_offline_copy *copy,
			  const struct seam_dump *dump,
			  struct seam_offline_stack *ret)
{
	bool is_ip_known = copy->ip != dump->regs.r[REG_IP];
	struct seam_dump before = *dump;
	struct seam_skid_insn insn;

	if (dump->is_32)
		return false;
	read_insn(o, copy, &insn);
	/* A ret's caller is known by the registers' own ip. */
	if ((is_ip_known && insn.flow == SEAM_SKID_RET) ||
	    seam_skid_undo(&insn, copy->ip, is_ip_known, &before) ||
	    !(before.regs.valid & SEAM_SKID_BIT(SEAM_AMD64_REG_SP)))
		return false;
	if (!seam_offline_step(o, copy, &before, ret) ||
	    !is_good(ret->end, is_ip_known))
		return false;
	ret->skid = (struct seam_skid_outcome){SEAM_SKID_UNDONE, insn.kind};
	return true;
}
