// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/mapped.h"
#include "capture/tables-priv.h"
#include "capture/target.h"
#include "core/sframe-read.h"
#include "table/lookup.h"
#include "table/table.h"

int seam_tables_open(struct seam_kernel *k, struct seam_processes *ps,
		     const struct seam_session_opts *opts,
		     struct seam_tables **ret)
{
	struct seam_tables *t = calloc(1, sizeof(*t));
	size_t first, size;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->kernel = k;
	t->processes = ps;
	t->budget = opts->table_memory;
	t->from = opts->tables_from;
	t->next_id = 1;
	t->arena = seam_kernel_arena(k, &first, &size);
	t->first = first;
	t->last = size;
	if (t->last - t->first > t->budget)
		t->last = t->first + t->budget;
	/* No cache is no error: tables are made anew each time. */
	if (seam_table_cache_open(opts->cache_dir, &t->cache))
		t->cache = NULL;
	*ret = t;
	return 0;
}

struct seam_tables *seam_tables_close(struct seam_tables *t)
{
	if (!t)
		return NULL;
	seam_table_cache_close(t->cache);
	seam_absent_fini(&t->absent);
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

/* --- making room --- */

/* When BPF last met a key; 0: it does not know it. */
static uint64_t used_ns(void *ctx, const struct seam_file_key *key)
{
	struct seam_tables *t = ctx;
	struct seam_table_ref ref;

	return seam_kernel_table_get(t->kernel, key, &ref) ? 0 : ref.used_ns;
}

static void drop(void *ctx, const struct seam_file_key *key)
{
	struct seam_tables *t = ctx;

	seam_kernel_table_drop(t->kernel, key);
}

struct use {
	uint64_t used_ns;
	size_t at; /* in loaded */
};

static int by_use(const void *va, const void *vb)
{
	const struct use *a = va, *b = vb;

	return a->used_ns < b->used_ns ? -1 : a->used_ns > b->used_ns;
}

static void take_out(struct seam_tables *t, struct seam_loaded *loaded)
{
	seam_kernel_table_drop(t->kernel, &loaded->key);
	t->stats.bytes -= loaded->size;
	t->stats.loaded--;
	t->stats.evicted++;
	loaded->size = 0;
}

/* Takes out the least recently used tables, so many. */
static int evict(struct seam_tables *t, size_t count)
{
	struct use *uses = t->n ? calloc(t->n, sizeof(*uses)) : NULL;
	size_t to = 0;

	if (!uses)
		return t->n ? -ENOMEM : -ENOSPC;
	for (size_t i = 0; i < t->n; i++)
		uses[i] = (struct use){used_ns(t, &t->loaded[i].key), i};
	qsort(uses, t->n, sizeof(*uses), by_use);
	for (size_t i = 0; i < count; i++)
		take_out(t, &t->loaded[uses[i].at]);
	free(uses);
	/* Unwinds under way see the generation move, and begin again. */
	seam_kernel_tables_changed(t->kernel);
	for (size_t i = 0; i < t->n; i++)
		if (t->loaded[i].size)
			t->loaded[to++] = t->loaded[i];
	t->n = to;
	return 0;
}

/* A place in the arena, and in the list. */
static int find_place(struct seam_tables *t, uint64_t size,
		      uint64_t *ret_offset, size_t *ret_at)
{
	int err = 0;

	if (t->n >= SEAM_TABLES_MAX)
		err = evict(t, SEAM_TABLES_MAX / 8);
	while (!err && !(*ret_offset = find_gap(t, size, ret_at)))
		err = evict(t, 1 + t->n / 64);
	return err;
}

/* --- answers --- */

int seam_tables_without(struct seam_tables *t, const struct seam_file_key *key,
			enum seam_table_state want, enum seam_absence why)
{
	const struct seam_absent_ops ops = {used_ns, drop, t};
	const struct seam_absent_new new = {*key, why, seam_now_ns()};
	struct seam_table_ref ref = {.state = want, .used_ns = new.now_ns};
	uint32_t failed;
	int n = seam_absent_add(&t->absent, &new, &ops, &failed);

	if (n < 0)
		return n;
	t->stats.forgotten += (uint64_t)n;
	if (why == SEAM_ABSENT_GONE && failed < SEAM_ABSENT_COPIES)
		ref.state = SEAM_TABLE_ASKED;
	return seam_kernel_table_put(t->kernel, key, &ref);
}

static int note_none(struct seam_tables *t, const struct seam_file_key *key)
{
	t->stats.none++;
	return seam_tables_without(t, key, SEAM_TABLE_NONE, SEAM_ABSENT_NO_CFI);
}

/* Larger than all the memory there is for tables: asked for ever, its stacks
 * come as copies. */
static int note_too_big(struct seam_tables *t, const struct seam_file_key *key)
{
	t->stats.too_big++;
	return seam_tables_without(t, key, SEAM_TABLE_ASKED,
				   SEAM_ABSENT_NO_CFI);
}

int seam_tables_put(struct seam_tables *t, const struct seam_file_key *key,
		    const struct seam_lookup *lookup, const uint8_t *bytes)
{
	struct seam_table_ref ref = {
		.state = SEAM_TABLE_LOADED,
		.lookup = *lookup,
		.used_ns = seam_now_ns(),
	};
	uint64_t size = lookup->size;
	struct seam_loaded *loaded;
	uint64_t offset;
	size_t at = 0;
	int err;

	loaded = realloc(t->loaded, (t->n + 1) * sizeof(*loaded));
	if (!loaded)
		return -ENOMEM;
	t->loaded = loaded;
	err = find_place(t, size, &offset, &at);
	if (err)
		return err;
	memcpy(t->arena + offset, bytes, size);
	ref.id = t->next_id++;
	ref.offset = (uint32_t)offset;
	err = seam_kernel_table_put(t->kernel, key, &ref);
	if (err)
		return err;
	seam_absent_remove(&t->absent, key);
	memmove(&t->loaded[at + 1], &t->loaded[at],
		(t->n - at) * sizeof(*t->loaded));
	t->loaded[at] = (struct seam_loaded){
		.key = *key, .offset = offset, .size = size};
	t->n++;
	t->stats.loaded++;
	t->stats.bytes += size;
	if (t->stats.bytes > t->stats.bytes_max)
		t->stats.bytes_max = t->stats.bytes;
	return 0;
}

/* The table of a file, laid out for BPF; the caller frees *ret_bytes. */
static int lay_out(struct seam_tables *t, const struct seam_elf *elf,
		   struct seam_lookup *ret, uint8_t **ret_bytes)
{
	uint64_t max = t->last - t->first, left_out;
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;
	int err = seam_table_load_kernel(t->cache, elf, &bytes, &size, NULL,
					 NULL);

	if (err)
		return err;
	err = seam_sframe_open(&sf, bytes, size) ? -EINVAL : 0;
	if (max > LAY_OUT_FREE + size * LAY_OUT_GROWTH)
		max = LAY_OUT_FREE + size * LAY_OUT_GROWTH;
	if (!err)
		err = seam_lookup_build(&sf, max, ret, ret_bytes, &left_out);
	if (!err)
		t->stats.left_out += left_out;
	free(bytes);
	return err;
}

/* Nothing of it is kept but where it is: BPF is answered without a table, as
 * far as room for answers goes. Return: -ENOENT: it has no such section. */
static int put_mapped(struct seam_tables *t, const struct seam_file_key *key,
		      const struct seam_elf *elf)
{
	const struct seam_absent_ops ops = {used_ns, drop, t};
	const struct seam_absent_new new = {*key, SEAM_ABSENT_NO_CFI,
					    seam_now_ns()};
	struct seam_table_ref ref = {.state = SEAM_TABLE_MAPPED,
				     .used_ns = new.now_ns};
	uint32_t failed;
	int n, err = -ENOENT;

	if (elf && key->kind == SEAM_KEY_FILE && t->from != SEAM_TABLES_KERNEL)
		err = seam_mapped_of_elf(elf, &ref.mapped);
	if (err)
		return err;
	n = seam_absent_add(&t->absent, &new, &ops, &failed);
	if (n < 0)
		return n;
	t->stats.forgotten += (uint64_t)n;
	t->stats.mapped++;
	ref.id = t->next_id++;
	return seam_kernel_table_put(t->kernel, key, &ref);
}

/* One that is laid out, or is none: the file's own section will do where it is
 * too large, or others would have to go for it. */
static int put_laid_out(struct seam_tables *t, const struct seam_file_key *key,
			const struct seam_elf *elf)
{
	struct seam_lookup lookup;
	uint8_t *bytes;
	size_t at;
	int err, own = -ENOENT;

	err = elf ? lay_out(t, elf, &lookup, &bytes) : -ENOENT;
	if (err == -ENOENT || err == -EINVAL)
		return note_none(t, key);
	if (err && err != -E2BIG)
		return err;
	if (err || !find_gap(t, lookup.size, &at))
		own = put_mapped(t, key, elf);
	if (err)
		return own == -ENOENT ? note_too_big(t, key) : own;
	if (own == -ENOENT)
		own = seam_tables_put(t, key, &lookup, bytes);
	free(bytes);
	return own;
}

/* elf NULL: the file is none. */
static int load_elf(struct seam_tables *t, const struct seam_file_key *key,
		    const struct seam_elf *elf)
{
	int err = -ENOENT;

	if (t->from == SEAM_TABLES_MAPPED)
		err = put_mapped(t, key, elf);
	return err == -ENOENT ? put_laid_out(t, key, elf) : err;
}

/* BPF is asked: user space sees another inode on some file systems. */
static bool is_file(struct seam_kernel *k, const struct seam_file_key *key,
		    int fd)
{
	struct seam_file_key now;

	return !seam_kernel_key_of_fd(k, fd, &now, NULL) &&
	       !memcmp(key, &now, sizeof(now));
}

/* Or that it was but for its last name, which has been taken away since: a
 * change of the file like any other to its ctime, though not of what is in
 * it. Good for the process that has it mapped. */
static bool was_file(struct seam_kernel *k, const struct seam_wire_miss *miss,
		     int fd)
{
	struct seam_file_key now;
	uint64_t mtime_ns;
	struct stat st;

	if (seam_kernel_key_of_fd(k, fd, &now, &mtime_ns))
		return false;
	if (!fstat(fd, &st) && !st.st_nlink && mtime_ns == miss->mtime_ns) {
		now.ctime_sec = miss->key.ctime_sec;
		now.ctime_nsec = miss->key.ctime_nsec;
	}
	return !memcmp(&miss->key, &now, sizeof(now));
}

/*
 * Makes a table of the file behind fd, if that is what the key names once it
 * has been read. *ret: what was read, whether or not there is a table of it:
 * the caller's to close; NULL: no ELF file, or it could not be read.
 */
static int load_fd(struct seam_tables *t, const struct seam_file_key *key,
		   int fd, struct seam_elf **ret)
{
	int err = seam_elf_open_fd(fd, SEAM_ELF_PARTS, ret, NULL);

	if (err)
		*ret = NULL;
	if (err && err != -EINVAL && err != -EFBIG)
		return err;
	return is_file(t->kernel, key, fd) ? load_elf(t, key, *ret) : -ESTALE;
}

int seam_tables_hold(struct seam_kernel *k, const struct seam_wire_miss *miss)
{
	int fd;

	if (miss->key.kind != SEAM_KEY_FILE)
		return -ENOENT;
	fd = seam_open_mapped(miss->head.pid, miss->start, miss->end);
	if (fd < 0 || was_file(k, miss, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Keeps of the file what copies are unwound with: the stack that asked is in
 * one. Takes elf. */
static int keep_image(struct seam_tables *t, int fd, struct seam_elf *elf,
		      struct seam_image **ret)
{
	struct stat st;
	int err = fstat(fd, &st) ? -errno : 0;

	if (err)
		seam_elf_close(elf);
	return err ? err
		   : seam_image_of_elf(t->processes->images, &st, elf, ret);
}

/*
 * The file was the right one when it was opened, so copies of the process's
 * stack are unwound with it, whatever became of it since. The table is for
 * all who have that key: there it must not have changed.
 */
static int load_held(struct seam_tables *t, const struct seam_wire_miss *miss,
		     struct seam_process *p, int fd)
{
	struct seam_image *image;
	struct seam_elf *elf;
	int err = load_fd(t, &miss->key, fd, &elf);

	if (elf && keep_image(t, fd, elf, &image))
		return -ENOMEM;
	if (elf && p)
		seam_process_know(p, miss->start, image);
	return err;
}

/* The same for a file that was only found now, and may be another. Closes
 * fd. */
static int load_found(struct seam_tables *t, const struct seam_file_key *key,
		      int fd)
{
	struct seam_image *image;
	struct seam_elf *elf = NULL;
	int err;

	if (fd < 0)
		return fd;
	err = is_file(t->kernel, key, fd) ? load_fd(t, key, fd, &elf) : -ESTALE;
	if (err)
		seam_elf_close(elf);
	else if (elf)
		err = keep_image(t, fd, elf, &image);
	close(fd);
	return err;
}

/* Whether the library can unwind through the mapping, though not we. */
static bool has_image(const struct seam_map *map)
{
	return map && map->image && map->image->is_open && map->image->cfi;
}

/* Not to be had through this process: not asked for at each sample, but let
 * another that maps it ask again some time. */
static int give_up(struct seam_tables *t, const struct seam_wire_miss *miss,
		   const struct seam_map *map, bool refused)
{
	t->stats.gone++;
	return seam_tables_without(
		t, &miss->key,
		has_image(map) ? SEAM_TABLE_ASKED : SEAM_TABLE_NONE,
		refused ? SEAM_ABSENT_REFUSED : SEAM_ABSENT_GONE);
}

/* Tries the ways to the file of a mapping, best first. */
static int answer_file(struct seam_tables *t, const struct seam_wire_miss *miss,
		       int held)
{
	struct seam_process *p =
		seam_process_find(t->processes, miss->head.pid);
	struct seam_map *map = NULL;
	bool refused = false;
	int err;

	if (held >= 0) {
		err = load_held(t, miss, p, held);
	} else {
		int fd = seam_open_mapped(miss->head.pid, miss->start,
					  miss->end);

		refused = fd == -EPERM || fd == -EACCES;
		err = load_found(t, &miss->key, fd);
	}
	if (!err || err == -ENOMEM)
		return err;
	if (p)
		map = seam_process_map(t->processes, p, miss->start);
	if (map && held < 0)
		err = load_found(t, &miss->key,
				 seam_open_path(miss->head.pid, map->path));
	return err && err != -ENOMEM ? give_up(t, miss, map, refused) : err;
}

int seam_tables_load_vdso(struct seam_tables *t)
{
	const struct seam_file_key key = {.kind = SEAM_KEY_VDSO};
	struct seam_elf *elf = NULL;
	int err = seam_vdso_open(&elf);

	if (!err || err == -ENOENT)
		err = load_elf(t, &key, elf);
	seam_elf_close(elf);
	seam_kernel_tables_changed(t->kernel);
	return err;
}

/* What has been counted so far is for other threads to see from here on. */
static void publish(struct seam_tables *t)
{
	t->stats.images = t->processes->images->stats;
	pthread_mutex_lock(&t->lock);
	t->published = t->stats;
	pthread_mutex_unlock(&t->lock);
}

int seam_tables_answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		       int held)
{
	int err;

	t->stats.asked++;
	if (miss->key.kind == SEAM_KEY_VDSO)
		err = seam_tables_load_vdso(t);
	else if (miss->key.kind == SEAM_KEY_MEMORY)
		err = seam_tables_answer_made(t, miss);
	else
		err = answer_file(t, miss, held);
	seam_kernel_tables_changed(t->kernel);
	publish(t);
	return err == -ENOMEM ? err : 0;
}

void seam_tables_tend(struct seam_tables *t)
{
	const struct seam_absent_ops ops = {used_ns, drop, t};

	if (seam_absent_retry(&t->absent, seam_now_ns(), &ops))
		seam_kernel_tables_changed(t->kernel);
	publish(t);
}

int seam_tables_load_path(struct seam_tables *t, const char *path,
			  struct seam_elf **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf = NULL;
	struct seam_file_key key;
	struct seam_table_ref ref;
	int err;

	if (fd < 0)
		return -errno;
	err = seam_kernel_key_of_fd(t->kernel, fd, &key, NULL);
	if (!err && !seam_kernel_table_get(t->kernel, &key, &ref))
		err = -EEXIST;
	if (!err)
		err = load_fd(t, &key, fd, &elf);
	close(fd);
	if (!err && !elf)
		err = -EINVAL;
	if (err) {
		seam_elf_close(elf);
		return err;
	}
	t->stats.preloaded++;
	*ret = elf;
	return 0;
}

void seam_tables_stats(struct seam_tables *t, struct seam_tables_stats *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = t->published;
	pthread_mutex_unlock(&t->lock);
}
