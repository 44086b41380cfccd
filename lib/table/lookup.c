// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/lookup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/index.h"
#include "table/bucket.h"

/* At most so many pages of 256 bytes, or pages grow; but no table is so
 * small that FEW_PAGES would matter. */
#define PAGES_PER_FUNC 4
#define FEW_PAGES 64

#define RECENT 256 /* rules */

struct build {
	const struct seam_sframe *sf;
	uint64_t max; /* bytes */
	uint32_t n_funcs; /* below 4 GiB */
	struct seam_lookup l;
	uint64_t pos; /* rows and pages are complete up to here */
	uint32_t *pages, *rows;
	size_t n_rows, max_rows;

	/* Rules met so far, as rows number them for now. */
	struct met {
		struct seam_rule rule;
		uint64_t packed;
		uint32_t number;
	} * rules;
	size_t n_rules, max_rules;
	struct seam_index index;
	uint32_t recent[RECENT]; /* their numbers, where each falls; 0: none */
	uint64_t left_out;
};

/* The last function that has numbers for its addresses. */
static int last_func(struct build *b, struct seam_sframe_func *ret)
{
	for (b->n_funcs = b->sf->num_fdes; b->n_funcs; b->n_funcs--) {
		if (seam_sframe_func_at(b->sf, b->n_funcs - 1, ret))
			return -EINVAL;
		if (ret->start + ret->size <= UINT32_MAX)
			return 0;
		b->left_out += ret->num_rows;
	}
	return -EINVAL;
}

/* Chooses the pages, as small as can be. */
static int plan_pages(struct build *b)
{
	struct seam_sframe_func last;
	uint64_t first, end, most;

	/* Rules are packed by the numbers of amd64's registers. */
	if (b->sf->arch != SEAM_ARCH_AMD64 || last_func(b, &last))
		return -EINVAL;
	first = seam_sframe_start(b->sf, 0);
	end = last.start + last.size;
	if (first > last.start)
		return -EINVAL;
	most = (uint64_t)b->n_funcs * PAGES_PER_FUNC + FEW_PAGES;
	b->l.shift = SEAM_LOOKUP_MIN_SHIFT;
	while (b->l.shift < SEAM_LOOKUP_MAX_SHIFT &&
	       ((end - first) >> b->l.shift) + 2 > most)
		b->l.shift++;
	b->l.first_page = (uint32_t)(first >> b->l.shift);
	b->l.num_pages = (uint32_t)((end >> b->l.shift) - b->l.first_page + 1);
	b->pos = (uint64_t)b->l.first_page << b->l.shift;
	b->pages = calloc(b->l.num_pages + 1UL, sizeof(*b->pages));
	return b->pages ? 0 : -ENOMEM;
}

static bool is_rule(const struct build *b, uint32_t i,
		    const struct seam_rule *rule)
{
	return !memcmp(&b->rules[i].rule, rule, sizeof(*rule));
}

/* Most rows have one of few rules, which differ in these. */
static uint32_t *recent_of(struct build *b, const struct seam_rule *rule)
{
	uint32_t mixed = (uint32_t)rule->cfa.off * 5 +
			 (uint32_t)rule->fp.off * 3 + rule->cfa.reg * 7U;

	return &b->recent[mixed / 8 % RECENT];
}

static int find_rule(struct build *b, const struct seam_rule *rule,
		     uint32_t *ret)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, rule, sizeof(*rule));
	uint32_t i;
	int r;

	for (size_t at = 0; seam_index_next(&b->index, hash, &at, &i);) {
		if (is_rule(b, i, rule)) {
			*ret = i + 1;
			return 0;
		}
	}
	*ret = 0;
	if (b->n_rules == SEAM_LOOKUP_MAX_RULES) {
		b->left_out++;
		return 0;
	}
	r = seam_grow(&b->rules, b->n_rules + 1, &b->max_rules,
		      sizeof(*b->rules));
	if (!r)
		r = seam_index_add(&b->index, hash, b->n_rules);
	if (r)
		return r;
	*ret = (uint32_t)b->n_rules + 1;
	b->rules[b->n_rules++] = (struct met){
		.rule = *rule,
		.packed = seam_rule_pack(rule),
		.number = *ret,
	};
	return 0;
}

/* A rule's number, from 1; 0: there are too many. */
static int rule_number(struct build *b, const struct seam_rule *rule,
		       uint32_t *ret)
{
	uint32_t *recent = recent_of(b, rule);
	int r = 0;

	*ret = *recent;
	if (!*ret || !is_rule(b, *ret - 1, rule)) {
		r = find_rule(b, rule, ret);
		*recent = r ? 0 : *ret;
	}
	return r;
}

static int add_row(struct build *b, uint64_t pc, uint32_t number)
{
	uint64_t off = pc & ((1ULL << b->l.shift) - 1);
	uint64_t page = (pc >> b->l.shift) - b->l.first_page;
	int r = seam_grow(&b->rows, b->n_rows + 1, &b->max_rows,
			  sizeof(*b->rows));

	if (r)
		return r;
	if (page >= b->l.num_pages)
		return -EINVAL;
	if (!off)
		b->pages[page] = (uint32_t)b->n_rows;
	else if ((b->rows[b->n_rows - 1] & 0xffff) == number)
		return 0; /* as before */
	if (b->n_rows * sizeof(*b->rows) >= b->max || b->n_rows == UINT32_MAX)
		return -E2BIG;
	b->rows[b->n_rows++] = (uint32_t)off << 16 | number;
	return 0;
}

/* From pos to end one rule holds: its first row, and one for each page. */
static int add_span(struct build *b, uint64_t end, uint32_t number)
{
	uint64_t size = 1ULL << b->l.shift;
	int r = 0;

	while (!r && b->pos < end) {
		uint64_t next = (b->pos & ~(size - 1)) + size;

		r = add_row(b, b->pos, number);
		b->pos = next < end ? next : end;
	}
	return r;
}

/* What holds in all of a function that has no rows. */
static int add_empty(struct build *b, const struct seam_sframe_func *func,
		     uint64_t end)
{
	struct seam_rule rule;
	uint32_t number = 0;
	int r = 0;

	if (!seam_sframe_empty_rule(b->sf, func, &rule))
		r = rule_number(b, &rule, &number);
	return r ? r : add_span(b, end, number);
}

/* The rows of a function from pc on, until end. */
static int add_rows(struct build *b, const struct seam_sframe_func *func,
		    uint64_t pc, uint64_t end)
{
	struct seam_sframe_row row = {.next = func->rows};
	uint32_t number = 0;
	int r = 0;

	if (!func->num_rows)
		return add_empty(b, func, end);
	for (uint32_t i = 0; i < func->num_rows && !r; i++) {
		struct seam_rule rule;
		uint64_t start;

		if (seam_sframe_row_at(b->sf, func, row.next, &row) ||
		    seam_sframe_rule(b->sf, func, &row, &rule))
			return -EINVAL;
		start = pc + row.start;
		r = add_span(b, start < end ? start : end, number);
		if (!r)
			r = rule_number(b, &rule, &number);
	}
	return r ? r : add_span(b, end, number);
}

/* Where the next function behind func, number i, starts. Empty ones may start
 * where it does. */
static uint64_t next_start(const struct build *b, uint32_t i,
			   const struct seam_sframe_func *func)
{
	uint64_t start;

	while (++i < b->n_funcs) {
		start = seam_sframe_start(b->sf, i);
		if (start != func->start)
			return start;
	}
	return UINT64_MAX;
}

/* Function i, as far as it goes before the next one starts. */
static int add_func(struct build *b, uint32_t i)
{
	struct seam_sframe_func func;
	uint64_t pc, end, block;
	int r;

	if (seam_sframe_func_at(b->sf, i, &func) || func.start < b->pos)
		return -EINVAL;
	if (!func.size)
		return 0;
	end = next_start(b, i, &func);
	if (end > func.start + func.size)
		end = func.start + func.size;
	block = func.size;
	if (func.info & SEAM_SFRAME_INFO_PCMASK)
		block = func.rep_size;
	if (!block)
		return -EINVAL;
	r = add_span(b, func.start, 0);
	for (pc = func.start; pc < end && !r; pc += block)
		r = add_rows(b, &func, pc, end - pc > block ? pc + block : end);
	return r;
}

static uint64_t value_word(const struct seam_value *v)
{
	return (uint32_t)v->off | (uint64_t)v->kind << 32 |
	       (uint64_t)v->reg << 40;
}

static void put_u64(uint8_t *to, uint64_t word)
{
	memcpy(to, &word, sizeof(word));
}

static void put_wide(uint8_t *to, const struct seam_rule *rule)
{
	put_u64(to, value_word(&rule->cfa));
	put_u64(to + 8, value_word(&rule->ra));
	put_u64(to + 16, value_word(&rule->fp));
	put_u64(to + 24, (uint32_t)rule->cfa_add | (uint64_t)rule->flags << 32);
}

/* Those that fit into a word first. */
static int compare_met(const void *a, const void *b)
{
	const struct met *l = a, *r = b;

	if (!l->packed != !r->packed)
		return !l->packed - !r->packed;
	return l->number < r->number ? -1 : 1;
}

/* Sorts the rules, and gives rows their final numbers. */
static int number_rules(struct build *b)
{
	uint32_t *numbers = calloc(b->n_rules + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	if (b->n_rules)
		qsort(b->rules, b->n_rules, sizeof(*b->rules), compare_met);
	for (size_t i = 0; i < b->n_rules; i++) {
		b->l.num_rules += b->rules[i].packed != 0;
		numbers[b->rules[i].number] = (uint32_t)i + 1;
	}
	b->l.num_wide = (uint32_t)b->n_rules - b->l.num_rules;
	for (size_t i = 0; i < b->n_rows; i++)
		b->rows[i] = (b->rows[i] & 0xffff0000) |
			     numbers[b->rows[i] & 0xffff];
	free(numbers);
	return 0;
}

/* The shorts of all rules, by their final numbers; the caller frees them. */
static uint16_t *make_shorts(const struct build *b)
{
	uint16_t *shorts = calloc(b->n_rules + 1, sizeof(*shorts));

	if (!shorts)
		return NULL;
	shorts[0] = SEAM_SHORT_NONE;
	for (size_t i = 0; i < b->n_rules; i++)
		shorts[i + 1] = (uint16_t)seam_short_pack(b->rules[i].packed);
	return shorts;
}

/* What has a place in its page's bucket goes there, so that only the other
 * rows stay. */
static int fill_buckets(struct build *b, uint8_t **ret)
{
	uint8_t *to = calloc(b->l.num_pages, SEAM_BUCKET_SIZE);
	uint16_t *shorts = make_shorts(b);
	uint32_t n = 0;

	*ret = to;
	if (!to || !shorts) {
		free(shorts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->l.num_pages; i++, to += SEAM_BUCKET_SIZE) {
		uint32_t *rows = b->rows + b->pages[i];
		uint32_t left = seam_bucket_fill(
			rows, b->pages[i + 1] - b->pages[i], shorts, n, to);

		memmove(b->rows + n, rows, sizeof(*rows) * left);
		n += left;
	}
	b->n_rows = n;
	free(shorts);
	return 0;
}

static void write_parts(const struct build *b, const uint8_t *pages,
			uint8_t *to)
{
	for (uint32_t i = 0; i < b->l.num_rules; i++)
		put_u64(to + 8UL * i, b->rules[i].packed);
	for (uint32_t i = 0; i < b->l.num_wide; i++)
		put_wide(to + b->l.wide + (size_t)SEAM_LOOKUP_WIDE_SIZE * i,
			 &b->rules[b->l.num_rules + i].rule);
	memcpy(to + b->l.pages, pages, b->l.rows - b->l.pages);
	memcpy(to + b->l.rows, b->rows, 4 * b->n_rows);
}

static int finish(struct build *b, uint8_t **ret_bytes)
{
	uint64_t end = ((uint64_t)b->l.first_page + b->l.num_pages)
		       << b->l.shift;
	uint8_t *buckets = NULL;
	int r = add_span(b, end, 0);

	if (!r)
		r = number_rules(b);
	b->pages[b->l.num_pages] = (uint32_t)b->n_rows;
	if (!r && seam_lookup_has_buckets(&b->l))
		r = fill_buckets(b, &buckets);
	b->l.num_rows = (uint32_t)b->n_rows;
	if (!r && (seam_lookup_place(&b->l) > b->max || b->max > UINT32_MAX))
		r = -E2BIG;
	if (!r)
		r = (*ret_bytes = calloc(1, b->l.size)) ? 0 : -ENOMEM;
	if (!r)
		write_parts(b, buckets ? buckets : (uint8_t *)b->pages,
			    *ret_bytes);
	free(buckets);
	return r;
}

int seam_lookup_build(const struct seam_sframe *sf, uint64_t max,
		      struct seam_lookup *ret, uint8_t **ret_bytes,
		      uint64_t *ret_left_out)
{
	struct build b = {.sf = sf, .max = max};
	int r = plan_pages(&b);

	for (uint32_t i = 0; i < b.n_funcs && !r; i++)
		r = add_func(&b, i);
	if (!r)
		r = finish(&b, ret_bytes);
	*ret = b.l;
	if (ret_left_out)
		*ret_left_out = b.left_out;
	free(b.pages);
	free(b.rows);
	free(b.rules);
	seam_index_fini(&b.index);
	return r;
}
