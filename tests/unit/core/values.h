/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The values of a rule as a test writes them down. */
#ifndef SEAM_TESTS_CORE_VALUES_H
#define SEAM_TESTS_CORE_VALUES_H

#include "core/rule.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define REG(r, o)                                                              \
	{                                                                      \
		.kind = SEAM_REG_OFF, .reg = (r), .off = (o)                   \
	}
#define MEM(r, o)                                                              \
	{                                                                      \
		.kind = SEAM_REG_DEREF, .reg = (r), .off = (o)                 \
	}
#define SLOT(o)                                                                \
	{                                                                      \
		.kind = SEAM_CFA_DEREF, .off = (o)                             \
	}

#endif
