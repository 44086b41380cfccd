// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: lines of frames that were kept are those that would be printed,
 * of more frames than are kept, and told apart by all that a line is made of;
 * those of a file are the same wherever it is mapped, and several may share
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "report/printed.h"
#include "seam/tracer.h"
#include "tests/unit/skip.h"

#define DEEP 100
#define ROUNDS 3000 /* with DEEP, several times what is kept */

static struct seam_resolver *new_resolver(void)
{
	const struct seam_symbol_opts opts = {.sz = sizeof(opts)};
	struct seam_resolver *r;

	assert_int_equal(seam_resolver_new(&opts, &r), 0);
	return r;
}

/* Two programs at the same addresses, and one of them elsewhere, and a stack
 * that is half the last one. */
static void make(struct seam_frame *f, size_t round,
		 const struct seam_stitch_map maps[3])
{
	for (size_t i = 0; i < DEEP; i++) {
		size_t n = i < DEEP / 2 ? round * DEEP + i : i;

		f[i] = (struct seam_frame){
			.ip = 0x10000 + n * 16,
			.map = n % 5 ? &maps[round % 3] : NULL,
			.kernel = i < 3 && round % 3 == 0,
			.exact = i == 0 || n % 7 == 0,
			.method =
				n % 11 ? SEAM_METHOD_SFRAME : SEAM_METHOD_GUESS,
		};
	}
}

/* With lines for so many that two share; 0: nothing is shared. */
static void check_same(size_t n_shared)
{
	const struct seam_stitch_map maps[3] = {
		{.path = "/nowhere/a", .end = UINT64_MAX, .id = 1},
		{.path = "/nowhere/b", .end = UINT64_MAX, .number = 1, .id = 2},
		/* The same, mapped elsewhere. */
		{.path = "/nowhere/a",
		 .start = 0x800,
		 .end = UINT64_MAX,
		 .id = 3},
	};
	struct seam_pd_attr attr = {.name = "event"};
	struct seam_resolver *r = new_resolver(), *kept = new_resolver();
	struct seam_printed_lines *shared =
		n_shared ? seam_printed_lines_new(n_shared) : NULL;
	struct seam_printed *printed[2] = {
		seam_printed_new(kept, NULL, shared),
		seam_printed_new(kept, NULL, shared)};
	struct seam_frame frames[DEEP];
	struct seam_name names[DEEP];
	struct seam_pd_rec rec = {.tid = 1};
	struct seam_stitched s = {
		.rec = &rec, .frames = frames, .n_frames = DEEP};
	struct seam_text t = {.sample = &s, .attr = &attr};

	assert_non_null(printed[0]);
	assert_non_null(printed[1]);
	for (size_t round = 0; round < ROUNDS; round++) {
		struct seam_strbuf a = {0}, b = {0};

		/* Each once more, when it is kept. */
		make(frames, round / 2, maps);
		attr.attr.sample_type =
			round % 8 < 2 ? 0 : (uint64_t)PERF_SAMPLE_CALLCHAIN;
		assert_int_equal(seam_resolve(r, frames, DEEP, names), 0);
		for (size_t i = 0; i < DEEP; i++)
			seam_text_frame(&a, &t, &frames[i], &names[i]);
		seam_printed_frames(printed[round % 2], &t, DEEP, &b);
		assert_int_equal(b.err, 0);
		assert_string_equal(a.s, b.s);
		seam_strbuf_fini(&a);
		seam_strbuf_fini(&b);
	}
	assert_null(seam_printed_free(printed[0]));
	assert_null(seam_printed_free(printed[1]));
	assert_null(seam_printed_free(NULL));
	assert_null(seam_printed_lines_free(shared));
	seam_resolver_free(r);
	seam_resolver_free(kept);
}

static void test_same(void **state)
{
	(void)state;
	check_same(0);
}

static void test_shared(void **state)
{
	(void)state;
	check_same(1); /* too few: most are kept by each of them */
	check_same(SIZE_MAX);
}

extern const char __executable_start[];

/* One right behind the other, as a call that is a function's last leaves it. */
__asm__(".pushsection .text\n"
	".type ends_in_call, @function\n"
	"ends_in_call: call begins_behind\n"
	".size ends_in_call, .-ends_in_call\n"
	".globl begins_behind\n"
	".type begins_behind, @function\n"
	"begins_behind: ret\n"
	".size begins_behind, .-begins_behind\n"
	".popsection\n");
extern const char begins_behind[];

/* The frame that is the same is running below one of the kernel, and returned
 * to below another: then it is in the function before. */
static void test_not_alike(void **state)
{
	const struct seam_stitch_map map = {
		.path = "/proc/self/exe",
		.start = (uintptr_t)__executable_start,
		.end = UINT64_MAX,
	};
	const struct seam_frame user = {.ip = (uintptr_t)begins_behind,
					.map = &map};
	const struct seam_frame stacks[2][3] = {
		{{.ip = 0xffffffff81000000, .kernel = true}, user, user},
		{{.ip = 0x1000}, user, user},
	};
	struct seam_resolver *r = new_resolver(), *kept = new_resolver();
	struct seam_printed *printed = seam_printed_new(kept, NULL, NULL);
	struct seam_pd_attr attr = {.attr.sample_type =
					    (uint64_t)PERF_SAMPLE_CALLCHAIN};
	struct seam_pd_rec rec = {.tid = 1};
	char *text[2];

	(void)state;
	assert_non_null(printed);
	for (size_t round = 0; round < 6; round++) {
		struct seam_stitched s = {.rec = &rec,
					  .frames = stacks[round % 2],
					  .n_frames = 3};
		struct seam_text t = {.sample = &s, .attr = &attr};
		struct seam_strbuf a = {0}, b = {0};
		struct seam_name names[3];

		assert_int_equal(seam_resolve(r, s.frames, 3, names), 0);
		for (size_t i = 0; i < 3; i++)
			seam_text_frame(&a, &t, &s.frames[i], &names[i]);
		seam_printed_frames(printed, &t, 3, &b);
		assert_string_equal(a.s, b.s);
		if (round < 2)
			text[round] = strdup(strchr(a.s, '\n'));
		seam_strbuf_fini(&a);
		seam_strbuf_fini(&b);
	}
	assert_string_not_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
	seam_printed_free(printed);
	seam_resolver_free(r);
	seam_resolver_free(kept);
}

/* The line of one frame, as it is kept; the caller's to free. */
static char *kept_line(struct seam_printed *printed, struct seam_frame *f)
{
	struct seam_pd_attr attr = {.attr.sample_type =
					    (uint64_t)PERF_SAMPLE_CALLCHAIN};
	struct seam_pd_rec rec = {.tid = 1};
	struct seam_stitched s = {.rec = &rec, .frames = f, .n_frames = 1};
	struct seam_text t = {.sample = &s, .attr = &attr};
	struct seam_strbuf b = {0};

	seam_printed_frames(printed, &t, 1, &b);
	assert_int_equal(b.err, 0);
	return b.s;
}

/* The kernel has another for 32-bit programs, under the same name: nothing is
 * named by the one at hand. */
static void test_vdso(void **state)
{
	const struct seam_stitch_map maps[2] = {
		{.path = "[vdso]",
		 .start = getauxval(AT_SYSINFO_EHDR),
		 .end = UINT64_MAX,
		 .number = 0,
		 .id = 1},
		{.path = "[vdso]",
		 .start = 0xf7f00000,
		 .end = 0xf7f10000,
		 .number = 1,
		 .id = 2},
	};
	struct seam_resolver *kept = new_resolver();
	struct seam_printed *printed = seam_printed_new(kept, NULL, NULL);
	size_t n_named = 0;

	(void)state;
	if (!maps[0].start)
		skip_since("no vDSO is mapped here");
	assert_non_null(printed);
	for (uint64_t off = 0; off < 8192; off += 16) {
		for (size_t i = 0; i < 2; i++) {
			struct seam_frame f = {.ip = maps[i].start + off,
					       .map = &maps[i],
					       .exact = true};
			char *line = kept_line(printed, &f);

			if (strstr(line, "vdso_"))
				n_named += i ? 1000 : 1;
			free(line);
		}
	}
	assert_in_range(n_named, 1, 999);
	seam_printed_free(printed);
	seam_resolver_free(kept);
}

static void test_hex(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits <= 64; bits++)
		for (uint64_t low = 0; low < 64; low++) {
			uint64_t v = bits < 64 ? UINT64_C(1) << bits : 0;
			struct seam_strbuf b = {0};
			char expected[64];

			v = (v | low * UINT64_C(0x0a1b2c3d4e5f6071)) - low;
			snprintf(expected, sizeof(expected),
				 "%16llx %llx %5llx", (unsigned long long)v,
				 (unsigned long long)v, (unsigned long long)v);
			seam_strbuf_hex(&b, v, 16);
			seam_strbuf_puts(&b, " ");
			seam_strbuf_hex(&b, v, 0);
			seam_strbuf_puts(&b, " ");
			seam_strbuf_hex(&b, v, 5);
			assert_string_equal(b.s, expected);
			seam_strbuf_fini(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),	  cmocka_unit_test(test_shared),
		cmocka_unit_test(test_not_alike), cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
