// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: samples that several threads name and print are delivered in
 * their order, as one printer prints them, all of them; they may be left before
 * their end; where memory runs out, what lies before is whole. */
#include "../perfdata/recording.h"
#include "report/order.h"
#include "tests/unit/oom-wrap.h"

#define SAMPLES 6000 /* many slots */
#define ROOM (16 << 20) /* for all of their text */

static bool is_even(const void *ctx, const struct seam_stitched *s)
{
	assert_ptr_equal(ctx, &is_even);
	return s->rec->tid % 2 == 0;
}

struct printing {
	struct seam_order_opts opts;
	struct seam_stitch *stitch;
	struct seam_resolver *resolver;
};

static int begin(struct printing *p, struct seam_pd_reader *r, bool json)
{
	const struct seam_symbol_opts opts = {.sz = sizeof(opts)};
	const struct seam_kernel_fit other = {.other = true};
	int rc;

	*p = (struct printing){0};
	rc = seam_stitch_new(r, &p->stitch);
	if (!rc)
		rc = seam_resolver_new(&opts, &p->resolver);
	if (!rc) /* no names of a kernel that loads programs meanwhile */
		seam_resolver_kernel(p->resolver, &other);
	p->opts = (struct seam_order_opts){
		.stitch = p->stitch,
		.printer = {.reader = r,
			    .resolver = p->resolver,
			    .text = {.max_stack = 64},
			    .json = json},
	};
	return rc;
}

static void end(struct printing *p)
{
	seam_resolver_free(p->resolver);
	seam_stitch_free(p->stitch);
}

/* One by one. */
static void print(struct seam_pd_reader *r, bool json, bool even,
		  struct seam_strbuf *ret)
{
	struct seam_printer *printer;
	struct seam_stitched s;
	struct printing p;

	assert_int_equal(begin(&p, r, json), 0);
	assert_int_equal(seam_printer_new(&p.opts.printer, NULL, &printer), 0);
	while (seam_stitch_next(p.stitch, &s) > 0)
		if (!even || s.rec->tid % 2 == 0)
			assert_int_equal(seam_printer_add(printer, &s, ret), 0);
	seam_printer_free(printer);
	end(&p);
}

/* With memory for so many allocations. Return: what ended it. */
static int print_in_order(struct seam_pd_reader *r, bool json, bool even,
			  long allocations, struct seam_strbuf *ret)
{
	struct seam_order *o = NULL;
	struct seam_strbuf *text;
	struct printing p;
	int rc;

	assert_int_equal(begin(&p, r, json), 0);
	if (even) {
		p.opts.wants = is_even;
		p.opts.ctx = &is_even;
	}
	/* What is delivered takes no memory that may run out. */
	ret->s = malloc(ROOM);
	assert_non_null(ret->s);
	ret->cap = ROOM;
	ret->s[0] = '\0';
	left = allocations;
	rc = seam_order_new(&p.opts, &o);
	while (!rc && (rc = seam_order_next(o, &text)) > 0) {
		assert_true(text->len < ret->cap - ret->len);
		seam_strbuf_add(ret, text->s ?: "", text->len);
		rc = 0;
	}
	left = -1;
	if (o) /* the end stays */
		assert_int_equal(seam_order_next(o, &text), rc);
	seam_order_free(o);
	end(&p);
	return rc;
}

static void test_same(void **state)
{
	struct seam_pd_reader *r;
	struct folder folder;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	for (int i = 0; i < 4; i++) {
		struct seam_strbuf a = {0}, b = {0};

		print(r, i & 1, i & 2, &a);
		assert_int_equal(print_in_order(r, i & 1, i & 2, -1, &b), 0);
		assert_true(a.len > SAMPLES / 3 * 50);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.s, b.s, a.len);
		seam_strbuf_fini(&a);
		seam_strbuf_fini(&b);
	}
	seam_pd_close(r);
	folder_remove(&folder);
}

static void test_left(void **state)
{
	const size_t taken[] = {0, 1, 2, 20};
	struct seam_strbuf *text;
	struct seam_pd_reader *r;
	struct seam_order *o;
	struct folder folder;
	struct printing p;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		assert_int_equal(begin(&p, r, false), 0);
		assert_int_equal(seam_order_new(&p.opts, &o), 0);
		for (size_t j = 0; j < taken[i]; j++)
			assert_int_equal(seam_order_next(o, &text), 1);
		assert_null(seam_order_free(o));
		end(&p);
	}
	assert_null(seam_order_free(NULL));
	seam_pd_close(r);
	folder_remove(&folder);
}

static void test_no_memory(void **state)
{
	struct seam_strbuf whole = {0};
	struct seam_pd_reader *r;
	struct folder folder;
	size_t n_failed = 0;
	int rc = -ENOMEM;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	print(r, false, false, &whole);
	for (long allocations = 0; rc; allocations += 1 + allocations / 8) {
		struct seam_strbuf b = {0};

		rc = print_in_order(r, false, false, allocations, &b);
		assert_true(rc == -ENOMEM || !rc);
		assert_true(rc ? b.len <= whole.len : b.len == whole.len);
		assert_memory_equal(b.s ?: "", whole.s, b.len);
		n_failed += rc != 0;
		seam_strbuf_fini(&b);
	}
	assert_true(n_failed > 3);
	seam_strbuf_fini(&whole);
	seam_pd_close(r);
	folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
