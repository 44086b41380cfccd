/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbol/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/maps-path.h"
#include "elf/doubt.h"
#include "symbol/debugfile.h"

struct load {
	struct seam_symbol_file *f;
	const char *debug_root;
	bool whole; /* for more than names */
	struct seam_elf *elf; /* NULL: not to be had, or another file now */
	int rc; /* why */
};

/* The vDSO is in this process too, at an address /proc knows the end of. */
static int open_vdso(struct seam_elf **ret)
{
	unsigned long start, end;
	char line[512];
	FILE *maps;
	int rc = -ENOENT;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vdso]") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2 || end <= start)
			continue;
		rc = seam_elf_open_mem((const void *)start, end - start, ret,
				       NULL);
		break;
	}
	fclose(maps);
	return rc;
}

static int parts_of(const struct load *l)
{
	return l->whole ? SEAM_ELF_SOURCE : SEAM_ELF_NAMES;
}

static int open_path(struct load *l, const char *path, bool may_doubt)
{
	struct seam_symbol_file *f = l->f;
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t id_len;
	int rc;

	if (!strcmp(path, "[vdso]"))
		rc = open_vdso(&l->elf);
	else
		rc = seam_symbol_open(path, parts_of(l), may_doubt, &l->elf);
	if (rc)
		return rc;
	id_len = seam_elf_build_id(l->elf, id);
	if (!f->build_id_len) {
		memcpy(f->build_id, id, id_len);
		f->build_id_len = id_len;
	} else if (id_len != f->build_id_len ||
		   memcmp(id, f->build_id, id_len)) {
		l->elf = seam_elf_close(l->elf);
		return -ESTALE;
	}
	return 0;
}

/* A file that was replaced by one like it, as by a reinstalled package, is
 * there without the kernel's mark; only its build-id can tell. */
static void open_by_path(struct load *l)
{
	static const char mark[] = " (deleted)";
	const struct seam_symbol_file *f = l->f;
	size_t len = strlen(f->path);
	char *path;

	l->rc = open_path(l, f->path, false);
	if (l->rc == -ENOENT && (path = seam_maps_path_other(f->path))) {
		l->rc = open_path(l, path, false);
		free(path);
	}
	if (l->rc != -ENOENT || !f->build_id_len || len < sizeof(mark) ||
	    strcmp(f->path + len - (sizeof(mark) - 1), mark))
		return;
	path = strndup(f->path, len - (sizeof(mark) - 1));
	if (path) {
		l->rc = open_path(l, path, true);
		seam_symbol_file_doubt(l->f, l->rc, path);
	}
	free(path);
}

/* What was there may have been replaced, or be another machine's. */
static void open_file(struct load *l)
{
	struct seam_symbol_file *f = l->f;
	char path[PATH_MAX];
	int rc;

	open_by_path(l);
	if (!l->rc || !f->build_id_len)
		return;
	rc = seam_debugfile_kept(f->path, f->build_id, f->build_id_len,
				 parts_of(l), &l->elf, path);
	seam_symbol_file_refuse(f, rc, path);
	if (!rc)
		l->rc = 0;
}

int seam_symbol_file_open(struct seam_symbol_file *f, struct seam_elf **ret)
{
	struct load l = {.f = f, .whole = true};

	open_file(&l);
	if (!l.rc)
		*ret = l.elf;
	return l.rc;
}

static int copy_segments(struct seam_symbol_file *f, const struct seam_elf *elf)
{
	size_t n;
	const struct seam_elf_segment *segments = seam_elf_segments(elf, &n);

	f->segments = n ? malloc(n * sizeof(*segments)) : NULL;
	if (!f->segments)
		return n ? -ENOMEM : -ENOENT;
	memcpy(f->segments, segments, n * sizeof(*segments));
	f->num_segments = n;
	return 0;
}

static bool read_symtab(struct load *l, const struct seam_elf *elf)
{
	if (elf && !seam_symtab_read_elf(&l->f->tab, elf, SHT_SYMTAB) &&
	    l->f->tab.count)
		return true;
	seam_symtab_fini(&l->f->tab);
	return false;
}

/* A debug file's segments are those of the file itself, except that some
 * tools empty them; those do not tell where an offset lies. */
static bool read_debug_file(struct load *l, struct seam_elf *debug)
{
	bool found = read_symtab(l, debug);

	if (found && !l->elf)
		copy_segments(l->f, debug);
	seam_elf_close(debug);
	return found;
}

static void note(struct seam_symbol_file *f, const char *path)
{
	if (!f->doubted)
		f->doubted = strdup(path);
}

void seam_symbol_file_doubt(struct seam_symbol_file *f, int rc,
			    const char *path)
{
	if (rc == SEAM_DOUBTED)
		note(f, path);
}

void seam_symbol_file_refuse(struct seam_symbol_file *f, int rc,
			     const char *path)
{
	if (rc == SEAM_DOUBTED || rc == -ESTALE)
		note(f, path);
}

static bool load_debug_file(struct load *l)
{
	struct seam_symbol_file *f = l->f;
	struct seam_elf *debug;
	char path[PATH_MAX];
	int rc;

	if (f->build_id_len) {
		rc = seam_debugfile_by_build_id(l->debug_root, f->build_id,
						f->build_id_len, SEAM_ELF_NAMES,
						&debug, path);
		seam_symbol_file_refuse(f, rc, path);
		if (!rc && read_debug_file(l, debug))
			return true;
	}
	if (!l->elf)
		return false;
	rc = seam_debugfile_by_link(l->debug_root, f->path, l->elf, &debug,
				    path);
	seam_symbol_file_doubt(f, rc, path);
	return !rc && read_debug_file(l, debug);
}

/* MiniDebugInfo has what .dynsym lacks, so the two are read together. */
static void load_stripped(struct load *l)
{
	struct seam_elf_section go;
	struct seam_elf *mini;
	uint8_t *bytes;

	if (!seam_debugfile_mini(l->elf, &mini, &bytes)) {
		read_symtab(l, mini);
		seam_elf_close(mini);
		free(bytes);
	}
	l->f->stripped = !l->f->tab.count;
	l->f->has_go_names = !seam_elf_section(l->elf, ".gopclntab", &go);
	seam_symtab_read_elf(&l->f->tab, l->elf, SHT_DYNSYM);
}

static void say_problem(struct load *l)
{
	struct seam_symbol_file *f = l->f;
	const char *why = "it has no symbols, and no debug file for it is "
			  "installed";

	if (f->tab.count && f->num_segments)
		return;
	if (f->tab.count)
		why = "its debug file does not tell where its code lies, and "
		      "the file itself is not there";
	else if (l->rc == -ESTALE)
		why = "the file there now has another build-id than the one "
		      "recorded";
	else if (l->rc == -EINVAL)
		why = "it is not an ELF file";
	else if (l->rc)
		why = strerrordesc_np(-l->rc);
	snprintf(f->problem, sizeof(f->problem), "%s", why ? why : "unknown");
}

void seam_symbol_file_load(struct seam_symbol_file *f, const char *debug_root)
{
	struct load l = {.f = f, .debug_root = debug_root};

	if (f->loaded)
		return;
	f->loaded = true;
	open_file(&l);
	if (l.elf)
		copy_segments(f, l.elf);
	if (!read_symtab(&l, l.elf) && !load_debug_file(&l) && l.elf)
		load_stripped(&l);
	seam_symtab_finish(&f->tab);
	say_problem(&l);
	/* Of a stripped file too, whose problem that is all the same. */
	if (l.elf) {
		seam_symtab_read_plt(&f->tab, l.elf);
		seam_symtab_finish(&f->tab);
	}
	seam_elf_close(l.elf);
}

static bool find_segment(const struct seam_symbol_file *f, uint64_t off,
			 bool exec, uint64_t *ret_svma)
{
	for (size_t i = 0; i < f->num_segments; i++) {
		const struct seam_elf_segment *s = &f->segments[i];

		if ((exec && !(s->flags & PF_X)) || off < s->off ||
		    off - s->off >= s->filesz)
			continue;
		*ret_svma = s->svma + (off - s->off);
		return true;
	}
	return false;
}

/* Code first: old layouts map the same bytes twice. */
bool seam_symbol_file_svma(const struct seam_symbol_file *f, uint64_t off,
			   uint64_t *ret_svma)
{
	return find_segment(f, off, true, ret_svma) ||
	       find_segment(f, off, false, ret_svma);
}

void seam_symbol_file_fini(struct seam_symbol_file *f)
{
	seam_symtab_fini(&f->tab);
	seam_perf_map_fini(&f->map);
	seam_source_close(f->source);
	free(f->segments);
	free(f->doubted);
	free(f->path);
}
