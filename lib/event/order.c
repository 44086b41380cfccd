// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/order.h"

#include <stddef.h>
#include <string.h>

#include "core/wire.h"

#define ANY_GUESS (SEAM_UNWIND_GUESS | SEAM_UNWIND_GUESS_ALL)

static const struct {
	const char *name;
	uint32_t bits;
} names[] = {
	{"sframe", SEAM_UNWIND_TABLES},
	{"fp", SEAM_UNWIND_FP},
	{"guess", SEAM_UNWIND_GUESS},
	{"guess-all", ANY_GUESS},
};

static uint32_t bits_of(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len &&
		    !memcmp(names[i].name, name, len))
			return names[i].bits;
	return 0;
}

const char *seam_order_parse(const char *order, uint32_t *ret)
{
	uint32_t all = 0, seen = 0;

	for (;;) {
		size_t len = strcspn(order, ",");
		uint32_t bits = bits_of(order, len);

		if (!bits)
			return "want sframe, fp, guess or guess-all, separated "
			       "by commas";
		if (seen & ANY_GUESS)
			return "guess and guess-all come last";
		if (seen & bits)
			return "each comes once";
		seen |= bits;
		/* Before the tables, and not only where there are none. */
		if (bits == SEAM_UNWIND_TABLES && all & SEAM_UNWIND_FP)
			all = SEAM_UNWIND_FP_FIRST;
		all |= bits;
		order += len;
		if (!*order)
			break;
		order++;
	}
	*ret = all;
	return NULL;
}
