// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int seam_fail(struct seam_errinfo *reterr, int err, const char *fmt, ...)
{
	va_list ap;

	if (reterr) {
		memset(reterr, 0, sizeof(*reterr));
		va_start(ap, fmt);
		vsnprintf(reterr->reason, sizeof(reterr->reason), fmt, ap);
		va_end(ap);
	}
	return err;
}
