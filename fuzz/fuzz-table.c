// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as an ELF file that is converted: whatever its CFI says, the
 * table of either form is one that the verifier accepts, and its statistics
 * add up.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "sframe/verify.h"
#include "table/lookup.h"
#include "table/table.h"

#define LAYOUT_MAX (64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stats(const struct seam_table_stats *s)
{
	uint64_t holes = 0;

	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		holes += s->holes[i];
	if (s->hole_bytes != holes || s->hole_bytes > s->code_bytes ||
	    s->rows < s->functions)
		abort();
}

/* As many as keep a run short. */
#define MAX_PCS 4096

static void check_pc(const struct seam_sframe *sf,
		     const struct seam_lookup *lookup, const uint8_t *table,
		     uint64_t pc)
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

/* Laid out for the kernel side it says what it says. */
static void check_layout(const uint8_t *bytes, size_t len)
{
	struct seam_lookup lookup;
	struct seam_sframe sf;
	uint8_t *table;
	uint64_t pc, step;

	if (seam_sframe_open(&sf, bytes, len))
		abort();
	if (seam_lookup_build(&sf, LAYOUT_MAX, &lookup, &table, NULL))
		return;
	pc = (uint64_t)lookup.first_page << lookup.shift;
	step = 1 + ((uint64_t)lookup.num_pages << lookup.shift) / MAX_PCS;
	for (int i = 0; i < MAX_PCS; i++, pc += step)
		check_pc(&sf, &lookup, table, pc);
	free(table);
}

static void check_form(const struct seam_elf *elf, size_t size, bool is_kernel)
{
	struct seam_sframe_limits limits = {0};
	struct seam_table_stats stats;
	uint8_t *bytes;
	size_t len;

	if (is_kernel) {
		limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
		limits.text_end = size;
		if (seam_table_build_kernel(elf, &bytes, &len, &stats, NULL))
			return;
	} else if (seam_table_build(elf, &bytes, &len, &stats, NULL)) {
		return;
	}
	if (seam_sframe_verify(bytes, len, &limits, NULL))
		abort();
	if (is_kernel)
		check_layout(bytes, len);
	check_stats(&stats);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_elf *elf;

	if (seam_elf_open_mem(data, size, &elf, NULL))
		return 0;
	check_form(elf, size, false);
	check_form(elf, size, true);
	seam_elf_close(elf);
	return 0;
}
