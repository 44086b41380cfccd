/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Any bytes as .eh_frame or .debug_frame, by the first byte's low bit, of
 * x86-64 or aarch64, by the next. Every
 * row is in order and inside its function, can be looked up, and is stepped
 * by over memory that holds anything; then a dump is unwound through it.
 */
#include <errno.h>
#include <stdlib.h>

#include "cfi/private.h"
#include "tests/unit/cfi/image.h"
#include "unwind/dump.h"

#define ROOM 0x3000
#define LOOKUPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ctx {
	/* Rows are looked up in the other two. */
	struct seam_cfi *cfi, *other, *detached;
	uint64_t func_start, last_end;
	int lookups;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Repeatable, and now and then unreadable. */
static int read_any(void *ctx, uint64_t avma, size_t size, uint64_t *ret)
{
	uint64_t v = (avma ^ avma >> 7) * 0x9e3779b97f4a7c15;

	(void)ctx;
	check(size >= 1 && size <= 8);
	if (v >> 59 == 0)
		return -EFAULT;
	*ret = size == 8 ? v : v & ((UINT64_C(1) << 8 * size) - 1);
	return 0;
}

static void step_by(const struct seam_cfi_row *row)
{
	struct seam_regs regs = {.valid = (1u << SEAM_CFI_REGS) - 1};
	struct seam_regs before;
	int rc;

	for (unsigned int i = 0; i < SEAM_CFI_REGS; i++)
		regs.r[i] = 0x7ffff000 + 8 * i;
	before = regs;
	rc = seam_cfi_step(row, &regs, 0x1000, read_any, NULL);
	check(rc == 1 || rc == 0 || rc == -EFAULT || rc == -EINVAL);
	if (rc != 1)
		check(!memcmp(&before, &regs, sizeof(regs)));
	else
		check(regs.valid & 1u << 7 && regs.valid & 1u << 16);
}

static int on_row(void *vctx, const struct seam_cfi_row *row)
{
	struct ctx *c = vctx;

	check(row->start < row->end);
	check(row->start >= row->func_start && row->end <= row->func_end);
	/* Rows follow each other without a gap. */
	check(row->start == row->func_start || row->start == c->last_end);
	c->last_end = row->end;
	step_by(row);
	return 0;
}

/* It says the same, but that it may have no room, or no image to follow a
 * pointer in. */
static void look_up_detached(const struct ctx *c, uint64_t svma, int want,
			     const struct seam_cfi_row *row)
{
	static struct seam_cfi_small work;
	struct seam_cfi_row found;
	int rc = seam_cfi_find_detached(c->detached, &work, svma, &found);

	check(rc == want || rc == -EINVAL);
	if (rc)
		return;
	check(found.start == row->start && found.end == row->end);
	check(found.func_start == row->func_start);
	check(found.cfa_is_expr == row->cfa_is_expr);
	check(found.cfa_reg == row->cfa_reg);
	check(found.cfa_off == row->cfa_off);
	step_by(&found);
}

static int look_up(void *vctx, const struct seam_cfi_row *row)
{
	struct ctx *c = vctx;
	struct seam_cfi_row found;
	uint64_t next;
	int rc;

	rc = seam_cfi_find(c->other, row->start, &found, NULL);
	check(rc == 0 || rc == -EINVAL);
	if (!rc)
		check(found.start <= row->start && row->start < found.end);
	look_up_detached(c, row->start, rc, &found);
	if (seam_cfi_next(c->other, row->start, &next))
		check(next > row->start);
	return ++c->lookups == LOOKUPS;
}

/* What both ways through the CFI have to agree on: CFA, SP, FP and RA of each
 * address, in functions that are not malformed. */
struct digest {
	const struct seam_cfi_arch *arch;
	uint64_t all, func; /* of functions that are done, of the one at hand */
	uint64_t last; /* of the last row */
	uint64_t bad;
};

static void mix(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x100000001b3 + 1;
}

static void digest_row(struct digest *d, const struct seam_cfi_row *row)
{
	const uint8_t regs[] = {d->arch->sp, d->arch->fp, d->arch->ra};
	uint64_t h = 1;

	mix(&h, row->cfa_is_expr ? (uintptr_t)row->cfa_expr
				 : row->cfa_reg + (uint64_t)row->cfa_off * 256);
	mix(&h, row->ra_state + 256u * row->signal);
	for (size_t i = 0; i < sizeof(regs); i++) {
		const struct seam_cfi_reg *r = &row->regs[regs[i]];

		mix(&h, r->how + 256u * r->reg + 65536ull * r->expr_len);
		mix(&h, (uint64_t)r->off);
	}
	if (h == d->last && row->start != row->func_start)
		return;
	d->last = h;
	mix(&d->func, row->start);
	mix(&d->func, h);
}

static void digest_end(struct digest *d)
{
	mix(&d->all, d->func);
	d->func = 0;
	d->last = 0;
}

static int digest_each(void *ctx, const struct seam_cfi_row *row)
{
	struct digest *d = ctx;

	digest_row(d, row);
	if (row->end == row->func_end)
		digest_end(d);
	return 0;
}

static void digest_each_bad(void *ctx, uint64_t start, uint64_t end,
			    const struct seam_errinfo *why)
{
	(void)start;
	(void)end;
	(void)why;
	((struct digest *)ctx)->bad++;
}

/* seam_cfi_take, whose states are kept as rows are. */
struct taken {
	struct digest digest;
	struct seam_cfi_row states[ROOM]; /* one takes a byte at least */
	uint32_t num_states;
};

static int take_state(void *ctx, const struct seam_cfi_row *state,
		      uint32_t *ret_number)
{
	struct taken *t = ctx;

	check(t->num_states < ROOM);
	t->states[t->num_states] = *state;
	*ret_number = t->num_states++;
	return 0;
}

static void take_forget(void *ctx)
{
	((struct taken *)ctx)->num_states = 0;
}

static int take_func(void *ctx, const struct seam_cfi_func *func)
{
	struct taken *t = ctx;

	check(func->start < func->end && func->num_rows &&
	      func->rows->start == func->start);
	for (size_t i = 0; i < func->num_rows; i++) {
		struct seam_cfi_row row;

		check(func->rows[i].what < t->num_states);
		check(!i || func->rows[i].start > func->rows[i - 1].start);
		row = t->states[func->rows[i].what];
		check(row.signal == func->signal && row.key_b == func->key_b);
		row.start = func->rows[i].start;
		row.func_start = func->start;
		digest_row(&t->digest, &row);
	}
	check(func->rows[func->num_rows - 1].start < func->end);
	digest_end(&t->digest);
	return 0;
}

static void take_bad(void *ctx, uint64_t start, uint64_t end,
		     const struct seam_errinfo *why)
{
	digest_each_bad(&((struct taken *)ctx)->digest, start, end, why);
}

static void both_ways(struct seam_cfi *cfi)
{
	static struct taken taken;
	struct digest each = {.arch = seam_cfi_arch(cfi)};
	const struct seam_cfi_taker taker = {.state = take_state,
					     .forget = take_forget,
					     .func = take_func,
					     .bad = take_bad,
					     .ctx = &taken};

	taken.digest = each;
	taken.num_states = 0;
	seam_cfi_each(cfi, digest_each, digest_each_bad, &each);
	seam_cfi_take(cfi, &taker);
	check(each.all == taken.digest.all && each.bad == taken.digest.bad);
}

static int find_map(void *vmap, uint64_t avma, struct seam_mapping *ret)
{
	(void)avma;
	*ret = *(struct seam_mapping *)vmap;
	return 0;
}

static void unwind(struct seam_elf *elf, struct seam_cfi *cfi,
		   const uint8_t *data, size_t size)
{
	struct seam_mapping map = {.elf = elf, .cfi = cfi};
	struct seam_dump dump = {
		.regs.valid = 0x1ffff,
		.stack_avma = IMAGE_FUNC,
		.stack = data,
		.stack_size = size,
		.cut = true,
		.find = find_map,
		.ctx = &map,
	};
	uint64_t ips[128];
	int end = 0;
	size_t n;

	for (unsigned int i = 0; i < SEAM_CFI_REGS; i++)
		dump.regs.r[i] = IMAGE_FUNC + 8 * i;
	n = seam_dump_unwind(&dump, ips, 128, &end);
	check(n >= 1 && n <= 128 && end > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image im;
	struct ctx c = {0};
	struct seam_elf *elf;

	if (size < 2 || size > ROOM)
		return 0;
	image_begin(&im);
	put_bytes(&im, (struct bytes){data + 1, size - 1});
	image_end(&im, data[0] & 1);
	((Elf64_Ehdr *)im.bytes)->e_machine =
		data[0] & 2 ? EM_AARCH64 : EM_X86_64;
	check(!seam_elf_open_mem(im.bytes, im.size, &elf, NULL));
	check(!seam_cfi_open(elf, &c.cfi, NULL));
	check(!seam_cfi_open(elf, &c.other, NULL));
	check(!seam_cfi_open(elf, &c.detached, NULL));
	check(!seam_cfi_detach(c.detached));
	seam_cfi_each(c.cfi, on_row, NULL, &c);
	seam_cfi_each(c.cfi, look_up, NULL, &c);
	both_ways(c.cfi);
	unwind(elf, c.cfi, data, size);
	seam_cfi_close(c.detached);
	seam_cfi_close(c.other);
	seam_cfi_close(c.cfi);
	seam_elf_close(elf);
	return 0;
}
