// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/bucket.h"

#include <stdbool.h>
#include <string.h>

#define PAGE 256

/* A row of the bucket: one of the page's with its short, or several side by
 * side that are in the table's rows. */
struct span {
	uint32_t start; /* place */
	uint32_t first; /* of the page's rows */
	uint16_t word;
};

struct page {
	const uint32_t *rows;
	uint32_t n_rows, n;
	struct span spans[PAGE + 1]; /* and the page's end */
};

static bool is_in_rows(const struct span *s)
{
	return s->word == SEAM_SHORT_IN_ROWS;
}

/* Bytes of the span that a look into the bucket is enough for. */
static uint32_t served(const struct span *s)
{
	return is_in_rows(s) ? 0 : s[1].start - s->start;
}

static void read_page(struct page *p, const uint16_t *shorts)
{
	p->n = 0;
	for (uint32_t i = 0; i < p->n_rows; i++) {
		uint16_t word = shorts[p->rows[i] & 0xffff];

		if (p->n && word == SEAM_SHORT_IN_ROWS &&
		    is_in_rows(&p->spans[p->n - 1]))
			continue;
		p->spans[p->n++] = (struct span){p->rows[i] >> 16, i, word};
	}
	p->spans[p->n] = (struct span){.start = PAGE, .first = p->n_rows};
}

/* Joins span i and the next one, in rows. */
static void join(struct page *p, uint32_t i)
{
	p->spans[i].word = SEAM_SHORT_IN_ROWS;
	memmove(p->spans + i + 1, p->spans + i + 2,
		sizeof(*p->spans) * (p->n - i - 1));
	p->n--;
}

/* Makes one span less, of the two that serve the fewest bytes. */
static void join_cheapest(struct page *p)
{
	uint32_t best = 0, best_cost = UINT32_MAX;

	for (uint32_t i = 0; i + 1 < p->n; i++) {
		uint32_t cost = served(&p->spans[i]) + served(&p->spans[i + 1]);

		if (cost < best_cost) {
			best_cost = cost;
			best = i;
		}
	}
	join(p, best);
	if (best + 1 < p->n && is_in_rows(&p->spans[best + 1]))
		join(p, best);
	if (best && is_in_rows(&p->spans[best - 1]))
		join(p, best - 1);
}

static void put_u16(uint8_t *to, uint16_t word)
{
	memcpy(to, &word, sizeof(word));
}

static void write_bucket(const struct page *p, uint8_t *to)
{
	for (uint32_t i = 0; i < SEAM_BUCKET_ROWS; i++) {
		const struct span *s = &p->spans[i < p->n ? i : p->n - 1];

		if (i)
			to[i - 1] = i < p->n ? (uint8_t)s->start : PAGE - 1;
		put_u16(to + SEAM_BUCKET_SHORTS + 2UL * i, s->word);
	}
}

uint32_t seam_bucket_fill(uint32_t *rows, uint32_t n, const uint16_t *shorts,
			  uint32_t first_row, uint8_t *to)
{
	uint32_t left = 0;
	struct page p; /* large, and of its spans few are needed */

	p.rows = rows;
	p.n_rows = n;
	read_page(&p, shorts);
	while (p.n > SEAM_BUCKET_ROWS)
		join_cheapest(&p);
	write_bucket(&p, to);
	for (uint32_t i = 0; i < p.n; i++) {
		uint32_t size = p.spans[i + 1].first - p.spans[i].first;

		if (!is_in_rows(&p.spans[i]))
			continue;
		memmove(rows + left, rows + p.spans[i].first,
			sizeof(*rows) * size);
		left += size;
	}
	put_u16(to + SEAM_BUCKET_NUM_ROWS, (uint16_t)left);
	memcpy(to + SEAM_BUCKET_FIRST_ROW, &first_row, sizeof(first_row));
	return left;
}
