/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Why code that CFI covers has no rule. */
#ifndef SEAM_LIB_SFRAME_HOLE_H
#define SEAM_LIB_SFRAME_HOLE_H

enum seam_hole {
	SEAM_HOLE_NONE,
#define X(name, text, sentence) SEAM_HOLE_##name,
#include "sframe/hole.def"
#undef X
	SEAM_HOLE_NUM,
};

/* "cfa-expression"; static. */
const char *seam_hole_text(enum seam_hole hole);
/* What it means, in words; static. */
const char *seam_hole_sentence(enum seam_hole hole);

#endif
