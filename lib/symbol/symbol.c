/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/index.h"
#include "symbol/file.h"
#include "symbol/kernel-cache.h"

#define KALLSYMS "/proc/kallsyms"
/* Of all processes' maps together, with the tables made of them. */
#define MAPS_ROOM (128u << 20)
/* So many are looked at again at once; the next ones the next time. */
#define MAPS_RENEWED 256

struct seam_symbolizer {
	char *debug_root, *kallsyms;
	bool no_demangle;
	struct seam_symbol_file **files;
	size_t num_files, room_files;
	struct seam_index index; /* of files */
	struct seam_kernel_cache kernel_cache;
	struct seam_symtab kernel;
	bool cache_opened, kernel_loaded;
	uint64_t map_room; /* what of maps of processes may still be read */
	size_t renewed; /* files that were looked at again */
	char kernel_problem[200];
};

int seam_symbolizer_new(const struct seam_symbol_opts *opts,
			struct seam_symbolizer **ret)
{
	struct seam_symbolizer *s;
	struct seam_symbol_opts o = {0};

	if (opts)
		memcpy(&o, opts, opts->sz < sizeof(o) ? opts->sz : sizeof(o));
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->no_demangle = o.no_demangle;
	s->map_room = MAPS_ROOM;
	s->debug_root = strdup(o.debug_root ? o.debug_root : "/usr/lib/debug");
	s->kallsyms = strdup(o.kallsyms ? o.kallsyms : KALLSYMS);
	if (!s->debug_root || !s->kallsyms) {
		seam_symbolizer_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

struct seam_symbolizer *seam_symbolizer_free(struct seam_symbolizer *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->num_files; i++) {
		seam_symbol_file_fini(s->files[i]);
		free(s->files[i]);
	}
	seam_kernel_cache_close(&s->kernel_cache);
	seam_symtab_fini(&s->kernel);
	free(s->files);
	seam_index_fini(&s->index);
	free(s->debug_root);
	free(s->kallsyms);
	free(s);
	return NULL;
}

static uint64_t hash_file(const char *path, const uint8_t *id, size_t id_len)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, path, strlen(path));

	return seam_hash(hash, id, id_len);
}

static bool is_file(const struct seam_symbol_file *f, const char *path,
		    const uint8_t *id, size_t id_len)
{
	if (f->is_map)
		return false;
	/* Without a build-id, a file learns its own when it is loaded; such a
	 * file stays apart from one that is asked for by that build-id. */
	return f->asked_id_len == id_len &&
	       (!id_len || !memcmp(f->build_id, id, id_len)) &&
	       !strcmp(f->path, path);
}

static int add_file(struct seam_symbolizer *s, const char *path, uint64_t hash,
		    struct seam_symbol_file **ret)
{
	struct seam_symbol_file *f;
	int rc;

	if (seam_grow(&s->files, s->num_files + 1, &s->room_files,
		      sizeof(*s->files)))
		return -ENOMEM;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->path = strdup(path);
	rc = f->path ? seam_index_add(&s->index, hash, s->num_files) : -ENOMEM;
	if (rc) {
		free(f->path);
		free(f);
		return rc;
	}
	s->files[s->num_files++] = f;
	*ret = f;
	return 0;
}

int seam_symbolizer_file(struct seam_symbolizer *s, const char *path,
			 const uint8_t *build_id, size_t build_id_len)
{
	struct seam_symbol_file *f;
	uint64_t hash;
	uint32_t i;
	int rc;

	if (!build_id)
		build_id_len = 0;
	if (build_id_len > SEAM_BUILD_ID_MAX)
		return -EINVAL;
	hash = hash_file(path, build_id, build_id_len);
	for (size_t at = 0; seam_index_next(&s->index, hash, &at, &i);)
		if (is_file(s->files[i], path, build_id, build_id_len))
			return (int)i;
	rc = add_file(s, path, hash, &f);
	if (rc)
		return rc;
	if (build_id_len)
		memcpy(f->build_id, build_id, build_id_len);
	f->build_id_len = f->asked_id_len = build_id_len;
	f->tab.demangle = !s->no_demangle;
	return (int)s->num_files - 1;
}

static bool is_map_of(const struct seam_symbol_file *f,
		      const struct seam_perf_owner *of)
{
	return f->is_map && f->owner.pid == of->pid &&
	       f->owner.began_ns == of->began_ns;
}

/* Each process once, whether there are names or not. */
int seam_symbolizer_map(struct seam_symbolizer *s,
			const struct seam_perf_owner *of)
{
	uint64_t hash = seam_hash(SEAM_HASH_START ^ of->began_ns, &of->pid,
				  sizeof(of->pid));
	struct seam_symbol_file *f;
	uint32_t i;
	int rc;

	for (size_t at = 0; seam_index_next(&s->index, hash, &at, &i);)
		if (is_map_of(s->files[i], of))
			return s->files[i]->map.n ? (int)i : -ENOENT;
	rc = add_file(s, "//anon", hash, &f);
	if (rc)
		return rc;
	f->is_map = f->loaded = f->source_loaded = true;
	f->owner = *of;
	seam_symbol_file_read_map(f, &s->map_room);
	return f->map.n ? (int)s->num_files - 1 : -ENOENT;
}

bool seam_symbolizer_renew(struct seam_symbolizer *s)
{
	size_t left = s->num_files, maps = MAPS_RENEWED;
	bool has_changed = false;

	for (; left && maps; left--) {
		struct seam_symbol_file *f =
			s->files[s->renewed++ % s->num_files];

		if (!f->is_map)
			continue;
		has_changed |= seam_symbol_file_read_map(f, &s->map_room);
		maps--;
	}
	return has_changed;
}

const char *seam_symbolizer_map_path(const struct seam_symbolizer *s, int file)
{
	if (file < 0 || (size_t)file >= s->num_files || !s->files[file]->is_map)
		return NULL;
	return s->files[file]->path;
}

static struct seam_symbol_file *get_file(struct seam_symbolizer *s, int file)
{
	if (file < 0 || (size_t)file >= s->num_files)
		return NULL;
	seam_symbol_file_load(s->files[file], s->debug_root);
	return s->files[file];
}

const char *seam_symbolizer_file_problem(struct seam_symbolizer *s, int file)
{
	struct seam_symbol_file *f = get_file(s, file);

	if (!f)
		return "no such file";
	return f->problem[0] ? f->problem : NULL;
}

/* A name that no linker writes is shown by its beginning: each use of a name
 * as long as the file would make a hostile file's output endless. */
static const char *cut_name(struct seam_symtab *tab, const char *raw)
{
	char *cut;

	if (strnlen(raw, SEAM_SYMBOL_NAME_MAX) < SEAM_SYMBOL_NAME_MAX)
		return raw;
	cut = strndup(raw, SEAM_SYMBOL_NAME_MAX);
	return cut && !seam_symtab_own(tab, cut) ? cut : "?";
}

/* Stubs are "name@plt", of a mangled name "demangled(int)@plt", as perf
 * and objdump say it. */
static char *name_stub(const char *name)
{
	size_t len = strlen(name);
	char *stub = malloc(len + sizeof("@plt"));

	if (stub) {
		memcpy(stub, name, len);
		memcpy(stub + len, "@plt", sizeof("@plt"));
	}
	return stub;
}

/* Gives a symbol the name it is shown by, once. Without memory for it, it
 * is shown as it is in the file. */
static void prepare_name(struct seam_symtab *tab, struct seam_sym *sym)
{
	char *demangled, *stub;

	if (sym->named)
		return;
	sym->named = true;
	sym->raw = cut_name(tab, sym->raw);
	demangled = tab->demangle ? seam_demangle(sym->raw) : NULL;
	if (sym->plt) {
		stub = name_stub(demangled ? demangled : sym->raw);
		free(demangled);
		demangled = stub;
		stub = name_stub(sym->raw);
		if (stub && !seam_symtab_own(tab, stub))
			sym->raw = stub;
	}
	sym->shown = demangled;
}

static bool give(struct seam_symtab *tab, struct seam_sym *sym, uint64_t addr,
		 struct seam_symbol *ret)
{
	if (!sym)
		return false;
	prepare_name(tab, sym);
	*ret = (struct seam_symbol){
		.name = sym->shown ? sym->shown : sym->raw,
		.raw_name = sym->raw,
		.module = sym->module ? tab->modules[sym->module - 1] : NULL,
		.start = sym->start,
		.size = sym->end - sym->start,
		.off = addr - sym->start,
	};
	return true;
}

static bool find(struct seam_symtab *tab, uint64_t addr,
		 struct seam_symbol *ret)
{
	return give(tab, seam_symtab_find(tab, addr), addr, ret);
}

bool seam_symbolize_user(struct seam_symbolizer *s, int file, uint64_t off,
			 struct seam_symbol *ret)
{
	struct seam_symbol_file *f = get_file(s, file);
	uint64_t svma;

	if (f && f->is_map)
		return give(&f->map.tab, seam_perf_map_find(&f->map, off), off,
			    ret);
	if (!f || !seam_symbol_file_svma(f, off, &svma))
		return false;
	if (find(&f->tab, svma, ret))
		return true;
	f->unnamed = true;
	return false;
}

int seam_symbolize_source(struct seam_symbolizer *s, int file, uint64_t off,
			  const struct seam_source_frame **ret)
{
	struct seam_symbol_file *f = get_file(s, file);
	uint64_t svma;

	if (!f || !seam_symbol_file_svma(f, off, &svma))
		return 0;
	seam_symbol_file_load_source(f, s->debug_root);
	return f->source ? seam_source_find(f->source, svma, ret) : 0;
}

const char *seam_symbolizer_source_problem(const struct seam_symbolizer *s,
					   size_t *at, const char **ret_path)
{
	for (; *at < s->num_files; ++*at) {
		const struct seam_symbol_file *f = s->files[*at];
		const char *why = f->source_problem;

		if (!why && f->source)
			why = seam_source_problem(f->source);
		if (why) {
			*ret_path = f->path;
			++*at;
			return why;
		}
	}
	return NULL;
}

const char *seam_symbolizer_doubted(const struct seam_symbolizer *s, size_t *at,
				    const char **ret_path)
{
	while (*at < s->num_files) {
		const struct seam_symbol_file *f = s->files[(*at)++];

		*ret_path = f->path;
		if (f->doubted)
			return f->doubted;
	}
	return NULL;
}

const char *seam_symbolizer_stripped(const struct seam_symbolizer *s,
				     size_t *at, bool *ret_go)
{
	while (*at < s->num_files) {
		const struct seam_symbol_file *f = s->files[(*at)++];

		*ret_go = f->has_go_names;
		if (f->stripped && f->unnamed)
			return f->path;
	}
	return NULL;
}

/* Else another kernel's symbols are in a file that the user named or perf has
 * kept. */
static bool is_running(const struct seam_symbolizer *s)
{
	return !strcmp(s->kallsyms, KALLSYMS);
}

static const char *kernel_problem(int rc)
{
	switch (rc) {
	case -ENODATA:
		return "the kernel hides its addresses (kernel.kptr_restrict)";
	case -ENOMSG:
		return "it has no kernel symbols, as /proc/kallsyms has them";
	}
	return strerrordesc_np(-rc);
}

static void load_kernel(struct seam_symbolizer *s)
{
	int rc;

	if (s->kernel_loaded)
		return;
	s->kernel_loaded = true;
	rc = seam_symtab_read_kallsyms(&s->kernel, s->kallsyms);
	if (rc) {
		seam_symtab_fini(&s->kernel);
		snprintf(s->kernel_problem, sizeof(s->kernel_problem),
			 "%.100s: %s", s->kallsyms, kernel_problem(rc));
	}
	seam_symtab_finish(&s->kernel);
	if (!rc && !s->kernel_cache.bytes && is_running(s))
		seam_kernel_cache_store(&s->kernel);
}

const char *seam_symbolizer_kernel_problem(struct seam_symbolizer *s)
{
	load_kernel(s);
	return s->kernel_problem[0] ? s->kernel_problem : NULL;
}

/* Kernel names are shown as they are, the few Rust ones too: kallsyms, perf
 * and the kernel's own messages print them so. */
bool seam_symbolize_kernel(struct seam_symbolizer *s, uint64_t addr,
			   struct seam_symbol *ret)
{
	if (!s->cache_opened && !s->kernel_loaded && is_running(s))
		seam_kernel_cache_open(&s->kernel_cache);
	s->cache_opened = true;
	if (seam_kernel_cache_find(&s->kernel_cache, addr, ret))
		return true;
	load_kernel(s);
	return find(&s->kernel, addr, ret);
}
