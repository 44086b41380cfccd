// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: lines of frames that were kept are those that would be printed,
 * of more frames than are kept, and told apart by all that a line is made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/printed.h"
#include "seam/tracer.h"

#define DEEP 100
#define ROUNDS 3000 /* with DEEP, several times what is kept */

static struct seam_resolver *new_resolver(void)
{
	const struct seam_symbol_opts opts = {.sz = sizeof(opts)};
	struct seam_resolver *r;

	assert_int_equal(seam_resolver_new(&opts, &r), 0);
	return r;
}

/* Two programs at the same addresses, and a stack that is half the last one. */
static void make(struct seam_frame *f, size_t round,
		 const struct seam_stitch_map maps[2])
{
	for (size_t i = 0; i < DEEP; i++) {
		size_t n = i < DEEP / 2 ? round * DEEP + i : i;

		f[i] = (struct seam_frame){
			.ip = 0x1000 + n * 16,
			.map = n % 5 ? &maps[round % 2] : NULL,
			.kernel = i < 3 && round % 3 == 0,
			.exact = i == 0 || n % 7 == 0,
			.method =
				n % 11 ? SEAM_METHOD_SFRAME : SEAM_METHOD_GUESS,
		};
	}
}

static void test_same(void **state)
{
	const struct seam_stitch_map maps[2] = {
		{.path = "/nowhere/a", .end = UINT64_MAX, .number = 0},
		{.path = "/nowhere/b", .end = UINT64_MAX, .number = 1},
	};
	struct seam_pd_attr attr = {.name = "event"};
	struct seam_resolver *r = new_resolver(), *kept = new_resolver();
	struct seam_printed *printed = seam_printed_new(kept, NULL);
	struct seam_frame frames[DEEP];
	struct seam_name names[DEEP];
	struct seam_stitched s = {.frames = frames, .n_frames = DEEP};
	struct seam_text t = {.sample = &s, .attr = &attr};

	(void)state;
	assert_non_null(printed);
	for (size_t round = 0; round < ROUNDS; round++) {
		struct seam_strbuf a = {0}, b = {0};

		/* Each once more, when it is kept. */
		make(frames, round / 2, maps);
		attr.attr.sample_type =
			round % 8 < 2 ? 0 : (uint64_t)PERF_SAMPLE_CALLCHAIN;
		assert_int_equal(seam_resolve(r, frames, DEEP, names), 0);
		for (size_t i = 0; i < DEEP; i++)
			seam_text_frame(&a, &t, &frames[i], &names[i]);
		seam_printed_frames(printed, &t, DEEP, &b);
		assert_int_equal(b.err, 0);
		assert_string_equal(a.s, b.s);
		seam_strbuf_fini(&a);
		seam_strbuf_fini(&b);
	}
	assert_null(seam_printed_free(printed));
	assert_null(seam_printed_free(NULL));
	seam_resolver_free(r);
	seam_resolver_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
