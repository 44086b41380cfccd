// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: samples that are too many to be kept in memory are in a file of
 * TMPDIR, and every format is the same byte for byte. */
#include "base/spill.h"
#include "export/private.h"
#include "made.h"

#define ROUNDS 300

struct bytes {
	uint8_t *p;
	size_t n;
};

static int take(void *ctx, const void *p, size_t n)
{
	struct bytes *b = ctx;

	b->p = realloc(b->p, b->n + n + 1);
	assert_non_null(b->p);
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

static struct bytes export(enum seam_export_format format, bool *ret_in_file)
{
	static struct image m;
	struct seam_pd_reader *r;
	struct bytes b = {0};
	struct seam_export *e;

	m.n = 0;
	r = made_reader(&m);
	assert_int_equal(seam_export_new(format, r, &e), 0);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(made_add(e, r), 0);
	*ret_in_file = e->model.sample_room.mapped;
	assert_int_equal(seam_export_finish(e, "made", take, &b), 0);
	seam_export_free(e);
	seam_pd_close(r);
	return b;
}

static void test_spill(void **state)
{
	const size_t from = seam_spill_from;

	(void)state;
	for (int f = SEAM_EXPORT_SPEEDSCOPE; f < SEAM_EXPORT_FORMATS; f++) {
		struct bytes in_memory, in_file;
		bool is_in_file;

		seam_spill_from = from;
		in_memory = export((enum seam_export_format)f, &is_in_file);
		assert_false(is_in_file);
		seam_spill_from = 1;
		in_file = export((enum seam_export_format)f, &is_in_file);
		assert_true(is_in_file);
		assert_true(in_file.n > 1000 || f == SEAM_EXPORT_PPROF);
		assert_int_equal(in_file.n, in_memory.n);
		assert_memory_equal(in_file.p, in_memory.p, in_file.n);
		free(in_memory.p);
		free(in_file.p);
	}
	seam_spill_from = from;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
