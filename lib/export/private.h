/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the formats' writers are given. One that fails in between says so by
 * out->err. */
#ifndef SEAM_LIB_EXPORT_PRIVATE_H
#define SEAM_LIB_EXPORT_PRIVATE_H

#include "export/model.h"
#include "export/out.h"
#include "report/fold.h"

struct seam_export {
	enum seam_export_format format;
	struct seam_export_counts counts;
	const char *name; /* of the recording, when it is written */
	struct seam_model model; /* of all formats but folded stacks */
	struct seam_fold fold;
	struct seam_strbuf line;
};

int seam_export_folded_add(struct seam_export *e, const struct seam_text *t);
void seam_export_folded(struct seam_export *e, struct seam_out *out);
void seam_export_chrome(struct seam_export *e, struct seam_out *out);
void seam_export_firefox(struct seam_export *e, struct seam_out *out);
void seam_export_pprof(struct seam_export *e, struct seam_out *out);
void seam_export_speedscope(struct seam_export *e, struct seam_out *out);

#endif
