// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "seam/error.h"

#include "core/err.h"

const char *seam_err_name(int code)
{
	switch (code) {
#define X(name, num, text, why)                                                \
	case num:                                                              \
		return text;
#include "core/err.def"
#undef X
	}
	return "unknown";
}

const char *seam_err_text(int code)
{
	switch (code) {
#define X(name, num, text, why)                                                \
	case num:                                                              \
		return why;
#include "core/err.def"
#undef X
	}
	return "unknown";
}
