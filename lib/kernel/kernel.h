/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The BPF side as the rest of the library sees it: loaded programs, watched
 * tasks, tables, rings, counters. The only user of the generated skeleton.
 */
#ifndef SEAM_LIB_KERNEL_KERNEL_H
#define SEAM_LIB_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel-entry.h"
#include "core/wire.h"
#include "seam/error.h"
#include "seam/tracer.h"

struct seam_kernel;

struct seam_kernel_opts {
	enum seam_watch watch;
	bool watch_alone; /* and not what such tasks start */
	uint32_t stack_copy; /* bytes, at most SEAM_MAX_COPY */
	uint32_t buffer_pages; /* of each ring; 0: as the object has it */
	/* Of each event; a depth is at most SEAM_MAX_FRAMES. */
	struct seam_event_ask asks[SEAM_MAX_EVENTS];
	uint32_t methods; /* enum seam_unwind_how */
	enum seam_tables_from tables_from;
	uint32_t request_depth; /* frames that other tools' programs get */
	uint64_t tracepoint_period[SEAM_MAX_EVENTS]; /* of probes too */
	/* Of tracepoints of all system calls: the one that counts, by its
	 * number and one; 0: each does. */
	uint32_t syscalls[SEAM_MAX_EVENTS];
	bool tracepoints, probes; /* are recorded */
	/* Stacks are taken at the event, by a kernel that has this code; NULL:
	 * at the return to user space. */
	const struct seam_kernel_entry *at_once;
	bool alone; /* no other client is looked for */
	bool only_tables; /* nothing is taken: for others' stacks alone */
	bool sleeps; /* are recorded, as */
	uint32_t sleep_event;
	bool every_program; /* is loaded, to find out whether it can be */
};

/* Loads and attaches what follows tasks; no event yet. */
int seam_kernel_open(const struct seam_kernel_opts *opts,
		     struct seam_kernel **ret, struct seam_errinfo *reterr);
struct seam_kernel *seam_kernel_close(struct seam_kernel *k);

/* Runs the sampler at each overflow of a perf event, which stays the
 * caller's and must outlive k. event: its number in the records. */
int seam_kernel_attach(struct seam_kernel *k, int perf_fd, uint32_t event);

/* -ENOENT: the kernel has no tracepoint of that name. */
int seam_kernel_try_tracepoint(struct seam_kernel *k, const char *name);
/* At each hit of a tracepoint. */
int seam_kernel_attach_tracepoint(struct seam_kernel *k, const char *name,
				  uint32_t event);

/* At each hit of a uprobe, by its event, which stays the caller's. */
int seam_kernel_attach_probe(struct seam_kernel *k, int perf_fd,
			     uint32_t event);
/* At each sleep, if opts said so. */
int seam_kernel_attach_sleeps(struct seam_kernel *k);

/* Ends what the calls above began: no sample comes after this. */
void seam_kernel_detach(struct seam_kernel *k);

/* Where the kernel's code begins and ends; 0: hidden. False: not known. */
bool seam_kernel_text(struct seam_kernel *k, uint64_t *ret_start,
		      uint64_t *ret_end);

/* Watches the task that has this number now. -ESRCH: there is none. */
int seam_kernel_watch(struct seam_kernel *k, uint32_t id);
int seam_kernel_unwatch(struct seam_kernel *k, uint32_t id);
bool seam_kernel_is_watched(struct seam_kernel *k, uint32_t id);
/* Watches the process from the end of its next exec on. */
int seam_kernel_watch_at_exec(struct seam_kernel *k, uint32_t tgid);

/* The key under which BPF knows a file that this process can map; its mtime
 * too, unless NULL. */
int seam_kernel_key_of_fd(struct seam_kernel *k, int fd,
			  struct seam_file_key *ret, uint64_t *ret_mtime_ns);
/* The program that tells it, for who asks without a session's kernel side. */
int seam_kernel_key_prog(const struct seam_kernel *k);
int seam_kernel_ask_key(int prog, int fd, struct seam_key_args *args);

/* Whether pages of the file can be brought in for a stack: what a daemon or a
 * server has may never come. */
bool seam_kernel_is_near(struct seam_kernel *k, int fd);

/* The arena, and where in it tables may be: of files, if we own them, and of
 * made code, which are our own in any case. */
struct seam_arena_part {
	uint64_t first, last;
};
uint8_t *seam_kernel_arena(struct seam_kernel *k,
			   struct seam_arena_part *ret_files,
			   struct seam_arena_part *ret_made);
/* That a part of it was written up to there. */
void seam_kernel_arena_used(struct seam_kernel *k, uint64_t end);

/*
 * Of those that share tables one owns them: loads those of files, for all.
 * Return: 0: it is us, and requests come to us from now on; -EBUSY: another
 * does, as long as it lives; another -errno.
 */
int seam_kernel_own(struct seam_kernel *k);
/* Lets another own them. */
void seam_kernel_disown(struct seam_kernel *k);
bool seam_kernel_owns(const struct seam_kernel *k);
/* That we answer, if we own them; and whether who owns them has not said so for
 * so long. */
void seam_kernel_serves(struct seam_kernel *k);
bool seam_kernel_owner_is_late(const struct seam_kernel *k, uint64_t ns);
/* From here on BPF asks for tables of our own of files that the owner has not
 * loaded, under keys of SEAM_KEY_OWN; or does no more. */
void seam_kernel_load_own(struct seam_kernel *k, bool does);
/* The names of those that shared with us when we came, with commas between. */
void seam_kernel_names(const struct seam_kernel *k, char *ret, size_t size);
/* What this client is called, and wants beside stacks of its own. */
void seam_kernel_call(struct seam_kernel *k, const char *name);
void seam_kernel_want_regs(struct seam_kernel *k, bool wants);
void seam_kernel_want_all(struct seam_kernel *k, bool wants);
/* A name for a table that no other ever had. */
uint32_t seam_kernel_table_id(struct seam_kernel *k);
/* The keys of files: the first, if key is NULL, and the next. -ENOENT: no
 * more. And those that are our own. */
int seam_kernel_table_next(struct seam_kernel *k,
			   const struct seam_file_key *key,
			   struct seam_file_key *ret);
int seam_kernel_own_table_next(struct seam_kernel *k,
			       const struct seam_file_key *key,
			       struct seam_file_key *ret);
int seam_kernel_table_put(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  const struct seam_table_ref *ref);
int seam_kernel_table_get(struct seam_kernel *k,
			  const struct seam_file_key *key,
			  struct seam_table_ref *ret);
int seam_kernel_table_drop(struct seam_kernel *k,
			   const struct seam_file_key *key);
/* After any of these: cached mappings of every task are looked up anew. */
void seam_kernel_tables_changed(struct seam_kernel *k);

/* From here on tables of made code end when it is unmapped. Once is enough. */
int seam_kernel_see_unmaps(struct seam_kernel *k);
/* So that this process's unmappings there are looked at: it made the code
 * before it was watched. -ESRCH: it is gone. */
int seam_kernel_span(struct seam_kernel *k, uint32_t tgid, uint64_t start,
		     uint64_t size);

/* Hands every record that waits to fn, which must not keep it. Of samples only
 * a slice, in bytes of their ring. Return: 1: it was whole; 0: no more waits.
 */
#define SEAM_SAMPLES_SLICE (512U << 10)
typedef void seam_record_fn(void *ctx, const struct seam_wire *rec,
			    size_t size);
int seam_kernel_drain_samples(struct seam_kernel *k, seam_record_fn *fn,
			      void *ctx);
/* So many slices are more than the ring has room for. */
size_t seam_kernel_slices(const struct seam_kernel *k);
int seam_kernel_drain_copies(struct seam_kernel *k, seam_record_fn *fn,
			     void *ctx);
/* Up to where the rings are filled that _drain_samples, _copies and _losses
 * empty, or about to be; and whether all of that was drained. What is about to
 * be there holds up what is behind it. */
struct seam_kernel_put {
	uint64_t samples, copies, losses; /* in bytes, ever */
};
struct seam_kernel_put seam_kernel_put(const struct seam_kernel *k);
bool seam_kernel_copies_taken(const struct seam_kernel *k,
			      const struct seam_kernel_put *put);
bool seam_kernel_all_taken(const struct seam_kernel *k,
			   const struct seam_kernel_put *put);
/* From here on stacks that are lost are told, too: to whoever's cookies come
 * without samples, or who wants registers. As stacks with SEAM_LOST, to
 * _drain_losses. */
int seam_kernel_hear_losses(struct seam_kernel *k);
int seam_kernel_drain_losses(struct seam_kernel *k, seam_record_fn *fn,
			     void *ctx);
/* Likewise of requests for tables of files that are ours to load, which another
 * thread may do meanwhile; and what becomes readable when one comes. */
#define SEAM_REQUESTS_SIZE (512U << 10)
/* Return: whether it takes more now. */
typedef bool seam_request_fn(void *ctx, const struct seam_wire_miss *miss);
int seam_kernel_drain_requests(struct seam_kernel *k, seam_request_fn *fn,
			       void *ctx);
int seam_kernel_requests_fd(const struct seam_kernel *k); /* borrowed */
/* The map that another tool's object calls this, with these bytes to begin
 * with, or NULL and their number. Borrowed. -ENOENT: it is none of ours;
 * -EPROTO: made by another build. */
int seam_kernel_lend(struct seam_kernel *k, const char *name, const void *bytes,
		     size_t size);
/* Has our stacks put into this map too, for programs of the tool's own.
 * -EINVAL: it is none of struct seam_wire_kept by cookie. */
int seam_kernel_keep(struct seam_kernel *k, int map_fd);
/* Whether programs can say what becomes of code that they make: by a tracepoint
 * that Linux 6.12 has not. */
bool seam_kernel_hears_made(const struct seam_kernel *k);
/* Which client we are, of those that share. */
uint32_t seam_kernel_client(const struct seam_kernel *k);

int seam_kernel_poll_fd(const struct seam_kernel *k); /* borrowed */
/* It was readable, and what is there is about to be drained. */
void seam_kernel_rearm(const struct seam_kernel *k);

/* Makes samples of the sleeps of tasks that sleep already, once it is known
 * whose sleeps are recorded, if the program for it was loaded: before sleeps
 * are, since that takes long, and nobody reads the rings yet. */
int seam_kernel_load_slept(struct seam_kernel *k);
int seam_kernel_take_slept(struct seam_kernel *k);
/* Takes the stacks of tasks that still sleep in their last entry. */
int seam_kernel_take_sleepers(struct seam_kernel *k);

/* Clears away what clients that were killed have left. Now and then. */
void seam_kernel_bury(struct seam_kernel *k);
/* That a file was left alone, since it is far. */
void seam_kernel_count_far(struct seam_kernel *k);
/* Whether others record and share with us now, or are about to. */
bool seam_kernel_has_others(const struct seam_kernel *k);
/* How many clients had shared elements with us when we came; and if we share
 * none, why not, or NULL. */
uint32_t seam_kernel_others(const struct seam_kernel *k, const char **ret_why);

struct seam_kernel_counts {
	uint64_t count[SEAM_COUNT_MAX];
	uint64_t end[SEAM_END_MAX];
	uint64_t event_runs[SEAM_MAX_EVENTS];
	uint64_t tracepoint_misses; /* the kernel's count of runs it skipped */
	uint64_t unfollowed; /* what tasks did that no program saw */
	/* System calls, at most, that no program looked at. */
	uint64_t unseen_calls;
	uint64_t malformed; /* records in a ring */
};
int seam_kernel_counts(struct seam_kernel *k, struct seam_kernel_counts *ret);

#endif
