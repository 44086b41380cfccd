/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Keys of files that BPF was answered without a table: when to let it ask
 * again, and which to forget so that its map of tables never fills.
 *
 * A file without CFI has none for ever; its key names its content. A file
 * that could not be had may be had later, through another process that maps
 * it: builds and shell scripts start processes that are gone when we look,
 * many a second, all with the same libraries. So the first time again after
 * 100 ms, and each failure doubles the wait, up to 10 s: so much is lost at
 * most when such a process stays at last. For the first failures stacks are
 * still copied meanwhile, as the library may well open the file through the
 * process that the copy is of; then that is given up as well. Where the
 * process lived, and the file could not be had all the same, rights or a
 * mount are in the way: no copies, and again after a minute. Where a daemon or
 * a server does not answer: again after 10 s.
 */
#ifndef SEAM_LIB_PAGER_ABSENT_H
#define SEAM_LIB_PAGER_ABSENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire.h"

/* Of the 65,536 that the kernel side's map holds; the rest is for tables
 * (SEAM_TABLES_MAX) and for questions on the way. */
#define SEAM_ABSENT_MAX 16384
/* So many go at once when that is reached. */
#define SEAM_ABSENT_PRUNE (SEAM_ABSENT_MAX / 4)

#define SEAM_ABSENT_FIRST_NS 100000000ULL
#define SEAM_ABSENT_LAST_NS 10000000000ULL
#define SEAM_ABSENT_REFUSED_NS 60000000000ULL
#define SEAM_ABSENT_COPIES 5 /* failures; 1.5 s before the last */

enum seam_absence {
	SEAM_ABSENT_NO_CFI, /* nothing to make a table of; or too large */
	SEAM_ABSENT_GONE, /* not through that process, which may have ended */
	SEAM_ABSENT_REFUSED, /* its process lives */
	SEAM_ABSENT_STUCK, /* whoever has it does not answer */
};

/* A key to be answered without a table. */
struct seam_absent_new {
	struct seam_file_key key;
	enum seam_absence why;
	uint64_t now_ns;
};

struct seam_absent_key {
	struct seam_file_key key;
	uint64_t due_ns; /* when to ask again; UINT64_MAX: never */
	uint64_t used_ns; /* while pruning */
	uint32_t failures;
	enum seam_absence why; /* the last time */
	bool is_known; /* to BPF; else it may ask again */
};

struct seam_absent {
	struct seam_absent_key *keys; /* sorted */
	size_t n, room;
	uint64_t next_due_ns; /* no key is due before; 0: look */
};

/* How the map of tables is reached. */
struct seam_absent_ops {
	/* When BPF last met the key; 0: it does not know it. */
	uint64_t (*used_ns)(void *ctx, const struct seam_file_key *key);
	void (*drop)(void *ctx, const struct seam_file_key *key);
	void *ctx;
};

/* Makes room first, if need be. *ret_failed: how often it has failed now.
 * Return: how many other keys were dropped for it, or -ENOMEM. */
int seam_absent_add(struct seam_absent *a, const struct seam_absent_new *key,
		    const struct seam_absent_ops *ops, uint32_t *ret_failed);
/* NULL: BPF has not been answered, or may ask again. */
const struct seam_absent_key *seam_absent_find(const struct seam_absent *a,
					       const struct seam_file_key *key);
/* It has a table after all. */
void seam_absent_remove(struct seam_absent *a, const struct seam_file_key *key);
/* Drops the keys whose time has come. Return: how many. */
size_t seam_absent_retry(struct seam_absent *a, uint64_t now_ns,
			 const struct seam_absent_ops *ops);
void seam_absent_fini(struct seam_absent *a);

#endif
