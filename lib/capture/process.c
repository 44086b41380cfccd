// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

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

static void map_free(void *value)
{
	struct seam_map *map = value;

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
	return map;
}

static const struct seam_range_ops map_ops = {map_copy, map_free};

static void process_free(void *value)
{
	struct seam_process *p = value;

	seam_ranges_fini(&p->maps, &map_ops);
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

	if (p)
		p->pid = pid;
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
	child->exited_ns = 0;
	parent = seam_process_find(ps, rec->ppid);
	return parent ? seam_ranges_copy(&child->maps, &parent->maps, 0,
					 &map_ops)
		      : 0;
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
		p = seam_process_find(ps, comm->pid);
		if (p && (header->misc & PERF_RECORD_MISC_COMM_EXEC))
			seam_ranges_fini(&p->maps, &map_ops);
		return 0;
	}
	return 0;
}

struct forget {
	struct seam_processes *ps;
	uint64_t before_ns;
	uint32_t pids[64];
	size_t n;
};

static void collect_dead(void *ctx, uint64_t id, void *value)
{
	const struct seam_process *p = value;
	struct forget *f = ctx;

	if (p->exited_ns && p->exited_ns < f->before_ns &&
	    f->n < sizeof(f->pids) / sizeof(f->pids[0]))
		f->pids[f->n++] = (uint32_t)id;
}

void seam_processes_forget(struct seam_processes *ps, uint64_t before_ns)
{
	struct forget f = {.ps = ps, .before_ns = before_ns};

	do {
		f.n = 0;
		seam_idmap_each(&ps->by_pid, collect_dead, &f);
		for (size_t i = 0; i < f.n; i++)
			process_free(seam_idmap_remove(&ps->by_pid, f.pids[i]));
	} while (f.n);
}

void seam_processes_fini(struct seam_processes *ps)
{
	seam_idmap_fini(&ps->by_pid, process_free);
}

/* A regular file, or nothing: opening a pipe may wait for ever, and opening
 * a device may do things to it. The path is another's to choose. */
static int open_regular(const char *path)
{
	int at = open(path, O_PATH | O_CLOEXEC), fd = -ENOENT;
	struct stat st;
	char again[32];

	if (at < 0)
		return -errno;
	if (!fstat(at, &st) && S_ISREG(st.st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		fd = open(again, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(at);
	return fd;
}

int seam_open_mapped(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
		 pid, start, end);
	return open_regular(path);
}

int seam_open_path(uint32_t pid, const char *path)
{
	char rooted[4200];
	int fd;

	if (path[0] != '/')
		return -ENOENT;
	/* The process may have another root; when it is gone, try ours. */
	snprintf(rooted, sizeof(rooted), "/proc/%u/root%s", pid, path);
	fd = open_regular(rooted);
	return fd < 0 ? open_regular(path) : fd;
}

/* The kernel may stamp a file with its last tick: of at least 100 Hz. */
#define TICK_NS 10000000

/*
 * What is behind a process's mapping or its path may be another file by now.
 * Without a build-id the inode's number tells, and since that is used again
 * at once, that the file has not changed since it was mapped.
 */
static bool right_file(const struct seam_map *map, int fd)
{
	struct stat st;

	return map->build_id_len ||
	       (!fstat(fd, &st) && st.st_ino == map->ino &&
		seam_image_ctime_ns(&st) + TICK_NS < map->since_ns);
}

static bool right_image(const struct seam_map *map, const struct seam_image *im)
{
	return im &&
	       (!map->build_id_len ||
		(im->build_id_len == map->build_id_len &&
		 !memcmp(im->build_id, map->build_id, map->build_id_len)));
}

static void open_image(struct seam_processes *ps, const struct seam_process *p,
		       struct seam_map *map)
{
	int fds[2];

	map->tried = true;
	if (!strcmp(map->path, "[vdso]")) {
		map->image = seam_image_vdso(ps->images);
		return;
	}
	map->image =
		seam_image_by_id(ps->images, map->build_id, map->build_id_len);
	if (map->image)
		return;
	fds[0] = seam_open_mapped(p->pid, map->start, map->end);
	fds[1] = seam_open_path(p->pid, map->path);
	for (int i = 0; i < 2; i++) {
		struct seam_image *im;

		if (fds[i] < 0)
			continue;
		if (!map->image && right_file(map, fds[i])) {
			im = seam_image_of_fd(ps->images, fds[i]);
			if (right_image(map, im))
				map->image = im;
		}
		close(fds[i]);
	}
}

struct seam_map *seam_process_map(struct seam_processes *ps,
				  struct seam_process *p, uint64_t addr)
{
	const struct seam_range *range = seam_ranges_find(&p->maps, addr);
	struct seam_map *map;

	if (!range)
		return NULL;
	map = range->value;
	/* A later mapping may have taken a part of it. */
	map->off += range->start - map->start;
	map->start = range->start;
	map->end = range->end;
	if (!map->tried)
		open_image(ps, p, map);
	return map;
}

void seam_process_know(struct seam_process *p, uint64_t start,
		       struct seam_image *image)
{
	const struct seam_range *range = seam_ranges_find(&p->maps, start);
	struct seam_map *map = range ? range->value : NULL;

	if (!map || range->start != start || map->image ||
	    !right_image(map, image))
		return;
	map->image = image;
	map->tried = true;
}
