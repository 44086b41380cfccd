/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What tables.c, tables-file.c and tables-made.c share. */
#ifndef SEAM_LIB_PAGER_TABLES_PRIV_H
#define SEAM_LIB_PAGER_TABLES_PRIV_H

#include <pthread.h>

#include "pager/absent.h"
#include "pager/tables.h"
#include "table/table.h"

struct seam_loaded {
	struct seam_file_key key;
	uint64_t offset, size; /* in the arena */
	uint64_t edits; /* of made code: what its table is of */
};

/* A part of the arena, and what of it is in use. */
struct seam_tables_part {
	uint64_t first, last;
	struct seam_loaded *loaded; /* by offset */
	size_t n;
};

/* The request that is being answered. */
struct seam_tables_at {
	bool is_for_us; /* of SEAM_KEY_OWN */
	bool in_turn; /* with what its process had mapped by then */
	bool is_ours; /* of a task that we watch; it comes in turn, too */
	bool is_done; /* it has been answered, as well as now */
	bool is_again; /* so it has, but now it may be had */
	bool has_put; /* something that BPF is to see */
};

struct seam_tables {
	struct seam_kernel *kernel;
	struct seam_processes *processes;
	struct seam_table_cache *cache;
	uint64_t budget;
	enum seam_tables_from from;
	uint8_t *arena;
	/* Who answers holds it: another thread ends that. */
	pthread_mutex_t working;
	/* Of files only the owner loads tables. */
	bool is_owner;
	bool has_ended; /* and never owns them again */
	struct seam_tables_at at;
	bool loads_own; /* what an owner that is late has not */
	uint32_t looks; /* since it serves again */
	bool has_bad_cfi; /* the file at hand, as far as a table tells */
	struct seam_tables_part files, made;
	struct seam_absent absent; /* keys answered without a table */
	struct seam_tables_stats stats; /* of whoever answers */
	pthread_mutex_t lock;
	struct seam_tables_stats published; /* under the lock */
};

/* Real tables grow by half at most; a few bytes of hostile CFI could claim a
 * row for each byte of code. */
#define LAY_OUT_FREE (4ULL << 20)
#define LAY_OUT_GROWTH 64

/*
 * Answers without a table. NONE: such a frame ends the stack. ASKED: the stack
 * is copied, at each sample, for the library to unwind. want: what the caller
 * has reason for; what may be had soon is copied all the same.
 */
int seam_tables_without(struct seam_tables *t, const struct seam_file_key *key,
			enum seam_table_state want, enum seam_absence why);
/* Places a table and makes it known under the key. */
int seam_tables_put(struct seam_tables *t, const struct seam_file_key *key,
		    const struct seam_lookup *lookup, const uint8_t *bytes);
/*
 * tables-own.c. Takes the tables of files, if nobody has them: those that are
 * loaded, as the kernel side's map names them, which is all that is believed
 * of what an owner who died was about to do; all else is asked for again.
 * Return: 0, also where another owns them; -errno.
 */
int seam_tables_own(struct seam_tables *t);
/* Makes a table of a file; elf NULL: it is none. Pages that are not near are
 * not brought in for a stack. */
int seam_tables_load_elf(struct seam_tables *t, const struct seam_file_key *key,
			 const struct seam_elf *elf, bool is_near);
/* tables-late.c. The key that the request at hand is answered under. */
const struct seam_file_key *seam_tables_key(const struct seam_tables *t,
					    const struct seam_file_key *key,
					    struct seam_file_key *ret);
/* Begins to load in place of an owner that is late, or ends it. */
void seam_tables_watch_owner(struct seam_tables *t);
/* tables-file.c. Whether we are to load it. */
bool seam_tables_is_wanted(struct seam_tables *t,
			   const struct seam_file_key *key);
/* Its owner must not touch it. */
int seam_tables_leave_alone(struct seam_tables *t,
			    const struct seam_file_key *key);
/* Answers a request for a file's; held: as of seam_tables_answer. */
int seam_tables_answer_file(struct seam_tables *t,
			    const struct seam_wire_miss *miss, int held);
/* Answers a request for code that was made at run time. */
int seam_tables_answer_made(struct seam_tables *t,
			    const struct seam_wire_miss *miss);

#endif
