// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The last resort: words of the stack that may be return addresses.
 *
 * One counts if the instruction before it is a call, and if unwinding from it
 * by everything but guesses reaches the outermost frame. The lowest such word
 * is taken. Frames between it and where the stack was lost may be missing,
 * which is why it is marked.
 */
#include <string.h>

#include "core/arch.h"
#include "core/err.h"
#include "core/wire.h"
#include "seam/tracer.h"
#include "unwind/dump-private.h"

/* Of one stack: words that are tried, and frames of all these trials. */
#define MAX_TRIALS 256
#define MAX_STEPS 16384

static void add(struct seam_dump_found *found, uint64_t ip)
{
	if (found->methods)
		found->methods[found->n] = SEAM_METHOD_GUESS;
	found->ips[found->n++] = ip;
}

/* A direct call goes to code. */
static bool is_behind_call(struct seam_dump_reader *r, uint64_t ip)
{
	uint64_t before;
	int32_t rel;

	if (!seam_dump_before(r, ip, SEAM_DUMP_NOW, &before) ||
	    !seam_x86_is_behind_call(before))
		return false;
	if ((before >> 24 & 0xff) != 0xe8)
		return true;
	rel = (int32_t)(before >> 32);
	return seam_dump_is_code(r, ip + (uint64_t)(int64_t)rel) ||
	       seam_x86_is_behind_call(before & ~(0xffULL << 24));
}

/* Unwinds from a word at an address of the stack. */
static bool leads_out(struct seam_dump_reader *r,
		      const struct seam_dump_frame *lost, bool keep_fp,
		      uint64_t ip, uint64_t sp, struct seam_dump_found *found)
{
	struct seam_dump_frame f = {.method = SEAM_METHOD_GUESS};
	const size_t n = found->n;
	int end;

	f.regs.r[SEAM_AMD64_REG_IP] = ip;
	f.regs.r[SEAM_AMD64_REG_SP] = sp;
	f.regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP;
	if (keep_fp) {
		f.regs.r[SEAM_AMD64_REG_FP] = lost->regs.r[SEAM_AMD64_REG_FP];
		f.regs.valid |= 1u << SEAM_AMD64_REG_FP;
	}
	end = seam_dump_frames(r, &f, found);
	if (end == SEAM_OUTERMOST || end == SEAM_UNPROVEN)
		return true;
	found->n = n;
	return false;
}

/* rbp may be what it was where the stack was lost, or not. */
static bool try_word(struct seam_dump_reader *r,
		     const struct seam_dump_frame *lost, uint64_t ip,
		     uint64_t sp, struct seam_dump_found *found)
{
	bool has_fp = lost->regs.valid >> SEAM_AMD64_REG_FP & 1;

	if (has_fp && lost->regs.r[SEAM_AMD64_REG_FP] >= sp &&
	    leads_out(r, lost, true, ip, sp, found))
		return true;
	return r->steps_left && leads_out(r, lost, false, ip, sp, found);
}

bool seam_dump_guess(struct seam_dump_reader *r,
		     const struct seam_dump_frame *f,
		     struct seam_dump_found *found)
{
	const struct seam_dump *d = r->dump;
	size_t word = d->is_32 ? 4 : 8, n = found->n, trials = 0;
	uint64_t at = f->regs.r[SEAM_AMD64_REG_SP], ip;

	at = (at + word - 1) & ~(uint64_t)(word - 1);
	r->steps_left = MAX_STEPS;
	for (; found->n < found->max && !seam_dump_read(r, at, word, &ip);
	     at += word) {
		if (!seam_dump_is_code(r, ip - 1))
			continue;
		if (d->order & SEAM_UNWIND_GUESS_ALL) {
			add(found, ip);
			continue;
		}
		if (!is_behind_call(r, ip))
			continue;
		if (!r->steps_left || trials++ == MAX_TRIALS)
			break;
		if (try_word(r, f, ip, at + word, found))
			break;
	}
	return found->n > n;
}
