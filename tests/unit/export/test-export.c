// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: equal things are kept once, samples are counted by how whole
 * they are, a failed write is told, and memory may run out wherever it is
 * wanted. */
#include <errno.h>

#include "export/intern.h"
#include "export/model.h"
#include "made.h"

/* Behind those that have a name of its own for something else. */
#include "tests/unit/oom-wrap.h"

static void equal_things(void **state)
{
	static const char *const texts[] = {"", "a", "b", "aa", "a", ""};
	static const int64_t numbers[] = {0, 1, 2, 3, 1, 0};
	struct seam_intern in = {0};
	struct seam_texts s = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(seam_texts_add(&s, texts[i]), numbers[i]);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(seam_texts_get(&s, (size_t)numbers[i]),
				    texts[i]);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(seam_intern(&in, &i, sizeof(i)), i);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(seam_intern(&in, &i, sizeof(i)), i);
	assert_int_equal(in.n, 1000);
	seam_intern_fini(&in);
	seam_texts_fini(&s);
}

static struct seam_export *added(enum seam_export_format format,
				 struct seam_pd_reader *r)
{
	struct seam_export *e;

	assert_int_equal(seam_export_new(format, r, &e), 0);
	assert_int_equal(made_add(e, r), 0);
	return e;
}

static void counted(void **state)
{
	static struct image m;
	struct seam_pd_reader *r = made_reader(&m);

	(void)state;
	for (int f = 0; f < SEAM_EXPORT_FORMATS; f++) {
		struct seam_export *e = added((enum seam_export_format)f, r);
		const struct seam_export_counts *c = seam_export_counts(e);

		assert_int_equal(c->samples, MADE_SAMPLES);
		assert_int_equal(c->whole, 2);
		assert_int_equal(c->no_user, 1);
		assert_int_equal(c->end[0], 1);
		assert_int_equal(c->end[SEAM_NO_TABLE], 2);
		assert_int_equal(c->end[SEAM_LOST], 1);
		assert_true(f == SEAM_EXPORT_FOLDED || c->cut_names);
		seam_export_free(e);
	}
	seam_pd_close(r);
}

struct sink {
	size_t len, room;
};

static int fill(void *ctx, const void *bytes, size_t len)
{
	struct sink *s = ctx;

	(void)bytes;
	if (len > s->room - s->len)
		return -ENOSPC;
	s->len += len;
	return 0;
}

static void failed_write(void **state)
{
	static struct image m;
	struct seam_pd_reader *r = made_reader(&m);

	(void)state;
	for (int f = 0; f < SEAM_EXPORT_FORMATS; f++) {
		struct seam_export *e = added((enum seam_export_format)f, r);
		struct sink s = {.room = SIZE_MAX};

		assert_int_equal(seam_export_finish(e, "x", fill, &s), 0);
		seam_export_free(e);
		e = added((enum seam_export_format)f, r);
		s = (struct sink){.room = s.len - 1};
		assert_int_equal(seam_export_finish(e, "x", fill, &s), -ENOSPC);
		seam_export_free(e);
	}
	seam_pd_close(r);
}

static int all(enum seam_export_format format, struct seam_pd_reader *r)
{
	struct sink s = {.room = SIZE_MAX};
	struct seam_export *e;
	int rc = seam_export_new(format, r, &e);

	if (rc)
		return rc;
	rc = made_add(e, r);
	if (!rc)
		rc = seam_export_finish(e, "x", fill, &s);
	seam_export_free(e);
	return rc;
}

static void running_out(void **state)
{
	static struct image m;
	struct seam_pd_reader *r = made_reader(&m);

	(void)state;
	for (int f = 0; f < SEAM_EXPORT_FORMATS; f++) {
		int rc = -ENOMEM;
		long n;

		for (n = 0; rc; n++) {
			left = n;
			rc = all((enum seam_export_format)f, r);
			left = -1;
			if (rc)
				assert_int_equal(rc, -ENOMEM);
		}
		printf("# format %d: %ld places\n", f, n);
		assert_true(n > 10);
	}
	seam_pd_close(r);
}

/* Of two processes with a file in different places the addresses are one. */
static void shared(void **state)
{
	static struct image m;
	struct seam_pd_reader *r = made_reader(&m);
	struct seam_model model;
	const struct seam_model_module *v;
	int64_t leaf[2];

	(void)state;
	assert_int_equal(seam_model_init(&model, r), 0);
	for (int i = 0; i < 2; i++) {
		const struct seam_stitched s = {.frames = &made_frames[5 + i],
						.n_frames = 1};
		const struct seam_text t = {.sample = &s,
					    .names = &made_names[5 + i],
					    .opts = {.max_stack = 9}};

		leaf[i] = seam_model_stack(&model, 0, &t);
		assert_true(leaf[i] > 0);
	}
	assert_int_equal(leaf[0], leaf[1]);
	assert_int_equal(model.modules.n, 2);
	v = &SEAM_MODEL_GET(module, model.modules, 1);
	assert_int_equal(model.module_start[1], 0x400000);
	assert_string_equal(seam_model_string(&model, v->path),
			    "/bin/a\"b\\c;\xef\xbf\xbd");
	assert_string_equal(seam_model_string(&model, v->build_id),
			    "abcd010203000000000000000000000000000000");
	assert_int_equal(model.cut_names, 1);
	seam_model_fini(&model);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_things), cmocka_unit_test(counted),
		cmocka_unit_test(failed_write), cmocka_unit_test(running_out),
		cmocka_unit_test(shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
