// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a recording cut off at any byte is read up to its last whole
 * record, and where and why it ends is said; damage and lies in any place
 * are met without harm. */
#include <errno.h>

#include "perfdata/format.h"
#include "recording.h"

static size_t make(int zstd, uint8_t **ret)
{
	struct seam_pd_writer *w;
	struct folder f;
	size_t size;

	folder_make(&f);
	w = open_writer(f.file, zstd);
	put_comm(w, 5, 100, "prog", true);
	put_map(w, 5, 110, 0x400000, 0x1000, "/bin/prog");
	for (uint64_t i = 1; i <= 20; i++) {
		put_sample(w, 5, 1000 * i, i);
		put_stack(w, 5, 1000 * i + 10, i, 0x400010, 1, 0);
		if (i % 5 == 0)
			assert_int_equal(seam_pd_flush(w), 0);
	}
	assert_int_equal(seam_pd_writer_close(w), 0);
	size = slurp_file(f.file, ret);
	folder_remove(&f);
	return size;
}

/* Reads a copy that ends where its allocation does. Return: records, or
 * -errno. */
static int64_t count(const uint8_t *data, size_t size,
		     struct seam_pd_damage *ret)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;
	int64_t n;
	int rc;

	assert_non_null(copy);
	memcpy(copy, data, size);
	rc = seam_pd_open_mem(copy, size, &r, &err);
	if (rc) {
		assert_true(err.reason[0] && err.where[0]);
		free(copy);
		return rc;
	}
	n = (int64_t)seam_pd_n_records(r);
	for (int64_t i = 0; i < n; i++)
		seam_pd_record(r, (size_t)i, &rec);
	*ret = *seam_pd_damage(r);
	seam_pd_close(r);
	free(copy);
	return n;
}

static void cut(int zstd)
{
	struct seam_pd_damage damage;
	struct pd_header h;
	uint8_t *data;
	size_t size = make(zstd, &data), data_end;
	int64_t last = 0, n;

	memcpy(&h, data, sizeof(h));
	data_end = h.data.offset + h.data.size;
	for (size_t len = 0; len <= size; len++) {
		n = count(data, len, &damage);
		if (len < h.attrs.offset + h.attrs.size) {
			assert_int_equal(n, -EBADMSG);
			continue;
		}
		assert_true(n >= last);
		assert_int_equal(damage.damaged, len < data_end);
		assert_true(damage.err.offset <= len);
		last = n;
	}
	assert_int_equal(last, 42);
	free(data);
}

static void test_cut_plain(void **state)
{
	(void)state;
	cut(0);
}

static void test_cut_zstd(void **state)
{
	(void)state;
	cut(1);
}

/* Each byte in turn says something else. What is read is bounded; under the
 * sanitizers a read out of bounds fails. */
static void test_damaged(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct seam_pd_damage damage;

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		uint8_t *data;
		size_t size = make(zstd, &data);

		for (size_t i = 0; i < size; i++) {
			uint8_t was = data[i];

			for (size_t v = 0; v < sizeof(values); v++) {
				data[i] = values[v];
				count(data, size, &damage);
			}
			data[i] = was;
		}
		free(data);
	}
}

/* A recorder of perf's kind that was killed never wrote the size. */
static void test_no_size(void **state)
{
	struct seam_pd_damage damage;
	struct pd_header h;
	uint8_t *data;
	size_t size;

	(void)state;
	size = make(0, &data);
	memcpy(&h, data, sizeof(h));
	size = h.data.offset + h.data.size;
	h.data.size = 0;
	memcpy(data, &h, sizeof(h));
	assert_int_equal(count(data, size, &damage), 42);
	assert_true(damage.damaged);
	free(data);
}

static void test_not_ours(void **state)
{
	static const char text[] = "this is a text that is no recording";
	uint64_t swapped[13] = {PD_MAGIC_SWAPPED};
	struct seam_pd_damage damage;

	(void)state;
	assert_int_equal(count((const uint8_t *)text, sizeof(text), &damage),
			 -EBADMSG);
	assert_int_equal(count((uint8_t *)swapped, sizeof(swapped), &damage),
			 -EBADMSG);
	assert_int_equal(count((const uint8_t *)"", 0, &damage), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_plain),
		cmocka_unit_test(test_cut_zstd),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
