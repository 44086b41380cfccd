// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sframe-read.h"
#include "table/table.h"

struct loaded {
	struct seam_file_key key;
	uint64_t offset, size; /* in the arena */
};

struct seam_tables {
	struct seam_kernel *kernel;
	struct seam_processes *processes;
	struct seam_table_cache *cache;
	uint64_t budget;
	uint8_t *arena;
	uint64_t first, last; /* the arena's part for tables */
	struct loaded *loaded; /* by offset */
	size_t n;
	uint32_t next_id;
	struct seam_tables_stats stats; /* of whoever answers */
	pthread_mutex_t lock;
	struct seam_tables_stats published; /* under the lock */
};

int seam_tables_open(struct seam_kernel *k, struct seam_processes *ps,
		     uint64_t budget, const char *cache_dir,
		     struct seam_tables **ret)
{
	struct seam_tables *t = calloc(1, sizeof(*t));
	size_t first, size;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->kernel = k;
	t->processes = ps;
	t->budget = budget;
	t->next_id = 1;
	t->arena = seam_kernel_arena(k, &first, &size);
	t->first = first;
	t->last = size;
	if (t->last - t->first > budget)
		t->last = t->first + budget;
	/* No cache is no error: tables are made anew each time. */
	if (seam_table_cache_open(cache_dir, &t->cache))
		t->cache = NULL;
	*ret = t;
	return 0;
}

struct seam_tables *seam_tables_close(struct seam_tables *t)
{
	if (!t)
		return NULL;
	seam_table_cache_close(t->cache);
	free(t->loaded);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

/* The first gap that holds size bytes; *ret_at: where in the list it is. */
static uint64_t find_gap(const struct seam_tables *t, uint64_t size,
			 size_t *ret_at)
{
	uint64_t from = t->first;

	for (size_t i = 0; i <= t->n; i++) {
		uint64_t to = i < t->n ? t->loaded[i].offset : t->last;

		if (to - from >= size) {
			*ret_at = i;
			return from;
		}
		if (i < t->n)
			from = (t->loaded[i].offset + t->loaded[i].size + 63) &
			       ~63ULL;
		if (from > t->last)
			break;
	}
	return 0;
}

/* Takes the least recently used table out. */
static bool evict_one(struct seam_tables *t)
{
	uint64_t oldest = UINT64_MAX;
	size_t victim = t->n;

	for (size_t i = 0; i < t->n; i++) {
		struct seam_table_ref ref;

		if (seam_kernel_table_get(t->kernel, &t->loaded[i].key, &ref))
			ref.used_ns = 0;
		if (ref.used_ns < oldest) {
			oldest = ref.used_ns;
			victim = i;
		}
	}
	if (victim == t->n)
		return false;
	seam_kernel_table_drop(t->kernel, &t->loaded[victim].key);
	/* Unwinds under way see the generation move, and begin again. */
	seam_kernel_tables_changed(t->kernel);
	t->stats.bytes -= t->loaded[victim].size;
	t->stats.loaded--;
	t->stats.evicted++;
	memmove(&t->loaded[victim], &t->loaded[victim + 1],
		(t->n - victim - 1) * sizeof(*t->loaded));
	t->n--;
	return true;
}

static int note_none(struct seam_tables *t, const struct seam_file_key *key)
{
	struct seam_table_ref ref = {.state = SEAM_TABLE_NONE};

	t->stats.none++;
	return seam_kernel_table_put(t->kernel, key, &ref);
}

/* Places a table's bytes and makes them known under the key. */
static int load(struct seam_tables *t, const struct seam_file_key *key,
		const uint8_t *bytes, size_t size)
{
	struct seam_table_ref ref = {.state = SEAM_TABLE_LOADED};
	struct loaded *loaded;
	struct seam_sframe sf;
	uint64_t offset;
	size_t at = 0;
	int err;

	if (seam_sframe_open(&sf, bytes, size))
		return -EINVAL;
	if (size > t->last - t->first) {
		/* Asked for ever: its stacks come as copies. */
		ref.state = SEAM_TABLE_ASKED;
		t->stats.too_big++;
		return seam_kernel_table_put(t->kernel, key, &ref);
	}
	loaded = realloc(t->loaded, (t->n + 1) * sizeof(*loaded));
	if (!loaded)
		return -ENOMEM;
	t->loaded = loaded;
	while (!(offset = find_gap(t, size, &at)))
		if (!evict_one(t))
			return -ENOSPC;
	memcpy(t->arena + offset, bytes, size);
	ref.id = t->next_id++;
	ref.offset = (uint32_t)offset;
	ref.fdes = sf.fdes;
	ref.num_fdes = sf.num_fdes;
	ref.fres = sf.fres;
	ref.end = sf.end;
	err = seam_kernel_table_put(t->kernel, key, &ref);
	if (err)
		return err;
	memmove(&t->loaded[at + 1], &t->loaded[at],
		(t->n - at) * sizeof(*t->loaded));
	t->loaded[at] = (struct loaded){*key, offset, size};
	t->n++;
	t->stats.loaded++;
	t->stats.bytes += size;
	if (t->stats.bytes > t->stats.bytes_max)
		t->stats.bytes_max = t->stats.bytes;
	return 0;
}

static int load_image(struct seam_tables *t, const struct seam_file_key *key,
		      const struct seam_image *image)
{
	uint8_t *bytes;
	size_t size;
	int err;

	if (!image->elf)
		return note_none(t, key);
	err = seam_table_load_kernel(t->cache, image->elf, &bytes, &size, NULL,
				     NULL);
	if (err == -ENOENT || err == -EINVAL)
		return note_none(t, key);
	if (err)
		return err;
	err = load(t, key, bytes, size);
	free(bytes);
	return err;
}

static bool same_key(const struct seam_file_key *a,
		     const struct seam_file_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* BPF is asked: user space sees another inode on some file systems. */
static bool is_file(struct seam_kernel *k, const struct seam_file_key *key,
		    int fd)
{
	struct seam_file_key now;

	return !seam_kernel_key_of_fd(k, fd, &now) && same_key(key, &now);
}

/* Loads the file behind fd if it is the one that the key names, before it is
 * read and after. */
static int load_fd(struct seam_tables *t, const struct seam_file_key *key,
		   int fd)
{
	struct seam_image *image;

	if (!is_file(t->kernel, key, fd))
		return -ESTALE;
	image = seam_image_of_fd(t->processes->images, fd);
	if (!image)
		return -ENOMEM;
	if (!is_file(t->kernel, key, fd))
		return -ESTALE;
	return load_image(t, key, image);
}

int seam_tables_hold(struct seam_kernel *k, const struct seam_wire_miss *miss)
{
	int fd;

	if (miss->key.kind == SEAM_KEY_VDSO)
		return -ENOENT;
	fd = seam_open_mapped(miss->head.pid, miss->start, miss->end);
	if (fd < 0 || is_file(k, &miss->key, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * The file was the right one when it was opened, so copies of the process's
 * stack are unwound with it, whatever became of it since. The table is for
 * all who have that key: there it must not have changed.
 */
static int load_held(struct seam_tables *t, const struct seam_wire_miss *miss,
		     struct seam_process *p, int fd)
{
	struct seam_image *image = seam_image_of_fd(t->processes->images, fd);

	if (!image)
		return -ENOMEM;
	if (p)
		seam_process_know(p, miss->start, image);
	if (!is_file(t->kernel, &miss->key, fd))
		return -ESTALE;
	return load_image(t, &miss->key, image);
}

/* Tries the ways to the file of a mapping, best first. */
static int load_mapping(struct seam_tables *t,
			const struct seam_wire_miss *miss, int held)
{
	struct seam_process *p =
		seam_process_find(t->processes, miss->head.pid);
	struct seam_map *map = NULL;
	int err = -ENOENT, fd;

	if (held >= 0)
		return load_held(t, miss, p, held);
	fd = seam_open_mapped(miss->head.pid, miss->start, miss->end);
	if (fd >= 0) {
		err = load_fd(t, &miss->key, fd);
		close(fd);
		if (!err)
			return 0;
	}
	if (p)
		map = seam_process_map(t->processes, p, miss->start);
	fd = map ? seam_open_path(miss->head.pid, map->path) : -ENOENT;
	if (fd >= 0) {
		err = load_fd(t, &miss->key, fd);
		close(fd);
	}
	return err;
}

static int answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		  int held)
{
	struct seam_image *vdso;
	int err;

	if (miss->key.kind == SEAM_KEY_VDSO) {
		vdso = seam_image_vdso(t->processes->images);
		err = vdso ? load_image(t, &miss->key, vdso)
			   : note_none(t, &miss->key);
	} else {
		err = load_mapping(t, miss, held);
	}
	if (err == -ENOMEM)
		return err;
	if (err) {
		/* Not to be had through this process: let the next one that
		 * maps it ask again. */
		t->stats.gone++;
		seam_kernel_table_drop(t->kernel, &miss->key);
	}
	seam_kernel_tables_changed(t->kernel);
	return 0;
}

/* What has been counted so far is for other threads to see from here on. */
static void publish(struct seam_tables *t)
{
	pthread_mutex_lock(&t->lock);
	t->published = t->stats;
	pthread_mutex_unlock(&t->lock);
}

int seam_tables_answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		       int held)
{
	int err;

	t->stats.asked++;
	err = answer(t, miss, held);
	publish(t);
	return err;
}

void seam_tables_stats(struct seam_tables *t, struct seam_tables_stats *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = t->published;
	pthread_mutex_unlock(&t->lock);
}

/* --- preloading --- */

static struct seam_image *preload_file(struct seam_tables *t, const char *path)
{
	struct seam_file_key key;
	struct seam_table_ref ref;
	struct seam_image *image = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (!seam_kernel_key_of_fd(t->kernel, fd, &key) &&
	    seam_kernel_table_get(t->kernel, &key, &ref) &&
	    !load_fd(t, &key, fd)) {
		t->stats.preloaded++;
		image = seam_image_of_fd(t->processes->images, fd);
	}
	close(fd);
	return image;
}

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

static void preload_needed(struct seam_tables *t, struct seam_image *image,
			   int depth);

static void preload_library(struct seam_tables *t, const char *name, int depth)
{
	char path[4200];

	for (size_t i = 0; i < sizeof(library_dirs) / sizeof(library_dirs[0]);
	     i++) {
		snprintf(path, sizeof(path), "%s/%s", library_dirs[i], name);
		if (access(path, R_OK))
			continue;
		preload_needed(t, preload_file(t, path), depth + 1);
		return;
	}
}

/* DT_NEEDED, all the way down; a file that is loaded already ends it. */
static void preload_needed(struct seam_tables *t, struct seam_image *image,
			   int depth)
{
	Elf *elf = image && image->elf ? seam_elf_libelf(image->elf) : NULL;
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
static void preload_interp(struct seam_tables *t, struct seam_image *image)
{
	struct seam_elf_section interp;

	if (!seam_elf_section(image->elf, ".interp", &interp) && interp.size &&
	    interp.data[interp.size - 1] == 0)
		preload_file(t, (const char *)interp.data);
}

void seam_tables_preload(struct seam_tables *t, const char *path)
{
	struct seam_wire_miss vdso = {.key.kind = SEAM_KEY_VDSO};
	struct seam_image *image = preload_file(t, path);

	if (image && image->elf) {
		preload_interp(t, image);
		preload_needed(t, image, 0);
	}
	answer(t, &vdso, -1); /* which nobody asked for */
	publish(t);
	seam_kernel_tables_changed(t->kernel);
}
