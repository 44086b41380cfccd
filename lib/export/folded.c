// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Brendan Gregg's: "comm;_start;main;f 12". */
#include "export/private.h"

int seam_export_folded_add(struct seam_export *e, const struct seam_text *t)
{
	seam_strbuf_reset(&e->line);
	seam_text_folded(&e->line, t);
	return e->line.err ? e->line.err
			   : seam_fold_add(&e->fold, e->line.s, 1);
}

void seam_export_folded(struct seam_export *e, struct seam_out *out)
{
	struct seam_fold_line line;

	out->err = seam_fold_begin(&e->fold);
	while (!out->err && seam_fold_next(&e->fold, &line)) {
		seam_strbuf_puts(&out->b, line.text);
		seam_strbuf_printf(&out->b, " %llu\n",
				   (unsigned long long)line.count);
		seam_out_piece(out);
	}
}
