/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Samples with their names in the formats of other tools. Samples are added
 * first and written at the end: what is kept of one is 32 bytes, or a count
 * where the format has no times, and of a stack what no other stack has.
 *
 *	struct seam_export *e;
 *	if (seam_export_new(SEAM_EXPORT_FOLDED, reader, &e) == 0) {
 *		while (...)
 *			seam_export_add(e, &text);
 *		seam_export_finish(e, write, ctx);
 *	}
 *	seam_export_free(e);
 *
 * The reader, and what text points to, must outlive it.
 */
#ifndef SEAM_LIB_EXPORT_H
#define SEAM_LIB_EXPORT_H

#include "core/err.h"
#include "report/text.h"

enum seam_export_format {
	SEAM_EXPORT_FOLDED, /* one line a stack, root first, and its count */
	SEAM_EXPORT_SPEEDSCOPE, /* JSON, https://www.speedscope.app */
	SEAM_EXPORT_PPROF, /* profile.proto, compressed by gzip */
	SEAM_EXPORT_FIREFOX, /* JSON, https://profiler.firefox.com */
	SEAM_EXPORT_CHROME, /* JSON, Chrome's trace events */
	SEAM_EXPORT_FORMATS
};

struct seam_export_counts {
	uint64_t samples, whole; /* of the former */
	uint64_t no_user; /* neither whole nor not: a kernel thread's */
	uint64_t end[SEAM_END_MAX]; /* those that are not, by end code; [0]:
				     * not said */
	uint64_t cut_names; /* longer than a name of a format is to be */
};

struct seam_export;

/* Return: 0, or -errno: that is the result. */
typedef int seam_export_write(void *ctx, const void *bytes, size_t len);

/* Return: 0 or -ENOMEM. */
int seam_export_new(enum seam_export_format format,
		    struct seam_pd_reader *reader, struct seam_export **ret);
struct seam_export *seam_export_free(struct seam_export *e);
/* Return: 0; -ENOMEM; -EOVERFLOW: of something there are 2^32. */
int seam_export_add(struct seam_export *e, const struct seam_text *t);
/* All that was added, once. name: of the recording. Return: 0, -ENOMEM, or
 * what write said. */
int seam_export_finish(struct seam_export *e, const char *name,
		       seam_export_write *write, void *ctx);
const struct seam_export_counts *
seam_export_counts(const struct seam_export *e);

#endif
