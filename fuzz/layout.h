/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Laid out for the kernel side, a table says what it says as SFrame. */
#ifndef SEAM_FUZZ_LAYOUT_H
#define SEAM_FUZZ_LAYOUT_H

#include <stdlib.h>
#include <string.h>

#include "core/sframe-read.h"
#include "table/lookup.h"

#define LAYOUT_MAX (64 << 20)
/* As many as keep a run short. */
#define LAYOUT_PCS 512

static inline void check_pc(const struct seam_sframe *sf,
			    const struct seam_lookup *lookup,
			    const uint8_t *table, uint64_t pc)
{
	struct seam_rule want, got;
	uint64_t packed = 0;
	int err = seam_lookup_find(lookup, table, pc, &packed, &got);

	if (!seam_sframe_find(sf, pc, &want) != !err)
		abort();
	if (err)
		return;
	if (packed)
		seam_rule_unpack(packed, &got);
	if (want.flags & SEAM_RULE_OUTERMOST) {
		if (!(got.flags & SEAM_RULE_OUTERMOST))
			abort();
	} else if (memcmp(&want, &got, sizeof(want))) {
		abort();
	}
}

/* Of a section that the verifier accepts in the kernel's form. */
static inline void check_layout(const uint8_t *bytes, size_t len)
{
	struct seam_lookup lookup;
	uint64_t left_out = 0, pc, step;
	struct seam_sframe sf;
	uint8_t *table;

	if (seam_sframe_open(&sf, bytes, len))
		abort();
	if (seam_lookup_build(&sf, LAYOUT_MAX, &lookup, &table, &left_out))
		return;
	pc = (uint64_t)lookup.first_page << lookup.shift;
	step = 1 + ((uint64_t)lookup.num_pages << lookup.shift) / LAYOUT_PCS;
	for (int i = 0; i < LAYOUT_PCS && !left_out; i++, pc += step)
		check_pc(&sf, &lookup, table, pc);
	free(table);
}

#endif
