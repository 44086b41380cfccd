// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "capture/fail.h"
#include "core/uapi.h"
#include "perfdata/writer.h"

#define RING_PAGES 128 /* if nobody says otherwise; a power of two */

struct seam_sideband {
	struct seam_event event;
	void **rings;
	size_t ring_size;
	uint8_t *bytes; /* records of the last read, one after the other */
	size_t used, room;
	struct seam_side_record *records;
	size_t n, max;
};

static void set_attr(struct perf_event_attr *attr)
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
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->build_id = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->exclude_kernel = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1u << 31; /* we come by ourselves */
}

static int open_ring(struct seam_sideband *sb, int cpu,
		     struct seam_errinfo *reterr)
{
	struct seam_event *ev = &sb->event;
	int fd = seam_perf_event_open(&ev->attr, -1, cpu);
	void *ring;

	if (fd < 0)
		return seam_fail(reterr, fd,
				 "following processes is not "
				 "permitted: " SEAM_TAKES_RIGHTS);
	ev->fds[ev->n] = fd;
	ev->cpus[ev->n] = cpu;
	ev->ids[ev->n] = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &ev->ids[ev->n]);
	ev->n++;
	ring = mmap(NULL, sb->ring_size + (size_t)sysconf(_SC_PAGESIZE),
		    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* Not for root. The kernel counts the buffers of all of a user's
	 * recordings; it allows one such buffer for each CPU by default. */
	if (ring == MAP_FAILED && errno == EPERM)
		return seam_fail(reterr, -EPERM,
				 "no more memory may be locked for perf "
				 "buffers: end other recordings, take smaller "
				 "ones (record -m), or raise "
				 "kernel.perf_event_mlock_kb or ulimit -l");
	if (ring == MAP_FAILED)
		return seam_fail(reterr, -errno,
				 "no memory for a perf buffer (%s)",
				 strerror(errno));
	sb->rings[ev->n - 1] = ring;
	return 0;
}

int seam_sideband_open(uint32_t pages, struct seam_sideband **ret,
		       struct seam_errinfo *reterr)
{
	struct seam_sideband *sb = calloc(1, sizeof(*sb));
	int *cpus = NULL, n = seam_online_cpus(&cpus), err;

	if (!sb || n < 0) {
		free(sb);
		free(cpus);
		return n < 0 ? n : -ENOMEM;
	}
	sb->ring_size =
		(pages ? pages : RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	sb->event.name = strdup("dummy:u");
	set_attr(&sb->event.attr);
	sb->event.fds = calloc((size_t)n, sizeof(int));
	sb->event.cpus = calloc((size_t)n, sizeof(int));
	sb->event.ids = calloc((size_t)n, sizeof(uint64_t));
	sb->rings = calloc((size_t)n, sizeof(void *));
	err = sb->event.name && sb->event.fds && sb->event.cpus &&
			      sb->event.ids && sb->rings
		      ? 0
		      : -ENOMEM;
	for (int i = 0; !err && i < n; i++)
		err = open_ring(sb, cpus[i], reterr);
	free(cpus);
	if (err) {
		seam_sideband_close(sb);
		return err;
	}
	*ret = sb;
	return 0;
}

struct seam_sideband *seam_sideband_close(struct seam_sideband *sb)
{
	if (!sb)
		return NULL;
	for (size_t i = 0; i < sb->event.n; i++)
		if (sb->rings[i])
			munmap(sb->rings[i],
			       sb->ring_size + (size_t)sysconf(_SC_PAGESIZE));
	free(sb->rings);
	free(sb->bytes);
	free(sb->records);
	seam_event_close(&sb->event);
	free(sb);
	return NULL;
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
	for (size_t i = 0; i < sb->event.n; i++) {
		struct perf_event_mmap_page *page = sb->rings[i];

		heads[i] = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	}
}

/* Copies what a ring holds up to head behind the bytes already read. */
static int copy_ring(struct seam_sideband *sb, size_t i, uint64_t head)
{
	struct perf_event_mmap_page *page = sb->rings[i];
	const uint8_t *data = (const uint8_t *)page + sysconf(_SC_PAGESIZE);
	uint64_t tail = page->data_tail;
	size_t size = (size_t)(head - tail), at, first;
	int err = seam_grow(&sb->bytes, sb->used + size, &sb->room, 1);

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

static int index_record(struct seam_sideband *sb,
			const struct perf_event_header *header, uint32_t cpu,
			uint64_t *ret_lost)
{
	const uint8_t *end = (const uint8_t *)header + header->size;
	struct seam_side_record *rec;

	/* The tail: pid, tid | time | cpu | id. */
	if (header->size < sizeof(*header) + 32)
		return 0;
	if (seam_grow(&sb->records, sb->n + 1, &sb->max, sizeof(*rec)))
		return -ENOMEM;
	rec = &sb->records[sb->n++];
	rec->header = header;
	rec->cpu = cpu;
	memcpy(&rec->time_ns, end - 24, sizeof(rec->time_ns));
	if (header->type == PERF_RECORD_LOST) {
		uint64_t lost;

		memcpy(&lost, (const uint8_t *)(header + 1) + 8, sizeof(lost));
		*ret_lost += lost;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct seam_side_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->header < y->header ? -1 : 1;
}

long seam_sideband_read(struct seam_sideband *sb, struct seam_side_record **ret,
			uint64_t *ret_lost)
{
	/* The rings' heads; then, where their records end in bytes. */
	uint64_t *ends = calloc(sb->event.n, sizeof(*ends));
	size_t at = 0;
	int err = ends ? 0 : -ENOMEM;

	sb->used = 0;
	sb->n = 0;
	if (!err)
		read_heads(sb, ends);
	for (size_t i = 0; !err && i < sb->event.n; i++) {
		err = copy_ring(sb, i, ends[i]);
		ends[i] = sb->used;
	}
	/* Only now: the bytes may have moved while they were gathered. */
	for (size_t i = 0; !err && i < sb->event.n; i++) {
		while (!err &&
		       ends[i] - at >= sizeof(struct perf_event_header)) {
			const struct perf_event_header *header =
				(const void *)(sb->bytes + at);

			if (header->size < sizeof(*header) ||
			    header->size > ends[i] - at)
				break;
			err = index_record(sb, header,
					   (uint32_t)sb->event.cpus[i],
					   ret_lost);
			at += header->size;
		}
		at = ends[i];
	}
	free(ends);
	if (err)
		return err;
	if (sb->n)
		qsort(sb->records, sb->n, sizeof(*sb->records), by_time);
	*ret = sb->records;
	return (long)sb->n;
}
