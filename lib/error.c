// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "seam/error.h"

#include "core/err.h"

/* The public names of end codes are those of core. */
#define SAME(name)                                                             \
	_Static_assert((int)SEAM_END_##name == (int)SEAM_##name, #name)
SAME(OUTERMOST);
SAME(MAX_STACK);
SAME(NO_TABLE);
SAME(NO_RULE);
SAME(BAD_CFA);
SAME(UNREADABLE);
SAME(COPY_SHORT);
SAME(VMA_BUSY);
SAME(REGS_DIFFER);
SAME(EXEC);
SAME(EXITED);
SAME(PENDING);
SAME(LOST);
SAME(NO_USER);
SAME(GUESSED);
SAME(UNPROVEN);
SAME(IRREVERSIBLE);
SAME(BELOW_SP);
SAME(SKID_MOMENT);
SAME(UNSURE);
SAME(WINDOW);

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
