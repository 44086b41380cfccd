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

#include "base/grow.h"
#include "base/search.h"
#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "core/err.h"
#include "core/sframe-format.h"
#include "elf/entry.h"
#include "elf/fail.h"
#include "sframe/encode.h"
#include "sframe/from-cfi.h"
#include "table/segments.h"

/* A state of the CFI that there is no rule for. */
struct no_rule {
	enum seam_hole hole;
	/* But a procedure linkage table's, in its place, is two rules. */
	bool is_plt;
	struct seam_plt_cfa plt;
	struct seam_rule below, above;
};

/* States are numbered as the builder numbers rules; those without one from
 * here on, as build.no_rules has them. */
#define FIRST_NO_RULE 0x80000000u

/* Some code, and whose it is. */
struct span {
	uint64_t start, end, func_start; /* svma */
	bool signal, key_b;
};

struct build {
	const struct seam_elf *elf;
	struct seam_segments segments; /* the last found: of the last row */
	bool is_kernel;
	struct seam_sframe_builder *builder;
	struct seam_table_stats stats;

	struct no_rule *no_rules;
	size_t num_no_rules, max_no_rules;

	/* The function being built: adjacent rows with a rule. */
	bool is_open;
	uint64_t func_start; /* svma */
	uint64_t run_start, run_end; /* as this form has addresses */

	/* What CFI says about the entry point. */
	uint64_t entry, entry_limit; /* 0: not wanted, or it has CFI */
};

/* The address as this form has it; the last segment found holds it. */
static uint64_t address(const struct build *b, uint64_t svma)
{
	const struct seam_elf_segment *s = b->segments.last;

	return b->is_kernel ? svma - s->svma + s->off : svma;
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

static int open_run(struct build *b, const struct span *span)
{
	struct seam_sframe_builder_func func = {
		.start = address(b, span->start),
		.signal = span->signal,
		.pauth_b = span->key_b,
	};
	int r = seam_sframe_builder_begin(b->builder, &func);

	if (r)
		return r;
	b->is_open = true;
	b->func_start = span->func_start;
	b->run_start = func.start;
	b->run_end = func.start;
	return 0;
}

/* The span is to be behind the function at hand, or in a new one: where. */
static int reach(struct build *b, const struct span *span, uint32_t *ret_off)
{
	uint64_t start = address(b, span->start);
	uint64_t end = start + (span->end - span->start);
	int r = 0;

	if (b->is_open &&
	    (start != b->run_end || span->func_start != b->func_start ||
	     end - b->run_start > UINT32_MAX))
		r = close_run(b);
	if (!r && !b->is_open)
		r = open_run(b, span);
	*ret_off = (uint32_t)(start - b->run_start);
	return r;
}

static int add_rule(struct build *b, const struct span *span,
		    const struct seam_rule *rule)
{
	uint32_t off;
	int r = reach(b, span, &off);

	if (!r)
		r = seam_sframe_builder_row(b->builder, off, rule);
	if (!r)
		b->run_end += span->end - span->start;
	return r;
}

/* By the rule's number. */
static int add_numbered(struct build *b, const struct span *span,
			uint32_t number)
{
	uint32_t off;
	int r = reach(b, span, &off);

	if (!r)
		r = seam_sframe_builder_row_of(b->builder, off, number);
	if (!r)
		b->run_end += span->end - span->start;
	return r;
}

/* The pieces of a block before and behind the aligned ones, one by one. */
static int add_plt_steps(struct build *b, struct span span, uint64_t end,
			 const struct seam_plt_cfa *plt,
			 const struct seam_rule *below,
			 const struct seam_rule *above)
{
	int r = 0;

	while (!r && span.start < end) {
		uint64_t in_block = span.start & (plt->block - 1u);
		bool is_below = in_block < plt->from;
		uint64_t left = (is_below ? plt->from : plt->block) - in_block;

		span.end = end - span.start < left ? end : span.start + left;
		r = add_rule(b, &span, is_below ? below : above);
		span.start = span.end;
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

static int add_plt(struct build *b, const struct span *span,
		   const struct seam_plt_cfa *plt,
		   const struct seam_rule *below, const struct seam_rule *above)
{
	uint64_t mask = plt->block - 1u;
	uint64_t first = (span->start + mask) & ~mask;
	uint64_t last = span->end & ~mask;
	struct span tail = *span;
	int r;

	if (first >= last || last - first > UINT32_MAX)
		return add_plt_steps(b, *span, span->end, plt, below, above);
	r = add_plt_steps(b, *span, first, plt, below, above);
	if (!r)
		r = close_run(b);
	if (!r)
		r = add_plt_blocks(b, first, (uint32_t)(last - first), plt,
				   below, above);
	tail.start = last;
	return r ? r : add_plt_steps(b, tail, span->end, plt, below, above);
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

static int add_no_rule(struct build *b, const struct no_rule *no_rule,
		       uint32_t *ret_number)
{
	size_t n = b->num_no_rules;

	if (n >= SEAM_CFI_NUMBERS - FIRST_NO_RULE ||
	    seam_grow(&b->no_rules, n + 1, &b->max_no_rules, sizeof(*no_rule)))
		return -ENOMEM;
	b->no_rules[b->num_no_rules++] = *no_rule;
	*ret_number = FIRST_NO_RULE + (uint32_t)n;
	return 0;
}

static int on_state(void *ctx, const struct seam_cfi_row *row,
		    uint32_t *ret_number)
{
	struct build *b = ctx;
	struct no_rule no_rule = {.hole = SEAM_HOLE_FORM};
	struct seam_rule rule;
	enum seam_hole hole;
	int r = -EINVAL;

	hole = seam_rule_from_cfi(row, b->is_kernel ? SEAM_FROM_CFI_ADD : 0,
				  &rule);
	if (!hole)
		r = seam_sframe_builder_rule(b->builder, &rule, ret_number);
	else
		no_rule.hole = hole;
	if (r != -EINVAL)
		return r;
	if (hole == SEAM_HOLE_CFA_EXPR)
		no_rule.is_plt = seam_plt_from_cfi(
			row, &no_rule.plt, &no_rule.below, &no_rule.above);
	return add_no_rule(b, &no_rule, ret_number);
}

static void on_forget(void *ctx)
{
	struct build *b = ctx;

	seam_sframe_builder_forget(b->builder);
	b->num_no_rules = 0;
}

/* Of a function that lies in no segment as a whole: a row counts as far as the
 * segment goes that holds its start. */
static bool cut_to_segment(struct build *b, struct span *span)
{
	const struct seam_elf_segment *s =
		seam_segments_find(&b->segments, span->start, span->start + 1);
	uint64_t left;

	if (!s) {
		b->stats.outside++;
		return false;
	}
	left = s->filesz - (span->start - s->svma);
	if (span->end - span->start > left) {
		b->stats.outside++;
		span->end = span->start + left;
	}
	b->stats.code_bytes += span->end - span->start;
	note_entry(b, span->start, span->end);
	return true;
}

static int add_hole_span(struct build *b, const struct span *span,
			 const struct no_rule *no_rule)
{
	if (no_rule->is_plt && span->end - span->start <= UINT32_MAX)
		return add_plt(b, span, &no_rule->plt, &no_rule->below,
			       &no_rule->above);
	add_hole(b, no_rule->hole, span->end - span->start);
	return close_run(b);
}

static int add_span(struct build *b, const struct span *span, uint32_t number)
{
	struct no_rule hole = {.hole = SEAM_HOLE_RANGE};
	int r;

	if (span->end - span->start > UINT32_MAX)
		return add_hole_span(b, span, &hole);
	if (number >= FIRST_NO_RULE)
		return add_hole_span(b, span,
				     &b->no_rules[number - FIRST_NO_RULE]);
	r = add_numbered(b, span, number);
	if (r != -EINVAL)
		return r;
	hole.hole = SEAM_HOLE_FORM;
	return add_hole_span(b, span, &hole);
}

/* One row after the other, some of which are holes. */
static int add_spans(struct build *b, const struct seam_cfi_func *func,
		     bool is_inside)
{
	struct span span = {
		.func_start = func->start,
		.signal = func->signal,
		.key_b = func->key_b,
	};
	int r = 0;

	for (size_t i = 0; !r && i < func->num_rows; i++) {
		bool is_last = i + 1 == func->num_rows;

		span.start = func->rows[i].start;
		span.end = is_last ? func->end : func->rows[i + 1].start;
		if (is_inside || cut_to_segment(b, &span))
			r = add_span(b, &span, func->rows[i].what);
		else
			r = close_run(b);
	}
	return r ? r : close_run(b);
}

/* Return: -EINVAL: not all of its rows have rules, or it is too long. */
static int add_whole(struct build *b, const struct seam_cfi_func *func)
{
	const struct seam_sframe_builder_func to = {
		.start = address(b, func->start),
		.signal = func->signal,
		.pauth_b = func->key_b,
	};

	if (func->end - func->start > UINT32_MAX)
		return -EINVAL;
	return seam_sframe_builder_add(b->builder, &to, func->rows,
				       func->num_rows,
				       (uint32_t)(func->end - func->start));
}

static int on_func(void *ctx, const struct seam_cfi_func *func)
{
	struct build *b = ctx;
	bool is_inside =
		seam_segments_find(&b->segments, func->start, func->end);
	int r = -EINVAL;

	if (is_inside) {
		b->stats.code_bytes += func->end - func->start;
		note_entry(b, func->start, func->end);
		r = add_whole(b, func);
	}
	return r == -EINVAL ? add_spans(b, func, is_inside) : r;
}

static void on_bad(void *ctx, uint64_t func_start, uint64_t func_end,
		   const struct seam_errinfo *why)
{
	struct build *b = ctx;

	(void)why;
	b->stats.malformed++;
	if (func_end <= func_start)
		return;
	if (!seam_segments_find(&b->segments, func_start, func_end)) {
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
		const struct span span = {
			.start = rows[i].start,
			.end = rows[i].end,
			.func_start = rows[i].func_start,
		};

		if (!seam_segments_find(&b->segments, span.start, span.end))
			continue;
		note_entry(b, span.start, span.end);
		r = add_rule(b, &span, &rows[i].rule);
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
	struct span span = {.start = b->entry, .func_start = b->entry};
	const struct seam_elf_segment *segment;
	uint64_t limit = b->entry_limit;
	int r;

	if (!b->entry)
		return 0;
	segment = seam_segments_find(&b->segments, b->entry, b->entry + 1);
	if (!segment)
		return 0;
	if (limit - segment->svma > segment->filesz)
		limit = segment->svma + segment->filesz;
	span.end = seam_entry_next_symbol(b->elf);
	if (span.end > limit)
		span.end = limit;
	r = add_rule(b, &span, &outermost);
	return r ? r : close_run(b);
}

/* Of what compilers write a table is 1.1 to 1.2 times as long, and in files
 * large enough for this to matter an FDE takes 40 bytes and more. */
static void reserve(struct build *b)
{
	struct seam_elf_section eh;

	if (!seam_elf_section(b->elf, ".eh_frame", &eh))
		seam_sframe_builder_reserve(b->builder, eh.size + eh.size / 4,
					    eh.size / 40);
}

static int convert(struct build *b, struct seam_errinfo *reterr)
{
	const struct seam_cfi_taker taker = {.state = on_state,
					     .forget = on_forget,
					     .func = on_func,
					     .bad = on_bad,
					     .ctx = b};
	struct seam_cfi *cfi = NULL;
	int r = seam_cfi_open(b->elf, &cfi, reterr);

	if (r && (r != -ENOENT || !b->entry))
		return r;
	if (!r) {
		r = seam_cfi_take(cfi, &taker);
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
	r = seam_segments_init(&b->segments, elf);
	if (r || !is_kernel || !seam_entry_is_real(elf))
		return r;
	b->entry = seam_elf_entry(elf);
	b->entry_limit = b->entry + SEAM_TABLE_ENTRY_MAX;
	if (b->entry_limit < b->entry)
		b->entry = 0;
	return 0;
}

static int build(const struct seam_elf *elf, uint8_t version, bool is_kernel,
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
			version, arch ? arch->abi : SEAM_SFRAME_ABI_AMD64,
			is_kernel ? SEAM_SFRAME_ALLOW_ADD : 0, &b.builder);
	if (!r) {
		reserve(&b);
		r = convert(&b, reterr);
	}
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
	seam_segments_fini(&b.segments);
	free(b.no_rules);
	return r;
}

int seam_table_build(const struct seam_elf *elf, uint8_t **ret_bytes,
		     size_t *ret_size, struct seam_table_stats *ret_stats,
		     struct seam_errinfo *reterr)
{
	return build(elf, SEAM_SFRAME_V3, false, ret_bytes, ret_size, ret_stats,
		     reterr);
}

int seam_table_build_as(const struct seam_elf *elf, uint8_t version,
			uint8_t **ret_bytes, size_t *ret_size,
			struct seam_table_stats *ret_stats,
			struct seam_errinfo *reterr)
{
	return build(elf, version, false, ret_bytes, ret_size, ret_stats,
		     reterr);
}

int seam_table_build_kernel(const struct seam_elf *elf, uint8_t **ret_bytes,
			    size_t *ret_size,
			    struct seam_table_stats *ret_stats,
			    struct seam_errinfo *reterr)
{
	return build(elf, SEAM_SFRAME_V3, true, ret_bytes, ret_size, ret_stats,
		     reterr);
}
