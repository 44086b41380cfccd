/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The processes of a recording and what each has mapped for execution, as
 * sideband tells it: to unwind stack copies, and to find the files that
 * tables are asked for.
 */
#ifndef SEAM_LIB_PROCESS_PROCESS_H
#define SEAM_LIB_PROCESS_PROCESS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/ranges.h"
#include "core/wire.h"
#include "process/far.h"
#include "process/fetch.h"
#include "process/jit.h"
#include "unwind/image.h"

/* One executable mapping, or what others have left of it. start, end and off
 * are true of what seam_process_map returns. */
struct seam_map {
	uint64_t start, end, off;
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: not told; then: */
	uint64_t ino, since_ns; /* the file's, and since when, in real time */
	char *path;
	struct seam_image *image; /* opened when needed; NULL: not yet */
	bool failed; /* to open it: not tried again */
};

struct seam_process {
	uint32_t pid;
	struct seam_ranges maps; /* struct seam_map */
	struct seam_jit jit; /* sections in its memory */
	uint64_t exited_ns; /* its first thread; 0: lives */
	bool has_execed; /* so that it may be in a call of another program */
};

struct seam_processes {
	struct seam_idmap by_pid;
	struct seam_images *images; /* the caller's */
	struct seam_jit_reader jit;
	struct seam_fetch fetch; /* files that may never come */
	struct seam_far far; /* and which those are */
	/* Who opens what others have mapped; NULL: we do. The caller's. */
	const struct seam_opener *opener;
	/* Since when unmapping of made code is seen; 0: it is not. Another
	 * thread sets it, and asks has_made whether it is to. */
	uint64_t unmaps_ns;
	bool has_made;
	bool hears_made; /* what becomes of made code is told */
	bool has_probe_page; /* one of them has, or had */
};

struct seam_process *seam_process_get(struct seam_processes *ps, uint32_t pid);
/* NULL: not known. */
struct seam_process *seam_process_find(const struct seam_processes *ps,
				       uint32_t pid);

/* Follows one sideband record. Return: 0 or -ENOMEM. */
int seam_processes_follow(struct seam_processes *ps, uint64_t time_ns,
			  const struct perf_event_header *header);
/* A program says that it made code, or that it is no more. The same. */
int seam_processes_made(struct seam_processes *ps,
			const struct seam_wire_jit *rec, size_t size);
/* What it said until then, or what became of its code, was lost. */
void seam_processes_untold(struct seam_processes *ps, uint32_t pid,
			   uint64_t until_ns);
/* Of all processes. */
void seam_processes_all_untold(struct seam_processes *ps, uint64_t until_ns);
/* Forgets processes that ended SEAM_KEEP_DEAD_NS before now, or earlier. */
void seam_processes_forget(struct seam_processes *ps, uint64_t now_ns);
void seam_processes_fini(struct seam_processes *ps);

/* The mapping of an address, with its image opened if it can be. */
struct seam_map *seam_process_map(struct seam_processes *ps,
				  struct seam_process *p, uint64_t addr);

/* Its image, which it has none of so far. */
void seam_map_name(struct seam_map *map, struct seam_image *image);

/* Bytes of its file, if it can be had, is ELF, and is the one that its image
 * was made of. Return: how many; -errno. */
struct seam_process_bytes {
	uint64_t off;
	void *to;
	size_t size; /* at most SEAM_FETCH_PAGE */
};
ssize_t seam_process_read(struct seam_processes *ps,
			  const struct seam_process *p,
			  const struct seam_map *map,
			  const struct seam_process_bytes *at);

/* As seam_image_refuse, of a file that was fetched. */
void seam_fetched_refuse(struct seam_images *images,
			 const struct seam_fetched *file, uint64_t n_bad,
			 const struct seam_errinfo *why);

/* The file of the mapping that begins there is known, whatever is found by
 * its path. */
void seam_process_know(struct seam_process *p, uint64_t start,
		       struct seam_image *image);

#endif
