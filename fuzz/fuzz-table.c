// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Any bytes as an ELF file that is converted: whatever its CFI says, the
 * table of either form is one that the verifier accepts, and its statistics
 * add up; as does what is measured of the file's form.
 */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf.h"
#include "fuzz/layout.h"
#include "sframe/known-bad.h"
#include "sframe/verify.h"
#include "table/coverage.h"
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

/* Of what the table of the file's form says beside the CFI. */
static void check_coverage(const struct seam_elf *elf, const uint8_t *bytes,
			   size_t len)
{
	struct seam_coverage c;
	struct seam_sframe sf;
	uint64_t holes;

	if (seam_sframe_open(&sf, bytes, len))
		abort();
	if (seam_coverage(elf, &sf, 0, &c, NULL))
		return;
	holes = c.left_out;
	for (int i = 0; i < SEAM_HOLE_NUM; i++)
		holes += c.holes[i];
	if (c.cfi != c.rule + c.hole || c.hole != holes ||
	    c.rule != c.agree + c.differ + c.unsaid)
		abort();
}

static void check_known_bad(const struct seam_elf *elf)
{
	struct seam_known_bad_range *ranges = NULL;
	struct seam_cfi *cfi;
	size_t n = 0;

	if (seam_cfi_open(elf, &cfi, NULL))
		return;
	if (!seam_known_bad_list(elf, cfi, "ld.so", &ranges, &n))
		for (size_t i = 0; i < n; i++)
			if (ranges[i].start >= ranges[i].end)
				abort();
	free(ranges);
	seam_cfi_close(cfi);
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
	else
		check_coverage(elf, bytes, len);
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
	check_known_bad(elf);
	seam_elf_close(elf);
	return 0;
}
