// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: compressed recordings that grow a lot are read whole, where they
 * may be such: copies of a stack that hardly changes. What grows more than any
 * can is refused where it does, as a file and as a pipe, with what was before.
 */
#include "made.h"

#include "perfdata/reader.h"

#define COPY 65520 /* bytes of a record, as of the largest stack copy */
#define A_FLUSH 16 /* of them */
#define STEADY ((128 << 20) / COPY)
#define BOMB (3ULL << 30) /* bytes */
#define PIECE (1 << 20)
#define ROOM (4 << 20)
#define RECORD_MAX 65000

/* A recording's attributes and records, and then what is compressed. */
struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes begin(void)
{
	struct made m = make_pipe(0);
	struct bytes b = {malloc(ROOM), m.end};

	assert_non_null(b.p);
	memcpy(b.p, m.p, m.end);
	free(m.p);
	return b;
}

/* In records, as perf does it. */
static void put_compressed(struct bytes *to, ZSTD_CStream *z,
			   const uint8_t *from, size_t size,
			   ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {from, size, 0};
	size_t left;

	do {
		struct perf_event_header h = {PD_COMPRESSED, 0, 0};
		ZSTD_outBuffer out = {to->p + to->n + sizeof(h), RECORD_MAX, 0};

		assert_true(to->n + sizeof(h) + RECORD_MAX <= ROOM);
		left = ZSTD_compressStream2(z, &out, &in, how);
		assert_false(ZSTD_isError(left));
		if (!out.pos)
			continue;
		h.size = (uint16_t)(sizeof(h) + out.pos);
		memcpy(to->p + to->n, &h, sizeof(h));
		to->n += h.size;
	} while (left || in.pos < size);
}

static struct bytes make_steady(void)
{
	const struct perf_event_header h = {60, 0, COPY}; /* not known */
	static uint8_t flush[A_FLUSH * COPY];
	ZSTD_CStream *z = ZSTD_createCStream();
	struct bytes b = begin();
	uint64_t x = 1;

	for (size_t i = 0; i < COPY; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		flush[i] = (uint8_t)(x >> 60);
	}
	for (size_t i = 0; i < A_FLUSH; i++) {
		memmove(flush + i * COPY, flush, COPY);
		memcpy(flush + i * COPY, &h, sizeof(h));
	}
	for (size_t i = 0; i < STEADY / A_FLUSH; i++) {
		for (size_t j = 0; j < A_FLUSH; j++)
			memcpy(flush + j * COPY + 64, &(uint64_t){i + j}, 8);
		put_compressed(&b, z, flush, sizeof(flush), ZSTD_e_flush);
	}
	ZSTD_freeCStream(z);
	return b;
}

static struct bytes make_bomb(void)
{
	const struct perf_event_header h = {PD_AUXTRACE, 0, 48};
	const uint64_t words[5] = {BOMB};
	static uint8_t zeros[PIECE];
	ZSTD_CStream *z = ZSTD_createCStream();
	struct bytes b = begin();

	put_compressed(&b, z, (const uint8_t *)&h, sizeof(h), ZSTD_e_continue);
	put_compressed(&b, z, (const uint8_t *)words, sizeof(words),
		       ZSTD_e_continue);
	for (uint64_t n = 0; n < BOMB; n += PIECE)
		put_compressed(&b, z, zeros, sizeof(zeros), ZSTD_e_continue);
	put_compressed(&b, z, zeros, 0, ZSTD_e_end);
	ZSTD_freeCStream(z);
	return b;
}

static struct seam_pd_reader *open_bytes(const struct bytes *b)
{
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;

	assert_int_equal(seam_pd_open_mem(b->p, b->n, &r, &err), 0);
	return r;
}

static void test_steady(void **state)
{
	struct bytes b = make_steady();
	struct seam_pd_reader *r = open_bytes(&b);
	struct seam_pd_damage damage;

	(void)state;
	print_message("# %zu times as large\n", STEADY * (size_t)COPY / b.n);
	assert_true(STEADY * (size_t)COPY / b.n > 512);
	assert_int_equal(seam_pd_count(r, 60), STEADY / A_FLUSH * A_FLUSH);
	assert_int_equal(count_of(r, &damage), RECORDS);
	assert_false(damage.damaged);
	free(b.p);
}

static void test_bomb(void **state)
{
	struct bytes b = make_bomb();
	struct seam_pd_reader *r = open_bytes(&b);
	struct seam_pd_damage damage;

	(void)state;
	print_message("# %zu times as large\n", (size_t)(BOMB / b.n));
	assert_int_equal(count_of(r, &damage), RECORDS);
	assert_true(damage.damaged);
	assert_non_null(strstr(damage.err.reason, "it decompresses to more"));
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
