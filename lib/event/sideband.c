// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "core/uapi.h"
#include "event/fail.h"
#include "perfdata/writer.h"

/* If nobody says otherwise; a power of two. */
#define RING_PAGES 128
/* With samples, or half of it as often as the kernel refuses. */
#define SAMPLE_RING_PAGES 1024
#define SAMPLE_RING_PAGES_MIN 32

/* What is surely enough for one record more. */
#define TIGHT_BYTES 16384

/* And for what we do ourselves between two readings. */
#define OWN_BYTES 65536

struct ring {
	int cpu, fd; /* of the event that it was made for; borrowed */
	void *page; /* NULL: none yet */
	bool tight;
};

struct seam_sideband {
	struct seam_event event;
	struct ring *rings; /* one for each online CPU */
	size_t n_rings;
	size_t ring_size;
	int epoll; /* -1: none */
	bool wakes; /* a ring that fills does */
	uint8_t *bytes; /* records of the last read, one after the other */
	size_t used, room;
	uint8_t *spare; /* for those that the next read has */
	size_t spare_room;
	struct seam_side_record *records;
	size_t n, max, n_given;
	int err; /* of the last read: said by the next */
	uint64_t unkept; /* records that there was no memory for */
};

/* How full a ring is when it says so, in bytes. Reading it makes records of our
 * own, if it is of all tasks: that must not be enough to wake us again. No less
 * would do than not to ask, since the kernel takes what is more than a ring for
 * a ring. */
static uint32_t watermark(const struct seam_sideband *sb,
			  const struct seam_sideband_opts *opts)
{
	if (!opts->samples || !sb->wakes)
		return 1u << 31;
	return (uint32_t)(sb->ring_size / 8);
}

static void set_attr(const struct seam_sideband *sb,
		     const struct seam_sideband_opts *opts,
		     struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->size = SEAM_ATTR_SIZE;
	attr->disabled = 1;
	attr->sample_type = SEAM_PD_SAMPLE_TYPE;
	attr->sample_period = 1;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = 1; /* CLOCK_MONOTONIC */
	attr->mmap = !opts->quiet;
	attr->mmap2 = !opts->quiet;
	attr->build_id = !opts->quiet;
	attr->comm = !opts->quiet;
	attr->comm_exec = !opts->quiet;
	attr->task = !opts->quiet;
	attr->exclude_kernel = 1;
	/* It has no samples; without rights Linux 7.3 wants it said. */
	attr->exclude_callchain_kernel = 1;
	attr->watermark = 1;
	/* We come by ourselves, but for samples that fill it sooner. */
	attr->wakeup_watermark = watermark(sb, opts);
	if (opts->stacks)
		seam_event_defer(attr, SEAM_ATTR_DEFER_OUTPUT);
	/* Stacks may be awaited, and records of processes are to be told from
	 * samples: what no record tells of. */
	if (opts->stacks || (opts->samples && !opts->quiet))
		attr->read_format = PERF_FORMAT_ID | SEAM_READ_LOST;
	seam_scope_set(opts->scope, attr);
}

static int map_ring(struct seam_sideband *sb, struct ring *ring, int fd,
		    struct seam_errinfo *reterr)
{
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	void *page = mmap(NULL, sb->ring_size + (size_t)sysconf(_SC_PAGESIZE),
			  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	/* Not for root. The kernel counts the buffers of all of a user's
	 * recordings; it allows one such buffer for each CPU by default. */
	if (page == MAP_FAILED && errno == EPERM)
		return seam_fail(reterr, -EPERM,
				 "no more memory may be locked for perf "
				 "buffers: end other recordings, take smaller "
				 "ones (record -m), or raise "
				 "kernel.perf_event_mlock_kb or ulimit -l");
	if (page == MAP_FAILED)
		return seam_fail(reterr, -errno,
				 "no memory for a perf buffer (%s)",
				 strerror(errno));
	ring->page = page;
	ring->fd = fd;
	if (sb->wakes && epoll_ctl(sb->epoll, EPOLL_CTL_ADD, fd, &edge))
		return -errno;
	return 0;
}

/* A task's event on a CPU, whose records go to that CPU's ring. */
static int open_event(struct seam_sideband *sb, int tid, struct ring *ring,
		      struct seam_errinfo *reterr)
{
	struct seam_event *ev = &sb->event;
	int fd = seam_perf_event_open(&ev->attr, tid, ring->cpu);

	/* Before Linux 6.0 events do not count what they lose. */
	if (fd == -EINVAL && ev->attr.read_format) {
		ev->attr.read_format = 0;
		fd = seam_perf_event_open(&ev->attr, tid, ring->cpu);
	}
	if (fd == -ESRCH && tid > 0)
		return 0; /* a thread that has ended since */
	if (fd == -EMFILE)
		return seam_fail(reterr, fd,
				 "too many files are open, one for each "
				 "thread and CPU: raise the limit with ulimit "
				 "-n, or record fewer threads with -t");
	if (fd < 0)
		return seam_fail(reterr, fd,
				 "following processes is not "
				 "permitted: " SEAM_TAKES_RIGHTS);
	ev->fds[ev->n] = fd;
	ev->cpus[ev->n] = ring->cpu;
	ev->ids[ev->n] = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &ev->ids[ev->n]);
	ev->n++;
	if (!ring->page)
		return map_ring(sb, ring, fd, reterr);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
}

static int open_rings(struct seam_sideband *sb, const int *cpus,
		      const struct seam_scope *scope,
		      struct seam_errinfo *reterr)
{
	size_t n = seam_scope_n(scope) * sb->n_rings;
	int err;

	sb->event.name = strdup("dummy:u");
	sb->event.fds = calloc(n, sizeof(int));
	sb->event.cpus = calloc(n, sizeof(int));
	sb->event.ids = calloc(n, sizeof(uint64_t));
	sb->rings = calloc(sb->n_rings, sizeof(*sb->rings));
	err = sb->event.name && sb->event.fds && sb->event.cpus &&
			      sb->event.ids && sb->rings
		      ? 0
		      : -ENOMEM;
	for (size_t i = 0; !err && i < n; i++) {
		struct ring *ring = &sb->rings[i % sb->n_rings];

		ring->cpu = cpus[i % sb->n_rings];
		err = open_event(sb, seam_scope_tid(scope, i / sb->n_rings),
				 ring, reterr);
	}
	if (!err && !sb->event.n)
		return seam_fail(reterr, -ESRCH,
				 "the tasks to record have ended");
	return err;
}

static int open_with(const struct seam_sideband_opts *opts, uint32_t pages,
		     struct seam_sideband **ret, struct seam_errinfo *reterr)
{
	struct seam_sideband *sb = calloc(1, sizeof(*sb));
	int *cpus = NULL, n = seam_online_cpus(&cpus), err = 0;

	if (!sb || n < 0) {
		free(sb);
		free(cpus);
		return n < 0 ? n : -ENOMEM;
	}
	sb->n_rings = (size_t)n;
	sb->ring_size = pages * (size_t)sysconf(_SC_PAGESIZE);
	sb->epoll = opts->samples ? epoll_create1(EPOLL_CLOEXEC) : -1;
	if (opts->samples && sb->epoll < 0)
		err = -errno;
	sb->wakes = opts->samples &&
		    (!opts->quiet || sb->ring_size >= 8 * OWN_BYTES);
	set_attr(sb, opts, &sb->event.attr);
	if (!err)
		err = open_rings(sb, cpus, opts->scope, reterr);
	free(cpus);
	if (err) {
		seam_sideband_close(sb);
		return err;
	}
	*ret = sb;
	return 0;
}

int seam_sideband_open(const struct seam_sideband_opts *opts,
		       struct seam_sideband **ret, struct seam_errinfo *reterr)
{
	uint32_t pages = opts->pages	 ? opts->pages
			 : opts->samples ? SAMPLE_RING_PAGES
					 : RING_PAGES;
	int err = open_with(opts, pages, ret, reterr);

	while (err == -EPERM && opts->samples && !opts->pages &&
	       pages > SAMPLE_RING_PAGES_MIN) {
		pages /= 2;
		err = open_with(opts, pages, ret, reterr);
	}
	return err;
}

struct seam_sideband *seam_sideband_close(struct seam_sideband *sb)
{
	if (!sb)
		return NULL;
	for (size_t i = 0; sb->rings && i < sb->n_rings; i++)
		if (sb->rings[i].page)
			munmap(sb->rings[i].page,
			       sb->ring_size + (size_t)sysconf(_SC_PAGESIZE));
	if (sb->epoll >= 0)
		close(sb->epoll);
	free(sb->rings);
	free(sb->bytes);
	free(sb->spare);
	free(sb->records);
	seam_event_close(&sb->event);
	free(sb);
	return NULL;
}

int seam_sideband_take(struct seam_sideband *sb, const struct seam_event *ev)
{
	for (size_t i = 0; i < ev->n; i++) {
		size_t j = 0;

		while (j < sb->n_rings && sb->rings[j].cpu != ev->cpus[i])
			j++;
		if (j == sb->n_rings || !sb->rings[j].page)
			return -ENODEV;
		if (ioctl(ev->fds[i], PERF_EVENT_IOC_SET_OUTPUT,
			  sb->rings[j].fd))
			return -errno;
	}
	return 0;
}

int seam_sideband_fd(const struct seam_sideband *sb)
{
	return sb->epoll;
}

bool seam_sideband_tight(const struct seam_sideband *sb, size_t i)
{
	return sb->rings[i].tight;
}

int seam_sideband_enable(struct seam_sideband *sb)
{
	return seam_event_enable(&sb->event, true);
}

const struct seam_event *seam_sideband_event(const struct seam_sideband *sb)
{
	return &sb->event;
}

/*
 * How far each ring is filled. Of all rings before any is copied, since that
 * takes long enough for a process to start on one CPU and exec on another:
 * nobody would know whose child the exec's records are of.
 */
static void read_heads(const struct seam_sideband *sb, uint64_t *heads)
{
	for (size_t i = 0; i < sb->n_rings; i++) {
		struct perf_event_mmap_page *page = sb->rings[i].page;

		if (page)
			heads[i] = __atomic_load_n(&page->data_head,
						   __ATOMIC_ACQUIRE);
	}
}

/* Copies what a ring holds up to head behind the bytes already read. */
static int copy_ring(struct seam_sideband *sb, size_t i, uint64_t head)
{
	struct perf_event_mmap_page *page = sb->rings[i].page;
	const uint8_t *data = (const uint8_t *)page + sysconf(_SC_PAGESIZE);
	uint64_t tail = page->data_tail;
	size_t size = (size_t)(head - tail), at, first;
	int err;

	sb->rings[i].tight =
		size > sb->ring_size / 2 || sb->ring_size - size < TIGHT_BYTES;
	err = seam_grow(&sb->bytes, sb->used + size, &sb->room, 1);
	if (err)
		return err;
	at = (size_t)tail & (sb->ring_size - 1);
	first = sb->ring_size - at < size ? sb->ring_size - at : size;
	memcpy(sb->bytes + sb->used, data + at, first);
	memcpy(sb->bytes + sb->used + first, data, size - first);
	sb->used += size;
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

/* Where time and CPU are: in the tail, pid, tid | time | cpu | id, or in a
 * sample behind id | ip | pid, tid. */
#define TAIL_SIZE 32
#define SAMPLE_TIME 24
#define SAMPLE_CPU 32

static int index_record(struct seam_sideband *sb,
			const struct perf_event_header *header)
{
	const uint8_t *body = (const uint8_t *)(header + 1);
	const uint8_t *end = (const uint8_t *)header + header->size;
	bool sample = header->type == PERF_RECORD_SAMPLE;
	struct seam_side_record *rec;

	if (header->size < sizeof(*header) + (sample ? SAMPLE_CPU : 0) +
				   (sample ? 8 : TAIL_SIZE))
		return 0;
	if (seam_grow(&sb->records, sb->n + 1, &sb->max, sizeof(*rec)))
		return -ENOMEM;
	rec = &sb->records[sb->n++];
	rec->header = header;
	memcpy(&rec->time_ns, sample ? body + SAMPLE_TIME : end - 24,
	       sizeof(rec->time_ns));
	memcpy(&rec->cpu, sample ? body + SAMPLE_CPU : end - 16,
	       sizeof(rec->cpu));
	return 0;
}

/* Bytes from at to end: all of them whole records, as the kernel writes. Those
 * for which there is no memory are lost. */
static int index_bytes(struct seam_sideband *sb, size_t at, size_t end)
{
	int err = 0, one_err;

	while (end - at >= sizeof(struct perf_event_header)) {
		const struct perf_event_header *header =
			(const void *)(sb->bytes + at);

		if (header->size < sizeof(*header) || header->size > end - at)
			break;
		one_err = index_record(sb, header);
		sb->unkept += !!one_err;
		if (one_err)
			err = one_err;
		at += header->size;
	}
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct seam_side_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->header < y->header ? -1 : 1;
}

/* Makes what the last read held back the first bytes of this one. */
static int begin_read(struct seam_sideband *sb)
{
	uint8_t *bytes = sb->bytes;
	size_t used = 0, room = sb->room;

	for (size_t i = sb->n_given; i < sb->n; i++) {
		const struct perf_event_header *h = sb->records[i].header;

		if (seam_grow(&sb->spare, used + h->size, &sb->spare_room, 1))
			return -ENOMEM;
		memcpy(sb->spare + used, h, h->size);
		used += h->size;
	}
	sb->bytes = sb->spare;
	sb->room = sb->spare_room;
	sb->spare = bytes;
	sb->spare_room = room;
	sb->used = used;
	sb->n = 0;
	sb->n_given = 0;
	return 0;
}

/* Reads all rings. Return: where the records of each end in bytes is in
 * ends, which has one more than there are rings: first, of those held back. */
static int read_rings(struct seam_sideband *sb, uint64_t *ends)
{
	int err = begin_read(sb);

	if (err)
		return err;
	ends[0] = sb->used;
	read_heads(sb, ends + 1);
	/* What was copied is nowhere else by then, and is given in any case. */
	for (size_t i = 0; i < sb->n_rings; i++) {
		if (sb->rings[i].page && !err)
			err = copy_ring(sb, i, ends[i + 1]);
		ends[i + 1] = sb->used;
	}
	sb->err = err;
	return 0;
}

/* Counts what is old enough to be given. */
static void judge_age(struct seam_sideband *sb, uint64_t lag_ns,
		      uint64_t *ret_lost)
{
	uint64_t horizon = lag_ns ? seam_now_ns() - lag_ns : UINT64_MAX, lost;

	while (sb->n_given < sb->n &&
	       sb->records[sb->n_given].time_ns <= horizon) {
		const struct perf_event_header *h =
			sb->records[sb->n_given++].header;

		if (h->type != PERF_RECORD_LOST)
			continue;
		memcpy(&lost, (const uint8_t *)(h + 1) + 8, sizeof(lost));
		*ret_lost += lost;
	}
}

uint64_t seam_sideband_unkept(const struct seam_sideband *sb)
{
	return sb->unkept;
}

static void rearm(const struct seam_sideband *sb)
{
	struct epoll_event edges[16];

	while (sb->epoll >= 0 && epoll_wait(sb->epoll, edges, 16, 0) == 16)
		;
}

long seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			struct seam_side_record **ret, uint64_t *ret_lost)
{
	uint64_t *ends = calloc(sb->n_rings + 1, sizeof(*ends));
	size_t at = 0;
	int err = ends ? sb->err : -ENOMEM;
	const uint64_t unkept = sb->unkept;

	sb->err = 0;
	rearm(sb);
	if (!err)
		err = read_rings(sb, ends);
	if (err) {
		free(ends);
		return err;
	}
	/* Only now: the bytes may have moved while they were gathered. */
	for (size_t i = 0; i <= sb->n_rings; i++) {
		int one_err = index_bytes(sb, at, ends[i]);

		if (one_err)
			err = one_err;
		at = ends[i];
	}
	free(ends);
	*ret_lost += sb->unkept - unkept;
	/* What there is is given now, and what went wrong is said then. */
	if (err)
		sb->err = err;
	if (sb->err && !sb->n) {
		err = sb->err;
		sb->err = 0;
		return err;
	}
	if (sb->n)
		qsort(sb->records, sb->n, sizeof(*sb->records), by_time);
	judge_age(sb, lag_ns, ret_lost);
	*ret = sb->records;
	return (long)sb->n_given;
}
