/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A recording that a test writes and has stitched. */
#ifndef TESTS_UNIT_STITCH_SESSION_H
#define TESTS_UNIT_STITCH_SESSION_H

#include "../perfdata/recording.h"
#include "stitch/stitch.h"

struct session {
	struct folder folder;
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_stitch *s;
};

static void begin(struct session *t)
{
	folder_make(&t->folder);
	t->w = open_writer(t->folder.file, 0);
}

static void stitch(struct session *t)
{
	assert_int_equal(seam_pd_writer_close(t->w), 0);
	t->r = open_reader(t->folder.file);
	assert_int_equal(seam_stitch_new(t->r, &t->s), 0);
}

static const struct seam_stitch_stats *finish(struct session *t)
{
	struct seam_stitched out;

	assert_int_equal(seam_stitch_next(t->s, &out), 0);
	return seam_stitch_stats(t->s);
}

static void end(struct session *t)
{
	seam_stitch_free(t->s);
	seam_pd_close(t->r);
	folder_remove(&t->folder);
}

static inline const char *path_of(const struct seam_frame *f)
{
	return f->map ? f->map->path : "";
}

#endif
