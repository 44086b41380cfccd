// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "overflow/samples.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "overflow/overflow.h"

/* The kernel gives registers by their numbers, the lower first. */
#if defined(__x86_64__)
#define REG_SP PERF_REG_X86_SP
#define REG_IP PERF_REG_X86_IP
#elif defined(__aarch64__)
#define REG_SP PERF_REG_ARM64_SP
#define REG_IP PERF_REG_ARM64_PC
#elif defined(__s390x__)
#define REG_SP PERF_REG_S390_R15
#define REG_IP PERF_REG_S390_PC
#else
#error "which registers are ip and sp?"
#endif
_Static_assert(REG_SP < REG_IP, "sp comes first");

#define PAGES 8 /* a power of two; 450 samples */

/* A sample as it is asked for below. */
struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
	struct seam_overflow_reading reading;
	uint64_t abi;
	uint64_t sp, ip; /* not there if abi is none */
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* Not PERF_SAMPLE_IP, which may be the kernel's. */
void seam_samples_ask(struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			    PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = 1ULL << REG_SP | 1ULL << REG_IP;
	attr->use_clockid = 1;
	attr->clockid = 1; /* CLOCK_MONOTONIC */
	attr->wakeup_events = 1;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int seam_samples_map(struct seam_samples *s, int fd)
{
	void *at = mmap(NULL, (PAGES + 1) * page_size(), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	s->page = at;
	/* A thread that counts its own page faults makes none by reading. */
	for (size_t i = 0; i <= PAGES; i++)
		(void)((volatile char *)at)[i * page_size()];
	__atomic_store_n(&s->page->data_tail, 0, __ATOMIC_RELEASE);
	return 0;
}

void seam_samples_unmap(struct seam_samples *s)
{
	if (s->page)
		munmap(s->page, (PAGES + 1) * page_size());
	s->page = NULL;
}

/* Copies bytes that lie around the ring's end too. */
static void copy(const struct seam_samples *s, uint64_t from, void *to,
		 size_t size)
{
	const uint8_t *data = (const uint8_t *)s->page + page_size();
	size_t room = PAGES * page_size(), at = (size_t)from & (room - 1);
	size_t first = room - at < size ? room - at : size;

	memcpy(to, data + at, first);
	memcpy((uint8_t *)to + first, data, size - first);
}

static bool give(const struct record *rec, seam_overflow_fn fn, void *ctx)
{
	struct seam_overflow_sample sample = {
		.time_ns = rec->time_ns,
		.count = rec->reading.count,
		.pid = rec->pid,
		.tid = rec->tid,
	};

	if (rec->header.type != PERF_RECORD_SAMPLE ||
	    rec->header.size < offsetof(struct record, sp))
		return false;
	if (rec->header.size >= sizeof(*rec) && rec->abi) {
		sample.ip = rec->ip;
		sample.sp = rec->sp;
	}
	fn(ctx, &sample);
	return true;
}

long seam_samples_read(struct seam_samples *s, seam_overflow_fn fn, void *ctx,
		       uint64_t *ret_lost)
{
	uint64_t at, head;
	long n = 0;

	if (!s->page)
		return -EINVAL;
	head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE);
	for (at = s->page->data_tail; at < head;) {
		union {
			struct record sample;
			struct lost_record lost;
		} rec = {0};
		struct perf_event_header *header = &rec.sample.header;

		copy(s, at, header, sizeof(*header));
		if (header->size < sizeof(*header))
			break; /* cannot be */
		copy(s, at, &rec,
		     header->size < sizeof(rec) ? header->size : sizeof(rec));
		if (header->type == PERF_RECORD_LOST)
			s->lost += rec.lost.lost;
		n += give(&rec.sample, fn, ctx);
		at += header->size;
	}
	__atomic_store_n(&s->page->data_tail, head, __ATOMIC_RELEASE);
	if (ret_lost) {
		*ret_lost = s->lost;
		s->lost = 0;
	}
	return n;
}
