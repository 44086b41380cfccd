// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a call tree that was made in parts, however small, is the one
 * that is made at once, in text and in JSON, as is the table; light branches
 * need not be there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/grow.h"
#include "core/err.h"
#include "perfdata/reader.h"
#include "report/render.h"

#define SAMPLES 8000
#define DEEPEST 12
#define NAMES 8

static const size_t parts[] = {1, 2, 100, 3000};

#define N_PARTS (sizeof(parts) / sizeof(*parts))

/* Some of the same name, of other files, or in the kernel, or inlined. */
static const struct seam_source_frame inlines[] = {
	{.name = "a", .inlined = true},
	{.name = "b", .inlined = true},
	{.name = "c"},
};

static const struct seam_name names[NAMES] = {
	{.sym = "a", .dso = "/file", .number = 1},
	{.sym = "a", .dso = "/other", .number = 2},
	{.sym = "b", .dso = "/file", .number = 3},
	{.sym = "b", .dso = NULL, .number = 4},
	{.sym = "a", .dso = "/file", .number = 5, .kernel = true},
	{.sym = "c",
	 .dso = "/file",
	 .number = 6,
	 .source = inlines,
	 .n_source = 3},
	{.sym = NULL, .dso = "/file", .dso_off = 16, .number = 7},
	{.sym = "b", .dso = "/file", .number = 3, .guessed = true},
};

static uint32_t draw(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 16) % n;
}

/* Some incomplete, of two commands, of any depth, many of the same weight. */
static void add_all(struct seam_profile *p)
{
	struct seam_name stack[DEEPEST];
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
		for (size_t j = 0; j < s.n_frames; j++)
			stack[j] = names[draw(&state, NAMES)];
		assert_int_equal(seam_profile_add(p, &t), 0);
	}
}

/* So heavy that their sums run over: a lighter caller than its callee. */
static void add_heavy(struct seam_profile *p)
{
	struct seam_name stack[2];
	struct seam_pd_rec rec = {.sample.period = 1ULL << 63};
	struct seam_stitched s = {.rec = &rec, .comm = "c", .n_frames = 2};
	struct seam_text t = {.sample = &s, .names = stack};

	t.opts.max_stack = 2;
	stack[1] = names[0];
	for (int i = 0; i < 3; i++) {
		stack[0] = names[i];
		if (i == 2)
			rec.sample.period = 1000;
		assert_int_equal(seam_profile_add(p, &t), 0);
	}
}

static void begin(struct seam_profile *p, size_t part)
{
	assert_int_equal(seam_profile_init(p, "cpu-clock"), 0);
	p->most = part;
	add_all(p);
	assert_int_equal(p->n_runs > 0, part < SEAM_PROFILE_MOST);
}

/* What is shown of it. */
static char *text_of(size_t part, double percent, size_t *ret_nodes)
{
	const struct seam_style style = {.min_percent = percent};
	struct seam_strbuf b = {0};
	struct seam_profile p;

	begin(&p, part);
	assert_int_equal(seam_profile_sort(&p, seam_render_least(&p, &style)),
			 0);
	assert_int_equal(seam_render_tree(&b, &p, &style, NULL), 0);
	assert_int_equal(seam_render_table(&b, &p, &style), 0);
	assert_int_equal(b.err, 0);
	assert_int_equal(p.nodes[0].total, p.weight);
	*ret_nodes = p.n_nodes;
	seam_profile_fini(&p);
	return b.s;
}

static void compare(double percent, bool prunes)
{
	size_t whole, n;
	char *want = text_of(SEAM_PROFILE_MOST, percent, &whole);

	for (size_t i = 0; i < N_PARTS; i++) {
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

/* Of a branch that is shown none is lighter than that. */
static void sums_run_over(void **state)
{
	const struct seam_style style = {.min_percent = 100};
	char *text[2] = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct seam_strbuf b = {0};
		struct seam_profile p;

		assert_int_equal(seam_profile_init(&p, "cpu-clock"), 0);
		p.most = i ? 1 : SEAM_PROFILE_MOST;
		add_heavy(&p);
		p.weight = 2000;
		assert_int_equal(seam_profile_sort(&p, 2000), 0);
		assert_int_equal(p.n_nodes, i ? 1 : 6);
		assert_int_equal(seam_render_tree(&b, &p, &style, NULL), 0);
		text[i] = b.s;
		seam_profile_fini(&p);
	}
	assert_string_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

/* Of each node its and its callers' rows, and its weights. */
struct paths {
	size_t n, cap;
	struct path {
		uint32_t depth, row[3 * DEEPEST + 3];
		uint64_t self, total, below;
		size_t parent;
	} * v;
};

static int keep(void *ctx, const struct seam_tree_node *node)
{
	struct paths *paths = ctx;
	struct path *path;

	assert_int_equal(
		seam_grow(&paths->v, paths->n + 1, &paths->cap, sizeof(*path)),
		0);
	path = &paths->v[paths->n];
	memset(path, 0, sizeof(*path));
	if (paths->n) {
		assert_true(node->parent < paths->n);
		*path = paths->v[node->parent];
		path->row[path->depth++] = node->row;
	} else {
		assert_int_equal(node->parent, SEAM_NO_NODE);
	}
	path->parent = node->parent;
	path->self = node->self;
	path->total = node->total;
	path->below = 0;
	paths->n++;
	return 0;
}

static int by_rows(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	return memcmp(x, y, offsetof(struct path, self));
}

static struct paths paths_of(size_t part)
{
	struct paths paths = {0};
	struct seam_profile p;

	begin(&p, part);
	assert_int_equal(seam_profile_each(&p, keep, &paths), 0);
	assert_int_equal(paths.v[0].total, p.weight);
	for (size_t i = paths.n; i-- > 1;) {
		struct path *path = &paths.v[i];

		assert_int_equal(path->total, path->self + path->below);
		paths.v[path->parent].below += path->total;
	}
	qsort(paths.v, paths.n, sizeof(*paths.v), by_rows);
	seam_profile_fini(&p);
	return paths;
}

/* Parents come first, each node once, and weighs what is below. */
static void each(void **state)
{
	struct paths want = paths_of(SEAM_PROFILE_MOST);

	(void)state;
	for (size_t i = 0; i < N_PARTS; i++) {
		struct paths got = paths_of(parts[i]);

		assert_int_equal(got.n, want.n);
		for (size_t j = 0; j < got.n; j++) {
			assert_int_equal(by_rows(&got.v[j], &want.v[j]), 0);
			assert_int_equal(got.v[j].self, want.v[j].self);
			assert_int_equal(got.v[j].total, want.v[j].total);
		}
		free(got.v);
	}
	free(want.v);
}

static size_t longest;

static int swallow(struct seam_strbuf *b)
{
	longest = b->len > longest ? b->len : longest;
	seam_strbuf_reset(b);
	return 0;
}

static int refuse(struct seam_strbuf *b)
{
	(void)b;
	return -1;
}

/* No more than that is kept, and who does not take it has no more made. */
static void given(void **state)
{
	const struct seam_style style = {.utf8 = true};
	struct seam_strbuf b = {0};
	struct seam_profile p;

	(void)state;
	begin(&p, 1000);
	assert_int_equal(seam_json_profile(&b, &p, swallow), 0);
	assert_in_range(longest, SEAM_RENDER_GIVE, SEAM_RENDER_GIVE + 4096);
	assert_int_equal(seam_json_profile(&b, &p, refuse), -1);
	longest = 0;
	seam_strbuf_reset(&b);
	assert_int_equal(seam_profile_sort(&p, 0), 0);
	assert_int_equal(seam_render_tree(&b, &p, &style, swallow), 0);
	assert_in_range(longest, SEAM_RENDER_GIVE, SEAM_RENDER_GIVE + 4096);
	assert_int_equal(seam_render_tree(&b, &p, &style, refuse), -1);
	assert_in_range(b.len, SEAM_RENDER_GIVE, SEAM_RENDER_GIVE + 4096);
	assert_int_equal(b.err, 0);
	seam_strbuf_fini(&b);
	seam_profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all),		 cmocka_unit_test(heavy),
		cmocka_unit_test(sums_run_over), cmocka_unit_test(each),
		cmocka_unit_test(given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
