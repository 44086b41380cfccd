/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Any bytes as .eh_frame or .debug_frame, by the first byte's low bit. Every
 * row is in order and inside its function, can be looked up, and is stepped
 * by over memory that holds anything; then a dump is unwound through it.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/cfi/image.h"
#include "unwind/dump.h"

#define ROOM 0x3000
#define LOOKUPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ctx {
	struct seam_cfi *cfi, *other; /* rows are looked up in the other */
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
	if (seam_cfi_next(c->other, row->start, &next))
		check(next > row->start);
	return ++c->lookups == LOOKUPS;
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
	check(!seam_elf_open_mem(im.bytes, im.size, &elf, NULL));
	check(!seam_cfi_open(elf, &c.cfi, NULL));
	check(!seam_cfi_open(elf, &c.other, NULL));
	seam_cfi_each(c.cfi, on_row, NULL, &c);
	seam_cfi_each(c.cfi, look_up, NULL, &c);
	unwind(elf, c.cfi, data, size);
	seam_cfi_close(c.other);
	seam_cfi_close(c.cfi);
	seam_elf_close(elf);
	return 0;
}
