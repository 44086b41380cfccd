/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the tests of derived rules share: files built here, opened whole. */
#ifndef SEAM_TESTS_CFI_BUILT_H
#define SEAM_TESTS_CFI_BUILT_H

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/derive.h"

struct object {
	struct seam_elf *elf;
	struct seam_cfi *cfi; /* NULL: none */
	struct seam_derived *derived;
};

static inline void object_close(struct object *o)
{
	seam_derived_free(o->derived);
	seam_cfi_close(o->cfi);
	seam_elf_close(o->elf);
	memset(o, 0, sizeof(*o));
}

/* Return: false if the file cannot be read as code. */
static inline bool object_open(const char *path, struct object *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	memset(o, 0, sizeof(*o));
	if (fd < 0)
		return false;
	rc = seam_elf_open_fd(fd, SEAM_ELF_COPY, &o->elf, NULL);
	close(fd);
	if (rc)
		return false;
	if (seam_cfi_open(o->elf, &o->cfi, NULL))
		o->cfi = NULL;
	if (!seam_derived_build(o->elf, o->cfi, &o->derived))
		return true;
	object_close(o);
	return false;
}

static inline char *temp_dir(void)
{
	const char *base = getenv("TMPDIR");
	char *dir = NULL;

	if (asprintf(&dir, "%s/seam-derive-XXXXXX", base ? base : "/tmp") < 0 ||
	    !mkdtemp(dir))
		return NULL;
	return dir;
}

/* Writes text to dir/name. */
static inline bool write_text(const char *dir, const char *name,
			      const char *text)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return !fclose(f) && ok;
}

/* Runs a command in dir. */
static inline bool run_in(const char *dir, const char *command)
{
	char *line = NULL;
	bool ok = asprintf(&line, "cd '%s' && %s", dir, command) > 0 &&
		  !system(line);

	free(line);
	return ok;
}

static inline void remove_dir(char *dir)
{
	if (dir && !run_in(dir, "rm -rf \"$PWD\""))
		fprintf(stderr, "%s is left over\n", dir);
	free(dir);
}

/* Return: 0 if there is no such symbol. */
static inline uint64_t symbol(const struct object *o, const char *name)
{
	Elf *elf = seam_elf_libelf(o->elf);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *s =
				elf_strptr(elf, sh.sh_link, sym.st_name);

			if (s && !strcmp(s, name))
				return sym.st_value;
		}
	}
	return 0;
}

#endif
