// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define KERNEL_MAP "[kernel.kallsyms]"

/* The recording names the kernel's mapping after a symbol, "_text", and has
 * that symbol's address as the mapping's offset. */
static const char *anchor(const struct seam_pd_reader *r, uint64_t *ret_addr)
{
	struct seam_pd_rec rec;

	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		seam_pd_record(r, i, &rec);
		if ((rec.type == PERF_RECORD_MMAP ||
		     rec.type == PERF_RECORD_MMAP2) &&
		    !strncmp(rec.map.path, KERNEL_MAP, strlen(KERNEL_MAP))) {
			*ret_addr = rec.map.pgoff;
			return rec.map.path + strlen(KERNEL_MAP);
		}
	}
	return NULL;
}

/* Return: the symbol's address here, 0 if it is hidden or absent. */
static uint64_t find_symbol(const char *kallsyms, const char *name)
{
	FILE *f = fopen(kallsyms, "re");
	unsigned long long addr;
	char sym[512], line[640];
	uint64_t found = 0;

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %511s", &addr, sym) == 2 &&
		    !strcmp(sym, name))
			found = addr;
	fclose(f);
	return found;
}

void seam_kernel_fit(const struct seam_pd_reader *r, const char *kallsyms,
		     struct seam_kernel_fit *ret)
{
	const char *release = seam_pd_info(r)->osrelease, *name;
	uint64_t then = 0, now;
	struct utsname u;

	*ret = (struct seam_kernel_fit){0};
	if (!kallsyms && release && !uname(&u) && strcmp(release, u.release)) {
		ret->other = true;
		return;
	}
	name = anchor(r, &then);
	if (!name || !*name || !then)
		return;
	now = find_symbol(kallsyms ? kallsyms : "/proc/kallsyms", name);
	if (now)
		ret->shift = (int64_t)(then - now);
}
