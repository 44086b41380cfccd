/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/error.h: what a failed call can say.
 *
 * Every call of libseam returns 0 or more on success and -errno on failure,
 * never touches errno (malloc does when it fails), and leaves its outputs as
 * they were when it fails.
 * Calls that read files or memory also take a struct seam_errinfo *, which
 * may be NULL, and fill it only on failure.
 */
#ifndef SEAM_ERROR_H
#define SEAM_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a stack ended; these numbers are never reused. seam(1) explains them. */
enum seam_end {
	SEAM_END_OUTERMOST = 1, /* whole */
	SEAM_END_MAX_STACK = 2, /* there is no room for more */
	SEAM_END_NO_TABLE = 3,
	SEAM_END_NO_RULE = 4,
	SEAM_END_BAD_CFA = 5,
	SEAM_END_UNREADABLE = 6,
	SEAM_END_COPY_SHORT = 7,
	SEAM_END_VMA_BUSY = 8,
	SEAM_END_REGS_DIFFER = 9,
	SEAM_END_EXEC = 10,
	SEAM_END_EXITED = 11,
	SEAM_END_PENDING = 12,
	SEAM_END_LOST = 13,
	SEAM_END_NO_USER = 14,
	SEAM_END_GUESSED = 15,
	SEAM_END_UNPROVEN = 16, /* to the outermost, not by tables alone */
	/* Of precise events alone: */
	SEAM_END_IRREVERSIBLE = 17,
	SEAM_END_BELOW_SP = 18,
	SEAM_END_SKID_MOMENT = 19,
	SEAM_END_UNSURE = 20, /* which stack it is: there is no frame */
	/* Of a stream that is read while it comes: */
	SEAM_END_WINDOW = 21,
};

/* Stays as it is. */
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

#ifdef __cplusplus
}
#endif

#endif
