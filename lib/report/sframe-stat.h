/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What was measured of a file's SFrame table, as text and as JSON. */
#ifndef SEAM_LIB_REPORT_SFRAME_STAT_H
#define SEAM_LIB_REPORT_SFRAME_STAT_H

#include "report/strbuf.h"
#include "sframe/known-bad.h"
#include "table/coverage.h"
#include "table/table.h"

struct seam_sframe_stat {
	const char *path;
	bool is_made; /* no section was measured, but what make would make */
	uint8_t version;
	struct seam_coverage coverage;
	struct seam_table_stats made;
	size_t section_size, made_size; /* bytes; equal if is_made */
	size_t eh_frame, eh_frame_hdr, debug_frame; /* bytes; 0: none */
	bool has_known_bad; /* it was asked for */
	struct seam_known_bad_range *known_bad; /* the caller frees it */
	size_t num_known_bad;
};

void seam_sframe_stat_sizes(const struct seam_elf *elf,
			    struct seam_sframe_stat *s);
void seam_sframe_stat_text(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s);
void seam_sframe_stat_json(struct seam_strbuf *b,
			   const struct seam_sframe_stat *s);

#endif
