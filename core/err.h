/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * enum seam_err: end codes and reader errors, generated from err.def.
 * 0 is "no error" or, of a stack, "still going".
 */
#ifndef SEAM_CORE_ERR_H
#define SEAM_CORE_ERR_H

enum seam_err {
	SEAM_OK = 0,
#define X(name, num, text, why) SEAM_##name = num,
#include "core/err.def"
#undef X
};

/* End codes are 1..SEAM_END_MAX - 1; BPF keeps one counter for each. */
#define SEAM_END_MAX 32
/* The last of them that is in use. */
#define SEAM_END_LAST SEAM_WINDOW

#endif
