/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples as no recording has them all at once: inlined, guessed and kernel
 * frames, stacks that are not whole, weights beyond any sum, and names that
 * nobody should have given. */
#ifndef SEAM_TESTS_MADE_H
#define SEAM_TESTS_MADE_H

#include "../perfdata/image.h"
#include "export/export.h"
#include "seam/tracer.h"

#define LONG_NAME 20000

static const uint8_t made_id[20] = {0xab, 0xcd, 1, 2, 3};
static char made_long[LONG_NAME + 1];

static const struct seam_stitch_map made_maps[] = {
	{.path = "/bin/a\"b\\c;\xff",
	 .start = 0x400000,
	 .end = 0x500000,
	 .pgoff = 0x1000,
	 .build_id = made_id,
	 .build_id_len = 20,
	 .id = 1},
	/* The same in another process. */
	{.path = "/bin/a\"b\\c;\xff",
	 .start = 0x700000,
	 .end = 0x800000,
	 .pgoff = 0x1000,
	 .build_id = made_id,
	 .build_id_len = 20,
	 .id = 2},
	{.path = "//anon",
	 .start = 0x10000,
	 .end = 0x20000,
	 .number = 1,
	 .id = 3},
	{.path = "[kernel.kallsyms]_text",
	 .start = 1ULL << 63,
	 .end = UINT64_MAX,
	 .kernel = true,
	 .number = 2,
	 .id = 4,
	 .build_id = made_id,
	 .build_id_len = 20},
};

static const struct seam_source_frame made_source[] = {
	{"inner\x01\x1f\x7f", "dir/\xe2\x82.c", 12, true},
	{NULL, NULL, 0, true},
	{"outer\xed\xa0\x80", "dir/o\n.c", UINT32_MAX, false},
};

#define KERNEL(name, address)                                                  \
	{                                                                      \
		.sym = name, .dso = "[kernel.kallsyms]", .dso_off = address,   \
		.kernel = true                                                 \
	}

static const struct seam_frame made_frames[] = {
	{.ip = (1ULL << 63) + 16, .map = &made_maps[3], .kernel = true},
	{.ip = 0x400010, .map = &made_maps[0], .method = SEAM_METHOD_SFRAME},
	{.ip = 0x700010, .map = &made_maps[1], .method = SEAM_METHOD_GUESS},
	{.ip = 0x10008, .map = &made_maps[2], .method = SEAM_METHOD_FP},
	{.ip = UINT64_MAX, .method = SEAM_METHOD_CFI},
	{.ip = 0x400020, .map = &made_maps[0], .method = SEAM_METHOD_SFRAME},
	{.ip = 0x700020, .map = &made_maps[1], .method = SEAM_METHOD_SFRAME},
};
#define MADE_FRAMES (sizeof(made_frames) / sizeof(made_frames[0]))

static const struct seam_name made_names[MADE_FRAMES] = {
	KERNEL("sys\"\\\t;call\xc3\xa9\xf0\x9f\x98\x80", (1ULL << 63) + 16),
	{.sym = "outer\xed\xa0\x80",
	 .dso = "/bin/a\"b\\c;\xff",
	 .dso_off = 0x1010,
	 .source = made_source,
	 .n_source = 3},
	{.sym = "perhaps",
	 .dso = "/bin/a\"b\\c;\xff",
	 .dso_off = 0x1010,
	 .guessed = true},
	{.dso = "//anon", .dso_off = 8},
	{.dso_off = UINT64_MAX},
	{.sym = made_long, .dso = "/bin/a\"b\\c;\xff", .dso_off = 0x1020},
	{.sym = made_long, .dso = "/bin/a\"b\\c;\xff", .dso_off = 0x1020},
};

static const struct made_sample {
	size_t first, n;
	int end;
	int event;
	uint32_t tid;
	uint64_t time_ns, period;
	const char *comm;
} made_samples[] = {
	{0, 5, SEAM_OUTERMOST, 0, 7, 1000, 5, "c\"o\xff m"},
	{1, 4, SEAM_NO_TABLE, 1, 7, 2000, 0, "c\"o\xff m"},
	{1, 4, SEAM_NO_TABLE, 1, 7, 2500, 0, "c\"o\xff m"},
	{0, 1, SEAM_NO_USER, 0, 0, 3000, 1, "swapper"},
	{0, 0, SEAM_LOST, 0, UINT32_MAX, 4000, 1, ""},
	{4, 2, 0, 0, 8, 5000, UINT64_MAX, "x"},
	{6, 1, SEAM_OUTERMOST, 0, 8, UINT64_MAX, UINT64_MAX, "x"},
};
#define MADE_SAMPLES (sizeof(made_samples) / sizeof(made_samples[0]))

static inline struct seam_pd_reader *made_reader(struct image *m)
{
	const struct perf_event_attr attrs[] = {
		{.type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_CPU_CLOCK,
		 .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID},
		{.type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_PAGE_FAULTS,
		 .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID},
	};

	memset(made_long, 'a', LONG_NAME);
	begin(m, attrs, 2);
	return open_image(m);
}

/* Return: 0 or what failed. */
static inline int made_add(struct seam_export *e,
			   const struct seam_pd_reader *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < MADE_SAMPLES; i++) {
		const struct made_sample *made = &made_samples[i];
		const struct seam_pd_rec rec = {
			.type = PERF_RECORD_SAMPLE,
			.event = made->event,
			.pid = made->tid == 8 ? 7 : made->tid,
			.tid = made->tid,
			.time_ns = made->time_ns,
			.sample = {.period = made->period},
		};
		const struct seam_stitched s = {
			.rec = &rec,
			.comm = made->comm,
			.event = seam_pd_event(r, (size_t)made->event)->name,
			.end = made->end,
			.frames = made_frames + made->first,
			.n_frames = made->n,
		};
		const struct seam_text t = {
			.sample = &s,
			.names = made_names + made->first,
			.attr = seam_pd_event(r, (size_t)made->event),
			.opts = {.max_stack = (size_t)-1},
		};

		rc = seam_export_add(e, &t);
	}
	return rc;
}

#endif
