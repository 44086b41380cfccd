/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/dump.h"

#include <errno.h>
#include <string.h>

#include "cfi/private.h"
#include "core/arch.h"
#include "core/err.h"
#include "elf/entry.h"
#include "table/table.h"
#include "unwind/row.h"

#define REG_AX 0
#define REG_IP 16

struct reader {
	const struct seam_dump *dump;
	bool beyond; /* the last failure was past the end of a cut copy */
};

static int read_copy(void *ctx, uint64_t avma, size_t size, uint64_t *ret_value)
{
	struct reader *r = ctx;
	const struct seam_dump *d = r->dump;
	uint64_t off = avma - d->stack_avma, v = 0;

	r->beyond = false;
	if (avma < d->stack_avma)
		return -EFAULT;
	if (off > d->stack_size || size > d->stack_size - off) {
		r->beyond = d->cut;
		return -EFAULT;
	}
	memcpy(&v, d->stack + off, size);
	*ret_value = v;
	return 0;
}

/* See table.h: code at the entry point that no FDE describes. */
static bool at_entry(const struct seam_mapping *map, uint64_t svma)
{
	uint64_t entry, limit;

	if (!map->elf)
		return false;
	entry = seam_elf_entry(map->elf);
	if (svma < entry || svma - entry >= SEAM_TABLE_ENTRY_MAX ||
	    !seam_entry_is_real(map->elf))
		return false;
	limit = svma + 1;
	if (map->cfi && seam_cfi_next(map->cfi, entry, &limit) && limit <= svma)
		return false;
	return seam_entry_next_symbol(map->elf) > svma;
}

static bool derived_row(const struct seam_mapping *map, uint64_t svma,
			const struct seam_regs *regs, bool exact,
			struct seam_cfi_row *row)
{
	struct seam_rule rule;

	if (exact && regs->valid & 1u << REG_AX &&
	    seam_derived_find_forked(map->derived, svma, &rule)) {
		if (!regs->r[REG_AX]) {
			*row = (struct seam_cfi_row){
				.regs[REG_IP].how = SEAM_CFI_UNDEFINED};
			return true;
		}
	} else if (!seam_derived_find(map->derived, svma, &rule)) {
		return false;
	}
	return seam_row_from_rule(&rule, row);
}

/* The row of a frame, of a mapping with CFI or derived rules. */
static int file_row(const struct seam_mapping *map, uint64_t svma,
		    const struct seam_regs *regs, bool exact,
		    struct seam_cfi_row *row)
{
	int rc = map->cfi ? seam_cfi_find(map->cfi, svma, row, NULL) : -ENOENT;

	if (rc == -ENOENT && derived_row(map, svma, regs, exact, row))
		return SEAM_OK;
	if (rc == -ENOENT)
		return at_entry(map, svma) ? SEAM_OUTERMOST : SEAM_NO_TABLE;
	return rc ? SEAM_NO_RULE : SEAM_OK;
}

/* The same of code that was made at run time. */
static int made_row(const struct seam_mapping *map, uint64_t pc,
		    struct seam_cfi_row *row)
{
	struct seam_rule rule;

	if (seam_sframe_find(map->sframe, pc - map->sframe_avma, &rule))
		return SEAM_NO_TABLE;
	if (rule.cfa_add || !seam_row_from_rule(&rule, row))
		return SEAM_NO_RULE;
	return SEAM_OK;
}

/* The row at pc. Return: SEAM_OK, or an end code. */
static int find_row(const struct seam_dump *d, uint64_t pc,
		    const struct seam_regs *regs, bool exact,
		    struct seam_cfi_row *row, uint64_t *ret_bias)
{
	struct seam_mapping map = {0};

	if (d->find(d->ctx, pc, &map)) {
		*row = (struct seam_cfi_row){
			.cfa_reg = SEAM_AMD64_REG_SP,
			.cfa_off = 8,
			.regs[REG_IP] = {.how = SEAM_CFI_OFFSET, .off = -8}};
		*ret_bias = 0;
		return seam_amd64_is_vsyscall(pc) ? SEAM_OK : SEAM_NO_TABLE;
	}
	*ret_bias = map.bias;
	return map.sframe ? made_row(&map, pc, row)
			  : file_row(&map, pc - map.bias, regs, exact, row);
}

/* One step. Return: SEAM_OK if regs is the caller's, else an end code. */
static int step(struct reader *r, struct seam_regs *regs, bool *exact)
{
	struct seam_cfi_row row;
	uint64_t bias;
	int rc, end;

	/* A return address may be the first byte of something else, when the
	 * call before it never returns. */
	rc = find_row(r->dump, regs->r[REG_IP] - !*exact, regs, *exact, &row,
		      &bias);
	if (rc)
		return rc;
	rc = seam_cfi_step_why(&row, regs, bias, read_copy, r, &end);
	if (rc != 1)
		return end == SEAM_UNREADABLE && r->beyond ? SEAM_COPY_SHORT
							   : end;
	*exact = row.signal;
	return SEAM_OK;
}

size_t seam_dump_unwind(const struct seam_dump *dump, uint64_t *ret_ips,
			size_t max_ips, int *ret_end)
{
	struct reader r = {.dump = dump};
	struct seam_regs regs = dump->regs;
	bool exact = !dump->syscall;
	size_t n = 0;
	int end;

	do {
		if (n == max_ips) {
			*ret_end = SEAM_MAX_STACK;
			return n;
		}
		ret_ips[n++] = regs.r[REG_IP];
		end = step(&r, &regs, &exact);
		if (!end && !regs.r[REG_IP])
			end = SEAM_OUTERMOST;
	} while (!end);
	*ret_end = end;
	return n;
}
