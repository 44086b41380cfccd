// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One client owns the tables of files: it loads them, for all. When it is gone
 * another takes them, with nothing but what the kernel side's map says: a table
 * is in the arena before it is in the map, and is out of the map before another
 * lies in its place. So at no moment of the owner's death does the map name
 * what is not there whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/tables-priv.h"

/* The map's keys, with some to spare: it may have got more since. */
#define KEYS_MAX (1 << 17)
/* A key may be passed over where its bucket changes during the walk, but not by
 * each walk. */
#define WALKS 2

struct keys {
	struct seam_file_key *v;
	size_t n, room;
};

static int keys_add(struct keys *keys, const struct seam_file_key *key)
{
	if (keys->n == keys->room) {
		size_t room = keys->room ? keys->room * 2 : 256;
		struct seam_file_key *v =
			realloc(keys->v, room * sizeof(*keys->v));

		if (!v)
			return -ENOMEM;
		keys->v = v;
		keys->room = room;
	}
	keys->v[keys->n++] = *key;
	return 0;
}

/* All keys that were there when it began. Some may come twice: where one is
 * taken away meanwhile, the kernel begins again. */
static int keys_list(struct seam_kernel *k, struct keys *ret)
{
	struct seam_file_key key;
	int err = seam_kernel_table_next(k, NULL, &key);

	for (size_t n = 0; !err && n < KEYS_MAX; n++) {
		err = keys_add(ret, &key);
		if (!err)
			err = seam_kernel_table_next(k, &key, &key);
	}
	/* Without all keys, what is free of the arena is not known. */
	if (!err)
		return -EAGAIN;
	return err == -ENOENT ? 0 : err;
}

static int by_offset(const void *va, const void *vb)
{
	const struct seam_loaded *a = va, *b = vb;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Return: whether the table is loaded, and lies where ours may. */
static bool read_one(const struct seam_tables *t,
		     const struct seam_file_key *key, struct seam_loaded *ret)
{
	const struct seam_tables_part *p = &t->files;
	struct seam_table_ref ref;

	if (seam_kernel_table_get(t->kernel, key, &ref) ||
	    ref.state != SEAM_TABLE_LOADED)
		return false;
	*ret = (struct seam_loaded){
		.key = *key, .offset = ref.offset, .size = ref.lookup.size};
	return ret->size && ret->offset >= p->first && ret->offset < p->last &&
	       ret->size <= p->last - ret->offset;
}

static bool is_same(const struct seam_loaded *a, const struct seam_loaded *b)
{
	return !memcmp(&a->key, &b->key, sizeof(a->key));
}

/* What lies in another's place goes, and is asked for again. */
static void drop_strays(struct seam_tables *t)
{
	struct seam_tables_part *p = &t->files;
	uint64_t from = p->first;
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (to && is_same(&p->loaded[i], &p->loaded[to - 1]))
			continue;
		if (p->loaded[i].offset < from) {
			seam_kernel_table_drop(t->kernel, &p->loaded[i].key);
			continue;
		}
		from = p->loaded[i].offset + p->loaded[i].size;
		t->stats.bytes += p->loaded[i].size;
		p->loaded[to++] = p->loaded[i];
	}
	p->n = to;
	t->stats.loaded += to;
}

/* Those of an owner with more memory than we may use go, as far as they lie
 * behind ours. */
static int take_over(struct seam_tables *t, const struct keys *keys)
{
	struct seam_tables_part *p = &t->files;
	struct seam_loaded *loaded = calloc(keys->n + 1, sizeof(*loaded));

	if (!loaded)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		t->stats.bytes -= p->loaded[i].size;
	t->stats.loaded -= p->n;
	free(p->loaded);
	p->loaded = loaded;
	p->n = 0;
	for (size_t i = 0; i < keys->n; i++) {
		if (read_one(t, &keys->v[i], &loaded[p->n])) {
			p->n++;
			continue;
		}
		seam_kernel_table_drop(t->kernel, &keys->v[i]);
		/* It may be ours, of when we owned them before. */
		seam_absent_remove(&t->absent, &keys->v[i]);
	}
	qsort(loaded, p->n, sizeof(*loaded), by_offset);
	drop_strays(t);
	if (t->stats.bytes > t->stats.bytes_max)
		t->stats.bytes_max = t->stats.bytes;
	return 0;
}

static int own(struct seam_tables *t)
{
	/* First, so that a request that is not among the keys comes to us. */
	int err = seam_kernel_own(t->kernel);
	struct keys keys = {0};

	for (int i = 0; !err && i < WALKS; i++)
		err = keys_list(t->kernel, &keys);
	if (!err)
		err = take_over(t, &keys);
	free(keys.v);
	if (err)
		return err;
	t->is_owner = true;
	seam_kernel_tables_changed(t->kernel);
	return 0;
}

int seam_tables_own(struct seam_tables *t)
{
	int err = t->is_owner || t->has_ended ? 0 : own(t);

	return err == -EBUSY || err == -EAGAIN ? 0 : err;
}

int seam_tables_begin(struct seam_tables *t)
{
	int err;

	pthread_mutex_lock(&t->working);
	t->has_ended = false;
	err = seam_tables_own(t);
	pthread_mutex_unlock(&t->working);
	return err;
}

void seam_tables_end(struct seam_tables *t)
{
	pthread_mutex_lock(&t->working);
	t->has_ended = true;
	t->is_owner = false;
	seam_kernel_disown(t->kernel);
	seam_tables_watch_owner(t);
	pthread_mutex_unlock(&t->working);
}
