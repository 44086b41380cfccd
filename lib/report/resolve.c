// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/index.h"
#include "base/populate.h"
#include "seam/tracer.h"
#include "symbol/perf-map.h"

#define NO_FILE (-1)
#define KERNEL_FILE (INT32_MAX)

/* What is looked up is where in which file; so processes that run the same
 * program share the answers. */
struct key {
	uint64_t off;
	int32_t file;
	uint8_t exact, kernel;
	uint16_t pad;
};

/* The answer: what is at the address, or just before it. What struct seam_name
 * has it of; there are entries by the hundred thousand. */
struct entry {
	struct key key;
	const char *sym, *dso, *file;
	const struct seam_source_frame *source;
	uint64_t off;
	uint32_t n_source, line;
	bool running; /* what the next frame was doing */
	bool before;
	bool has_source; /* it was looked for */
};

/* A frame that was asked for, and the answer. Stacks have most frames in
 * common with those just before them. */
struct recent {
	uint64_t ip;
	uint64_t map; /* its id; 0: none */
	bool kernel, exact, running;
	struct seam_name name; /* .number 0: the slot is free */
};
/* Of them; there are more when as many were not found, ever. */
#define N_RECENT (1u << 10) /* a power of two */
#define N_RECENT_MAX (1u << 14)

struct seam_resolver {
	struct seam_symbolizer *syms;
	struct seam_kernel_fit fit;
	struct seam_clock_fit clock;
	struct seam_resolve_opts opts;
	struct entry *v;
	size_t n, cap;
	struct seam_index index; /* of v */
	struct recent *recent; /* each where its address says */
	size_t n_recent;
	uint64_t n_names; /* ever */
	int *files; /* by seam_stitch_map.number; NO_FILE: not asked yet */
	size_t n_files;
};

static void forget_recent(struct seam_resolver *r)
{
	for (size_t i = 0; i < r->n_recent; i++)
		r->recent[i].name.number = 0;
}

/* Each is written: where zeroes are only read before, the kernel has to take
 * the page of zeroes away from each thread's CPU. Without memory it stays as it
 * is. */
static void more_recent(struct seam_resolver *r, size_t n)
{
	struct recent *more = malloc(n * sizeof(*more));

	if (!more)
		return;
	free(r->recent);
	r->recent = more;
	r->n_recent = n;
	seam_populate(more, n * sizeof(*more));
	forget_recent(r);
}

int seam_resolver_new(const struct seam_symbol_opts *opts,
		      struct seam_resolver **ret)
{
	struct seam_resolver *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	more_recent(r, N_RECENT);
	rc = r->recent ? seam_symbolizer_new(opts, &r->syms) : -ENOMEM;
	if (rc)
		seam_resolver_free(r);
	else
		*ret = r;
	return rc;
}

/* All answers. */
static void forget(struct seam_resolver *r)
{
	for (size_t i = 0; i < r->n; i++)
		free((void *)r->v[i].source);
	r->n = 0;
	seam_index_fini(&r->index);
	forget_recent(r);
}

struct seam_resolver *seam_resolver_free(struct seam_resolver *r)
{
	if (!r)
		return NULL;
	seam_symbolizer_free(r->syms);
	forget(r);
	free(r->v);
	free(r->recent);
	free(r->files);
	free(r);
	return NULL;
}

struct seam_symbolizer *seam_resolver_symbolizer(struct seam_resolver *r)
{
	return r->syms;
}

void seam_resolver_kernel(struct seam_resolver *r,
			  const struct seam_kernel_fit *fit)
{
	r->fit = *fit;
}

void seam_resolver_source(struct seam_resolver *r,
			  const struct seam_resolve_opts *opts)
{
	r->opts = *opts;
}

void seam_resolver_renew(struct seam_resolver *r)
{
	if (seam_symbolizer_renew(r->syms))
		forget(r);
}

void seam_resolver_clock(struct seam_resolver *r,
			 const struct seam_clock_fit *fit)
{
	r->clock = *fit;
}

int seam_resolver_file(struct seam_resolver *r,
		       const struct seam_stitch_map *map)
{
	int file;

	if (map->number >= r->n_files) {
		size_t n = (size_t)map->number * 2 + 64;
		int *files = realloc(r->files, n * sizeof(*files));

		if (!files)
			return -ENOMEM;
		for (size_t i = r->n_files; i < n; i++)
			files[i] = NO_FILE;
		r->files = files;
		r->n_files = n;
	}
	file = r->files[map->number];
	if (file != NO_FILE)
		return file;
	file = seam_symbolizer_file(r->syms, map->path, map->build_id,
				    map->build_id_len);
	if (file >= 0)
		r->files[map->number] = file;
	return file;
}

bool seam_resolver_is_jit(const struct seam_stitch_map *map)
{
	return seam_perf_map_has(map->path);
}

/* Names by address, of a process that wrote some down; else as of a file. */
static int jit_place(struct seam_resolver *r, const struct seam_frame *f,
		     struct key *key)
{
	struct seam_perf_owner of = {
		.pid = f->map->pid,
		.is_here = !r->fit.other && !r->fit.other_runs,
		.until_ns = r->clock.until_ns,
	};
	int file;

	if (r->clock.is_known && f->map->began_ns)
		of.began_ns = f->map->began_ns + (uint64_t)r->clock.ahead_ns;
	file = seam_symbolizer_map(r->syms, &of);
	if (file == -ENOENT)
		return 0;
	key->file = file;
	key->off = f->ip;
	return file < 0 ? file : 1;
}

/* With back 1 an address is looked up one byte earlier. */
static struct seam_name look_up(struct seam_resolver *r, const struct key *key,
				uint64_t back)
{
	struct seam_name name = {0};
	struct seam_symbol sym = {0};

	if (key->file == KERNEL_FILE) {
		if (!seam_symbolize_kernel(r->syms, key->off - back, &sym))
			return name;
		name.dso = sym.module;
	} else if (key->file == NO_FILE ||
		   !seam_symbolize_user(r->syms, key->file, key->off - back,
					&sym)) {
		return name;
	}
	if (key->file != KERNEL_FILE)
		name.dso = seam_symbolizer_map_path(r->syms, key->file);
	name.sym = sym.name;
	name.off = sym.off + back;
	return name;
}

/* The kernel returns from a signal handler into a trampoline, at its very
 * first byte: looked up one byte earlier it would be the function before.
 * In the system call at its end it is still the handler's frame that goes. */
static bool is_trampoline(const struct seam_name *name)
{
	return name->sym && (!strcmp(name->sym, "__restore_rt") ||
			     !strcmp(name->sym, "__restore") ||
			     !strcmp(name->sym, "__kernel_rt_sigreturn"));
}

/* What an interrupt or exception interrupted was running as well. Where
 * functions are padded in front, an address at their very beginning shows it
 * too: no call returns to there. */
static bool is_entry(const struct seam_name *name)
{
	return name->sym && !strncmp(name->sym, "asm_", 4);
}

static bool is_padding(const struct seam_name *name)
{
	return name->sym && !strncmp(name->sym, "__pfx_", 6);
}

/* A coroutine's first function was not called: what made its stack wrote the
 * address of where it is to return to, at whose very beginning no call ends. */
static bool is_written(const struct seam_name *at,
		       const struct seam_name *before)
{
	return at->sym && !at->off && !before->sym;
}

/* What is at a frame's address, or just before it. */
static void choose(struct seam_resolver *r, struct entry *e)
{
	const struct key *key = &e->key;
	struct seam_name at = look_up(r, key, 0), before;

	e->running = !key->kernel && is_trampoline(&at);
	if (!key->exact && !(e->running && !at.off)) {
		before = look_up(r, key, 1);
		e->before = key->kernel ? !is_padding(&before)
					: !is_written(&at, &before);
		if (e->before)
			at = before;
	}
	if (key->kernel)
		e->running = is_entry(&at);
	e->sym = at.sym;
	e->dso = at.dso;
	e->off = at.off;
}

/* Return: the entry, or NULL: no memory. */
static struct entry *answer(struct seam_resolver *r, struct key key)
{
	uint64_t hash = seam_hash(SEAM_HASH_START, &key, sizeof(key));
	struct entry *e;
	uint32_t i;

	for (size_t at = 0; seam_index_next(&r->index, hash, &at, &i);) {
		e = &r->v[i];
		if (!memcmp(&e->key, &key, sizeof(key)))
			return e;
	}
	if (seam_grow(&r->v, r->n + 1, &r->cap, sizeof(*r->v)) ||
	    seam_index_add(&r->index, hash, r->n))
		return NULL;
	e = &r->v[r->n++];
	*e = (struct entry){.key = key};
	choose(r, e);
	return e;
}

/* Once for each entry that is shown. The innermost line is also that of a
 * frame that is shown without what is inlined in it. */
static int add_source(struct seam_resolver *r, struct entry *e)
{
	const struct seam_source_frame *frames;
	struct seam_source_frame *copy;
	int n;

	if (e->has_source || (!r->opts.inlined && !r->opts.lines) ||
	    e->key.file == KERNEL_FILE || e->key.file == NO_FILE)
		return 0;
	e->has_source = true;
	n = seam_symbolize_source(r->syms, e->key.file,
				  e->key.off - (e->before ? 1 : 0), &frames);
	if (n <= 0)
		return n;
	if (!r->opts.inlined) {
		e->file = frames[0].file;
		e->line = frames[0].line;
		return 0;
	}
	copy = malloc((size_t)n * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, frames, (size_t)n * sizeof(*copy));
	e->source = copy;
	e->n_source = (uint32_t)n;
	return 0;
}

/* Modules lie elsewhere after each boot, not shifted like the kernel. */
static bool kernel_known(const struct seam_resolver *r,
			 const struct seam_frame *f)
{
	if (r->fit.other)
		return false;
	return !r->fit.shift || (f->map && f->map->path[0] == '[');
}

/* Another vDSO than this process's: above 4 GiB lies that of any 64-bit
 * process, but for those that ask for less. One with a build-id is looked for
 * by that. */
static bool is_other_vdso(const struct seam_resolver *r,
			  const struct seam_stitch_map *map)
{
	return !strcmp(map->path, "[vdso]") &&
	       (map->start <= UINT32_MAX ||
		(r->fit.other_runs && !map->build_id_len));
}

static int key_of(struct seam_resolver *r, const struct seam_frame *f,
		  struct key *ret)
{
	struct key key = {.off = f->ip, .file = NO_FILE, .kernel = f->kernel};

	if (f->kernel) {
		if (kernel_known(r, f))
			key.file = KERNEL_FILE;
		key.off -= (uint64_t)r->fit.shift;
	} else if (f->map) {
		int rc = seam_resolver_is_jit(f->map) ? jit_place(r, f, &key)
						      : 0;

		if (rc < 0)
			return rc;
		if (rc) {
			*ret = key;
			return 0;
		}
		key.off = f->ip - f->map->start + f->map->pgoff;
		if (is_other_vdso(r, f->map))
			key.file = NO_FILE;
		else
			key.file = seam_resolver_file(r, f->map);
		if (key.file < NO_FILE)
			return key.file;
	}
	*ret = key;
	return 0;
}

static void name_dso(const struct seam_frame *f, struct seam_name *name)
{
	name->kernel = f->kernel;
	name->dso_off = f->kernel || !f->map
				? f->ip
				: f->ip - f->map->start + f->map->pgoff;
	if (name->dso)
		return;
	if (f->map && !(f->kernel && name->sym))
		name->dso = f->map->path;
	else if (f->kernel)
		name->dso = "[kernel.kallsyms]";
	/* "[kernel.kallsyms]_text": the mapping's name says where it was
	 * anchored, which is of no use in a stack. */
	if (f->kernel && name->dso &&
	    !strncmp(name->dso, "[kernel.kallsyms]", 17))
		name->dso = "[kernel.kallsyms]";
}

/* ret_running: the next frame was not called by this one but was running
 * when this one came upon it. */
static int resolve_one(struct seam_resolver *r, const struct seam_frame *f,
		       bool exact, struct seam_name *ret, bool *ret_running)
{
	struct entry *e;
	struct key key;
	int rc = key_of(r, f, &key);

	*ret_running = false;
	if (rc)
		return rc;
	if (f->map && f->map->symbol) {
		*ret = (struct seam_name){
			.sym = f->map->path,
			.off = f->ip - f->map->start,
			.dso = f->map->path,
			.dso_off = f->ip,
			.kernel = true,
		};
		return 0;
	}
	key.exact = exact;
	e = answer(r, key);
	rc = e ? add_source(r, e) : -ENOMEM;
	if (rc)
		return rc;
	*ret = (struct seam_name){.sym = e->sym,
				  .off = e->off,
				  .dso = e->dso,
				  .source = e->source,
				  .n_source = e->n_source,
				  .file = e->file,
				  .line = e->line};
	*ret_running = e->running;
	name_dso(f, ret);
	return 0;
}

static struct recent *recent_of(const struct seam_resolver *r, uint64_t ip)
{
	return &r->recent[(ip ^ ip >> 14) * 2654435761u & (r->n_recent - 1)];
}

/* The same, kept. Return: NULL: *ret_rc says why. */
static const struct recent *resolve_kept(struct seam_resolver *r,
					 const struct seam_frame *f, bool exact,
					 int *ret_rc)
{
	struct recent *slot = recent_of(r, f->ip);

	if (slot->name.number && slot->ip == f->ip &&
	    slot->map == seam_frame_map(f) && slot->kernel == f->kernel &&
	    slot->exact == exact)
		return slot;
	if (r->n_names >= r->n_recent && r->n_recent < N_RECENT_MAX) {
		more_recent(r, 4 * r->n_recent);
		slot = recent_of(r, f->ip);
	}
	slot->name.number = 0;
	*ret_rc = resolve_one(r, f, exact, &slot->name, &slot->running);
	if (*ret_rc)
		return NULL;
	slot->ip = f->ip;
	slot->map = seam_frame_map(f);
	slot->kernel = f->kernel;
	slot->exact = exact;
	slot->name.number = ++r->n_names;
	return slot;
}

int seam_resolve_frame(struct seam_resolver *r, const struct seam_frame *f,
		       bool exact, struct seam_name *ret, bool *ret_running)
{
	int rc = resolve_one(r, f, exact, ret, ret_running);

	if (!rc)
		ret->guessed = f->method == SEAM_METHOD_GUESS;
	return rc;
}

int seam_resolve(struct seam_resolver *r, const struct seam_frame *frames,
		 size_t n, struct seam_name *ret)
{
	bool running = false;
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		const struct recent *got =
			resolve_kept(r, &frames[i],
				     seam_frame_exact(frames, i, running), &rc);

		if (!got)
			return rc;
		running = got->running;
		ret[i] = got->name;
		ret[i].guessed = frames[i].method == SEAM_METHOD_GUESS;
	}
	return 0;
}

size_t seam_name_levels(const struct seam_name *name)
{
	return name->n_source ? name->n_source : 1;
}

struct seam_name seam_name_level(const struct seam_name *name, size_t level)
{
	struct seam_name one = *name;

	if (level >= name->n_source)
		return one;
	one.source = NULL;
	one.n_source = 0;
	one.file = name->source[level].file;
	one.line = name->source[level].line;
	one.inlined = name->source[level].inlined;
	if (one.inlined)
		one.sym = name->source[level].name ?: "[unknown]";
	return one;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int seam_name_format(const struct seam_name *name, char *buf, size_t size)
{
	const char *mark = name->guessed ? "? " : "";

	if (name->sym)
		return snprintf(buf, size, "%s%s", mark, name->sym);
	if (name->dso && !name->kernel)
		return snprintf(buf, size, "%s[%s+0x%llx]", mark,
				base_of(name->dso),
				(unsigned long long)name->dso_off);
	return snprintf(buf, size, "%s[0x%llx]", mark,
			(unsigned long long)name->dso_off);
}
