// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Bytes that say what tasks do and what becomes of the records of it: whatever
 * is lost or out of order, samples have their own stacks, and all is counted.
 */
#include <stdint.h>
#include <stdlib.h>

#define LOSSY_CHECK(condition)                                                 \
	do {                                                                   \
		if (!(condition))                                              \
			abort();                                               \
	} while (0)

#include "tests/unit/stitch/lossy-judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lossy l;

	lossy_make(&l, data, size);
	judge(&l, SEAM_JOIN_COOKIE);
	judge(&l, SEAM_JOIN_ORDER);
	return 0;
}
