// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/maps-path.h"
#include "core/jit-registry.h"
#include "process/target.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* PERF_RECORD_MMAP2 as the kernel writes it. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, off;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_size, pad1;
			uint16_t pad2;
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char filename[];
};

struct task_record { /* FORK and EXIT */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

void seam_map_name(struct seam_map *map, struct seam_image *image)
{
	map->image = image;
	image->refs++;
}

static void map_free(void *value)
{
	struct seam_map *map = value;

	if (map->image)
		map->image->refs--;
	free(map->path);
	free(map);
}

static void *map_copy(const void *value)
{
	const struct seam_map *from = value;
	struct seam_map *map = malloc(sizeof(*map));

	if (!map)
		return NULL;
	*map = *from;
	map->path = strdup(from->path);
	if (!map->path) {
		free(map);
		return NULL;
	}
	if (map->image)
		seam_map_name(map, map->image);
	/* What a parent has no way to its child may have. */
	map->failed = false;
	return map;
}

static const struct seam_range_ops map_ops = {map_copy, map_free};

static void process_free(void *value)
{
	struct seam_process *p = value;

	seam_ranges_fini(&p->maps, &map_ops);
	seam_jit_fini(&p->jit);
	free(p);
}

struct seam_process *seam_process_find(const struct seam_processes *ps,
				       uint32_t pid)
{
	return seam_idmap_get(&ps->by_pid, pid);
}

struct seam_process *seam_process_get(struct seam_processes *ps, uint32_t pid)
{
	struct seam_process *p = seam_idmap_make(&ps->by_pid, pid, sizeof(*p));

	if (p) {
		p->pid = pid;
		p->jit.reader = &ps->jit;
	}
	return p;
}

/* The clock that files are stamped with. */
static uint64_t realtime_of(uint64_t monotonic_ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec -
	       seam_now_ns() + monotonic_ns;
}

/* Return: NULL: no memory. */
static struct seam_map *map_of(uint64_t time_ns, const struct mmap2 *rec)
{
	struct seam_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->path = strndup(rec->filename, rec->header.size - sizeof(*rec));
	if (!map->path) {
		free(map);
		return NULL;
	}
	map->start = rec->start;
	map->off = rec->off;
	if ((rec->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	    rec->build_id_size <= SEAM_BUILD_ID_MAX) {
		map->build_id_len = rec->build_id_size;
		memcpy(map->build_id, rec->build_id, map->build_id_len);
	} else {
		map->ino = rec->ino;
		map->since_ns = realtime_of(time_ns);
	}
	return map;
}

/* Code that takes the place of other code, unless its protection alone is
 * another now: that cannot be told apart. */
static void doubt(struct seam_processes *ps, struct seam_process *p,
		  const struct seam_range *range, uint64_t time_ns)
{
	uint64_t seen_ns = __atomic_load_n(&ps->unmaps_ns, __ATOMIC_RELAXED);

	if (p->jit.n && (!seen_ns || time_ns < seen_ns))
		seam_jit_doubt(&p->jit, range->start, range->end, time_ns);
}

static int on_mmap2(struct seam_processes *ps, uint64_t time_ns,
		    const struct mmap2 *rec)
{
	struct seam_range range = {
		.start = rec->start,
		.end = seam_range_end(rec->start, rec->len),
	};
	struct seam_process *p;
	struct seam_map *map;
	int err;

	if (rec->header.size <= sizeof(*rec) || !(rec->prot & PROT_EXEC) ||
	    range.start == range.end)
		return 0;
	p = seam_process_get(ps, rec->pid);
	map = p ? map_of(time_ns, rec) : NULL;
	if (!map)
		return -ENOMEM;
	doubt(ps, p, &range, time_ns);
	ps->has_probe_page |= seam_maps_is_probe_page(map->path);
	range.value = map;
	err = seam_ranges_put(&p->maps, &range, &map_ops);
	if (err)
		map_free(map);
	return err;
}

static int on_fork(struct seam_processes *ps, const struct task_record *rec)
{
	struct seam_process *parent, *child;

	if (rec->pid == rec->ppid)
		return 0; /* a thread */
	child = seam_process_get(ps, rec->pid);
	if (!child)
		return -ENOMEM;
	/* Those of a process that had this pid before. */
	seam_ranges_fini(&child->maps, &map_ops);
	seam_jit_fini(&child->jit);
	child->exited_ns = 0;
	child->has_execed = false;
	parent = seam_process_find(ps, rec->ppid);
	if (!parent)
		return 0;
	return seam_ranges_copy(&child->maps, &parent->maps, 0, &map_ops) ||
			       seam_jit_copy(&child->jit, &parent->jit)
		       ? -ENOMEM
		       : 0;
}

static int on_exec(struct seam_processes *ps, uint32_t pid)
{
	struct seam_process *p = seam_process_get(ps, pid);

	if (!p)
		return -ENOMEM;
	seam_ranges_fini(&p->maps, &map_ops);
	seam_jit_fini(&p->jit);
	p->exited_ns = 0; /* the first thread ended in it */
	p->has_execed = true;
	return 0;
}

int seam_processes_follow(struct seam_processes *ps, uint64_t time_ns,
			  const struct perf_event_header *header)
{
	const struct task_record *task = (const void *)header;
	const struct comm_record *comm = (const void *)header;
	struct seam_process *p;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return on_mmap2(ps, time_ns, (const void *)header);
	case PERF_RECORD_FORK:
		return on_fork(ps, task);
	case PERF_RECORD_EXIT:
		p = seam_process_find(ps, task->pid);
		if (p && task->pid == task->tid)
			p->exited_ns = time_ns;
		return 0;
	case PERF_RECORD_COMM:
		return header->misc & PERF_RECORD_MISC_COMM_EXEC
			       ? on_exec(ps, comm->pid)
			       : 0;
	}
	return 0;
}

int seam_processes_made(struct seam_processes *ps,
			const struct seam_wire_jit *rec, size_t size)
{
	struct seam_process *p = seam_process_get(ps, rec->head.pid);
	const struct seam_jit_section section = {
		.sframe = rec->args[0],
		.sframe_size = rec->args[1],
		.code = rec->args[2],
		.code_size = rec->args[3],
		.since_ns = rec->head.time_ns,
		.bytes = rec->size && rec->size == rec->args[1] &&
					 rec->size <= size - sizeof(*rec)
				 ? rec->bytes
				 : NULL,
	};

	if (!p)
		return -ENOMEM;
	switch (rec->what) {
	case SEAM_WIRE_JIT_LISTED:
		p->jit.is_heard = true;
		if (rec->args[0] == SEAM_JIT_REMOVED)
			seam_jit_end(&p->jit, rec->args[1], rec->args[2],
				     rec->head.time_ns);
		return seam_jit_scan(&p->jit, p->pid);
	case SEAM_WIRE_JIT_ADD:
		return seam_jit_put(&p->jit, p->pid, &section);
	case SEAM_WIRE_JIT_REMOVE:
		seam_jit_take(&p->jit, section.sframe);
		return 0;
	case SEAM_WIRE_JIT_UNMAPPED:
		seam_jit_unmap(&p->jit, rec->args[0], rec->args[1],
			       rec->head.time_ns);
		return 0;
	case SEAM_WIRE_JIT_UNTOLD:
		seam_jit_untold(&p->jit, rec->args[0], rec->args[1],
				rec->args[2]);
		return 0;
	}
	return 0;
}

void seam_processes_untold(struct seam_processes *ps, uint32_t pid,
			   uint64_t until_ns)
{
	struct seam_process *p = seam_process_find(ps, pid);

	if (p)
		seam_jit_untold(&p->jit, 0, UINT64_MAX, until_ns);
}

static void end_made(void *ctx, uint64_t pid, void *value)
{
	const uint64_t *until_ns = ctx;
	struct seam_process *p = value;

	(void)pid;
	seam_jit_untold(&p->jit, 0, UINT64_MAX, *until_ns);
}

void seam_processes_all_untold(struct seam_processes *ps, uint64_t until_ns)
{
	seam_idmap_each(&ps->by_pid, end_made, &until_ns);
}

/* The end of a first thread is not that of its process. Asked again later:
 * the last thread's end is not told of so. */
static bool is_over(void *ctx, uint64_t pid, void *value)
{
	const uint64_t *now_ns = ctx;
	struct seam_process *p = value;

	if (!seam_task_over((uint32_t)pid, &p->exited_ns, *now_ns))
		return false;
	process_free(p);
	return true;
}

void seam_processes_forget(struct seam_processes *ps, uint64_t now_ns)
{
	seam_idmap_sweep(&ps->by_pid, is_over, &now_ns);
}

void seam_processes_fini(struct seam_processes *ps)
{
	seam_idmap_fini(&ps->by_pid, process_free);
	seam_peek_fini(&ps->jit.peek);
	seam_fetch_fini(&ps->fetch);
	seam_far_fini(&ps->far);
}
