// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tracing data with one tracepoint more, that of lost payloads. */
#include "perfdata/copy-priv.h"

#define RECORD_HEAD 8 /* before the size of what is behind the record */

bool seam_pd_can_tell_lost(const struct seam_pd_reader *r)
{
	struct pd_systems found;

	return !r->swap && seam_pd_systems(r, &found);
}

int seam_pd_copy_tracing(struct pd_copy *c)
{
	const struct seam_pd_info *info = seam_pd_info(c->r);
	struct pd_systems at;
	uint32_t n;

	if (!c->editor->tells_lost || c->r->swap ||
	    !seam_pd_systems(c->r, &at) || at.has_lost)
		return 0;
	memcpy(&n, info->tracing + at.count_at, sizeof(n));
	if (++n == 0)
		return 0;
	seam_pd_buf_add(&c->tracing, info->tracing, at.count_at);
	seam_pd_buf_add(&c->tracing, &n, sizeof(n));
	seam_pd_buf_add(&c->tracing, info->tracing + at.count_at + sizeof(n),
			at.end - at.count_at - sizeof(n));
	seam_pd_add_lost(&c->tracing);
	seam_pd_buf_add(&c->tracing, info->tracing + at.end,
			info->tracing_len - at.end);
	return c->tracing.err;
}

/* The reader has it with the zeros that make it a multiple of 8, so that it may
 * have more of them now than it needs. */
int seam_pd_copy_tracing_record(struct pd_copy *c, struct span s)
{
	static const uint8_t zeros[8];
	const uint32_t size = (uint32_t)c->tracing.len;
	size_t head = (size_t)(c->r->info.tracing - s.p);
	int rc;

	if (!size || c->r->info.tracing < s.p || head > s.left ||
	    head < RECORD_HEAD + sizeof(size))
		return seam_pd_copy_add(c, s.p, s.left);
	rc = seam_pd_copy_add(c, s.p, RECORD_HEAD);
	if (!rc)
		rc = seam_pd_copy_add(c, &size, sizeof(size));
	if (!rc)
		rc = seam_pd_copy_add(c, s.p + RECORD_HEAD + sizeof(size),
				      head - RECORD_HEAD - sizeof(size));
	if (!rc)
		rc = seam_pd_copy_add(c, c->tracing.p, size);
	return rc ? rc : seam_pd_copy_add(c, zeros, (8 - size % 8) % 8);
}
