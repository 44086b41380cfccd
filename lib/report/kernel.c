// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "elf/doubt.h"
#include "elf/elf.h"
#include "elf/fetched.h"

#define KERNEL_MAP "[kernel.kallsyms]"

static bool is_kernel_map(const struct seam_pd_rec *rec)
{
	return (rec->type == PERF_RECORD_MMAP ||
		rec->type == PERF_RECORD_MMAP2) &&
	       !strncmp(rec->map.path, KERNEL_MAP, strlen(KERNEL_MAP));
}

static bool find_kernel_map(const struct seam_pd_reader *r,
			    struct seam_pd_rec *ret)
{
	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		seam_pd_record(r, i, ret);
		if (is_kernel_map(ret))
			return true;
	}
	return false;
}

/* The recording names the kernel's mapping after a symbol, "_text", and has
 * that symbol's address as the mapping's offset. */
static const char *anchor(const struct seam_pd_reader *r, uint64_t *ret_addr)
{
	struct seam_pd_rec rec;

	if (!find_kernel_map(r, &rec))
		return NULL;
	*ret_addr = rec.map.pgoff;
	return rec.map.path + strlen(KERNEL_MAP);
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

/* By name: there is no other way for all recordings. */
static bool other_runs(const struct seam_pd_reader *r)
{
	const char *release = seam_pd_info(r)->osrelease;
	struct utsname u;

	return release && !uname(&u) && strcmp(release, u.release);
}

/* In the list of files' build-ids, or with the mapping. */
static size_t kernel_build_id(const struct seam_pd_reader *r,
			      const uint8_t **ret)
{
	size_t len = seam_pd_path_build_id(r, KERNEL_MAP, ret);
	struct seam_pd_rec rec;

	if (len || !find_kernel_map(r, &rec))
		return len;
	*ret = rec.map.build_id;
	return rec.map.build_id_len;
}

int seam_kernel_kept(const struct seam_pd_reader *r, char **ret)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1], path[PATH_MAX];
	const uint8_t *id = NULL;
	struct stat st;
	size_t len;

	*ret = NULL;
	if (!other_runs(r))
		return 0;
	len = kernel_build_id(r, &id);
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

	*ret = (struct seam_kernel_fit){.other_runs = other_runs(r)};
	if (!kallsyms && ret->other_runs) {
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
