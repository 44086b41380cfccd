// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as an ELF file that is converted: whatever its CFI says, the
 * table of either form is one that the verifier accepts, and its statistics
 * add up.
 */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf.h"
#include "fuzz/layout.h"
#include "sframe/verify.h"
#include "table/table.h"

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
