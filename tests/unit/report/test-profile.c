// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a call tree that was made in parts, however small, is the one
 * that is made at once, as is the table; light branches need not be there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/err.h"
#include "perfdata/reader.h"
#include "report/render.h"

#define SAMPLES 4000
#define DEEPEST 12

static const char *const names[] = {"a", "b", "c", "d", "e"};

static uint32_t draw(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 16) % n;
}

/* Some incomplete, of two commands, of any depth. */
static void add_all(struct seam_profile *p)
{
	struct seam_name stack[DEEPEST] = {0};
	struct seam_pd_rec rec = {0};
	struct seam_stitched s = {.rec = &rec};
	struct seam_text t = {.sample = &s, .names = stack};
	uint32_t state = 1;

	t.opts.max_stack = DEEPEST;
	for (int i = 0; i < SAMPLES; i++) {
		s.n_frames = draw(&state, DEEPEST + 1);
		s.comm = draw(&state, 2) ? "one" : "other";
		s.end = draw(&state, 4) ? SEAM_OUTERMOST : SEAM_NO_TABLE;
		rec.sample.period = draw(&state, 5);
		for (size_t j = 0; j < s.n_frames; j++) {
			uint32_t name = draw(&state, 5);

			stack[j] = (struct seam_name){
				.sym = names[name],
				.dso = "/file",
				.number = name + 1,
				.kernel = name == 4,
			};
		}
		assert_int_equal(seam_profile_add(p, &t), 0);
	}
}

/* What is shown of it. */
static char *text_of(size_t part, double percent, size_t *ret_nodes)
{
	const struct seam_style style = {.min_percent = percent};
	const size_t was = seam_profile_part;
	struct seam_strbuf b = {0};
	struct seam_profile p;

	seam_profile_part = part;
	assert_int_equal(seam_profile_init(&p, "cpu-clock"), 0);
	add_all(&p);
	assert_int_equal(seam_profile_end(&p, seam_render_least(&p, &style)),
			 0);
	assert_int_equal(seam_profile_sort(&p), 0);
	seam_render_tree(&b, &p, &style);
	assert_int_equal(seam_render_table(&b, &p, &style), 0);
	assert_int_equal(b.err, 0);
	assert_int_equal(p.nodes[0].total, p.weight);
	*ret_nodes = p.n_nodes;
	seam_profile_fini(&p);
	seam_profile_part = was;
	return b.s;
}

static void compare(double percent, bool prunes)
{
	static const size_t parts[] = {1, 100, 3000};
	size_t whole, n;
	char *want = text_of(1 << 20, percent, &whole);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *got = text_of(parts[i], percent, &n);

		assert_string_equal(got, want);
		if (prunes)
			assert_true(n < whole / 10);
		else
			assert_int_equal(n, whole);
		free(got);
	}
	free(want);
}

static void all(void **state)
{
	(void)state;
	compare(0, false);
}

static void heavy(void **state)
{
	(void)state;
	compare(0.5, true);
}

static int swallow(struct seam_strbuf *b)
{
	seam_strbuf_reset(b);
	return 0;
}

/* A node names a parent before it, and weighs what is below. */
static void in_order(void **state)
{
	const size_t was = seam_profile_part;
	struct seam_strbuf b = {0};
	struct seam_profile p;
	uint64_t *below;

	(void)state;
	seam_profile_part = 50;
	assert_int_equal(seam_profile_init(&p, "cpu-clock"), 0);
	add_all(&p);
	assert_true(p.n_runs > 1);
	assert_int_equal(seam_profile_end(&p, 0), 0);
	below = calloc(p.n_nodes, sizeof(*below));
	assert_non_null(below);
	for (size_t i = p.n_nodes; --i > 0;) {
		assert_true(p.nodes[i].parent < i);
		assert_int_equal(p.nodes[i].total, below[i] + p.nodes[i].self);
		below[p.nodes[i].parent] += p.nodes[i].total;
	}
	assert_int_equal(below[0], p.weight);
	assert_int_equal(seam_json_profile(&b, &p, swallow), 0);
	assert_int_equal(b.err, 0);
	seam_strbuf_fini(&b);
	free(below);
	seam_profile_fini(&p);
	seam_profile_part = was;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all),
		cmocka_unit_test(heavy),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
