/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/error.h: what a failed call can say.
 *
 * Every call of libseam returns 0 or more on success and -errno on failure,
 * never touches errno, and leaves its outputs as they were when it fails.
 * Calls that read files or memory also take a struct seam_errinfo *, which
 * may be NULL, and fill it only on failure.
 */
#ifndef SEAM_ERROR_H
#define SEAM_ERROR_H

#include <stdint.h>

struct seam_errinfo {
	int code; /* enum seam_err, 0 if errno says it all */
	uint64_t offset; /* bytes from the start of what .where names */
	char where[48]; /* a section, a file part; may be empty */
	char reason[160]; /* one sentence without a full stop */
};

/*
 * seam_err_name: the stable text of an end code or reader error, as output
 * for programs carries it ("outermost", "no-table").
 * seam_err_text: one sentence for people.
 * Return: static strings; "unknown" for a number that is none.
 */
const char *seam_err_name(int code);
const char *seam_err_text(int code);

#endif
