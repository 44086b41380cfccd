/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/dump.h"

#include <errno.h>
#include <string.h>

#include "cfi/private.h"
#include "core/arch.h"
#include "core/err.h"
#include "core/wire.h"
#include "elf/entry.h"
#include "seam/tracer.h"
#include "table/table.h"
#include "unwind/dump-private.h"
#include "unwind/row.h"

#define REG_AX 0
#define REG_IP 16

int seam_dump_read(void *ctx, uint64_t avma, size_t size, uint64_t *ret_value)
{
	struct seam_dump_reader *r = ctx;
	const struct seam_dump *d = r->dump;
	uint64_t off = avma - d->stack_avma, v = 0;

	r->beyond = false;
	if (avma < d->stack_avma) {
		if (d->has_below && avma == d->below_avma && size == 8) {
			*ret_value = d->below;
			return 0;
		}
		if (d->is_below)
			*d->is_below = true;
		return -EFAULT;
	}
	if (d->over_size && (avma - d->over_avma < d->over_size ||
			     d->over_avma - avma < size)) {
		if (d->is_over)
			*d->is_over = true;
		return -EFAULT;
	}
	if (off > d->stack_size || size > d->stack_size - off) {
		r->beyond = d->cut;
		if (d->reach)
			d->reach->missing = off + size;
		return -EFAULT;
	}
	memcpy(&v, d->stack + off, size);
	if (d->reach && off + size > d->reach->read)
		d->reach->read = off + size;
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
static int file_row(struct seam_mapping *map, uint64_t svma,
		    const struct seam_regs *regs, bool exact,
		    struct seam_cfi_row *row)
{
	int rc = map->cfi ? seam_cfi_find(map->cfi, svma, row, map->why)
			  : -ENOENT;

	if (rc == -ENOENT && !map->derived && map->derive)
		map->derived = map->derive(map->ctx);
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

/* Of code that the kernel has for user space, by its CFA, from SP. */
static void kernels_row(int32_t cfa, struct seam_cfi_row *row)
{
	*row = (struct seam_cfi_row){
		.cfa_reg = SEAM_AMD64_REG_SP,
		.cfa_off = cfa,
		.regs[REG_IP] = {.how = SEAM_CFI_OFFSET,
				 .off = SEAM_AMD64_RA_OFF}};
}

/* The row at pc. Return: SEAM_OK, or an end code. */
static int find_row(const struct seam_dump *d, uint64_t pc,
		    const struct seam_regs *regs, bool exact,
		    struct seam_cfi_row *row, struct seam_mapping *ret)
{
	struct seam_mapping map = {0};
	int err = d->find(d->ctx, pc, &map);

	*ret = map;
	if (err) {
		kernels_row(8, row);
		ret->bias = 0;
		return seam_amd64_is_vsyscall(pc) ? SEAM_OK : SEAM_NO_TABLE;
	}
	if (map.is_probe_page) {
		kernels_row(seam_amd64_probe_page_ra(pc % 4096), row);
		return row->cfa_off ? SEAM_OK : SEAM_NO_RULE;
	}
	return map.sframe ? made_row(&map, pc, row)
			  : file_row(&map, pc - map.bias, regs, exact, row);
}

/* Whether the CFA is what a call leaves. That of a PLT is an expression, as
 * what it pushes depends on the ip. */
static bool is_called(struct seam_dump_reader *r,
		      const struct seam_cfi_row *row, uint64_t bias,
		      uint64_t avma, const struct seam_regs *regs)
{
	struct seam_regs at = *regs;
	const struct seam_cfi_target target = {&at, bias, seam_dump_read, r};
	uint64_t cfa;

	if (!row->cfa_is_expr)
		return row->cfa_reg == SEAM_AMD64_REG_SP && row->cfa_off == 8;
	at.r[REG_IP] = avma;
	return !seam_cfi_eval(row->cfa_expr, row->cfa_expr_len, NULL, &target,
			      &cfa) &&
	       cfa == at.r[SEAM_AMD64_REG_SP] + 8;
}

/* Whether a function begins there, as far as its rule tells. */
static bool is_start(struct seam_dump_reader *r, uint64_t avma,
		     const struct seam_regs *regs)
{
	struct seam_cfi_row row;
	struct seam_mapping map;

	if (find_row(r->dump, avma, regs, true, &row, &map) ||
	    !is_called(r, &row, map.bias, avma, regs))
		return false;
	for (unsigned int i = 0; i < REG_IP; i++)
		if (row.regs[i].how == SEAM_CFI_OFFSET)
			return false;
	return true;
}

/* Whether the code pops registers, or none, and then returns or jumps to
 * another function: what was saved and lies below rsp has been popped. */
static bool pops_and_leaves(struct seam_dump_reader *r,
			    const struct seam_regs *regs)
{
	uint64_t ip = regs->r[REG_IP];
	struct seam_x86_bytes b;
	uint32_t i = 0, size;

	if (!seam_dump_code(r, ip, SEAM_DUMP_THEN, &b))
		return false;
	/* As many as there are to save: rbx, rbp, r12 to r15. */
	for (int pops = 0; pops < 6; pops++) {
		uint32_t rex = seam_x86_byte(&b, i) == 0x41;

		if ((seam_x86_byte(&b, i + rex) & 0xf8) != 0x58)
			break;
		i += 1 + rex;
	}
	i += seam_x86_byte(&b, i) == 0xf3; /* rep ret */
	if ((seam_x86_byte(&b, i) & 0xfe) == 0xc2)
		return true;
	if ((seam_x86_byte(&b, i) & 0xfd) != 0xe9)
		return false;
	size = seam_x86_byte(&b, i) == 0xe9 ? 4 : 1;
	ip += i + 1 + size + (uint64_t)seam_x86_signed(&b, i + 1, size);
	return i + 1 + size <= sizeof(b) && is_start(r, ip, regs);
}

/* See is_popped. from, regs: the leaf's and its caller's. */
static void keep_popped(struct seam_dump_reader *r,
			const struct seam_cfi_row *row,
			const struct seam_regs *from, struct seam_regs *regs)
{
	uint64_t sp = from->r[SEAM_AMD64_REG_SP];
	uint32_t popped = 0;

	if (!(from->valid >> SEAM_AMD64_REG_SP & 1) ||
	    row->regs[SEAM_AMD64_REG_SP].how != SEAM_CFI_SAME)
		return;
	for (unsigned int i = 0; i < REG_IP; i++) {
		uint64_t at =
			regs->r[SEAM_AMD64_REG_SP] + (uint64_t)row->regs[i].off;

		if (row->regs[i].how == SEAM_CFI_OFFSET && at < sp &&
		    !(regs->valid >> i & 1))
			popped |= from->valid & 1u << i;
	}
	if (!popped || !(r->dump->is_popped || pops_and_leaves(r, from)))
		return;
	for (unsigned int i = 0; i < REG_IP; i++)
		if (popped & 1u << i)
			regs->r[i] = from->r[i];
	regs->valid |= popped;
}

/* Where the page for probes returns to, if that was called with the red zone
 * left alone. */
static void leave_probe_page(struct seam_dump_reader *r, struct seam_regs *regs)
{
	uint64_t before;

	if (seam_dump_before(r, regs->r[REG_IP], SEAM_DUMP_THEN, &before) &&
	    seam_amd64_probe_spares(before))
		regs->r[SEAM_AMD64_REG_SP] += SEAM_AMD64_RED_ZONE;
}

/* The same of what is about to call it. */
static void leave_red_zone(struct seam_dump_reader *r, struct seam_regs *regs)
{
	const struct seam_dump *d = r->dump;
	uint64_t around;

	if (d->code &&
	    d->code(d->ctx, regs->r[REG_IP] - 5, SEAM_DUMP_THEN, &around,
		    sizeof(around)) == sizeof(around) &&
	    seam_amd64_probe_is_between(around))
		regs->r[SEAM_AMD64_REG_SP] += SEAM_AMD64_RED_ZONE;
}

/* One step. Return: SEAM_OK if regs is the caller's, else an end code. */
static int step(struct seam_dump_reader *r, struct seam_regs *regs, bool *exact)
{
	struct seam_regs from;
	struct seam_cfi_row row;
	struct seam_mapping map;
	int rc, end;

	if (*exact && r->dump->may_be_probed)
		leave_red_zone(r, regs);
	from = *regs;
	/* A return address may be the first byte of something else, when the
	 * call before it never returns. */
	rc = find_row(r->dump, regs->r[REG_IP] - !*exact, regs, *exact, &row,
		      &map);
	if (rc)
		return rc;
	rc = seam_cfi_step_why(&row, regs, map.bias, seam_dump_read, r, &end);
	if (rc != 1)
		return end == SEAM_UNREADABLE && r->beyond ? SEAM_COPY_SHORT
							   : end;
	if (map.is_probe_page)
		leave_probe_page(r, regs);
	else if (*exact)
		keep_popped(r, &row, &from, regs);
	*exact = row.signal;
	return SEAM_OK;
}

/* Without rules, there is nothing that says that a frame is the last. */
static int bare(struct seam_dump_reader *r, struct seam_dump_frame *f)
{
	int err = seam_dump_bare(r, f);

	return err == SEAM_OUTERMOST ? SEAM_UNPROVEN : err;
}

/* One step by CFI, or by what the order has beside it. */
static int next(struct seam_dump_reader *r, struct seam_dump_frame *f)
{
	uint32_t order = r->dump->order;
	int err = SEAM_NO_TABLE;

	if (order & SEAM_UNWIND_FP_FIRST)
		err = bare(r, f);
	if (err == SEAM_NO_TABLE && !r->dump->is_32 &&
	    (!order || order & SEAM_UNWIND_TABLES)) {
		err = step(r, &f->regs, &f->exact);
		if (!err)
			f->method = SEAM_METHOD_CFI;
	}
	if (err == SEAM_NO_TABLE && order & SEAM_UNWIND_FP)
		err = bare(r, f);
	if (!err && !f->regs.r[REG_IP])
		err = SEAM_OUTERMOST;
	return err == SEAM_OUTERMOST && f->is_unproven ? SEAM_UNPROVEN : err;
}

int seam_dump_frames(struct seam_dump_reader *r, struct seam_dump_frame *f,
		     struct seam_dump_found *found)
{
	int end;

	do {
		if (found->n == found->max)
			return SEAM_MAX_STACK;
		if (found->methods)
			found->methods[found->n] = f->method;
		found->ips[found->n++] = f->regs.r[REG_IP];
		end = next(r, f);
		f->nr++;
		if (r->steps_left && !--r->steps_left)
			return SEAM_MAX_STACK;
	} while (!end);
	return end;
}

static void count(const struct seam_dump *d,
		  const struct seam_dump_found *found)
{
	for (size_t i = 0; d->counts && found->methods && i < found->n; i++) {
		d->counts->by_fp += found->methods[i] == SEAM_METHOD_FP;
		d->counts->guessed += found->methods[i] == SEAM_METHOD_GUESS;
	}
}

static bool may_guess(struct seam_dump_reader *r, int end,
		      const struct seam_dump_found *found)
{
	const struct seam_dump *d = r->dump;

	if (!(d->order & SEAM_UNWIND_GUESS) || end == SEAM_OUTERMOST ||
	    end == SEAM_UNPROVEN || end == SEAM_MAX_STACK)
		return false;
	/* The stack is not that of a program which an exec has replaced. */
	return found->n > 1 || !d->syscall ||
	       seam_dump_is_code(r, found->ips[0] - 1);
}

size_t seam_dump_unwind(const struct seam_dump *dump, uint64_t *ret_ips,
			size_t max_ips, int *ret_end)
{
	struct seam_dump_reader r = {.dump = dump};
	struct seam_dump_frame f = {.regs = dump->regs,
				    .exact = !dump->syscall};
	struct seam_dump_found found = {ret_ips, dump->methods, 0, max_ips};
	int end = seam_dump_frames(&r, &f, &found);

	if (may_guess(&r, end, &found) && seam_dump_guess(&r, &f, &found))
		end = SEAM_GUESSED;
	count(dump, &found);
	*ret_end = end;
	return found.n;
}
