// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Any bytes as a recording: its samples in each format of other tools, which is
 * JSON where it says so and counts each sample, and user stacks put into
 * samples and into records of their own. */
#include <jansson.h>

#include "export/export.h"
#include "fuzz/recording.h"

/* All would only cost time. */
#define MAX_SAMPLES 256
#define MAX_FRAMES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int keep(void *ctx, const void *bytes, size_t len)
{
	seam_strbuf_add(ctx, bytes, len);
	return 0;
}

static void add_sample(struct seam_export *e, struct seam_pd_reader *r,
		       const struct seam_stitched *s)
{
	struct seam_name *names = calloc(s->n_frames + 1, sizeof(*names));
	const struct seam_text t = {
		.sample = s,
		.names = names,
		.attr = seam_pd_event(r, (size_t)s->rec->event),
		.opts = {.max_stack = MAX_FRAMES},
	};

	check(names != NULL);
	for (size_t i = 0; i < s->n_frames; i++) {
		if (s->frames[i].map)
			names[i].dso = s->frames[i].map->path;
		names[i].dso_off = s->frames[i].ip;
	}
	check(!seam_export_add(e, &t));
	free(names);
}

static void add_all(struct seam_export *e, struct seam_pd_reader *r)
{
	struct seam_stitched s;
	struct seam_stitch *stitch;
	uint64_t n = 0;

	check(!seam_stitch_new(r, &stitch));
	while (n < MAX_SAMPLES && seam_stitch_next(stitch, &s) > 0) {
		add_sample(e, r, &s);
		n++;
	}
	check(seam_export_counts(e)->samples == n);
	seam_stitch_free(stitch);
}

static void check_json(const struct seam_strbuf *b)
{
	json_error_t err;
	const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
	json_t *all = json_loadb(b->s, b->len, flags, &err);

	check(json_is_object(all) || json_is_array(all));
	json_decref(all);
}

static void export_as(enum seam_export_format format, struct seam_pd_reader *r)
{
	struct seam_strbuf b = {0};
	struct seam_export *e;

	check(!seam_export_new(format, r, &e));
	add_all(e, r);
	check(!seam_export_finish(e, "perf.data", keep, &b) && !b.err);
	if (format != SEAM_EXPORT_FOLDED && format != SEAM_EXPORT_PPROF)
		check_json(&b);
	seam_strbuf_fini(&b);
	seam_export_free(e);
}

/* Not what was merged before, which fuzz/recording.h has, but any. */
static void unmerge_any(struct seam_pd_reader *r, bool to_file)
{
	struct seam_unmerged n;
	struct made made;
	int fd = make_file();

	if (!seam_unmerge_needed(r) || seam_unmerge(r, fd, to_file, &n)) {
		close(fd);
		return;
	}
	read_made(fd, &made);
	check(seam_pd_count(made.r, PERF_RECORD_SAMPLE) == n.samples);
	made_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_pd_reader *r;
	struct seam_errinfo err;

	setenv("XDG_CACHE_HOME", "/proc", 1);
	if (seam_pd_open_mem(data, size, &r, &err))
		return 0;
	for (int i = 0; i < SEAM_EXPORT_FORMATS; i++)
		export_as((enum seam_export_format)i, r);
	inject(r, false);
	unmerge_any(r, false);
	unmerge_any(r, true);
	seam_pd_close(r);
	return 0;
}
