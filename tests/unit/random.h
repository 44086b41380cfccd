/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_TEST_RANDOM_H
#define SEAM_TEST_RANDOM_H

#include <stdint.h>

/* Numbers by chance, the same in every run. */
struct random {
	uint64_t state;
};

static inline uint32_t next(struct random *r, uint32_t limit)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % limit;
}

#endif
