/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What was mapped where, as it changes along the recording: one address
 * space for each process and one for the kernel. Forked processes share
 * their parent's until one of them changes it. What has ended is let go, a
 * while later (tasks.c).
 */
#ifndef SEAM_LIB_STITCH_SPACE_H
#define SEAM_LIB_STITCH_SPACE_H

#include "base/idmap.h"
#include "base/ranges.h"
#include "stitch/maps.h"
#include "stitch/stitch.h"

struct space {
	unsigned refs;
	uint32_t version; /* another one with each change; 0: none left */
	size_t *live; /* the world's count, which this one's cap is in */
	struct seam_ranges areas; /* struct seam_stitch_map, the world's */
};

/* An area as plain data: of spaces that are gone when they are asked for. */
struct space_area {
	uint64_t start, end;
	uint64_t map_start, map_end, pgoff, began_ns; /* of its mapping */
	uint32_t pid, number;
};

/* A thread that an exec ends can be kept from its last steps, on a processor
 * that is taken away, while the process goes through several more. */
#define SEAM_SPACE_EXECS 16

struct process {
	struct space *space; /* NULL: nothing mapped yet */
	/* What the last execs replaced, the newest first; NULL: not known. */
	struct space *before[SEAM_SPACE_EXECS];
	struct thread *threads; /* that live, or have ended lately */
	uint32_t pid;
	bool fresh; /* no user stack since that exec */
	bool is_bare; /* there was no room for all that it has mapped */
	uint64_t left_ip; /* the first since, where it is of no mapping */
	uint64_t began_ns; /* the last of fork and exec; 0: not recorded */
};

struct thread {
	uint32_t tid;
	bool has_ended;
	bool is_used; /* by samples, since it has ended or was looked at */
	const char *comm; /* NULL: not known */
	struct process *process;
	struct thread *next, *prev; /* of the process's */
	struct thread *newer, *older; /* of those that have ended */
};

struct world {
	struct seam_idmap processes, threads; /* by pid, by tid */
	struct thread *oldest, *newest; /* of those that have ended: see */
	size_t n_ended; /* tasks.c */
	uint64_t *forgotten; /* a bit for each pid; NULL: none was */
	bool forgets_all; /* there was no memory for these: any may be one */
	void (*on_gone)(void *ctx, uint32_t tid); /* NULL: nobody asks */
	void *ctx;
	struct space *kernel;
	bool is_of_code; /* data is mapped only where it takes code's place */
	/* Areas in all spaces. A file can ask for many copies of a large one,
	 * so there is a limit that grows with what it has records. */
	size_t n_areas, max_areas;
	size_t collect_areas; /* at so many what has ended is let go */
	uint32_t n_versions; /* UINT32_MAX: and no more */
	struct maps maps;
	struct map_numbers *numbers, own_numbers;
};

/* A world stays where it is. */
void seam_world_init(struct world *w, size_t n_records);
/* Mappings of both have one count of numbers, with's: it must outlive w. Before
 * any is there. */
void seam_world_share(struct world *w, struct world *with);
/* There are n_records by now. */
void seam_world_expect(struct world *w, size_t n_records);
void seam_world_fini(struct world *w);
/* Takes in MMAP, MMAP2, KSYMBOL, COMM, FORK and EXIT; passes over all others.
 */
int seam_world_apply(struct world *w, const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec);
/* Of a mapping: whether the world is not changed by it, being of code. perf
 * record -d and --call-graph dwarf tell of every mapping of data too. */
bool seam_world_leaves_out(const struct world *w,
			   const struct seam_pd_rec *rec);
struct space *seam_space_get(struct space *space);
struct space *seam_space_put(struct space *space);
struct space_area seam_space_area(const struct seam_range *range);
/* One of areas that were a world's with the same count of numbers, in order.
 * Return: 0 or -ENOMEM. */
int seam_space_make(struct world *w, const struct space_area *v, size_t n,
		    struct space **ret);
/* A new mapping, which is the world's and is taken over, goes in place of what
 * was there, in a space that nobody else sees from then on. Return: 0 or
 * -errno: the mapping is gone. */
int seam_space_insert(struct world *w, struct space **ps,
		      struct seam_stitch_map *map);
/* Whether the world has room for one more in that space. */
bool seam_space_has_room(const struct world *w, const struct space *space);
/* Spaces of a world that have the same are the same; 0: it is not known, or
 * there is no space. */
uint32_t seam_space_version(const struct space *space);
const struct seam_stitch_map *seam_space_find(const struct space *space,
					      uint64_t ip);
/* The same, of what is asked one after the other: mostly of one mapping. Empty
 * at first, and again when the space may have changed. */
struct space_near {
	const struct space *space;
	const struct seam_range *range;
};
const struct seam_stitch_map *seam_space_next(struct space_near *near,
					      const struct space *space,
					      uint64_t ip);
static inline bool seam_space_is_near(const struct space_near *near,
				      const struct space *space, uint64_t ip)
{
	const struct seam_range *r = near->range;

	return r && near->space == space && ip - r->start < r->end - r->start;
}
static inline const struct seam_stitch_map *
seam_space_near(struct space_near *near, const struct space *space, uint64_t ip)
{
	if (seam_space_is_near(near, space, ip))
		return near->range->value;
	return seam_space_next(near, space, ip);
}

/*
 * tasks.c: who has what mapped. All that makes one returns NULL only if there
 * is no memory; a thread that is made, or found under another process, lives
 * in this one.
 */
struct process *seam_world_process(struct world *w, uint32_t pid);
struct thread *seam_world_thread(struct world *w, uint32_t pid, uint32_t tid);
/* It has ended, or all of p's but that one have. Any that have may be gone
 * then, as well as their processes. */
void seam_world_ended(struct world *w, struct thread *t);
void seam_world_ended_but(struct world *w, struct process *p,
			  const struct thread *t);
/* Lets go of those that have ended, the first to end first, until no more than
 * n are left or there are fewer areas; p (NULL: none) stays. */
void seam_world_let_go(struct world *w, size_t n, size_t areas,
		       const struct process *p);
/* Of a sample's, NULL where nothing is known: it is kept for longer. */
const struct process *seam_world_ask(struct world *w, uint32_t pid,
				     uint32_t tid, const struct thread **ret);
/* Whether all that was known of that process was let go. */
bool seam_world_forgot(const struct world *w, uint32_t pid);
void seam_world_tasks_fini(struct world *w);

#endif
