/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Fills an error's reason, where the caller wants one. */
#ifndef SEAM_LIB_EVENT_FAIL_H
#define SEAM_LIB_EVENT_FAIL_H

#include "seam/error.h"

/* What recording takes; to stand behind "... is not permitted: ". */
#define SEAM_TAKES_RIGHTS                                                      \
	"run as root, or with CAP_BPF and CAP_PERFMON ('man "                  \
	"seam-record' says how)"

/* Return: err, so that a failure is one statement. reterr may be NULL. */
int seam_fail(struct seam_errinfo *reterr, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
