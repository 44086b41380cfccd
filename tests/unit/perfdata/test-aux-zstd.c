// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: AUX data in compressed records, longer than each of them, are
 * passed over as they come: the record is counted once, what is behind them is
 * read, and a copy has all of it; where they end too early, that is told. */
#include "made.h"

#include <fcntl.h>

#include "perfdata/copy.h"
#include "perfdata/reader.h"

#define BEHIND (1 << 20)
#define N_WORDS (BEHIND / sizeof(uint64_t))
#define PIECE 4096 /* of what is compressed, to a record */

struct bytes {
	uint8_t *p;
	size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	b->p = realloc(b->p, b->n + n);
	assert_non_null(b->p);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

/* An AUXTRACE record that says it has size bytes behind it, of which BEHIND are
 * there; nothing makes them shorter. */
static void put_aux(struct bytes *b, uint64_t size)
{
	static uint64_t data[N_WORDS];
	const struct perf_event_header h = {PD_AUXTRACE, 0, 48};
	uint64_t words[5] = {size}, x = 1;

	put(b, &h, sizeof(h));
	put(b, words, sizeof(words));
	for (size_t i = 0; i < N_WORDS; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		data[i] = x;
	}
	put(b, data, sizeof(data));
}

/* What there is, as one stream in many records. */
static void compress_to(struct bytes *to, const struct bytes *from)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	uint8_t buf[65000];

	for (size_t at = 0; at < from->n; at += PIECE) {
		size_t n = from->n - at < PIECE ? from->n - at : PIECE;
		ZSTD_inBuffer in = {from->p + at, n, 0};
		ZSTD_outBuffer out = {buf, sizeof(buf), 0};
		struct perf_event_header h = {PD_COMPRESSED, 0, 0};

		assert_int_equal(
			ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush), 0);
		assert_int_equal(in.pos, n);
		h.size = (uint16_t)(sizeof(h) + out.pos);
		put(to, &h, sizeof(h));
		put(to, buf, out.pos);
	}
	ZSTD_freeCStream(z);
}

/* A pipe's recording, all that is no attribute compressed behind AUX data. */
static struct bytes make(uint64_t size)
{
	struct made m = make_pipe(0);
	struct bytes plain = {0}, all = {0};
	struct perf_event_header h;
	size_t attrs = m.begin;

	for (;; attrs += h.size) {
		memcpy(&h, m.p + attrs, sizeof(h));
		if (h.type != PD_HEADER_ATTR)
			break;
	}
	put(&all, m.p, attrs);
	put_aux(&plain, size);
	put(&plain, m.p + attrs, m.end - attrs);
	compress_to(&all, &plain);
	free(plain.p);
	free(m.p);
	return all;
}

static struct seam_pd_reader *open_bytes(const struct bytes *b)
{
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;

	assert_int_equal(seam_pd_open_mem(b->p, b->n, &r, &err), 0);
	return r;
}

static void test_read(void **state)
{
	struct bytes b = make(BEHIND);
	struct seam_pd_reader *r = open_bytes(&b);
	struct seam_pd_damage damage;

	(void)state;
	assert_int_equal(seam_pd_count(r, PD_AUXTRACE), 1);
	assert_int_equal(count_of(r, &damage), RECORDS);
	assert_false(damage.damaged);
	free(b.p);
}

static void test_early_end(void **state)
{
	struct bytes b = make(UINT64_MAX / 2);
	struct seam_pd_reader *r = open_bytes(&b);
	struct seam_pd_damage damage;

	(void)state;
	assert_int_equal(seam_pd_count(r, PD_AUXTRACE), 1);
	assert_int_equal(count_of(r, &damage), 0);
	assert_true(damage.damaged);
	assert_string_equal(damage.err.reason,
			    "the compressed data ends inside a record");
	free(b.p);
}

static int keep(void *ctx, const uint8_t *bytes, const struct seam_pd_rec *rec,
		struct seam_pd_bytes *ret)
{
	(void)ctx;
	(void)bytes;
	(void)rec;
	(void)ret;
	return SEAM_PD_KEEP;
}

static void test_copy(void **state)
{
	const struct seam_pd_editor editor = {.edit = keep};
	struct bytes b = make(BEHIND), copy, plain = {0};
	struct seam_pd_reader *r = open_bytes(&b);
	struct seam_pd_damage damage;
	char path[] = "seam-aux-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(seam_pd_copy(r, fd, &editor), 0);
	close(fd);
	seam_pd_close(r);
	copy.n = slurp_file(path, &copy.p);
	unlink(path);
	put_aux(&plain, BEHIND);
	assert_non_null(memmem(copy.p, copy.n, plain.p, plain.n));
	r = open_bytes(&copy);
	assert_int_equal(seam_pd_count(r, PD_AUXTRACE), 1);
	assert_int_equal(count_of(r, &damage), RECORDS);
	assert_false(damage.damaged);
	free(plain.p);
	free(copy.p);
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
