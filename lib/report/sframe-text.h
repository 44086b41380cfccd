/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * An SFrame section as text in the layout of objdump --sframe, and as JSON.
 * A function or row that is malformed is one line that says so, and counts;
 * what lies behind a malformed row of a function cannot be read.
 */
#ifndef SEAM_LIB_REPORT_SFRAME_TEXT_H
#define SEAM_LIB_REPORT_SFRAME_TEXT_H

#include "report/strbuf.h"
#include "sframe/file.h"

/*
 * Rendered piece by piece, for the caller to write: the head, then each
 * function by its index, and for JSON the tail.
 * Return of a function: how many malformed lines it has, 0 or 1.
 */
void seam_sframe_text_head(struct seam_strbuf *b, const char *name,
			   const struct seam_sframe_file *f,
			   const struct seam_sframe *sf);
int seam_sframe_text_func(struct seam_strbuf *b,
			  const struct seam_sframe_file *f,
			  const struct seam_sframe *sf, uint32_t i);

void seam_sframe_json_head(struct seam_strbuf *b, const char *name,
			   const struct seam_sframe_file *f,
			   const struct seam_sframe *sf);
int seam_sframe_json_func(struct seam_strbuf *b,
			  const struct seam_sframe_file *f,
			  const struct seam_sframe *sf, uint32_t i);
void seam_sframe_json_tail(struct seam_strbuf *b);

#endif
