// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as an SFrame section, for core's reader and for the verifier.
 * The reader never touches what is not the section's; and in a section that
 * the verifier accepts it never meets anything malformed.
 *
 * The first byte chooses the form; the rest, copied so that it ends where
 * its allocation does, is the section.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/sframe-read.h"
#include "sframe/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reader's cost is bounded, but not this loop over all functions. */
#define MAX_PROBES 64

static void probe(const struct seam_sframe *sf, uint64_t pc, bool is_verified)
{
	struct seam_rule rule;
	int err = seam_sframe_find(sf, pc, &rule);

	if (is_verified && err && err != SEAM_NO_RULE)
		abort();
	if (!err && rule.cfa.kind > SEAM_REG_DEREF)
		abort();
}

static void probe_all(const struct seam_sframe *sf, bool is_verified)
{
	for (uint32_t i = 0; i < sf->num_fdes && i < MAX_PROBES; i++) {
		uint64_t start = seam_sframe_start(sf, i);
		struct seam_sframe_func func;

		probe(sf, start - 1, is_verified);
		probe(sf, start, is_verified);
		if (seam_sframe_func_at(sf, i, &func)) {
			if (is_verified)
				abort();
			continue;
		}
		probe(sf, start + func.size / 2, is_verified);
		probe(sf, start + func.size - 1, is_verified);
		probe(sf, start + func.size, is_verified);
		probe(sf, start + func.rep_size, is_verified);
	}
	probe(sf, 0, is_verified);
	probe(sf, UINT64_MAX, is_verified);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_sframe_limits limits = {0};
	struct seam_sframe sf;
	struct seam_errinfo err = {0};
	uint8_t *bytes;
	bool is_good;

	if (!size)
		return 0;
	if (data[0] & 1) {
		limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
		limits.text_end = 1 << 20;
	}
	data++;
	size--;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	is_good = !seam_sframe_verify(bytes, size, &limits, &err);
	/* A reason, and an offset that can be pointed at. */
	if (!is_good && (!err.code || !err.reason[0] || err.offset > size))
		abort();
	if (!seam_sframe_open(&sf, bytes, size))
		probe_all(&sf, is_good);
	else if (is_good && bytes[3] & SEAM_SFRAME_F_SORTED)
		abort();
	free(bytes);
	return 0;
}
