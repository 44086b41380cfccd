// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints the functions and rows of an SFrame section, taken out of a file
 * with objcopy -O binary -j .sframe, or made by seam sframe make --detached.
 *
 *	cc rows.c -lseam && ./a.out SECTION
 */
#include <stdio.h>

#include "seam/sframe.h"

static char bytes[1 << 24];

static void print_value(const char *name, const struct seam_row_value *v)
{
	static const char *const hows[] = {"same", "cfa%+d", "*(cfa%+d)",
					   "r%d%+d", "*(r%d%+d)"};

	printf(" %s=", name);
	if (v->how >= SEAM_ROW_REG_OFF)
		printf(hows[v->how], v->reg, v->off);
	else
		printf(hows[v->how], v->off);
}

static int print_rows(const struct seam_section *section, uint32_t i)
{
	struct seam_row row;
	uint64_t at = 0;
	int r;

	while ((r = seam_section_next_row(section, i, &at, &row)) > 0) {
		printf("  +%u:", row.start);
		if (row.flags & SEAM_ROW_OUTERMOST) {
			puts(" outermost");
			continue;
		}
		print_value("cfa", &row.cfa);
		print_value("ra", &row.ra);
		print_value("fp", &row.fp);
		putchar('\n');
	}
	return r;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct seam_section section;
	struct seam_function func;
	struct seam_errinfo why;
	size_t size;

	if (!file) {
		fprintf(stderr, "usage: %s SECTION\n", argv[0]);
		return 2;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (seam_section_verify(bytes, size, &why) ||
	    seam_section_open(&section, bytes, size, 0, &why)) {
		fprintf(stderr, "%s: offset %llu: %s\n", argv[1],
			(unsigned long long)why.offset, why.reason);
		return 1;
	}
	for (uint32_t i = 0; !seam_section_function(&section, i, &func); i++) {
		printf("%#llx, %u bytes\n", (unsigned long long)func.start,
		       func.size);
		if (print_rows(&section, i))
			return 1;
	}
	return 0;
}
