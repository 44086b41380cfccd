// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * From the CFI of a file to its table. A file's own .sframe section is not
 * used yet, although it would be cheaper: .eh_frame is what unwinders and
 * debuggers are tested with, assemblers leave functions out of .sframe, and
 * linkers have put wrong rows into it.
 */
#include "table/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "core/err.h"
#include "core/sframe-format.h"
#include "elf/entry.h"
#include "elf/fail.h"
#include "sframe/encode.h"
#include "sframe/from-cfi.h"

struct build {
	const struct seam_elf *elf;
	struct seam_elf_segment *segments; /* executable ones, by address */
	size_t num_segments;
	const struct seam_elf_segment *segment; /* of the last row */
	bool is_kernel;
	struct seam_sframe_builder *builder;
	struct seam_table_stats stats;

	/* The FDE at hand; what there was before it, should it be bad. */
	bool is_inside; /* its segment holds it whole */
	struct seam_table_stats stats_before;
	struct seam_sframe_builder_mark mark;

	/* The function being built: adjacent rows with a rule. */
	bool is_open;
	uint64_t func_start; /* svma */
	uint64_t run_start, run_end; /* as this form has addresses */

	/* What CFI says about the entry point. */
	uint64_t entry, entry_limit; /* 0: not wanted, or it has CFI */
};

static bool holds(const struct seam_elf_segment *s, uint64_t start,
		  uint64_t end)
{
	return start >= s->svma && start - s->svma < s->filesz &&
	       end - start <= s->filesz - (start - s->svma);
}

static int by_svma(const void *va, const void *vb)
{
	const struct seam_elf_segment *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

/* Keeps what can be mapped as code: executable, and in the file. */
static int init_segments(struct build *b)
{
	const struct seam_elf_segment *all;
	size_t count, size;

	seam_elf_bytes(b->elf, &size);
	all = seam_elf_segments(b->elf, &count);
	if (!count)
		return 0;
	b->segments = reallocarray(NULL, count, sizeof(*all));
	if (!b->segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct seam_elf_segment s = all[i];

		if (!(s.flags & PF_X) || s.off >= size)
			continue;
		if (s.filesz > size - s.off)
			s.filesz = size - s.off;
		b->segments[b->num_segments++] = s;
	}
	if (b->num_segments)
		qsort(b->segments, b->num_segments, sizeof(*all), by_svma);
	return 0;
}

/* Finds the executable segment that holds [start, end), whole. They do not
 * overlap: loaders have them in order. */
static bool find_segment(struct build *b, uint64_t start, uint64_t end)
{
	size_t i;

	if (b->segment && holds(b->segment, start, end))
		return true;
	i = SEAM_SEARCH(k, b->num_segments, b->segments[k].svma <= start);
	if (!i || !holds(&b->segments[i - 1], start, end))
		return false;
	b->segment = &b->segments[i - 1];
	return true;
}

/* The address as this form has it; b->segment holds it. */
static uint64_t address(const struct build *b, uint64_t svma)
{
	return b->is_kernel ? svma - b->segment->svma + b->segment->off : svma;
}

static void add_hole(struct build *b, enum seam_hole why, uint64_t bytes)
{
	b->stats.hole_bytes += bytes;
	b->stats.holes[why] += bytes;
}

static int close_run(struct build *b)
{
	if (!b->is_open)
		return 0;
	b->is_open = false;
	return seam_sframe_builder_end(b->builder,
				       (uint32_t)(b->run_end - b->run_start));
}

static int open_run(struct build *b, const struct seam_cfi_row *row)
{
	struct seam_sframe_builder_func func = {
		.start = address(b, row->start),
		.signal = row->signal,
		.pauth_b = row->key_b,
	};
	int r = seam_sframe_builder_begin(b->builder, &func);

	if (r)
		return r;
	b->is_open = true;
	b->func_start = row->func_start;
	b->run_start = func.start;
	b->run_end = func.start;
	return 0;
}

/* Adds [row->start, row->end) with one rule to the function at hand. */
static int add_rule(struct build *b, const struct seam_cfi_row *row,
		    const struct seam_rule *rule)
{
	uint64_t start = address(b, row->start);
	uint64_t end = start + (row->end - row->start);
	int r = 0;

	if (b->is_open &&
	    (start != b->run_end || row->func_start != b->func_start ||
	     end - b->run_start > UINT32_MAX))
		r = close_run(b);
	if (!r && !b->is_open)
		r = open_run(b, row);
	if (!r)
		r = seam_sframe_builder_row(
			b->builder, (uint32_t)(start - b->run_start), rule);
	if (!r)
		b->run_end = end;
	return r;
}

/* The pieces of a block before and behind the aligned ones, one by one. */
static int add_plt_steps(struct build *b, struct seam_cfi_row row, uint64_t end,
			 const struct seam_plt_cfa *plt,
			 const struct seam_rule *below,
			 const struct seam_rule *above)
{
	int r = 0;

	while (!r && row.start < end) {
		uint64_t in_block = row.start & (plt->block - 1u);
		bool is_below = in_block < plt->from;
		uint64_t left = (is_below ? plt->from : plt->block) - in_block;

		row.end = end - row.start < left ? end : row.start + left;
		r = add_rule(b, &row, is_below ? below : above);
		row.start = row.end;
	}
	return r;
}

/* Whole blocks, as one function whose rows repeat. */
static int add_plt_blocks(struct build *b, uint64_t start, uint32_t size,
			  const struct seam_plt_cfa *plt,
			  const struct seam_rule *below,
			  const struct seam_rule *above)
{
	struct seam_sframe_builder_func func = {
		.start = address(b, start),
		.signal = !!(below->flags & SEAM_RULE_SIGNAL),
		.rep_size = plt->block,
	};
	int r = seam_sframe_builder_begin(b->builder, &func);

	if (!r)
		r = seam_sframe_builder_row(b->builder, 0, below);
	if (!r)
		r = seam_sframe_builder_row(b->builder, plt->from, above);
	return r ? r : seam_sframe_builder_end(b->builder, size);
}

static int add_plt(struct build *b, const struct seam_cfi_row *row,
		   const struct seam_plt_cfa *plt,
		   const struct seam_rule *below, const struct seam_rule *above)
{
	uint64_t mask = plt->block - 1u;
	uint64_t first = (row->start + mask) & ~mask;
	uint64_t last = row->end & ~mask;
	struct seam_cfi_row tail = *row;
	int r;

	if (first >= last || last - first > UINT32_MAX)
		return add_plt_steps(b, *row, row->end, plt, below, above);
	r = add_plt_steps(b, *row, first, plt, below, above);
	if (!r)
		r = close_run(b);
	if (!r)
		r = add_plt_blocks(b, first, (uint32_t)(last - first), plt,
				   below, above);
	tail.start = last;
	return r ? r : add_plt_steps(b, tail, row->end, plt, below, above);
}

/* Code that CFI covers, whatever it says, is none of the entry rule's. */
static void note_entry(struct build *b, uint64_t start, uint64_t end)
{
	if (!b->entry)
		return;
	if (b->entry >= start && b->entry < end)
		b->entry = 0;
	else if (start > b->entry && start < b->entry_limit)
		b->entry_limit = start;
}

static int on_func(void *ctx, uint64_t start, uint64_t end)
{
	struct build *b = ctx;
	int r = close_run(b);

	b->mark = seam_sframe_builder_mark(b->builder);
	b->stats_before = b->stats;
	b->is_inside = find_segment(b, start, end);
	if (b->is_inside) {
		b->stats.code_bytes += end - start;
		note_entry(b, start, end);
	}
	return r;
}

/* A row of a function that lies in no segment as a whole: it may, alone. */
static bool is_row_inside(struct build *b, const struct seam_cfi_row *row)
{
	if (!find_segment(b, row->start, row->end)) {
		b->stats.outside++;
		return false;
	}
	b->stats.code_bytes += row->end - row->start;
	note_entry(b, row->start, row->end);
	return true;
}

static int on_row(void *ctx, const struct seam_cfi_row *row)
{
	struct seam_rule rule, above;
	struct seam_plt_cfa plt;
	struct build *b = ctx;
	enum seam_hole hole;

	if (!b->is_inside && !is_row_inside(b, row))
		return close_run(b);
	if (row->end - row->start > UINT32_MAX)
		hole = SEAM_HOLE_RANGE;
	else
		hole = seam_rule_from_cfi(
			row, b->is_kernel ? SEAM_FROM_CFI_ADD : 0, &rule);
	if (!hole) {
		int r = add_rule(b, row, &rule);

		if (r != -EINVAL)
			return r;
		hole = SEAM_HOLE_FORM;
	}
	if (hole == SEAM_HOLE_CFA_EXPR &&
	    seam_plt_from_cfi(row, &plt, &rule, &above))
		return add_plt(b, row, &plt, &rule, &above);
	add_hole(b, hole, row->end - row->start);
	return close_run(b);
}

static void on_bad(void *ctx, bool begun, uint64_t func_start,
		   uint64_t func_end, const struct seam_errinfo *why)
{
	struct build *b = ctx;

	(void)why;
	if (begun) {
		b->is_open = false;
		seam_sframe_builder_rewind(b->builder, &b->mark);
		b->stats = b->stats_before;
	}
	b->stats.malformed++;
	if (func_end <= func_start)
		return;
	if (!find_segment(b, func_start, func_end)) {
		b->stats.outside++;
		return;
	}
	note_entry(b, func_start, func_end);
	b->stats.code_bytes += func_end - func_start;
	add_hole(b, SEAM_HOLE_BAD, func_end - func_start);
}

/* Rules for code without CFI are seam's own finding: not for the file form. */
static int add_derived(struct build *b, struct seam_cfi *cfi)
{
	const struct seam_derived_row *rows;
	struct seam_derived *derived;
	size_t n;
	int r = seam_derived_build(b->elf, cfi, &derived);

	/* -EINVAL: not code that is read, which gives no rule. */
	if (r)
		return r == -EINVAL ? 0 : r;
	rows = seam_derived_rows(derived, &n);
	for (size_t i = 0; !r && i < n; i++) {
		struct seam_cfi_row row = {
			.start = rows[i].start,
			.end = rows[i].end,
			.func_start = rows[i].func_start,
		};

		if (!find_segment(b, row.start, row.end))
			continue;
		note_entry(b, row.start, row.end);
		r = add_rule(b, &row, &rows[i].rule);
	}
	seam_derived_free(derived);
	return r ? r : close_run(b);
}

/*
 * Code without CFI at the entry point is where the kernel, not a caller,
 * put the program: the stack ends there.
 */
static int add_entry(struct build *b)
{
	static const struct seam_rule outermost = {.flags =
							   SEAM_RULE_OUTERMOST};
	struct seam_cfi_row row = {.start = b->entry, .func_start = b->entry};
	uint64_t limit = b->entry_limit;
	int r;

	if (!b->entry || !find_segment(b, b->entry, b->entry + 1))
		return 0;
	if (limit - b->segment->svma > b->segment->filesz)
		limit = b->segment->svma + b->segment->filesz;
	row.end = seam_entry_next_symbol(b->elf);
	if (row.end > limit)
		row.end = limit;
	r = add_rule(b, &row, &outermost);
	return r ? r : close_run(b);
}

static int convert(struct build *b, struct seam_errinfo *reterr)
{
	const struct seam_cfi_taker taker = {
		.begin = on_func, .row = on_row, .bad = on_bad, .ctx = b};
	struct seam_cfi *cfi = NULL;
	int r = seam_cfi_open(b->elf, &cfi, reterr);

	if (r && (r != -ENOENT || !b->entry))
		return r;
	if (!r) {
		r = seam_cfi_take(cfi, &taker);
		if (!r)
			r = close_run(b);
		if (r)
			goto out;
	}
	r = b->is_kernel ? add_derived(b, cfi) : 0;
	if (!r)
		r = add_entry(b);
out:
	seam_cfi_close(cfi);
	return r;
}

/* The kernel form is for code that runs here, and from files that are
 * mapped. */
static bool has_kernel_form(const struct seam_elf *elf)
{
	return seam_elf_machine(elf) == EM_X86_64 && seam_elf_is_le(elf) &&
	       seam_elf_type(elf) != ET_REL;
}

static int init_build(struct build *b, const struct seam_elf *elf,
		      bool is_kernel, struct seam_errinfo *reterr)
{
	int r;

	*b = (struct build){.elf = elf, .is_kernel = is_kernel};
	if (is_kernel && !has_kernel_form(elf))
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, 18, "ELF header",
				     "the kernel's tables are for x86-64 "
				     "programs and libraries only");
	r = init_segments(b);
	if (r || !is_kernel || !seam_entry_is_real(elf))
		return r;
	b->entry = seam_elf_entry(elf);
	b->entry_limit = b->entry + SEAM_TABLE_ENTRY_MAX;
	if (b->entry_limit < b->entry)
		b->entry = 0;
	return 0;
}

static int build(const struct seam_elf *elf, bool is_kernel,
		 uint8_t **ret_bytes, size_t *ret_size,
		 struct seam_table_stats *ret_stats,
		 struct seam_errinfo *reterr)
{
	struct seam_sframe_builder_totals totals;
	const struct seam_cfi_arch *arch =
		seam_cfi_arch_of(seam_elf_machine(elf), !seam_elf_is_le(elf));
	struct build b;
	int r;

	r = init_build(&b, elf, is_kernel, reterr);
	/* What no builder is for is refused with the CFI. */
	if (!r)
		r = seam_sframe_builder_new_for(
			SEAM_SFRAME_V3,
			arch ? arch->abi : SEAM_SFRAME_ABI_AMD64,
			is_kernel ? SEAM_SFRAME_ALLOW_ADD : 0, &b.builder);
	if (!r)
		r = convert(&b, reterr);
	if (!r)
		r = seam_sframe_builder_finish(b.builder, 0, ret_bytes,
					       ret_size, &totals);
	if (!r && ret_stats) {
		*ret_stats = b.stats;
		ret_stats->functions = totals.functions;
		ret_stats->rows = totals.rows;
		ret_stats->overlap_bytes = totals.overlap_bytes;
	}
	seam_sframe_builder_free(b.builder);
	free(b.segments);
	return r;
}

int seam_table_build(const struct seam_elf *elf, uint8_t **ret_bytes,
		     size_t *ret_size, struct seam_table_stats *ret_stats,
		     struct seam_errinfo *reterr)
{
	return build(elf, false, ret_bytes, ret_size, ret_stats, reterr);
}

int seam_table_build_kernel(const struct seam_elf *elf, uint8_t **ret_bytes,
			    size_t *ret_size,
			    struct seam_table_stats *ret_stats,
			    struct seam_errinfo *reterr)
{
	return build(elf, true, ret_bytes, ret_size, ret_stats, reterr);
}
