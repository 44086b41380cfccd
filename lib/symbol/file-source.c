// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Where a file's debugging information is: in itself, in the build-id's debug
 * file, in its debug link's; and what dwz took out of that.
 */
#include <errno.h>
#include <string.h>

#include "symbol/debugfile.h"
#include "symbol/file.h"

struct search {
	struct seam_symbol_file *f;
	const char *debug_root;
};

static const char *reason(int rc)
{
	switch (rc) {
	case -ENOENT:
		return NULL;
	case -EFBIG:
		return "it has over 2 GiB of debugging information";
	case -EINVAL:
		return "its debugging information is damaged";
	}
	return strerrordesc_np(-rc);
}

/* Return: false to look further. */
static bool use(struct search *l, const char *path, struct seam_elf *elf)
{
	struct seam_symbol_file *f = l->f;
	struct seam_elf *alt = NULL;
	int rc = seam_debugfile_alt(l->debug_root, path, elf, &alt);

	if (rc && rc != -ENODATA)
		f->source_problem = "the file that its .gnu_debugaltlink names "
				    "is not there";
	rc = seam_source_open(elf, alt, f->tab.demangle, &f->source);
	seam_elf_close(alt);
	seam_elf_close(elf);
	if (rc)
		f->source_problem = reason(rc);
	return rc != -ENOENT;
}

void seam_symbol_file_load_source(struct seam_symbol_file *f,
				  const char *debug_root)
{
	struct search l = {f, debug_root};
	struct seam_elf *elf;
	char path[PATH_MAX];
	int rc = -ENOENT;

	if (f->source_loaded)
		return;
	f->source_loaded = true;
	if (!seam_symbol_file_open(f, &elf) && use(&l, f->path, elf))
		return;
	if (f->build_id_len)
		rc = seam_debugfile_by_build_id(debug_root, f->build_id,
						f->build_id_len,
						SEAM_ELF_SOURCE, &elf, path);
	seam_symbol_file_refuse(f, rc, path);
	if (!rc && use(&l, path, elf))
		return;
	if (!seam_symbol_file_open(f, &elf)) {
		struct seam_elf *debug;

		rc = seam_debugfile_by_link(debug_root, f->path, elf, &debug,
					    path);
		seam_symbol_file_doubt(f, rc, path);
		seam_elf_close(elf);
		if (!rc)
			use(&l, path, debug);
	}
}
