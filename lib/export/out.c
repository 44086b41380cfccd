// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/out.h"

#define PIECE (1 << 16)

static void hand_on(struct seam_out *out)
{
	if (!out->err)
		out->err = out->b.err;
	if (!out->err && out->b.len)
		out->err = out->write(out->ctx, out->b.s, out->b.len);
	seam_strbuf_reset(&out->b);
}

bool seam_out_piece(struct seam_out *out)
{
	if (out->b.len >= PIECE || out->b.err)
		hand_on(out);
	return !out->err;
}

int seam_out_finish(struct seam_out *out)
{
	hand_on(out);
	seam_strbuf_fini(&out->b);
	return out->err;
}
