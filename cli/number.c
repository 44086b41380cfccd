// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int cli_number(const char *s, bool units, uint64_t *ret)
{
	unsigned long long v;
	unsigned shift = 0;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (end == s || errno || *s == '-')
		return -EINVAL;
	if (units && *end) {
		static const char all[] = "bBkKmMgG";
		const char *unit = strchr(all, *end);

		if (!unit)
			return -EINVAL;
		shift = 10 * (unsigned)((unit - all) / 2);
		end++;
	}
	if (*end || v > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = (uint64_t)v << shift;
	return 0;
}
