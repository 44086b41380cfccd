/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tables in the kernel: answers BPF's requests, within a budget, the least
 * recently used out first. A table is only ever put under a key that BPF
 * itself gave for the very file it was made from.
 */
#ifndef SEAM_LIB_PAGER_TABLES_H
#define SEAM_LIB_PAGER_TABLES_H

#include "kernel/kernel.h"
#include "process/process.h"
#include "seam/tracer.h"
#include "unwind/image.h"

/* Of the 65,536 that the kernel side's map holds; see SEAM_ABSENT_MAX. */
#define SEAM_TABLES_MAX 32768

struct seam_tables;

struct seam_tables_stats {
	uint64_t loaded, bytes, bytes_max; /* now; the most at a time */
	uint64_t asked, preloaded, none; /* none: files without CFI */
	uint64_t gone; /* the file could not be had */
	uint64_t forgotten; /* answers without a table, for want of room */
	uint64_t evicted; /* for the budget */
	uint64_t too_big; /* larger than the whole budget */
	uint64_t left_out; /* rows that no table has a place for */
	uint64_t mapped; /* files whose section is read where it is mapped */
	uint64_t lost; /* requests that there was no memory for */
	uint64_t own; /* of these tables, in place of an owner that was late */
	struct seam_images_stats images;
};

/* Of opts: table_memory, tables_from; cache_dir, see seam_table_cache_open. */
int seam_tables_open(struct seam_kernel *k, struct seam_processes *ps,
		     const struct seam_session_opts *opts,
		     struct seam_tables **ret);
/* Takes the tables of files, if nobody has them, now or when tended. */
int seam_tables_begin(struct seam_tables *t);
/* Nobody answers a request, for want of memory: the next stack asks again.
 * Return: false: it has its answer. */
bool seam_tables_unask(struct seam_kernel *k, const struct seam_file_key *key);
/* Lets another have them: we answer no more. */
void seam_tables_end(struct seam_tables *t);
struct seam_tables *seam_tables_close(struct seam_tables *t);

/*
 * Whether the mapping that a request came from can be opened now, by the opener
 * or, NULL, by us.
 * Return: its file, which is the one that the request's key names, or was
 * until it was deleted; -errno.
 */
int seam_tables_hold(struct seam_kernel *k, const struct seam_opener *opener,
		     const struct seam_wire_miss *miss);
/*
 * Answers a request as it comes: BPF asks again only after a table was evicted,
 * or when seam_tables_tend lets it. held: of seam_tables_hold, when the request
 * was new; negative: it gave none. It stays the caller's. Return: 0; -ENOMEM;
 * -ESHUTDOWN: the opener has ended.
 */
int seam_tables_serve(struct seam_tables *t, const struct seam_wire_miss *miss,
		      int held);
/*
 * The same request of our own, in turn with stack copies, when what its process
 * had mapped is followed up to then: of made code it is answered now; of a file
 * that is kept for these copies, and answered if it could not be had before.
 */
int seam_tables_answer(struct seam_tables *t, const struct seam_wire_miss *miss,
		       int held);
/* To be called now and then: lets BPF ask again for what could not be had. */
void seam_tables_tend(struct seam_tables *t);

/* Loads a program's table, its interpreter's and its libraries', as far as
 * they are found, before it runs. Best effort. */
void seam_tables_preload(struct seam_tables *t, const char *path);
/* Its parts. *ret is the caller's to close. -EEXIST: the kernel has it. */
int seam_tables_load_path(struct seam_tables *t, const char *path,
			  struct seam_elf **ret);
int seam_tables_load_vdso(struct seam_tables *t);

/* Whose tables they are. */
struct seam_kernel *seam_tables_kernel(const struct seam_tables *t);
/* As of the last answer, or tending; any thread may ask, the rest is for
 * one at a time. */
void seam_tables_stats(struct seam_tables *t, struct seam_tables_stats *ret);

#endif
