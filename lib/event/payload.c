// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "core/wire.h"
#include "event/sideband.h"
#include "perfdata/reader.h"

/* A sample comes with the reading that has its payload, or with the next. */
#define KEEP_NS 200000000ULL
/* perf and the program run one after the other, a microsecond apart. What is
 * much older is of another hit: perf missed this one. */
#define APART_NS 10000000ULL

struct payload {
	uint64_t time_ns, id;
	uint32_t tid, cpu;
	size_t at, size; /* in bytes */
	bool used;
};

/* A time in which a CPU's records may have been lost. */
struct gap {
	uint64_t from_ns, to_ns;
	uint32_t cpu;
};

struct listener { /* one CPU's descriptor of an event */
	int fd;
	size_t cpu_at; /* its CPU in cpus */
	uint64_t lost; /* as its count was last */
};

struct cpu {
	uint32_t cpu;
	uint64_t last_ns; /* of its last record */
};

struct seam_payloads {
	const struct seam_event *events;
	size_t n_events;
	struct seam_sideband *rings;
	struct cpu *cpus;
	size_t n_cpus;
	struct listener *listeners;
	size_t n_listeners;
	struct payload *all; /* by thread and time */
	size_t n, max;
	uint8_t *bytes, *spare;
	size_t used, room, spare_room;
	struct gap *gaps;
	size_t n_gaps, max_gaps;
	uint64_t read_ns; /* when the last reading began */
	uint64_t lost;
	uint64_t hidden;
};

static struct cpu *cpu_of(struct seam_payloads *p, uint32_t number)
{
	for (size_t i = 0; i < p->n_cpus; i++)
		if (p->cpus[i].cpu == number)
			return &p->cpus[i];
	return NULL;
}

static int add_cpus(struct seam_payloads *p)
{
	int *cpus = NULL, n = seam_online_cpus(&cpus);

	if (n < 0)
		return n;
	p->cpus = calloc((size_t)n, sizeof(*p->cpus));
	for (int i = 0; p->cpus && i < n; i++)
		p->cpus[p->n_cpus++].cpu = (uint32_t)cpus[i];
	free(cpus);
	return p->cpus ? 0 : -ENOMEM;
}

static int add_event(struct seam_payloads *p, const struct seam_event *ev)
{
	struct listener *more;

	/* reallocarray for none would free those that there are. */
	if (!ev->n)
		return 0;
	more = reallocarray(p->listeners, p->n_listeners + ev->n,
			    sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->listeners = more;
	for (size_t i = 0; i < ev->n; i++) {
		struct cpu *cpu = cpu_of(p, (uint32_t)ev->cpus[i]);

		if (!cpu)
			return -ENODEV;
		p->listeners[p->n_listeners++] = (struct listener){
			ev->fds[i], (size_t)(cpu - p->cpus), 0};
	}
	return seam_sideband_take(p->rings, ev);
}

int seam_payloads_open(const struct seam_event *events, size_t n,
		       uint32_t pages, struct seam_payloads **ret,
		       struct seam_errinfo *reterr)
{
	const struct seam_sideband_opts opts = {
		.pages = pages, .samples = true, .quiet = true};
	struct seam_payloads *p;
	bool any = false;
	int err;

	*ret = NULL;
	for (size_t i = 0; i < n; i++)
		any |= seam_event_has_payload(&events[i]);
	if (!any)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->events = events;
	p->n_events = n;
	err = seam_sideband_open(&opts, &p->rings, reterr);
	if (!err)
		err = add_cpus(p);
	for (size_t i = 0; !err && i < n; i++)
		if (seam_event_has_payload(&events[i]))
			err = add_event(p, &events[i]);
	if (err) {
		seam_payloads_close(p);
		return err;
	}
	*ret = p;
	return 0;
}

struct seam_payloads *seam_payloads_close(struct seam_payloads *p)
{
	if (!p)
		return NULL;
	seam_sideband_close(p->rings);
	free(p->cpus);
	free(p->listeners);
	free(p->all);
	free(p->bytes);
	free(p->spare);
	free(p->gaps);
	free(p);
	return NULL;
}

int seam_payloads_fd(const struct seam_payloads *p)
{
	return seam_sideband_fd(p->rings);
}

static int keep_bytes(struct seam_payloads *p, const uint8_t *from, size_t size,
		      size_t *ret_at)
{
	int err = seam_grow(&p->bytes, p->used + size, &p->room, 1);

	if (err)
		return err;
	memcpy(p->bytes + p->used, from, size);
	*ret_at = p->used;
	p->used += size;
	return 0;
}

/* Drops what no sample can want any more. */
static int forget(struct seam_payloads *p, uint64_t before_ns)
{
	uint8_t *old = p->bytes;
	size_t old_room = p->room, n = 0;
	int err = 0;

	p->bytes = p->spare;
	p->room = p->spare_room;
	p->spare = old;
	p->spare_room = old_room;
	p->used = 0;
	for (size_t i = 0; !err && i < p->n; i++) {
		struct payload *one = &p->all[i];

		if (one->time_ns < before_ns)
			continue;
		err = keep_bytes(p, old + one->at, one->size, &one->at);
		p->all[n++] = *one;
	}
	p->n = err ? 0 : n;
	n = 0;
	for (size_t i = 0; i < p->n_gaps; i++)
		if (p->gaps[i].to_ns >= before_ns)
			p->gaps[n++] = p->gaps[i];
	p->n_gaps = n;
	return err;
}

static int add_gap(struct seam_payloads *p, const struct cpu *cpu,
		   uint64_t to_ns)
{
	if (seam_grow(&p->gaps, p->n_gaps + 1, &p->max_gaps, sizeof(*p->gaps)))
		return -ENOMEM;
	p->gaps[p->n_gaps++] = (struct gap){cpu->last_ns, to_ns, cpu->cpu};
	return 0;
}

static const struct seam_event *event_of(const struct seam_payloads *p,
					 uint64_t id, uint32_t cpu)
{
	for (size_t i = 0; i < p->n_events; i++)
		if (seam_event_has_payload(&p->events[i]) &&
		    seam_event_id(&p->events[i], cpu) == id)
			return &p->events[i];
	return NULL;
}

/* Whose it is, as it says itself: a record names no thread that is dead, and
 * such a one still leaves its CPU. */
static bool tid_of(const struct seam_event *ev, const struct seam_pd_rec *rec,
		   uint32_t *ret)
{
	size_t at = ev->tracepoint.tid_at;

	if (rec->sample.raw_len < at + sizeof(*ret))
		return false;
	memcpy(ret, rec->sample.raw + at, sizeof(*ret));
	return true;
}

static int add_payload(struct seam_payloads *p,
		       const struct seam_side_record *side)
{
	const struct seam_event *ev;
	struct seam_pd_rec rec;
	struct payload *one;
	uint32_t tid;
	uint64_t id;
	int err;

	memcpy(&id, side->header + 1, sizeof(id));
	ev = event_of(p, id, side->cpu);
	if (!ev || !seam_pd_parse_kernel(&ev->opened, side->header, &rec) ||
	    !tid_of(ev, &rec, &tid))
		return 0;
	if (seam_grow(&p->all, p->n + 1, &p->max, sizeof(*p->all)))
		return -ENOMEM;
	one = &p->all[p->n];
	*one = (struct payload){.time_ns = side->time_ns,
				.id = id,
				.tid = tid,
				.cpu = side->cpu,
				.size = rec.sample.raw_len};
	err = keep_bytes(p, rec.sample.raw, one->size, &one->at);
	p->n += !err;
	return err;
}

static int by_thread(const void *a, const void *b)
{
	const struct payload *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return 0;
}

/* In the order of time, so each CPU's are in its own order. */
static int take_records(struct seam_payloads *p,
			const struct seam_side_record *side, long n)
{
	int err = 0;

	for (long i = 0; !err && i < n; i++) {
		struct cpu *cpu = cpu_of(p, side[i].cpu);

		if (!cpu)
			continue;
		if (side[i].header->type == PERF_RECORD_SAMPLE)
			err = add_payload(p, &side[i]);
		else if (side[i].header->type == PERF_RECORD_LOST)
			err = add_gap(p, cpu, side[i].time_ns);
		cpu->last_ns = side[i].time_ns;
	}
	return err;
}

/* What was lost since the last record of a ring: it will be said by the next
 * one, but the samples are here. */
static int find_losses(struct seam_payloads *p, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < p->n_listeners; i++) {
		struct listener *l = &p->listeners[i];
		uint64_t value[3] = {0}; /* count, id, lost */

		if (!seam_sideband_tight(p->rings, l->cpu_at) ||
		    read(l->fd, value, sizeof(value)) != sizeof(value) ||
		    value[2] == l->lost)
			continue;
		l->lost = value[2];
		err = add_gap(p, &p->cpus[l->cpu_at], now_ns);
	}
	return err;
}

int seam_payloads_read(struct seam_payloads *p)
{
	struct seam_side_record *side = NULL;
	uint64_t now_ns = seam_now_ns(), lost = 0;
	uint64_t unkept = seam_sideband_unkept(p->rings);
	int err = forget(p, p->read_ns - KEEP_NS);
	long n;

	p->read_ns = now_ns;
	if (err)
		return err;
	n = seam_sideband_read(p->rings, 0, &side, &lost);
	if (n < 0)
		return (int)n;
	err = take_records(p, side, n);
	/* Whose they were nobody knows. */
	unkept = seam_sideband_unkept(p->rings) - unkept;
	for (size_t i = 0; !err && unkept && i < p->n_listeners; i++)
		err = add_gap(p, &p->cpus[p->listeners[i].cpu_at], now_ns);
	if (!err)
		err = find_losses(p, seam_now_ns());
	if (p->n)
		qsort(p->all, p->n, sizeof(*p->all), by_thread);
	return err;
}

/* How many payloads are of lower threads, or of this one and not later. */
static size_t upto(const struct seam_payloads *p, uint32_t tid,
		   uint64_t time_ns)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct payload *one = &p->all[mid];

		if (one->tid < tid ||
		    (one->tid == tid && one->time_ns <= time_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The thread may have been on another CPU at the sample's side of it; what is
 * lost anywhere in this short time is enough. */
static bool is_in_gap(const struct seam_payloads *p, uint64_t from_ns,
		      uint64_t to_ns)
{
	for (size_t i = p->n_gaps; i > 0; i--)
		if (p->gaps[i - 1].from_ns <= to_ns &&
		    p->gaps[i - 1].to_ns >= from_ns)
			return true;
	return false;
}

/* Where struct trace_entry has what was at work, and what of it is asked here:
 * as include/linux/trace_events.h has it and libtraceevent reads it.
 */
#define COMMON_FLAGS 2
#define FLAG_HARDIRQ 0x08
#define FLAG_SOFTIRQ 0x10
#define FLAG_NMI 0x40

static bool came_in(const struct seam_payloads *p, const struct payload *one,
		    uint32_t flags)
{
	uint8_t common =
		one->size > COMMON_FLAGS ? p->bytes[one->at + COMMON_FLAGS] : 0;

	return !(flags & SEAM_SAMPLE_KNOWN) ||
	       (!(common & FLAG_HARDIRQ) == !(flags & SEAM_SAMPLE_HARDIRQ) &&
		!(common & FLAG_SOFTIRQ) == !(flags & SEAM_SAMPLE_SOFTIRQ) &&
		!(common & FLAG_NMI) == !(flags & SEAM_SAMPLE_NMI));
}

static bool may_be_of(const struct seam_payloads *p, const struct payload *one,
		      const struct seam_payload_of *of)
{
	/* Idle tasks have one number. */
	return seam_event_id(of->event, one->cpu) == one->id &&
	       (of->tid || one->cpu == of->cpu) && came_in(p, one, of->flags);
}

const void *seam_payloads_find(struct seam_payloads *p,
			       const struct seam_payload_of *of,
			       size_t *ret_size)
{
	const struct seam_event *ev = of->event;

	for (size_t i = upto(p, of->tid, of->time_ns); i > 0; i--) {
		struct payload *one = &p->all[i - 1];

		if (one->tid != of->tid)
			break;
		if (!may_be_of(p, one, of))
			continue;
		if (one->used || of->time_ns - one->time_ns > APART_NS ||
		    is_in_gap(p, one->time_ns, of->time_ns))
			break;
		one->used = true;
		if (ev->asks & SEAM_ASK_NO_KERNEL)
			p->hidden += seam_payload_hide(&ev->tracepoint.fields,
						       p->bytes + one->at,
						       one->size);
		*ret_size = one->size;
		return p->bytes + one->at;
	}
	p->lost++;
	return NULL;
}

uint64_t seam_payloads_lost(const struct seam_payloads *p)
{
	return p->lost;
}

uint64_t seam_payloads_hidden(const struct seam_payloads *p)
{
	return p->hidden;
}
