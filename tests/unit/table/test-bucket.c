// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a bucket gives at each of its 256 bytes the short of the row
 * that holds there, or says that the row stands elsewhere, and then it does;
 * the rows that cover most bytes keep their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../random.h"
#include "table/bucket.h"

#define PAGE 256
#define RULES 64

/* Rule n's short, by number; the last four do not fit. */
static void make_shorts(uint16_t shorts[RULES])
{
	shorts[0] = SEAM_SHORT_NONE;
	for (uint32_t i = 1; i < RULES; i++)
		shorts[i] = i < RULES - 4 ? SEAM_SHORT_VALID | i
					  : SEAM_SHORT_IN_ROWS;
}

struct filled {
	uint32_t rows[PAGE], n; /* of the page */
	uint32_t left[PAGE], n_left; /* those outside */
	uint16_t shorts[RULES];
	uint8_t bucket[SEAM_BUCKET_SIZE];
};

static void fill(struct filled *f)
{
	memset(f->bucket, 0, sizeof(f->bucket));
	make_shorts(f->shorts);
	memcpy(f->left, f->rows, sizeof(f->rows));
	f->n_left = seam_bucket_fill(f->left, f->n, f->shorts, 7, f->bucket);
	assert_true(f->n_left <= f->n);
}

/* The last of n rows at or before off, one after the other. */
static uint32_t rule_at(const uint32_t *rows, uint32_t n, uint32_t off)
{
	uint32_t number = RULES;

	for (uint32_t i = 0; i < n && rows[i] >> 16 <= off; i++)
		number = rows[i] & 0xffff;
	return number;
}

/* Return: bytes for which the bucket is enough. */
static uint32_t check(const struct filled *f)
{
	uint32_t served = 0, first;

	for (uint32_t off = 0; off < PAGE; off++) {
		uint32_t number = rule_at(f->rows, f->n, off);
		uint32_t word = seam_bucket_find(f->bucket, off);

		if (word == SEAM_SHORT_IN_ROWS) {
			assert_int_equal(rule_at(f->left, f->n_left, off),
					 number);
			continue;
		}
		assert_int_equal(word, f->shorts[number]);
		served++;
	}
	assert_int_equal(seam_load_u16(f->bucket + SEAM_BUCKET_NUM_ROWS),
			 f->n_left);
	first = seam_load_u32(f->bucket + SEAM_BUCKET_FIRST_ROW);
	assert_int_equal(first, 7);
	return served;
}

static void few_rows(void **state)
{
	struct filled f = {.n = 0};

	(void)state;
	for (uint32_t n = 1; n <= SEAM_BUCKET_ROWS; n++) {
		for (uint32_t i = 0; i < n; i++)
			f.rows[i] = (i * 31) << 16 | (i + 1);
		f.n = n;
		fill(&f);
		assert_int_equal(f.n_left, 0);
		assert_int_equal(check(&f), PAGE);
	}
}

/* A place may be the page's last byte, which fills up a bucket, too. */
static void last_byte(void **state)
{
	struct filled f = {.rows = {1, 254 << 16 | 2, 255 << 16 | 3}, .n = 3};

	(void)state;
	fill(&f);
	assert_int_equal(check(&f), PAGE);
}

static void rule_that_does_not_fit(void **state)
{
	struct filled f = {.rows = {1, 16 << 16 | (RULES - 1),
				    20 << 16 | (RULES - 2), 30 << 16 | 2},
			   .n = 4};

	(void)state;
	fill(&f);
	assert_int_equal(f.n_left, 2);
	assert_int_equal(check(&f), PAGE - 14);
}

/* Eight pushes and a body, twice: the bodies are served. */
static void prologues(void **state)
{
	struct filled f = {.n = 0};

	(void)state;
	for (uint32_t half = 0; half < 2; half++)
		for (uint32_t i = 0; i < 9; i++)
			f.rows[f.n++] = (half * 128 + 2 * i) << 16 | (i + 1);
	fill(&f);
	assert_true(f.n_left > 0);
	assert_true(check(&f) >= 2 * 112);
}

static void every_byte(void **state)
{
	struct filled f = {.n = PAGE};

	(void)state;
	for (uint32_t i = 0; i < PAGE; i++)
		f.rows[i] = i << 16 | (1 + i % 5);
	fill(&f);
	assert_true(check(&f) >= SEAM_BUCKET_ROWS / 2);
}

static void chance(void **state)
{
	struct random random = {1};

	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint32_t gap = 1 + next(&random, 60);
		struct filled f = {.n = 0};
		uint32_t off = 0;

		for (; off < PAGE; off += 1 + next(&random, gap))
			f.rows[f.n++] = off << 16 | next(&random, RULES);
		fill(&f);
		check(&f);
	}
}

/* Against a loop. */
static void count(void **state)
{
	struct random random = {3};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint64_t places = 0;
		uint32_t off = next(&random, PAGE), n = 0;

		for (int k = 0; k < 64; k += 8)
			places |= (uint64_t)next(&random, PAGE) << k;
		for (int k = 0; k < 64; k += 8)
			n += (places >> k & 0xff) <= off;
		assert_int_equal(seam_bucket_count(places, off), n);
	}
	assert_int_equal(seam_bucket_count(UINT64_MAX, 0xff), 8);
	assert_int_equal(seam_bucket_count(UINT64_MAX, 0xfe), 0);
	assert_int_equal(seam_bucket_count(0, 0), 8);
}

static uint64_t packed(uint64_t flags, uint32_t cfa, int32_t fp)
{
	return SEAM_PACKED_VALID | flags | cfa |
	       (flags & SEAM_PACKED_FP_SAVED ? (uint64_t)(uint16_t)fp << 32
					     : 0);
}

static void fits(uint64_t rule)
{
	uint32_t s = seam_short_pack(rule);

	assert_int_not_equal(s, SEAM_SHORT_IN_ROWS);
	assert_int_not_equal(s, SEAM_SHORT_NONE);
	assert_true(s <= UINT16_MAX);
	assert_true(seam_short_unpack(s) == rule);
}

static void shorts(void **state)
{
	static const uint64_t bases[] = {0, SEAM_PACKED_SP};
	const uint64_t saved = SEAM_PACKED_FP_SAVED;

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (uint32_t cfa = 0; cfa <= 8 * SEAM_SHORT_CFA_MAX; cfa += 8)
			fits(packed(bases[i], cfa, 0));
		for (int32_t fp = -16; fp >= -64; fp -= 8)
			fits(packed(bases[i] | saved, 64, fp));
	}
	assert_int_equal(seam_short_pack(packed(0, 4, 0)), SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(packed(0, 8192, 0)),
			 SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(packed(saved, 64, -8)),
			 SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(packed(saved, 64, -72)),
			 SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(packed(saved, 64, -20)),
			 SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(packed(saved, 64, 16)),
			 SEAM_SHORT_IN_ROWS);
	assert_int_equal(
		seam_short_pack(SEAM_PACKED_VALID | SEAM_PACKED_OUTERMOST),
		SEAM_SHORT_IN_ROWS);
	assert_int_equal(seam_short_pack(0), SEAM_SHORT_IN_ROWS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_rows),
		cmocka_unit_test(last_byte),
		cmocka_unit_test(rule_that_does_not_fit),
		cmocka_unit_test(prologues),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(chance),
		cmocka_unit_test(count),
		cmocka_unit_test(shorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
