// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The list that a process keeps of its sections (core/jit-registry.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/search.h"
#include "process/jit-priv.h"

#define PATH "/memfd:" SEAM_JIT_NAME " (deleted)"
#define CANDIDATES 4 /* two while it grows; another library's own */
#define FIND_TRIES 3
#define READ_TRIES 5
#define SCAN_TRIES 6

struct candidate {
	uint64_t start, size;
};

/* Return: how many; -ESRCH: the process is gone. */
static int find_lists(uint32_t pid, struct candidate ret[CANDIDATES])
{
	char path[64], perms[8], *line = NULL;
	bool any = false;
	size_t room = 0;
	uint64_t end;
	int n = 0, at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	while (f && n < CANDIDATES && getline(&line, &room, f) > 0) {
		any = true;
		line[strcspn(line, "\n")] = 0;
		at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n",
			   &ret[n].start, &end, perms, &at) < 3 ||
		    !at || strcmp(line + at, PATH) || strcmp(perms, "rw-p"))
			continue;
		ret[n].size = end - ret[n].start;
		n++;
	}
	free(line);
	if (f)
		fclose(f);
	return any ? n : -ESRCH;
}

/* Whether the list is what was read, amid a change: its program stands still
 * there, or has come to where it was. */
static bool stands(struct seam_jit *j, uint32_t pid, const struct candidate *c,
		   const struct seam_jit_registry *head,
		   const struct seam_jit_entry *v)
{
	const size_t size = head->num * sizeof(*v);
	struct seam_jit_registry now;
	void *again = malloc(size ? size : 1);
	bool same =
		again &&
		!seam_jit_peek(j, pid, c->start + sizeof(now), again, size) &&
		!seam_jit_peek(j, pid, c->start, &now, sizeof(now)) &&
		!memcmp(&now, head, sizeof(now)) && !memcmp(again, v, size);

	free(again);
	return same;
}

/* Of one moment, since it was not changed meanwhile. -EAGAIN: it is amid a
 * change, and *ret is what was read, if it stood still there; else entries may
 * have moved to where was read already, and it is NULL. */
static int read_once(struct seam_jit *j, uint32_t pid,
		     const struct candidate *c, struct seam_jit_registry *head,
		     struct seam_jit_entry **ret)
{
	struct seam_jit_registry then;
	struct seam_jit_entry *v;
	size_t size;
	int err = seam_jit_peek(j, pid, c->start, head, sizeof(*head));

	if (err)
		return err;
	if (head->magic != SEAM_JIT_MAGIC ||
	    head->version != SEAM_JIT_VERSION ||
	    head->entry_size != sizeof(*v) ||
	    head->num > SEAM_JIT_MAX_ENTRIES ||
	    c->size < sizeof(*head) + head->num * sizeof(*v))
		return -EINVAL;
	if (c->start == j->list && head->changes == j->changes)
		return -EALREADY;
	size = head->num * sizeof(*v);
	v = malloc(size ? size : 1);
	if (!v)
		return -ENOMEM;
	err = seam_jit_peek(j, pid, c->start + sizeof(*head), v, size);
	if (!err)
		err = seam_jit_peek(j, pid, c->start, &then, sizeof(then));
	*ret = NULL;
	if (!err && (then.changes != head->changes ||
		     (head->changes & 1 && !stands(j, pid, c, head, v))))
		err = -EAGAIN;
	else if (!err) {
		*ret = v;
		return head->changes & 1 ? -EAGAIN : 0;
	}
	free(v);
	return err;
}

static int read_list(struct seam_jit *j, uint32_t pid,
		     const struct candidate *c, struct seam_jit_registry *head,
		     struct seam_jit_entry **ret)
{
	int err = read_once(j, pid, c, head, ret);

	for (int i = 1; err == -EAGAIN && i < READ_TRIES; i++) {
		free(*ret);
		err = read_once(j, pid, c, head, ret);
	}
	return err;
}

struct listing {
	const struct seam_jit_entry *v;
	size_t n;
};

static int by_id(const void *va, const void *vb)
{
	const struct seam_jit_entry *a = va, *b = vb;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* The first with this number. Amid a change there may be more: one in two
 * places, or half overwritten with the next. */
static size_t first_of(const struct listing *l, uint64_t id)
{
	return SEAM_SEARCH(i, l->n, l->v[i].id < id);
}

static bool is_same(const struct seam_jit_table *t,
		    const struct seam_jit_entry *e)
{
	return t->code == e->code && t->end - t->code == e->code_size &&
	       t->sframe == e->sframe && t->sframe_size == e->sframe_size;
}

/* Whether the entry a table was made of is still there. */
static bool is_in(const struct listing *l, const struct seam_jit_table *t)
{
	for (size_t i = first_of(l, t->id); i < l->n && l->v[i].id == t->id;
	     i++)
		if (is_same(t, &l->v[i]))
			return true;
	return false;
}

static bool is_current(const struct seam_jit_table *t, void *ctx)
{
	return !t->is_listed || is_in(ctx, t);
}

/* Whether it was read before. */
static bool is_known(const struct seam_jit *j, const struct seam_jit_entry *e)
{
	const struct seam_jit_table *t = seam_jit_find(j, e->code);

	return t && t->is_listed && t->id == e->id && is_same(t, e);
}

static int read_new(struct seam_jit *j, uint32_t pid,
		    const struct seam_jit_entry *v, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		const struct seam_jit_section s = {
			.sframe = v[i].sframe,
			.sframe_size = v[i].sframe_size,
			.code = v[i].code,
			.code_size = v[i].code_size,
			.since_ns = v[i].since_ns,
		};

		if (v[i].id && !is_known(j, &v[i]))
			err = seam_jit_read(j, pid, &s, v[i].id);
	}
	return err;
}

/* Takes away what is listed no more, then reads what is new. */
static int follow(struct seam_jit *j, uint32_t pid, struct seam_jit_entry *v,
		  size_t n, bool may_read)
{
	struct listing listing = {v, n};

	qsort(v, n, sizeof(*v), by_id);
	seam_jit_pass(j, is_current, &listing);
	return may_read ? read_new(j, pid, v, n) : 0;
}

static int scan_once(struct seam_jit *j, uint32_t pid,
		     const struct candidate *c, bool may_read)
{
	struct seam_jit_registry head;
	struct seam_jit_entry *v;
	int torn = read_list(j, pid, c, &head, &v), err;

	if (torn && torn != -EAGAIN)
		return torn;
	err = v ? follow(j, pid, v, (size_t)head.num, may_read && !torn) : 0;
	free(v);
	j->list = c->start;
	/* What is new and was not read is to be found the next time. */
	j->changes = may_read ? head.changes : 0;
	return err ? err : torn;
}

/*
 * A section may have become another while it was read: it was what its entry
 * says if that is still there afterwards. So the list is read until it has
 * not changed meanwhile; the last times only to see what went. An entry goes
 * before its code does. So what is read amid a change, of a program that may
 * not run for long, tells as well what is still there, if not what is new.
 */
static int scan_one(struct seam_jit *j, uint32_t pid, const struct candidate *c)
{
	uint64_t began_ns = 0;
	int err = 0;

	for (int i = 0; !err && i < SCAN_TRIES; i++) {
		began_ns = seam_now_ns();
		err = scan_once(j, pid, c, i < SCAN_TRIES / 2);
	}
	if (err == -EALREADY) {
		j->seen_ns = began_ns;
		for (size_t k = 0; k < j->n; k++)
			j->v[k]->is_sure = true;
		return 0;
	}
	if (err && err != -EAGAIN)
		return err;
	j->changes = 0;
	j->was_scanned = false;
	return 0;
}

/* The first that is a list. *ret_n: of how many. */
static int scan_lists(struct seam_jit *j, uint32_t pid, int *ret_n)
{
	struct candidate v[CANDIDATES];
	int err = -EINVAL;

	*ret_n = find_lists(pid, v);
	for (int i = 0; err == -EINVAL && i < *ret_n; i++)
		err = scan_one(j, pid, &v[i]);
	return err;
}

int seam_jit_scan(struct seam_jit *j, uint32_t pid)
{
	int n, err;

	j->was_scanned = true;
	err = scan_lists(j, pid, &n);
	/* A larger one may just have taken its place. */
	for (int i = 1; err && err != -ENOMEM && n > 0 && i < FIND_TRIES; i++)
		err = scan_lists(j, pid, &n);
	/* Of a process that is gone what was known last stays, for its copies;
	 * else what cannot be had now may differ by now. */
	if (err && n > 0 && err != -ESRCH) {
		struct listing none = {NULL, 0};

		seam_jit_keep(j, is_current, &none);
		j->list = j->changes = 0;
		j->was_scanned = false;
	}
	return err == -ENOMEM ? err : 0;
}

int seam_jit_rescan(struct seam_jit *j, uint32_t pid, bool *ret)
{
	uint64_t changes = j->changes, list = j->list, now;
	uint64_t began_ns = seam_now_ns();
	int err;

	*ret = false;
	if (j->is_slow || (j->was_scanned && !list))
		return 0;
	if (list &&
	    !seam_jit_peek(j, pid,
			   list + offsetof(struct seam_jit_registry, changes),
			   &now, sizeof(now)) &&
	    now == changes) {
		j->seen_ns = began_ns;
		return 0;
	}
	err = seam_jit_scan(j, pid);
	*ret = j->changes != changes || j->list != list;
	return err;
}

const struct seam_jit_table *seam_jit_find_seen(struct seam_jit *j,
						uint32_t pid, uint64_t addr,
						uint64_t time_ns)
{
	const struct seam_jit_table *t = seam_jit_find(j, addr);
	bool changed;

	if (t && t->is_listed && j->seen_ns < time_ns &&
	    seam_jit_rescan(j, pid, &changed))
		return NULL;
	t = seam_jit_find_at(j, addr, time_ns);
	return t && t->is_listed && j->seen_ns < time_ns ? NULL : t;
}
