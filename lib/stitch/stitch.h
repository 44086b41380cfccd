/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Every sample of a recording with its whole stack: the kernel half that
 * came with it and the user half that a later record brings under the same
 * cookie; and, for each address, the mapping it was in at that moment.
 *
 * A record serves every sample of its cookie, taken before it or after.
 * Between equal cookies the sample's own thread and then the nearest time
 * decide; where the recording has no threads, the cookie and the time alone.
 * A sample whose record never came is delivered all the same, with the
 * reason, and counted under it.
 *
 *	struct seam_stitch *s;
 *	struct seam_stitched out;
 *	if (seam_stitch_new(reader, &s) == 0)
 *		while (seam_stitch_next(s, &out) > 0)
 *			...
 *	seam_stitch_free(s);
 *
 * A sample that reads the counts of its event or of a group of events, as
 * perf record -e '{a,b}:S' takes them, is delivered once for each event that
 * has counted since: with that event and, for its period, by how much.
 *
 * A sample that holds a copy of its stack, as perf record --call-graph dwarf
 * takes it, is unwound by tables and CFI.
 *
 * The reader must outlive it, and is nobody else's meanwhile. What next()
 * delivers is valid until the next call, mappings and names of commands until
 * SEAM_STITCH_KEPT more were delivered, what they point to and all other
 * strings until the stitcher is freed.
 *
 * Processes that have ended are let go when 4,096 others have after them, or
 * when what they had mapped takes more than all others have. Samples that come
 * for one even later have frames without mappings, and are counted.
 */
#ifndef SEAM_LIB_STITCH_H
#define SEAM_LIB_STITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "perfdata/reader.h"
#include "unwind/skid-kind.h"

#define SEAM_STITCH_KEPT 8192 /* samples */

struct seam_stitch;

struct seam_stitch_map {
	const char *path; /* as recorded; "[vdso]", "//anon" too */
	uint64_t start, end, pgoff;
	const uint8_t *build_id; /* NULL: not recorded */
	uint32_t build_id_len;
	uint32_t pid; /* of the process that mapped it; of a fork, its parent */
	uint64_t began_ns; /* that, or its program; 0: not recorded */
	bool kernel;
	bool symbol; /* path is the name of what is there: a BPF program */
	/* Counts what is mapped from 0, an index for caches: two mappings of
	 * one number have the same path, build-id and kind, and what that
	 * process's own code is mapped as also the same place. */
	uint32_t number;
	uint64_t id; /* of it alone, from 1 on */
};

struct seam_frame {
	uint64_t ip;
	const struct seam_stitch_map *map; /* NULL: none known there */
	bool kernel;
	bool exact; /* ip was running, it is no return address */
	uint8_t method; /* enum seam_method; 0: first of its half, not said */
};

/* For caches: mappings come and go, and another may be where one was. */
static inline uint64_t seam_frame_map(const struct seam_frame *f)
{
	return f->map ? f->map->id : 0;
}

/* How a sample got its user half. */
enum seam_half {
	SEAM_HALF_NONE, /* a kernel thread or the like: nothing is missing */
	SEAM_HALF_WITH, /* it came with the sample */
	SEAM_HALF_JOINED, /* the record came later */
	SEAM_HALF_LATE, /* the record came before; never with SEAM_JOIN_ORDER */
	SEAM_HALF_MISSING, /* there is no record for it */
};

/* Which record is a sample's. */
enum seam_join {
	SEAM_JOIN_COOKIE, /* that with its cookie */
	/* The next one of its thread, whatever its cookie: to compare with,
	 * and for recordings whose cookies tell nothing. A record that was
	 * lost makes a wrong stack so. */
	SEAM_JOIN_ORDER,
};

struct seam_stitched {
	const struct seam_pd_rec *rec; /* the sample */
	const char *comm, *event;
	uint64_t cookie; /* 0: none */
	uint64_t stack_ns; /* of the record that was joined; 0: none, or it
			    * has no time */
	enum seam_half half;
	int end; /* enum seam_err: why the user stack stopped; 0: not said */
	const struct seam_frame *frames; /* leaf first, kernel before user */
	size_t n_frames, n_kernel;
	size_t place; /* of the sample in the reader */
	/* If joined: the record's place, and how many of its frames, the last
	 * of frames, the sample shows. */
	size_t stack, n_stack;
	/* If its stack was unwound from a copy that the sample holds: how many
	 * bytes of it that took; its frames are n_stack, the last ones. */
	bool from_copy;
	uint64_t depth;
};

struct seam_stitch_stats {
	uint64_t samples;
	uint64_t wanted; /* samples that want a user half: all but NONE */
	uint64_t half[5]; /* by enum seam_half */
	uint64_t end[SEAM_END_MAX]; /* of wanted; [0]: not said */
	uint64_t stacks; /* records of user stacks */
	uint64_t stacks_unused; /* they serve no sample; these are: */
	uint64_t unused_repeated; /* another one of cookie and thread does */
	uint64_t
		unused_lost; /* samples were lost or overwritten, theirs too? */
	uint64_t unused_foreign; /* none were: another session asked */
	uint64_t unused_late; /* they came when the window had passed */
	uint64_t disordered; /* a stream's records that came behind later ones
			      * that were used already */
	uint64_t stacks_repeated; /* same cookie and thread as another */
	/* Of joined samples: */
	uint64_t by_time; /* several had cookie and thread: the nearest */
	uint64_t by_process; /* one of the process, not of the thread: exec */
	uint64_t by_cookie_alone; /* sample or record do not say whose */
	uint64_t by_order_differs; /* SEAM_JOIN_ORDER: the cookie is another */
	/* Of missing ones: the cookie's records are of other processes. */
	uint64_t other_task;
	uint64_t unknown_members; /* counts whose id no event has */
	uint64_t unmoved; /* records of which no event had counted: no sample */
	/* Samples with frames without a mapping, of processes that had ended
	 * long before, or for whose mappings there was no room. */
	uint64_t forgotten;
	uint64_t shared; /* samples beyond the first of their record */
	uint64_t lost_records, lost_samples; /* as LOST and LOST_SAMPLES say */
	uint64_t filtered_samples; /* by perf record's filter: not lost */
	/* Copies of stacks in samples: all; those that full CFI was needed for;
	 * those of a machine that is not unwound for; those that were too
	 * small. Of these the size, in bytes, that would have held each; or, if
	 * that is not known of all, that they lacked at least. */
	uint64_t copies, copies_by_cfi, copies_foreign, copies_cut;
	/* In the kernel, whose code is not known: SP may be of another moment.
	 */
	uint64_t copies_unchecked;
	uint64_t copy_size;
	bool copy_size_is_least;
	struct seam_skid_counts skid; /* of those that are precise */
	uint64_t first_ns, last_ns; /* of samples */
};

int seam_stitch_new(struct seam_pd_reader *r, struct seam_stitch **ret);
/* Before the first next(). Return: 0 or -ENOMEM. */
int seam_stitch_join_by(struct seam_stitch *s, enum seam_join rule);
/* The recorded kernel's symbols: a file, its name borrowed. NULL, as at first:
 * what is found by itself. Before the first next(). */
void seam_stitch_kernel(struct seam_stitch *s, const char *kallsyms);
/* Each sample once, as it was recorded: its group's counts are not looked at.
 * Before the first next(). */
void seam_stitch_undivided(struct seam_stitch *s);
struct seam_stitch *seam_stitch_free(struct seam_stitch *s);
/* Return: 1, 0 at the end, -errno. */
int seam_stitch_next(struct seam_stitch *s, struct seam_stitched *ret);
/* Whole once next() has returned 0. */
const struct seam_stitch_stats *seam_stitch_stats(const struct seam_stitch *s);
/* Files that copies could not be unwound for lack of. The next one from *at
 * on, which begins as 0. Return: why it is not had; NULL: no more. */
const char *seam_stitch_lacking(const struct seam_stitch *s, size_t *at,
				const char **ret_path, uint64_t *ret_stacks);

#endif
