// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Not a test: prints the rows of each file named, for agree-readelf.py. A
 * function begins with "F START END", bad CFI is "B START END REASON", and a
 * row is "START CFA REG=RULE...", of every register that has a rule, by
 * number. A rule is as readelf prints it. What aarch64 says of the return
 * address's signature is "pac=N", N by enum seam_cfi_ra_state.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cfi/cfi.h"

static uint64_t func = UINT64_MAX;

static void print_reg(int reg, const struct seam_cfi_reg *r)
{
	switch ((enum seam_cfi_how)r->how) {
	case SEAM_CFI_SAME:
		return;
	case SEAM_CFI_UNDEFINED:
		printf(" %d=u", reg);
		return;
	case SEAM_CFI_OFFSET:
		printf(" %d=c%+" PRId64, reg, r->off);
		return;
	case SEAM_CFI_VAL_OFFSET:
		printf(" %d=v%+" PRId64, reg, r->off);
		return;
	case SEAM_CFI_REGISTER:
		printf(" %d=%u", reg, r->reg);
		return;
	case SEAM_CFI_EXPRESSION:
		printf(" %d=exp", reg);
		return;
	case SEAM_CFI_VAL_EXPRESSION:
		printf(" %d=vexp", reg);
	}
}

static int print_row(void *ctx, const struct seam_cfi_row *row)
{
	(void)ctx;
	if (row->func_start != func || row->start == row->func_start)
		printf("F %" PRIx64 " %" PRIx64 "\n", row->func_start,
		       row->func_end);
	func = row->func_start;
	printf("%" PRIx64 " ", row->start);
	if (row->cfa_is_expr)
		printf("exp");
	else
		printf("%u%+" PRId64, row->cfa_reg, row->cfa_off);
	for (int i = 0; i < SEAM_CFI_ROW_REGS; i++)
		print_reg(i, &row->regs[i]);
	if (row->ra_state)
		printf(" pac=%u", row->ra_state);
	printf("\n");
	return 0;
}

static void print_bad(void *ctx, uint64_t start, uint64_t end,
		      const struct seam_errinfo *why)
{
	(void)ctx;
	printf("B %" PRIx64 " %" PRIx64 " %s at %s+%#" PRIx64 "\n", start, end,
	       why->reason, why->where, why->offset);
}

static int dump(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct seam_errinfo why = {0};
	struct seam_elf *elf;
	struct seam_cfi *cfi;

	if (fd < 0) {
		perror(path);
		return 1;
	}
	rc = seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, &why);
	close(fd);
	if (!rc) {
		rc = seam_cfi_open(elf, &cfi, &why);
		if (!rc) {
			seam_cfi_each(cfi, print_row, print_bad, NULL);
			seam_cfi_close(cfi);
		}
		seam_elf_close(elf);
	}
	if (rc)
		printf("E %d %s\n", -rc, why.reason);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= dump(argv[i]);
	return bad;
}
