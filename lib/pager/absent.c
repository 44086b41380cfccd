// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pager/absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

/* Where a key is, or would be. */
static size_t place(const struct seam_absent *a,
		    const struct seam_file_key *key, bool *ret_found)
{
	size_t at = SEAM_SEARCH(i, a->n,
				memcmp(&a->keys[i].key, key, sizeof(*key)) < 0);

	*ret_found = at < a->n && !memcmp(&a->keys[at].key, key, sizeof(*key));
	return at;
}

static uint64_t wait_ns(enum seam_absence why, uint32_t failures)
{
	uint64_t wait = SEAM_ABSENT_FIRST_NS;

	if (why == SEAM_ABSENT_REFUSED)
		return SEAM_ABSENT_REFUSED_NS;
	if (why == SEAM_ABSENT_STUCK)
		return SEAM_ABSENT_LAST_NS;
	while (--failures && wait < SEAM_ABSENT_LAST_NS)
		wait *= 2;
	return wait < SEAM_ABSENT_LAST_NS ? wait : SEAM_ABSENT_LAST_NS;
}

static int by_use(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

/* The least recently used go; those that BPF does not know first of all. */
static int prune(struct seam_absent *a, const struct seam_absent_ops *ops)
{
	uint64_t *used = reallocarray(NULL, a->n, sizeof(*used)), limit;
	size_t to = 0, gone = 0;

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < a->n; i++) {
		struct seam_absent_key *k = &a->keys[i];

		k->used_ns = k->is_known ? ops->used_ns(ops->ctx, &k->key) : 0;
		used[i] = k->used_ns;
	}
	qsort(used, a->n, sizeof(*used), by_use);
	limit = used[SEAM_ABSENT_PRUNE - 1];
	free(used);
	for (size_t i = 0; i < a->n; i++) {
		struct seam_absent_key *k = &a->keys[i];

		if (k->used_ns <= limit && gone < SEAM_ABSENT_PRUNE) {
			gone++;
			if (k->is_known)
				ops->drop(ops->ctx, &k->key);
		} else {
			a->keys[to++] = *k;
		}
	}
	a->n = to;
	return (int)gone;
}

static int make_room(struct seam_absent *a, const struct seam_absent_ops *ops)
{
	if (a->n == SEAM_ABSENT_MAX)
		return prune(a, ops);
	return seam_grow(&a->keys, a->n + 1, &a->room, sizeof(*a->keys));
}

/* The key's place, made if it has none; *ret_gone as seam_absent_add. */
static struct seam_absent_key *get(struct seam_absent *a,
				   const struct seam_file_key *key,
				   const struct seam_absent_ops *ops,
				   int *ret_gone)
{
	bool found;
	size_t at = place(a, key, &found);

	*ret_gone = 0;
	if (found)
		return &a->keys[at];
	*ret_gone = make_room(a, ops);
	if (*ret_gone < 0)
		return NULL;
	at = place(a, key, &found);
	memmove(&a->keys[at + 1], &a->keys[at], (a->n - at) * sizeof(*a->keys));
	a->n++;
	a->keys[at] = (struct seam_absent_key){.key = *key};
	return &a->keys[at];
}

int seam_absent_add(struct seam_absent *a, const struct seam_absent_new *key,
		    const struct seam_absent_ops *ops, uint32_t *ret_failed)
{
	int gone;
	struct seam_absent_key *k = get(a, &key->key, ops, &gone);

	if (!k)
		return gone;
	k->is_known = true;
	k->failures++;
	k->why = key->why;
	k->due_ns = key->why == SEAM_ABSENT_NO_CFI
			    ? UINT64_MAX
			    : key->now_ns + wait_ns(key->why, k->failures);
	if (k->due_ns < a->next_due_ns)
		a->next_due_ns = k->due_ns;
	*ret_failed = k->failures;
	return gone;
}

const struct seam_absent_key *seam_absent_find(const struct seam_absent *a,
					       const struct seam_file_key *key)
{
	bool found;
	size_t at = place(a, key, &found);

	return found && a->keys[at].is_known ? &a->keys[at] : NULL;
}

void seam_absent_remove(struct seam_absent *a, const struct seam_file_key *key)
{
	bool found;
	size_t at = place(a, key, &found);

	if (!found)
		return;
	a->n--;
	memmove(&a->keys[at], &a->keys[at + 1], (a->n - at) * sizeof(*a->keys));
}

size_t seam_absent_retry(struct seam_absent *a, uint64_t now_ns,
			 const struct seam_absent_ops *ops)
{
	uint64_t next = UINT64_MAX;
	size_t dropped = 0;

	if (now_ns < a->next_due_ns)
		return 0;
	for (size_t i = 0; i < a->n; i++) {
		struct seam_absent_key *k = &a->keys[i];

		if (!k->is_known)
			continue;
		if (k->due_ns <= now_ns) {
			k->is_known = false;
			ops->drop(ops->ctx, &k->key);
			dropped++;
		} else if (k->due_ns < next) {
			next = k->due_ns;
		}
	}
	a->next_due_ns = next;
	return dropped;
}

void seam_absent_fini(struct seam_absent *a)
{
	free(a->keys);
	*a = (struct seam_absent){0};
}
