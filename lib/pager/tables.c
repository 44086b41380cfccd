// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pager/tables.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/sframe-read.h"
#include "pager/tables-priv.h"
#include "pager/victims.h"
#include "process/mapped.h"
#include "table/lookup.h"
#include "table/table.h"

static void limit(struct seam_tables_part *part,
		  const struct seam_arena_part *of, uint64_t budget)
{
	part->first = of->first;
	part->last = of->last;
	if (part->last - part->first > budget)
		part->last = part->first + budget;
}

static void place(struct seam_tables *t)
{
	struct seam_arena_part files, made;

	t->arena = seam_kernel_arena(t->kernel, &files, &made);
	limit(&t->files, &files, t->budget);
	limit(&t->made, &made, t->budget);
}

int seam_tables_open(struct seam_kernel *k, struct seam_processes *ps,
		     const struct seam_session_opts *opts,
		     struct seam_tables **ret)
{
	struct seam_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->working, NULL);
	t->kernel = k;
	t->processes = ps;
	ps->fetch.has_key_prog = true;
	ps->fetch.key_prog = seam_kernel_key_prog(k);
	t->budget = opts->table_memory;
	t->from = opts->tables_from;
	place(t);
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
	free(t->files.loaded);
	free(t->made.loaded);
	pthread_mutex_destroy(&t->working);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

/* The first gap that holds size bytes; *ret_at: where in the list it is. */
static uint64_t find_gap(const struct seam_tables_part *p, uint64_t size,
			 size_t *ret_at)
{
	uint64_t from = p->first;

	for (size_t i = 0; i <= p->n; i++) {
		uint64_t to = i < p->n ? p->loaded[i].offset : p->last;

		if (to >= from && to - from >= size) {
			*ret_at = i;
			return from;
		}
		if (i < p->n)
			from = (p->loaded[i].offset + p->loaded[i].size + 63) &
			       ~63ULL;
		if (from > p->last)
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

struct part_of {
	struct seam_tables *tables;
	const struct seam_tables_part *part;
};

static uint64_t loaded_used_ns(void *ctx, size_t i)
{
	struct part_of *of = ctx;

	return used_ns(of->tables, &of->part->loaded[i].key);
}

static void take_out(struct seam_tables *t, struct seam_loaded *loaded)
{
	seam_kernel_table_drop(t->kernel, &loaded->key);
	t->stats.bytes -= loaded->size;
	t->stats.loaded--;
	t->stats.evicted++;
	loaded->size = 0;
}

static void close_up(struct seam_tables_part *p)
{
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->loaded[i].size)
			p->loaded[to++] = p->loaded[i];
	p->n = to;
}

/* Takes out the least recently used tables, so many. */
static int evict(struct seam_tables *t, struct seam_tables_part *p,
		 size_t count)
{
	struct part_of of = {t, p};
	size_t *at = calloc(count, sizeof(*at));
	int n = at ? seam_victims(p->n, loaded_used_ns, &of, count, at)
		   : -ENOMEM;

	for (int i = 0; i < n; i++)
		take_out(t, &p->loaded[at[i]]);
	free(at);
	if (n <= 0)
		return n ? n : -ENOSPC;
	/* Unwinds under way see the generation move, and begin again. */
	seam_kernel_tables_changed(t->kernel);
	close_up(p);
	return 0;
}

/* A place in the arena, and in the list. */
static int find_place(struct seam_tables *t, struct seam_tables_part *p,
		      uint64_t size, uint64_t *ret_offset, size_t *ret_at)
{
	int err = 0;

	if (p->n >= SEAM_TABLES_MAX)
		err = evict(t, p, SEAM_TABLES_MAX / 8);
	while (!err && !(*ret_offset = find_gap(p, size, ret_at)))
		err = evict(t, p, 1 + p->n / 64);
	return err;
}

/* --- answers --- */

static struct seam_tables_part *part_of(struct seam_tables *t,
					const struct seam_file_key *key)
{
	return SEAM_KEY_IS_OWN(key->kind) ? &t->made : &t->files;
}

static void note_put(struct seam_tables *t, const struct seam_file_key *key)
{
	t->at.has_put = true;
	t->stats.own += (key->kind & SEAM_KEY_OWN) != 0;
}

int seam_tables_without(struct seam_tables *t, const struct seam_file_key *key,
			enum seam_table_state want, enum seam_absence why)
{
	const struct seam_absent_ops ops = {used_ns, drop, t};
	struct seam_file_key named;
	const struct seam_absent_new new = {*seam_tables_key(t, key, &named),
					    why, seam_now_ns()};
	struct seam_table_ref ref = {.state = want, .used_ns = new.now_ns};
	uint32_t failed;
	int n = seam_absent_add(&t->absent, &new, &ops, &failed);

	if (n < 0)
		return n;
	t->stats.forgotten += (uint64_t)n;
	if (why == SEAM_ABSENT_GONE && failed < SEAM_ABSENT_COPIES)
		ref.state = SEAM_TABLE_ASKED;
	t->at.has_put = true;
	return seam_kernel_table_put(t->kernel, &named, &ref);
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

/* Has the arena's pages there. They are charged to whoever made the arena, and
 * to write where its limit leaves none would be our death. */
static bool has_memory(const struct seam_tables *t, uint64_t offset,
		       uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = offset & ~(page - 1);

	return !madvise(t->arena + from, offset + size - from,
			MADV_POPULATE_WRITE);
}

int seam_tables_put(struct seam_tables *t, const struct seam_file_key *key,
		    const struct seam_lookup *lookup, const uint8_t *bytes)
{
	struct seam_table_ref ref = {
		.state = SEAM_TABLE_LOADED,
		.lookup = *lookup,
		.used_ns = seam_now_ns(),
	};
	struct seam_tables_part *p = part_of(t, key);
	uint64_t size = lookup->size;
	struct seam_loaded *loaded;
	uint64_t offset;
	size_t at = 0;
	int err;

	loaded = realloc(p->loaded, (p->n + 1) * sizeof(*loaded));
	if (!loaded)
		return -ENOMEM;
	p->loaded = loaded;
	err = find_place(t, p, size, &offset, &at);
	if (err)
		return err;
	if (!has_memory(t, offset, size))
		return note_too_big(t, key);
	seam_kernel_arena_used(t->kernel, offset + size);
	memcpy(t->arena + offset, bytes, size);
	ref.id = seam_kernel_table_id(t->kernel);
	ref.offset = (uint32_t)offset;
	err = seam_kernel_table_put(t->kernel, key, &ref);
	if (err)
		return err;
	note_put(t, key);
	seam_absent_remove(&t->absent, key);
	memmove(&p->loaded[at + 1], &p->loaded[at],
		(p->n - at) * sizeof(*p->loaded));
	p->loaded[at] = (struct seam_loaded){
		.key = *key, .offset = offset, .size = size};
	p->n++;
	t->stats.loaded++;
	t->stats.bytes += size;
	if (t->stats.bytes > t->stats.bytes_max)
		t->stats.bytes_max = t->stats.bytes;
	return 0;
}

/* The table of a file, laid out for BPF in that part; the caller frees
 * *ret_bytes. */
static int lay_out(struct seam_tables *t, const struct seam_tables_part *part,
		   const struct seam_elf *elf, struct seam_lookup *ret,
		   uint8_t **ret_bytes, uint64_t *ret_left_out)
{
	uint64_t max = part->last - part->first;
	struct seam_table_stats stats;
	struct seam_sframe sf;
	uint8_t *bytes;
	size_t size;
	int err = seam_table_load_kernel(t->cache, elf, &bytes, &size, &stats,
					 NULL);

	t->has_bad_cfi =
		err == -ENOENT || err == -EINVAL || (!err && stats.malformed);
	if (err)
		return err;
	err = seam_sframe_open(&sf, bytes, size) ? -EINVAL : 0;
	if (max > LAY_OUT_FREE + size * LAY_OUT_GROWTH)
		max = LAY_OUT_FREE + size * LAY_OUT_GROWTH;
	if (!err)
		err = seam_lookup_build(&sf, max, ret, ret_bytes, ret_left_out);
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

	if (elf && !(key->kind & ~(uint32_t)SEAM_KEY_OWN) &&
	    t->from != SEAM_TABLES_KERNEL)
		err = seam_mapped_of_elf(elf, &ref.mapped);
	if (err)
		return err;
	n = seam_absent_add(&t->absent, &new, &ops, &failed);
	if (n < 0)
		return n;
	t->stats.forgotten += (uint64_t)n;
	ref.id = seam_kernel_table_id(t->kernel);
	err = seam_kernel_table_put(t->kernel, key, &ref);
	if (!err)
		note_put(t, key);
	t->stats.mapped += !err;
	return err;
}

/* One that is laid out, or is none: the file's own section, if it can be read,
 * will do where it is too large, or others would have to go for it. */
static int put_laid_out(struct seam_tables *t, const struct seam_file_key *key,
			const struct seam_elf *elf, const struct seam_elf *read)
{
	const struct seam_tables_part *part = part_of(t, key);
	struct seam_lookup lookup;
	uint64_t left_out;
	uint8_t *bytes;
	size_t at;
	int err, own = -ENOENT;

	err = elf ? lay_out(t, part, elf, &lookup, &bytes, &left_out) : -ENOENT;
	if (err == -ENOENT || err == -EINVAL)
		return note_none(t, key);
	if (err && err != -E2BIG)
		return err;
	if (err || part->n >= SEAM_TABLES_MAX ||
	    !find_gap(part, lookup.size, &at))
		own = put_mapped(t, key, read);
	if (err)
		return own == -ENOENT ? note_too_big(t, key) : own;
	if (own == -ENOENT) {
		own = seam_tables_put(t, key, &lookup, bytes);
		t->stats.left_out += own ? 0 : left_out;
	}
	free(bytes);
	return own;
}

/* elf NULL: the file is none. Pages that are not near are not brought in for a
 * stack: one that needs a section in them would be a copy, each time. */
int seam_tables_load_elf(struct seam_tables *t, const struct seam_file_key *key,
			 const struct seam_elf *elf, bool is_near)
{
	const struct seam_elf *read = is_near ? elf : NULL;
	struct seam_file_key named;
	int err = -ENOENT;

	key = seam_tables_key(t, key, &named);
	if (t->from == SEAM_TABLES_MAPPED)
		err = put_mapped(t, key, read);
	return err == -ENOENT ? put_laid_out(t, key, elf, read) : err;
}

int seam_tables_load_vdso(struct seam_tables *t)
{
	const struct seam_file_key key = {.kind = SEAM_KEY_VDSO};
	struct seam_elf *elf = NULL;
	int err;

	if (!seam_tables_is_wanted(t, &key))
		return 0;
	err = seam_vdso_open(&elf);
	if (!err || err == -ENOENT)
		err = seam_tables_load_elf(t, &key, elf, false);
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

/* Whether it could not be had through some process. */
static bool is_missing(const struct seam_tables *t,
		       const struct seam_file_key *key)
{
	const struct seam_absent_key *known = seam_absent_find(&t->absent, key);

	return known && (known->why == SEAM_ABSENT_GONE ||
			 known->why == SEAM_ABSENT_REFUSED);
}

bool seam_tables_unask(struct seam_kernel *k, const struct seam_file_key *key)
{
	struct seam_table_ref ref;

	if (!seam_kernel_table_get(k, key, &ref) &&
	    ref.state != SEAM_TABLE_ASKED)
		return false;
	seam_kernel_table_drop(k, key);
	seam_kernel_tables_changed(k);
	return true;
}

static int answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		  int held)
{
	struct seam_wire_miss of = *miss;
	bool is_made = miss->key.kind == SEAM_KEY_MEMORY;
	int err;

	of.key.kind &= ~(uint32_t)SEAM_KEY_OWN;
	if (is_made)
		err = seam_tables_answer_made(t, miss);
	else if (of.key.kind == SEAM_KEY_VDSO)
		err = seam_tables_load_vdso(t);
	else
		err = seam_tables_answer_file(t, &of, held);
	/* It was counted, and is had after all. */
	if (t->at.is_again && !is_missing(t, &miss->key))
		t->stats.gone--;
	if (err == -ENOMEM)
		t->stats.lost += seam_tables_unask(t->kernel, &miss->key);
	if (is_made || t->at.has_put)
		seam_kernel_tables_changed(t->kernel);
	seam_kernel_serves(t->kernel);
	publish(t);
	return err == -ENOMEM || err == -ESHUTDOWN ? err : 0;
}

/* Ours are asked for in two rings, of which either may be first. Where there
 * was no table, there would be none again; but in its turn we know what its
 * process had mapped, which may have ended or be closed to us, and find the
 * file by that. */
static void was_done(struct seam_tables *t, const struct seam_wire_miss *miss,
		     int held)
{
	const uint32_t kind = miss->key.kind & ~(uint32_t)SEAM_KEY_OWN;
	const struct seam_absent_key *known =
		seam_absent_find(&t->absent, &miss->key);

	if (!known)
		return;
	t->at.is_again = t->at.in_turn && kind == SEAM_KEY_FILE &&
			 is_missing(t, &miss->key);
	t->at.is_done =
		known->due_ns == UINT64_MAX || (held < 0 && !t->at.is_again);
}

int seam_tables_serve(struct seam_tables *t, const struct seam_wire_miss *miss,
		      int held)
{
	int err = 0;

	pthread_mutex_lock(&t->working);
	if (!t->has_ended) {
		t->at = (struct seam_tables_at){
			.is_for_us = miss->key.kind & SEAM_KEY_OWN,
			.is_ours =
				miss->client == seam_kernel_client(t->kernel)};
		was_done(t, miss, held);
		t->stats.asked += !t->at.is_ours;
		err = answer(t, miss, held);
	}
	pthread_mutex_unlock(&t->working);
	return err;
}

int seam_tables_answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		       int held)
{
	int err;

	pthread_mutex_lock(&t->working);
	t->at = (struct seam_tables_at){.in_turn = true};
	was_done(t, miss, held);
	t->stats.asked += !(miss->key.kind & SEAM_KEY_OWN);
	err = answer(t, miss, held);
	pthread_mutex_unlock(&t->working);
	return err;
}

void seam_tables_tend(struct seam_tables *t)
{
	const struct seam_absent_ops ops = {used_ns, drop, t};

	pthread_mutex_lock(&t->working);
	/* Whoever had the tables may have gone, in whatever way. */
	seam_tables_own(t);
	seam_kernel_serves(t->kernel);
	seam_tables_watch_owner(t);
	seam_kernel_bury(t->kernel);
	if (seam_absent_retry(&t->absent, seam_now_ns(), &ops))
		seam_kernel_tables_changed(t->kernel);
	publish(t);
	pthread_mutex_unlock(&t->working);
}

struct seam_kernel *seam_tables_kernel(const struct seam_tables *t)
{
	return t->kernel;
}

void seam_tables_stats(struct seam_tables *t, struct seam_tables_stats *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = t->published;
	pthread_mutex_unlock(&t->lock);
}
