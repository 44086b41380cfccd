// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/here.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "elf/elf.h"

/* Where x86-64 has the kernel when it is not moved at boot: any may lie there.
 */
#define UNMOVED_AVMA 0xffffffff81000000ULL

static bool is_kernel_map(const struct seam_pd_rec *rec)
{
	return (rec->type == PERF_RECORD_MMAP ||
		rec->type == PERF_RECORD_MMAP2) &&
	       !strncmp(rec->map.path, SEAM_KERNEL_MAP,
			strlen(SEAM_KERNEL_MAP));
}

/* perf and we have it first of all, or not at all. */
#define KERNEL_MAP_AMONG 65536

static bool find_kernel_map(const struct seam_pd_reader *r,
			    struct seam_pd_rec *ret)
{
	for (size_t i = 0; i < seam_pd_n_records(r) && i < KERNEL_MAP_AMONG;
	     i++) {
		seam_pd_record(r, i, ret);
		if (is_kernel_map(ret))
			return true;
	}
	return false;
}

const char *seam_kernel_anchor(const struct seam_pd_reader *r,
			       uint64_t *ret_addr)
{
	struct seam_pd_rec rec;

	if (!find_kernel_map(r, &rec))
		return NULL;
	*ret_addr = rec.map.pgoff;
	return rec.map.path + strlen(SEAM_KERNEL_MAP);
}

uint64_t seam_kallsyms_find(const char *kallsyms, const char *name)
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

size_t seam_kernel_build_id(const struct seam_pd_reader *r, const uint8_t **ret)
{
	size_t len = seam_pd_path_build_id(r, SEAM_KERNEL_MAP, ret);
	struct seam_pd_rec rec;

	if (len || !find_kernel_map(r, &rec))
		return len;
	*ret = rec.map.build_id;
	return rec.map.build_id_len;
}

static bool lies_here(const struct seam_pd_reader *r)
{
	uint64_t then = 0;
	const char *name = seam_kernel_anchor(r, &then);

	return name && *name && then && then != UNMOVED_AVMA &&
	       seam_kallsyms_find("/proc/kallsyms", name) == then;
}

/* Return: 1: the kernel's that runs here; 0: another's; -1: it is not known of
 * either. */
static int has_own_build_id(const struct seam_pd_reader *r)
{
	uint8_t own[SEAM_BUILD_ID_MAX];
	const uint8_t *id = NULL;
	size_t len = seam_kernel_build_id(r, &id), own_len;

	own_len = len ? seam_own_build_id(own) : 0;
	if (!own_len)
		return -1;
	return len == own_len && !memcmp(id, own, len);
}

static bool is_shown_here(const struct seam_pd_reader *r)
{
	int has = has_own_build_id(r);

	return has < 0 ? lies_here(r) : has;
}

bool seam_same_release_runs(const struct seam_pd_reader *r)
{
	const char *release = seam_pd_info(r)->osrelease;
	struct utsname u;

	return release && (uname(&u) || !strcmp(release, u.release));
}

bool seam_other_kernel_runs(const struct seam_pd_reader *r)
{
	if (!seam_pd_info(r)->osrelease)
		return !is_shown_here(r);
	return !seam_same_release_runs(r) || !has_own_build_id(r);
}
