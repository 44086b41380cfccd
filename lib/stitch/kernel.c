// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/doubt.h"
#include "elf/elf.h"
#include "elf/fetched.h"
#include "stitch/here.h"

int seam_kernel_kept(const struct seam_pd_reader *r, char **ret)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1], path[PATH_MAX];
	const uint8_t *id = NULL;
	struct stat st;
	size_t len;

	*ret = NULL;
	if (!seam_other_kernel_runs(r))
		return 0;
	len = seam_kernel_build_id(r, &id);
	if (len < 2 || len > SEAM_BUILD_ID_MAX)
		return 0;
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	/* Neither what hangs a reader, nor what it cannot read. */
	if (!seam_perf_kept_name(path, hex, "kallsyms") || stat(path, &st) ||
	    !S_ISREG(st.st_mode) || access(path, R_OK))
		return 0;
	*ret = strdup(path);
	if (!*ret)
		return -ENOMEM;
	return seam_is_doubted(&st) ? SEAM_DOUBTED : 0;
}

void seam_kernel_fit(const struct seam_pd_reader *r, const char *kallsyms,
		     struct seam_kernel_fit *ret)
{
	uint64_t then = 0, now;
	const char *name;

	*ret = (struct seam_kernel_fit){
		.other_runs = seam_other_kernel_runs(r),
	};
	if (!kallsyms && ret->other_runs) {
		ret->other = true;
		return;
	}
	name = seam_kernel_anchor(r, &then);
	if (!name || !*name || !then)
		return;
	now = seam_kallsyms_find(kallsyms ? kallsyms : "/proc/kallsyms", name);
	ret->unplaced = !now;
	if (now)
		ret->shift = (int64_t)(then - now);
}
