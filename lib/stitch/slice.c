// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static int keep(struct seam_slice *b, const struct seam_stitched *s)
{
	if (seam_grow(&b->frames, b->n_frames + s->n_frames, &b->cap_frames,
		      sizeof(*b->frames)))
		return -ENOMEM;
	if (s->n_frames)
		memcpy(b->frames + b->n_frames, s->frames,
		       s->n_frames * sizeof(*b->frames));
	b->frames_at[b->n] = b->n_frames;
	b->n_frames += s->n_frames;
	b->recs[b->n] = *s->rec;
	b->v[b->n] = *s;
	b->v[b->n].rec = &b->recs[b->n];
	b->n++;
	return 0;
}

int seam_slice_fill(struct seam_slice *b, struct seam_stitch *stitch,
		    size_t max)
{
	struct seam_stitched s;
	int rc = 1;

	b->n = b->n_frames = 0;
	while (b->n < max && b->n_frames < SEAM_SLICE_FRAMES) {
		rc = seam_stitch_next(stitch, &s);
		if (rc > 0 && keep(b, &s))
			rc = -ENOMEM;
		if (rc <= 0)
			break;
	}
	for (size_t i = 0; i < b->n; i++) /* they move no more */
		b->v[i].frames = b->frames + b->frames_at[i];
	return rc;
}

void seam_slice_fini(struct seam_slice *b)
{
	free(b->frames);
	*b = (struct seam_slice){0};
}
