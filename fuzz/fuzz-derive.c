/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Any bytes as a program whose code without CFI gets rules: these are in
 * order, lie in executable segments and where no FDE is, and say no more than
 * such rules may. Then the whole table is made, and its fingerprint. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/derive.h"
#include "core/arch.h"
#include "table/fingerprint.h"
#include "table/table.h"

#define ROOM 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool is_code(const struct seam_elf *elf, uint64_t svma)
{
	size_t count;
	const struct seam_elf_segment *s = seam_elf_segments(elf, &count);

	for (size_t i = 0; i < count; i++)
		if (s[i].flags & PF_X && svma >= s[i].svma &&
		    svma - s[i].svma < s[i].filesz)
			return true;
	return false;
}

static void check_row(const struct seam_elf *elf, struct seam_cfi *cfi,
		      const struct seam_derived_row *row)
{
	const struct seam_rule *rule = &row->rule;
	struct seam_cfi_row found;

	check(row->start < row->end);
	check(row->start >= row->func_start && row->end <= row->func_end);
	check(is_code(elf, row->start) && is_code(elf, row->end - 1));
	check(!cfi || seam_cfi_find(cfi, row->start, &found, NULL) == -ENOENT);
	check(rule->cfa.kind == SEAM_REG_OFF &&
	      rule->cfa.reg == SEAM_AMD64_REG_SP && rule->cfa.off >= 8);
	if (rule->fp.kind == SEAM_CFA_DEREF)
		check(rule->fp.off <= -16 && rule->fp.off >= -rule->cfa.off);
	else
		check(rule->fp.kind == SEAM_SAME);
}

static void derive(const struct seam_elf *elf, struct seam_cfi *cfi)
{
	const struct seam_derived_row *rows;
	struct seam_derived *derived;
	struct seam_rule rule;
	uint64_t last = 0;
	size_t n;

	if (seam_derived_build(elf, cfi, &derived))
		return;
	rows = seam_derived_rows(derived, &n);
	for (size_t i = 0; i < n; i++) {
		check(rows[i].start >= last);
		last = rows[i].end;
		check_row(elf, cfi, &rows[i]);
		check(seam_derived_find(derived, last - 1, &rule));
		check(rule.cfa.off == rows[i].rule.cfa.off);
		if (i + 1 == n || rows[i + 1].start > last)
			check(!seam_derived_find(derived, last, &rule));
	}
	seam_derived_free(derived);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_fingerprint source, again;
	struct seam_cfi *cfi = NULL;
	struct seam_elf *elf;
	uint8_t *table;
	size_t table_size;

	if (size > ROOM || seam_elf_open_mem(data, size, &elf, NULL))
		return 0;
	seam_fingerprint(elf, &source);
	if (seam_cfi_open(elf, &cfi, NULL))
		cfi = NULL;
	derive(elf, cfi);
	seam_cfi_close(cfi);
	if (!seam_table_build_kernel(elf, &table, &table_size, NULL, NULL))
		free(table);
	seam_fingerprint(elf, &again);
	check(!memcmp(&source, &again, sizeof(source)));
	seam_elf_close(elf);
	return 0;
}
