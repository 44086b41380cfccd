// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* write-plain FORMAT: two stacks, of which one is there twice, with what frames
 * can be: the kernel's, inlined, guessed; and one that is not whole. */
#include <errno.h>

#include "../unit/perfdata/image.h"
#include "export/export.h"
#include "seam/tracer.h"

#define MS 1000000

static const uint8_t id[20] = {0xab, 0xcd, 1, 2, 3};

static const struct seam_stitch_map maps[] = {
	{.path = "/bin/plain",
	 .start = 0x400000,
	 .end = 0x500000,
	 .build_id = id,
	 .build_id_len = 20,
	 .id = 1},
	{.path = "[kernel.kallsyms]_text",
	 .start = 1ULL << 63,
	 .end = UINT64_MAX,
	 .kernel = true,
	 .number = 1,
	 .id = 2,
	 .build_id = id,
	 .build_id_len = 20},
};

static const struct seam_source_frame source[] = {
	{"inner", "plain.c", 12, true},
	{"middle", "plain.c", 20, true},
	{"outer", "plain.c", 30, false},
};

/* Leaf first. */
static const struct seam_frame frames[] = {
	{.ip = (1ULL << 63) + 16, .map = &maps[1], .kernel = true},
	{.ip = 0x400010, .map = &maps[0], .method = SEAM_METHOD_SFRAME},
	{.ip = 0x400020, .map = &maps[0], .method = SEAM_METHOD_GUESS},
	{.ip = 0x400030, .map = &maps[0], .method = SEAM_METHOD_SFRAME},
};
#define FRAMES (sizeof(frames) / sizeof(frames[0]))

static const struct seam_name names[FRAMES] = {
	{.sym = "do_call",
	 .dso = "[kernel.kallsyms]",
	 .dso_off = (1ULL << 63) + 16,
	 .kernel = true},
	{.sym = "outer",
	 .dso = "/bin/plain",
	 .dso_off = 0x10,
	 .source = source,
	 .n_source = 3},
	{.sym = "perhaps",
	 .dso = "/bin/plain",
	 .dso_off = 0x20,
	 .guessed = true},
	{.sym = "main", .dso = "/bin/plain", .dso_off = 0x30},
};

static const struct {
	size_t first;
	int end;
} samples[] = {{0, SEAM_OUTERMOST}, {1, SEAM_NO_TABLE}, {0, SEAM_OUTERMOST}};

static int add_one(struct seam_export *e, const struct seam_pd_reader *r,
		   size_t i)
{
	const struct seam_pd_rec rec = {
		.type = PERF_RECORD_SAMPLE,
		.pid = 7,
		.tid = 7,
		.time_ns = (i + 1) * MS,
		.sample = {.period = MS},
	};
	const struct seam_stitched s = {
		.rec = &rec,
		.comm = "plain",
		.event = seam_pd_event(r, 0)->name,
		.end = samples[i].end,
		.frames = frames + samples[i].first,
		.n_frames = FRAMES - samples[i].first,
	};
	const struct seam_text t = {
		.sample = &s,
		.names = names + samples[i].first,
		.attr = seam_pd_event(r, 0),
		.opts = {.max_stack = FRAMES},
	};

	return seam_export_add(e, &t);
}

static int put(void *ctx, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, ctx) == len ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	static struct image m;
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_CPU_CLOCK,
					     .sample_period = MS,
					     .sample_type = PERF_SAMPLE_TIME |
							    PERF_SAMPLE_TID};
	struct seam_pd_reader *r;
	struct seam_export *e;
	int rc;

	begin(&m, &attr, 1);
	r = open_image(&m);
	if (argc < 2 ||
	    seam_export_new((enum seam_export_format)atoi(argv[1]), r, &e))
		return 1;
	rc = 0;
	for (size_t i = 0; !rc && i < sizeof(samples) / sizeof(samples[0]); i++)
		rc = add_one(e, r, i);
	if (!rc)
		rc = seam_export_finish(e, "plain", put, stdout);
	seam_export_free(e);
	seam_pd_close(r);
	return rc || fflush(stdout) ? 1 : 0;
}
