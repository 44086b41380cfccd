// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* One reading of perf's rings: samples to the client, their stack copies and
 * the sideband to the worker. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session-priv.h"
#include "core/cookie.h"
#include "core/uapi.h"
#include "perfdata/reader.h"
#include "unwind/perf-regs.h"

/* A record may be older than one that is there already and not there itself:
 * its CPU has stamped it, and been taken away from the virtual machine. */
#define LAG_NS 5000000ULL

/* What a sample tells while it is looked at. */
struct taken {
	const struct seam_event *event;
	uint32_t number; /* of event */
	struct seam_pd_rec rec;
	bool in_kernel;
	bool has_user;
	uint64_t user_ip; /* with has_user */
	struct seam_dump dump; /* likewise, and not if the kernel defers */
	uint64_t kernel_ips[SEAM_MAX_KERNEL];
};

static bool find_event(const struct seam_session *s, uint64_t id,
		       uint32_t *ret_number)
{
	for (size_t i = 0; i < s->n_events; i++)
		for (size_t j = 0; j < s->events[i].n; j++)
			if (s->events[i].ids[j] == id) {
				*ret_number = (uint32_t)i;
				return true;
			}
	return false;
}

/* Of a kernel's worker thread it is 0. */
static void find_user_ip(struct taken *t)
{
	const struct seam_pd_rec_sample *sample = &t->rec.sample;

	if (sample->user_regs_abi && sample->user_regs.n == 1)
		t->user_ip = seam_pd_word(sample->user_regs, 0);
	t->has_user = t->user_ip;
}

static void find_dump(struct taken *t)
{
	const struct seam_pd_rec_sample *sample = &t->rec.sample;
	const struct seam_perf_user user = {
		.abi = sample->user_regs_abi,
		.mask = sample->user_regs_mask,
		.regs = sample->user_regs.p,
		.n_regs = sample->user_regs.n,
		.stack = sample->user_stack,
		.stack_size = sample->user_stack_len,
		.stack_room = sample->user_stack_room,
		.in_kernel = t->in_kernel,
	};

	t->has_user = !seam_dump_from_perf(&user, &t->dump);
	t->user_ip = t->has_user ? t->dump.regs.r[16] : 0;
}

static bool parse(const struct seam_session *s,
		  const struct perf_event_header *header, struct taken *t)
{
	uint64_t id;

	memcpy(&id, header + 1, sizeof(id));
	if (!find_event(s, id, &t->number))
		return false;
	t->event = &s->events[t->number];
	if (!seam_pd_parse_kernel(&t->event->opened, header, &t->rec))
		return false;
	t->in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
		       PERF_RECORD_MISC_USER;
	if (s->direct.ask.defers)
		find_user_ip(t);
	else
		find_dump(t);
	return true;
}

/* In the mode that :u or :k leaves out. What a task does in the kernel is the
 * user's to :u. */
static bool is_excluded(const struct taken *t)
{
	if (t->event->asks & SEAM_ASK_KERNEL_MODE)
		return !t->in_kernel;
	return t->in_kernel && t->event->asks & SEAM_ASK_NO_KERNEL &&
	       !t->has_user;
}

/* The kernel's half of the chain, without its markers. */
static size_t kernel_half(struct taken *t)
{
	struct seam_pd_words chain = t->rec.sample.chain;
	bool kernel = false;
	size_t n = 0;

	for (size_t i = 0; i < chain.n && n < SEAM_MAX_KERNEL; i++) {
		uint64_t ip = seam_pd_word(chain, i);

		if (ip >= SEAM_CONTEXT_MAX)
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (kernel)
			t->kernel_ips[n++] = ip;
	}
	return n;
}

/* perf puts the precise ip in the place of that of the user's registers. Where
 * it has not, these are as they were interrupted. */
static bool is_precise(const struct taken *t)
{
	return t->event->opened.precise_ip && !t->in_kernel &&
	       t->user_ip == t->rec.sample.ip;
}

/* Whether the registers are of another moment than the stack, by where in the
 * kernel the event was. */
static bool is_unsure(const struct seam_session *s, const struct taken *t)
{
	const struct seam_kernel_place at = {
		.chain = t->rec.sample.chain,
		.ip = t->rec.sample.ip,
		.is_fault = seam_kernel_is_fault(&t->event->attr),
	};

	return t->in_kernel && seam_kernel_doubts(&s->direct.doubt, &at);
}

/* Hands the stack copy to the worker, which unwinds those of one reading
 * together with what was mapped. */
static void keep_copy(struct seam_session *s, const struct taken *t,
		      const struct seam_sample *sample)
{
	struct seam_wire_copy *copy = (void *)s->direct.copy;
	size_t size = t->dump.stack_size;

	*copy = (struct seam_wire_copy){
		.head = {SEAM_WIRE_COPY, sample->pid, sample->tid, sample->cpu,
			 sample->time_ns, sample->cookie},
		.flags = (t->dump.syscall ? SEAM_STACK_SYSCALL : 0) |
			 (t->dump.is_32 ? SEAM_STACK_32BIT : 0) |
			 (is_precise(t) ? SEAM_STACK_PRECISE : 0) |
			 (is_unsure(s, t) ? SEAM_STACK_UNSURE : 0),
		.stack = t->dump.stack_avma,
		.size = (uint32_t)size,
		.cut = t->dump.cut,
	};
	memcpy(copy->regs, t->dump.regs.r, sizeof(copy->regs));
	if (size)
		memcpy(copy->bytes, t->dump.stack, size);
	s->direct.copies++;
	s->direct.copy_bytes += size;
	seam_session_keep_copy(s, &copy->head, sizeof(*copy) + size);
}

static void set_halves(struct taken *t, struct seam_sample *sample)
{
	bool own_ip = !(t->event->asks & SEAM_ASK_NO_KERNEL);

	sample->user = !t->in_kernel || !own_ip;
	if (!sample->user && t->has_user && t->event->max_frames)
		sample->user_ip = t->user_ip;
	if (t->in_kernel && !own_ip)
		sample->ip = t->user_ip;
	if (sample->user || t->event->asks & SEAM_ASK_NO_KERNEL_STACK)
		return;
	sample->n_kernel = kernel_half(t);
	if (sample->n_kernel)
		sample->kernel_ips = t->kernel_ips;
}

#define MAX_PAYLOAD 65536 /* of a record */

/* Return: false: there is no memory, and so no payload. */
static bool hide(struct seam_direct *d, const struct seam_event *ev,
		 struct seam_sample *sample)
{
	if (!d->payload)
		d->payload = malloc(MAX_PAYLOAD);
	if (!d->payload || sample->payload_size > MAX_PAYLOAD)
		return false;
	memcpy(d->payload, sample->payload, sample->payload_size);
	d->payload_addresses += seam_payload_hide(
		&ev->tracepoint.fields, d->payload, sample->payload_size);
	sample->payload = d->payload;
	return true;
}

static void give_sample(struct seam_session *s, struct taken *t)
{
	const struct seam_pd_rec *rec = &t->rec;
	struct seam_sample sample = {
		.sz = sizeof(sample),
		.time_ns = rec->time_ns,
		.ip = rec->sample.ip,
		.period = rec->sample.period,
		.pid = rec->pid,
		.tid = rec->tid,
		.cpu = rec->cpu,
		.stack_tid = rec->tid,
		.event = t->number,
		.max_frames = t->event->max_frames,
		.end = SEAM_NO_USER,
		.payload = rec->sample.raw,
		.payload_size = rec->sample.raw_len,
		.id = seam_event_id(t->event, rec->cpu),
	};
	bool wants = t->has_user && t->event->max_frames;

	if (sample.payload_size && t->event->asks & SEAM_ASK_NO_KERNEL &&
	    !hide(&s->direct, t->event, &sample)) {
		sample.payload = NULL;
		sample.payload_size = 0;
		s->direct.lost_payloads++;
	}
	set_halves(t, &sample);
	s->direct.samples++;
	if (s->direct.ask.defers) {
		s->direct.wanted += seam_native_sample(&s->direct.native, rec,
						       t->user_ip, &sample);
		return;
	}
	if (wants) {
		sample.end = 0;
		sample.cookie =
			seam_cookie_make(++s->direct.cookies, sample.cpu);
		s->direct.wanted++;
	}
	s->client.on_sample(s->client.ctx, &sample);
	if (wants)
		keep_copy(s, t, &sample);
}

static void take(struct seam_session *s, const struct perf_event_header *header)
{
	struct taken t = {0};

	s->direct.events++;
	if (!parse(s, header, &t))
		s->lost_malformed++;
	else if (is_excluded(&t))
		s->direct.excluded++;
	else
		give_sample(s, &t);
}

/* Not what the kernel says of the events themselves, such as THROTTLE. */
static bool is_sideband(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 ||
	       type == PERF_RECORD_COMM || type == PERF_RECORD_FORK ||
	       type == PERF_RECORD_EXIT || type == PERF_RECORD_LOST;
}

/* What tells the engine native of its stacks. */
static void take_other(struct seam_session *s,
		       const struct perf_event_header *header)
{
	const struct seam_event *ev = seam_sideband_event(s->sideband);
	struct seam_pd_rec rec;

	if (!s->direct.ask.defers)
		return;
	if (seam_pd_parse_kernel(&ev->attr, header, &rec))
		seam_native_record(&s->direct.native, &rec);
	else
		s->lost_malformed++;
}

int seam_direct_read(struct seam_session *s, bool all)
{
	struct seam_side_record *side = NULL;
	long n = seam_sideband_read(s->sideband, all ? 0 : LAG_NS, &side,
				    &s->direct.lost_records);
	long n_side = 0;

	if (n < 0)
		return (int)n;
	/* Samples first: they are gone from side when it is compacted. */
	for (long i = 0; i < n; i++)
		if (side[i].header->type == PERF_RECORD_SAMPLE)
			take(s, side[i].header);
		else
			take_other(s, side[i].header);
	for (long i = 0; i < n; i++)
		if (is_sideband(side[i].header->type))
			side[n_side++] = side[i];
	n_side = seam_session_give_records(s, side, (size_t)n_side);
	if (n_side < 0) {
		seam_session_lose_copies(s);
		return (int)n_side;
	}
	if (s->direct.ask.defers) /* the worker has nothing to unwind */
		return s->direct.native.err;
	return seam_session_give_worker(s, side, (size_t)n_side, UINT64_MAX);
}
