/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is written on its way out, collected into larger pieces. A failure
 * sticks, and is asked for at the end. */
#ifndef SEAM_LIB_EXPORT_OUT_H
#define SEAM_LIB_EXPORT_OUT_H

#include "export/export.h"

struct seam_out {
	struct seam_strbuf b; /* to be added to */
	seam_export_write *write;
	void *ctx;
	int err; /* 0 or -errno */
};

/* After each piece: hands on what is there if that is enough. Return: false:
 * it failed, and there is no use in going on. */
bool seam_out_piece(struct seam_out *out);
/* Hands on the rest. Return: 0 or the first -errno. */
int seam_out_finish(struct seam_out *out);

#endif
