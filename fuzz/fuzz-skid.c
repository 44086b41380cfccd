/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Any bytes as a precise event's instruction, registers and stack: what is
 * taken back leads there again, as far as that can be said without running it;
 * nothing beyond the bytes is read; and every stack begins with the sample's ip
 * and ends with a reason. */
#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "core/wire.h"
#include "seam/tracer.h"
#include "unwind/skid-insn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_IPS 16

struct input {
	uint64_t regs[SEAM_CFI_REGS];
	uint32_t valid;
	uint8_t code_size, flags;
	uint8_t code[18];
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	(void)avma;
	*ret = (struct seam_mapping){0};
	return 0;
}

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	const struct input *in = ctx;
	size_t n = in->code_size < size ? in->code_size : size;

	(void)avma;
	(void)when;
	if (n > sizeof(in->code))
		n = sizeof(in->code);
	memcpy(to, in->code, n);
	return n;
}

static struct seam_dump dump_of(struct input *in, const uint8_t *stack,
				size_t size)
{
	struct seam_dump d = {
		.regs.valid = in->valid & ((1u << SEAM_CFI_REGS) - 1),
		.stack_avma = in->regs[SEAM_AMD64_REG_SP],
		.stack = stack,
		.stack_size = size,
		.cut = in->flags & 1,
		.find = find,
		.code = read_code,
		.ctx = in,
		.order = in->flags & 2 ? SEAM_UNWIND_FP : 0,
		.is_32 = in->flags & 4,
	};

	memcpy(d.regs.r, in->regs, sizeof(in->regs));
	return d;
}

/* Bytes of exactly that length, so that reading on is seen. */
static void undo(struct seam_decoder *decoder, struct input *in, uint64_t ip,
		 const struct seam_dump *behind)
{
	size_t n = in->code_size < sizeof(in->code) ? in->code_size
						    : sizeof(in->code);
	struct seam_dump before = *behind;
	struct seam_skid_insn insn;
	uint8_t *code = malloc(n + 1);
	int err;

	check(code);
	memcpy(code, in->code, n);
	if (!seam_skid_decode(decoder, code, n, ip, &insn)) {
		free(code);
		check(seam_skid_undo(&insn, ip, true, &before) ==
		      SEAM_IRREVERSIBLE);
		return;
	}
	free(code);
	check(insn.len <= n);
	err = seam_skid_undo(&insn, ip, !(in->flags & 8), &before);
	check(!err || err == SEAM_SKID_MOMENT || err == SEAM_IRREVERSIBLE);
	if (err) {
		check(!memcmp(&before.regs, &behind->regs,
			      sizeof(before.regs)));
		return;
	}
	check(before.regs.r[SEAM_AMD64_REG_IP] == ip);
	check(before.regs.valid & 1u << SEAM_AMD64_REG_IP);
	if (insn.op < SEAM_SKID_ENTER &&
	    before.regs.valid & 1u << SEAM_AMD64_REG_SP)
		check(before.regs.r[SEAM_AMD64_REG_SP] + (uint64_t)insn.by ==
		      behind->regs.r[SEAM_AMD64_REG_SP]);
	check(!(before.regs.valid & insn.lost &
		~(1u << SEAM_AMD64_REG_FP | 1u << SEAM_AMD64_REG_SP)));
}

static void unwind(struct seam_decoder *decoder, const struct input *in,
		   uint64_t ip, struct seam_dump *dump)
{
	uint64_t ips[MAX_IPS];
	uint8_t methods[MAX_IPS];
	struct seam_skid_outcome outcome = {0};
	const struct seam_skid skid = {decoder, ip, in->flags & 8, &outcome};
	size_t max = 1 + in->flags / 16, n;
	int end = 0;

	dump->methods = methods;
	n = seam_skid_unwind(&skid, dump, ips, max, &end);
	check(n >= 1 && n <= max);
	check(ips[0] == ip);
	check(end > 0 && end <= SEAM_END_LAST);
	check(outcome.fate > SEAM_SKID_NONE && outcome.fate < SEAM_SKID_FATES);
	check(outcome.kind < SEAM_SKID_KINDS);
	for (size_t i = 0; i < n; i++)
		check(methods[i] <= SEAM_METHOD_GUESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seam_decoder *decoder;
	struct seam_dump dump;
	struct input in;
	uint64_t ip;

	if (!decoder && seam_decoder_new(&decoder))
		return 0;
	if (size < sizeof(in) + sizeof(ip))
		return 0;
	memcpy(&in, data, sizeof(in));
	memcpy(&ip, data + sizeof(in), sizeof(ip));
	data += sizeof(in) + sizeof(ip);
	size -= sizeof(in) + sizeof(ip);
	dump = dump_of(&in, data, size);
	undo(decoder, &in, ip, &dump);
	unwind(decoder, &in, ip, &dump);
	return 0;
}
