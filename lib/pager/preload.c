// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tables for a program that is about to run, before its first sample. */
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pager/tables-priv.h"
#include "process/far.h"

/* Where ld.so finds libraries that no cache or RUNPATH places elsewhere;
 * what lies elsewhere is loaded when it is first met. */
static const char *const library_dirs[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

#define PRELOAD_DEPTH 8

static void preload_needed(struct seam_tables *t, const struct seam_elf *file,
			   int depth);

static void preload_library(struct seam_tables *t, const char *name, int depth)
{
	struct seam_elf *file;
	char path[4200];

	for (size_t i = 0; i < sizeof(library_dirs) / sizeof(library_dirs[0]);
	     i++) {
		snprintf(path, sizeof(path), "%s/%s", library_dirs[i], name);
		if (access(path, R_OK))
			continue;
		if (!seam_tables_load_path(t, path, &file)) {
			preload_needed(t, file, depth + 1);
			seam_elf_close(file);
		}
		return;
	}
}

/* DT_NEEDED, all the way down; a file that is loaded already ends it. */
static void preload_needed(struct seam_tables *t, const struct seam_elf *file,
			   int depth)
{
	Elf *elf = seam_elf_libelf(file);
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Dyn dyn;

	if (!elf || depth > PRELOAD_DEPTH)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
			const char *name;

			if (dyn.d_tag != DT_NEEDED)
				continue;
			name = elf_strptr(elf, shdr.sh_link, dyn.d_un.d_val);
			if (name && !strchr(name, '/'))
				preload_library(t, name, depth);
		}
	}
}

/* The interpreter's path, as PT_INTERP has it. */
static void preload_interp(struct seam_tables *t, const struct seam_elf *file)
{
	struct seam_elf_section interp;
	struct seam_elf *loaded;

	if (!seam_elf_section(file, ".interp", &interp) && interp.size &&
	    interp.data[interp.size - 1] == 0 &&
	    !seam_tables_load_path(t, (const char *)interp.data, &loaded))
		seam_elf_close(loaded);
}

void seam_tables_preload(struct seam_tables *t, const char *path)
{
	struct seam_elf *file;
	struct seam_far far = {0};
	uint32_t dev;
	bool waits = seam_far_path(&far, 0, path, &dev);

	seam_far_fini(&far);
	/* Another owns the tables, or whoever has the file may never answer:
	 * they come when they are asked for. */
	if (waits || !t->is_owner)
		return;
	if (!seam_tables_load_path(t, path, &file)) {
		preload_interp(t, file);
		preload_needed(t, file, 0);
		seam_elf_close(file);
	}
	seam_tables_load_vdso(t);
}
