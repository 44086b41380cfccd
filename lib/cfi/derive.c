// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Which functions to believe, and their rows.
 *
 * A function falls if its own walk failed; if another walk, even one that
 * failed later, saw one of its bytes differently; if code elsewhere jumps
 * into the middle of it; or if a function it calls falls.
 */
#include "cfi/derive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "cfi/decoder.h"
#include "cfi/derive-private.h"
#include "cfi/private.h"
#include "core/arch.h"
#include "elf/entry.h"

struct rows {
	struct seam_derived_row *v;
	size_t n, max;
};

struct seam_derived {
	struct rows rows, forked;
	struct seam_derived_stats stats;
};

bool seam_derive_has_fde(const struct seam_derive *d, uint64_t svma)
{
	return d->cfi && seam_cfi_range_find(d->cfi, svma);
}

/* Segments that lie over each other leave open what is there. */
static const struct seam_elf_segment *only_segment(const struct seam_elf *elf,
						   uint64_t svma)
{
	const struct seam_elf_segment *all, *found = NULL;
	size_t count;

	all = seam_elf_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		if (svma < all[i].svma || svma - all[i].svma >= all[i].memsz)
			continue;
		if (found)
			return NULL;
		found = &all[i];
	}
	return found;
}

bool seam_derive_hole(struct seam_derive *d, uint64_t svma,
		      struct seam_hole *ret)
{
	const struct seam_elf_segment *s = only_segment(d->elf, svma);
	size_t size;
	const uint8_t *bytes = seam_elf_bytes(d->elf, &size);
	uint64_t in, end, next;

	if (!s || !(s->flags & PF_X) || (s->flags & PF_W) ||
	    seam_derive_has_fde(d, svma))
		return false;
	in = svma - s->svma;
	if (in >= s->filesz || s->off >= size || in >= size - s->off)
		return false;
	end = s->filesz < size - s->off ? s->filesz : size - s->off;
	end += s->svma;
	if (d->cfi && seam_cfi_next(d->cfi, svma, &next) && next < end)
		end = next;
	*ret = (struct seam_hole){svma, end, bytes + s->off + in};
	return true;
}

const uint8_t *seam_derive_bytes(const struct seam_derive *d, uint64_t svma,
				 uint64_t size)
{
	const struct seam_elf_segment *s = only_segment(d->elf, svma);
	size_t file_size;
	const uint8_t *bytes = seam_elf_bytes(d->elf, &file_size);
	uint64_t in;

	if (!s || !(s->flags & PF_X))
		return NULL;
	in = svma - s->svma;
	if (in > s->filesz || size > s->filesz - in || s->off > file_size ||
	    in > file_size - s->off || size > file_size - s->off - in)
		return NULL;
	return bytes + s->off + in;
}

static uint32_t *entry_slot(const struct seam_derive *d, uint64_t entry)
{
	size_t i = (entry * 0x9e3779b97f4a7c15) >> 32;

	for (;; i++) {
		uint32_t *slot = &d->by_entry[i & (d->entry_slots - 1)];

		if (!*slot || d->funcs[*slot - 1].entry == entry)
			return slot;
	}
}

struct seam_derive_func *seam_derive_func_at(const struct seam_derive *d,
					     uint64_t entry)
{
	uint32_t *slot = entry_slot(d, entry);

	return *slot ? &d->funcs[*slot - 1] : NULL;
}

static int add(struct seam_derive *d, uint64_t entry, uint64_t limit)
{
	struct seam_hole hole;
	uint32_t *slot = entry_slot(d, entry);
	int err;

	if (*slot || !seam_derive_hole(d, entry, &hole))
		return 0;
	if (d->num_funcs == SEAM_DERIVE_MAX_FUNCS) {
		d->stats.unread++;
		return 0;
	}
	err = seam_grow(&d->funcs, d->num_funcs + 1, &d->max_funcs,
			sizeof(*d->funcs));
	if (err)
		return err;
	d->funcs[d->num_funcs++] =
		(struct seam_derive_func){.entry = entry, .limit = limit};
	*slot = (uint32_t)d->num_funcs;
	return 0;
}

int seam_derive_add(struct seam_derive *d, uint64_t entry, uint64_t limit)
{
	return seam_derive_is_plt(d, entry) ? 0 : add(d, entry, limit);
}

int seam_derive_add_stub(struct seam_derive *d, uint64_t entry)
{
	return add(d, entry, 0);
}

/* From the function *at on, which is then the next that comes. */
static int walk_all(struct seam_derive *d, size_t *at)
{
	int err = 0;

	/* Walks find more functions. */
	for (; !err && *at < d->num_funcs; (*at)++) {
		size_t i = *at;

		if (d->num_visits < SEAM_DERIVE_MAX_TOTAL) {
			err = d->funcs[i].is_tail
				      ? seam_derive_visit_tail(d, (uint32_t)i)
				      : seam_derive_walk(d, (uint32_t)i);
			continue;
		}
		d->funcs[i].failed = true;
		d->stats.unread++;
	}
	return err;
}

static int by_address(const void *va, const void *vb)
{
	const struct seam_visit *a = va, *b = vb;

	if (a->svma != b->svma)
		return a->svma < b->svma ? -1 : 1;
	return a->func < b->func ? -1 : a->func > b->func;
}

static bool agree(const struct seam_visit *a, const struct seam_visit *b)
{
	return a->len == b->len && a->height.height == b->height.height &&
	       a->height.saved == b->height.saved &&
	       a->height.fp == b->height.fp &&
	       a->height.frame == b->height.frame;
}

static void fail_all(struct seam_derive *d, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		d->funcs[d->visits[i].func].failed = true;
}

/* Visits of one address, [from, to), against each other and those around. */
static void check_visits(struct seam_derive *d)
{
	struct seam_visit *v = d->visits;
	uint64_t end, before = 0;
	size_t from, to;
	bool clash;

	for (from = 0; from < d->num_visits; from = to) {
		clash = v[from].svma < before;
		end = v[from].svma + v[from].len;
		for (to = from + 1; to < d->num_visits; to++) {
			if (v[to].svma != v[from].svma)
				break;
			clash |= !agree(&v[from], &v[to]);
			if (v[to].svma + v[to].len > end)
				end = v[to].svma + v[to].len;
		}
		if (to < d->num_visits && v[to].svma < end)
			clash = true;
		if (clash)
			fail_all(d, from, to);
		if (end > before)
			before = end;
	}
}

static int by_target(const void *va, const void *vb)
{
	const struct seam_derive_call *a = va, *b = vb;

	return a->target < b->target ? -1 : a->target > b->target;
}

static size_t first_call(const struct seam_derive *d, uint64_t target)
{
	return SEAM_SEARCH(i, d->num_calls, d->calls[i].target < target);
}

/* Adds those that failed only now to todo. Return: the new number of it. */
static size_t fail_callers(struct seam_derive *d, uint64_t target,
			   uint32_t *todo, size_t n)
{
	for (size_t i = first_call(d, target);
	     i < d->num_calls && d->calls[i].target == target; i++) {
		struct seam_derive_func *f = &d->funcs[d->calls[i].func];

		if (!f->failed)
			todo[n++] = d->calls[i].func;
		f->failed = true;
	}
	return n;
}

static int check_calls(struct seam_derive *d)
{
	uint32_t *todo = reallocarray(NULL, d->num_funcs + 1, sizeof(*todo));
	size_t n = 0;

	if (!todo)
		return -ENOMEM;
	if (d->num_calls)
		qsort(d->calls, d->num_calls, sizeof(*d->calls), by_target);
	for (size_t i = 0; i < d->num_funcs; i++)
		if (d->funcs[i].failed)
			todo[n++] = (uint32_t)i;
	for (size_t i = 0; i < d->num_calls; i++) {
		struct seam_derive_func *f = &d->funcs[d->calls[i].func];

		if (f->failed || seam_derive_func_at(d, d->calls[i].target))
			continue;
		f->failed = true;
		todo[n++] = d->calls[i].func;
	}
	while (n) {
		uint64_t entry = d->funcs[todo[--n]].entry;

		n = fail_callers(d, entry, todo, n);
	}
	free(todo);
	return 0;
}

static struct seam_rule rule_of(const struct seam_height *h)
{
	struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF,
			.reg = SEAM_AMD64_REG_SP,
			.off = h->height},
	};

	if (h->saved) {
		rule.fp.kind = SEAM_CFA_DEREF;
		rule.fp.off = -h->saved;
	}
	return rule;
}

static bool extends(const struct seam_derived_row *row,
		    const struct seam_derived_row *next)
{
	return row->end == next->start && row->func_start == next->func_start &&
	       row->func_end == next->func_end &&
	       row->rule.cfa.off == next->rule.cfa.off &&
	       row->rule.fp.off == next->rule.fp.off;
}

static int append(struct rows *rows, const struct seam_derived_row *row)
{
	int err =
		seam_grow(&rows->v, rows->n + 1, &rows->max, sizeof(*rows->v));

	if (!err)
		rows->v[rows->n++] = *row;
	return err;
}

/* What is behind a stub is never run; with it, there is no gap for which the
 * next one would be a function of its own. hole: the last one looked up. */
static void pad_stub(struct seam_derive *d, struct rows *rows,
		     struct seam_hole *hole, uint64_t start)
{
	struct seam_derived_row *last = rows->n ? &rows->v[rows->n - 1] : NULL;
	struct seam_plt piece;

	if (!last || start <= last->end ||
	    start - last->end >= SEAM_DERIVE_STUB ||
	    !seam_derive_plt(d, start, &piece) ||
	    last->func_start != piece.start || last->func_end != piece.end)
		return;
	if ((last->end < hole->start || last->end >= hole->end) &&
	    !seam_derive_hole(d, last->end, hole))
		return;
	if (start < hole->end)
		last->end = start;
}

static int add_row(struct rows *rows, const struct seam_derived_row *row)
{
	if (!rows->n || !extends(&rows->v[rows->n - 1], row))
		return append(rows, row);
	rows->v[rows->n - 1].end = row->end;
	return 0;
}

static struct seam_derived_row row_of(const struct seam_derive *d,
				      const struct seam_visit *v)
{
	const struct seam_derive_func *f = &d->funcs[v->func];
	struct seam_derived_row row = {
		.func_start = f->start,
		.func_end = f->end,
		.start = v->svma,
		.end = v->svma + v->len,
		.rule = rule_of(&v->height),
	};
	struct seam_plt piece;

	/* Each stub on its own would make thousands of functions. */
	if (seam_derive_plt(d, v->svma, &piece) && row.end <= piece.end) {
		row.func_start = piece.start;
		row.func_end = piece.end;
	}
	return row;
}

/* Functions that share code agree about it: the first one keeps it. */
static int make_rows(struct seam_derive *d, struct seam_derived *ret)
{
	struct seam_hole hole = {0};
	bool has_failed = false; /* something since the last row */
	uint64_t done = 0;

	for (size_t i = 0; i < d->num_visits; i++) {
		const struct seam_visit *v = &d->visits[i];
		struct seam_derived_row row;
		int err;

		has_failed |= d->funcs[v->func].failed;
		if (d->funcs[v->func].failed || v->svma < done)
			continue;
		row = row_of(d, v);
		if (!v->is_forked && !has_failed)
			pad_stub(d, &ret->rows, &hole, row.start);
		has_failed = false;
		done = row.end;
		err = add_row(v->is_forked ? &ret->forked : &ret->rows, &row);
		if (err)
			return err;
	}
	return 0;
}

static int by_start(const void *va, const void *vb)
{
	const struct seam_derived_row *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Whether one of the first n rows has anything of [start, end). */
static bool covers(const struct rows *rows, size_t n, uint64_t start,
		   uint64_t end)
{
	size_t i = SEAM_SEARCH(k, n, rows->v[k].end <= start);

	return i < n && rows->v[i].start < end;
}

/* Where a function was found to go through padding, it has a row already. */
static int add_padding(struct seam_derive *d, struct rows *rows)
{
	size_t found = rows->n;
	int err = 0;

	for (size_t i = 0; d->cfi && !err && i < d->cfi->num_ranges; i++) {
		const struct seam_cfi_range *range = &d->cfi->ranges[i];
		struct seam_height height;
		uint64_t end = seam_derive_padding(d, range, &height);

		if (!end || covers(rows, found, range->end, end))
			continue;
		err = append(rows, &(struct seam_derived_row){
					   .func_start = range->end,
					   .func_end = end,
					   .start = range->end,
					   .end = end,
					   .rule = rule_of(&height),
				   });
	}
	if (rows->n > found)
		qsort(rows->v, rows->n, sizeof(*rows->v), by_start);
	return err;
}

static void set_extents(struct seam_derive *d)
{
	for (size_t i = 0; i < d->num_visits; i++) {
		const struct seam_visit *v = &d->visits[i];
		struct seam_derive_func *f = &d->funcs[v->func];

		if (!f->end)
			f->start = v->svma;
		f->end = v->svma + v->len;
	}
}

static int derive(struct seam_derive *d, struct seam_derived *ret)
{
	int err = d->cfi ? seam_cfi_index(d->cfi) : 0;
	size_t walked = 0;

	seam_derive_find_plts(d);
	if (!err)
		err = seam_derive_entries(d);
	if (!err)
		err = seam_derive_tails(d);
	if (!err)
		err = walk_all(d, &walked);
	/* Last, for they may be very many. */
	if (!err)
		err = seam_derive_stubs(d);
	if (!err)
		err = walk_all(d, &walked);
	if (err)
		return err == -EOPNOTSUPP ? 0 : err;
	if (d->num_visits)
		qsort(d->visits, d->num_visits, sizeof(*d->visits), by_address);
	check_visits(d);
	set_extents(d);
	seam_derive_jumps(d);
	err = check_calls(d);
	if (!err)
		err = make_rows(d, ret);
	if (!err)
		err = add_padding(d, &ret->rows);
	d->stats.entries = d->num_funcs;
	for (size_t i = 0; i < d->num_funcs; i++)
		d->stats.given_up += d->funcs[i].failed;
	d->stats.functions = d->num_funcs - d->stats.given_up;
	ret->stats = d->stats;
	return err;
}

static void fini(struct seam_derive *d)
{
	seam_decoder_free(d->decoder);
	free(d->funcs);
	free(d->by_entry);
	free(d->visits);
	free(d->calls);
	free(d->walk);
}

int seam_derived_build(const struct seam_elf *elf, struct seam_cfi *cfi,
		       struct seam_derived **ret)
{
	struct seam_derive d = {.elf = elf,
				.cfi = cfi,
				.entry_slots = 2 * SEAM_DERIVE_MAX_FUNCS};
	struct seam_derived *derived;
	int err;

	if (seam_elf_machine(elf) != EM_X86_64 || !seam_elf_is_le(elf) ||
	    (seam_elf_type(elf) != ET_EXEC && seam_elf_type(elf) != ET_DYN))
		return -EINVAL;
	if (seam_entry_is_real(elf))
		d.start = seam_elf_entry(elf);
	derived = calloc(1, sizeof(*derived));
	d.by_entry = calloc(d.entry_slots, sizeof(*d.by_entry));
	err = derived && d.by_entry ? seam_decoder_new(&d.decoder) : -ENOMEM;
	if (!err)
		err = derive(&d, derived);
	fini(&d);
	if (err)
		seam_derived_free(derived);
	else
		*ret = derived;
	return err;
}

struct seam_derived *seam_derived_free(struct seam_derived *derived)
{
	if (derived) {
		free(derived->rows.v);
		free(derived->forked.v);
	}
	free(derived);
	return NULL;
}

static bool find(const struct rows *rows, uint64_t svma,
		 struct seam_rule *ret_rule)
{
	size_t at = SEAM_SEARCH(i, rows->n, rows->v[i].end <= svma);

	if (at == rows->n || svma < rows->v[at].start)
		return false;
	*ret_rule = rows->v[at].rule;
	return true;
}

bool seam_derived_find(const struct seam_derived *derived, uint64_t svma,
		       struct seam_rule *ret_rule)
{
	return derived && find(&derived->rows, svma, ret_rule);
}

bool seam_derived_find_forked(const struct seam_derived *derived, uint64_t svma,
			      struct seam_rule *ret_rule)
{
	return derived && find(&derived->forked, svma, ret_rule);
}

const struct seam_derived_row *
seam_derived_rows(const struct seam_derived *derived, size_t *ret_count)
{
	*ret_count = derived->rows.n;
	return derived->rows.v;
}

const struct seam_derived_stats *
seam_derived_stats(const struct seam_derived *derived)
{
	return &derived->stats;
}
