// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * While who owns the tables of files does not answer, as one that is stopped,
 * each client loads for itself what the owner has not: beside its tables of
 * made code, under keys of its own, in what memory it has for these. What it
 * has loaded so goes when the owner serves again.
 */
#include "base/clock.h"
#include "pager/tables-priv.h"

/* Whoever serves says so each second at least, but while it makes one table. */
#define LATE_NS 2000000000ULL
/* How often it is looked whether the owner has by now what we have, too. */
#define LAST_LOOKS 10

static bool is_for_us(const struct seam_file_key *key)
{
	return key->kind & SEAM_KEY_OWN;
}

const struct seam_file_key *seam_tables_key(const struct seam_tables *t,
					    const struct seam_file_key *key,
					    struct seam_file_key *ret)
{
	*ret = *key;
	if (t->at.is_for_us && !SEAM_KEY_IS_OWN(key->kind))
		ret->kind |= SEAM_KEY_OWN;
	return ret;
}

/* Whether the owner is yet to load what we have. */
static bool is_needed(struct seam_tables *t)
{
	for (size_t i = 0; i < t->made.n; i++) {
		struct seam_file_key key = t->made.loaded[i].key;
		struct seam_table_ref ref;

		if (!is_for_us(&key))
			continue;
		key.kind &= ~(uint32_t)SEAM_KEY_OWN;
		if (!seam_kernel_table_get(t->kernel, &key, &ref) &&
		    ref.state == SEAM_TABLE_ASKED)
			return true;
	}
	return false;
}

/* Nobody begins to use them any more; unwinds under way see the generation
 * move. */
static void drop_loaded(struct seam_tables *t)
{
	struct seam_tables_part *p = &t->made;
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (is_for_us(&p->loaded[i].key)) {
			seam_kernel_table_drop(t->kernel, &p->loaded[i].key);
			t->stats.bytes -= p->loaded[i].size;
			t->stats.loaded--;
		} else {
			p->loaded[to++] = p->loaded[i];
		}
	}
	p->n = to;
}

/* And what was answered without a table, or is asked for: a key that is passed
 * over, as its bucket changes, is found the next time. */
static void drop_others(struct seam_tables *t)
{
	struct seam_file_key key, next;
	int err = seam_kernel_own_table_next(t->kernel, NULL, &next);

	for (size_t n = 0; !err && n < SEAM_TABLES_MAX * 2; n++) {
		key = next;
		err = seam_kernel_own_table_next(t->kernel, &key, &next);
		if (!is_for_us(&key))
			continue;
		seam_kernel_table_drop(t->kernel, &key);
		seam_absent_remove(&t->absent, &key);
	}
}

static void begin(struct seam_tables *t)
{
	/* Whoever asked as we ended it the last time was not answered. */
	drop_others(t);
	t->loads_own = true;
	seam_kernel_load_own(t->kernel, true);
	/* What waits for the owner is bound anew. */
	seam_kernel_tables_changed(t->kernel);
}

static void end(struct seam_tables *t)
{
	t->loads_own = false;
	t->looks = 0;
	seam_kernel_load_own(t->kernel, false);
	drop_loaded(t);
	drop_others(t);
	seam_kernel_tables_changed(t->kernel);
}

void seam_tables_watch_owner(struct seam_tables *t)
{
	if (!t->has_ended && seam_kernel_owner_is_late(t->kernel, LATE_NS)) {
		t->looks = 0;
		if (!t->loads_own)
			begin(t);
	} else if (t->loads_own &&
		   (t->has_ended || ++t->looks > LAST_LOOKS || !is_needed(t))) {
		end(t);
	}
}
