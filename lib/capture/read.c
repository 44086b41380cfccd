// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One reading of a session: both rings and the sideband, put in order and
 * handed to the client or the worker.
 *
 * The order of reading makes it whole: copies first and sideband after them,
 * so that whatever a process had mapped when its stack was copied is known;
 * what the worker has done with copies of earlier readings is handed out
 * after the samples of this one, which are all that came before those copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/session-priv.h"
#include "event/opts.h"
#include "process/aside.h"
#include "process/far.h"

/* 1, 0 or -ENOMEM. */
static int is_followed(struct seam_session *s,
		       const struct seam_side_record *rec)
{
	if (s->client.tasks == SEAM_TASKS_ALL || s->client.all ||
	    rec->header->type == PERF_RECORD_LOST)
		return 1;
	return seam_followed_record(&s->followed, rec->time_ns, rec->header);
}

/* See target_gone() of session.c. */
static void note_exit(struct seam_session *s,
		      const struct perf_event_header *record)
{
	if (record->type != PERF_RECORD_EXIT)
		return;
	for (size_t i = 0; i < s->n_targets; i++) {
		struct seam_target *t = &s->targets[i];

		t->exited |= seam_followed_exited(record, t->tgid, t->id);
	}
}

long seam_session_give_records(struct seam_session *s,
			       struct seam_side_record *side, size_t n)
{
	long kept = 0;

	for (size_t i = 0; i < n; i++) {
		int follow = is_followed(s, &side[i]);

		note_exit(s, side[i].header);
		if (follow < 0) {
			s->lost_sideband += n;
			return follow;
		}
		if (!follow)
			continue;
		side[kept++] = side[i];
		s->client.on_record(s->client.ctx, side[i].time_ns,
				    side[i].header);
	}
	seam_followed_forget(&s->followed, seam_now_ns());
	return kept;
}

/* As many files may wait for the worker; more are opened when it comes to
 * them, if they are there still. */
#define MAX_HELD 256

/* Opens the files of new requests, at once: of those that are others' to
 * answer, and of ours that come in turn before they have been taken from their
 * ring (requests.h). */
static void hold_files(struct seam_session *s)
{
	const struct seam_wire *rec;
	size_t at = 0, size, n = seam_worker_held(s->worker);

	while (n + s->held.n < MAX_HELD &&
	       (rec = seam_batch_next(&s->copies, &at, &size))) {
		const struct seam_wire_miss *miss = (const void *)rec;
		int fd;

		/* A far file may never open: that is for the worker. */
		if (rec->type != SEAM_WIRE_MISS || size < sizeof(*miss) ||
		    seam_is_far(miss->fs_magic, miss->fs_flags))
			continue;
		fd = seam_tables_hold(s->kernel, NULL, miss);
		if (fd >= 0)
			seam_held_add(&s->held, &miss->key, fd);
	}
}

/* Code is made, which may be unmapped without a word. */
static bool is_made(struct seam_session *s)
{
	const struct seam_wire *rec;
	size_t at = 0, size;

	while ((rec = seam_batch_next(&s->copies, &at, &size)))
		if (rec->type == SEAM_WIRE_JIT)
			return true;
	return __atomic_load_n(&s->processes.has_made, __ATOMIC_RELAXED);
}

static void see_unmaps(struct seam_session *s)
{
	if (s->looked_for_unmaps || !s->running || !is_made(s))
		return;
	s->looked_for_unmaps = true;
	if (!seam_kernel_see_unmaps(s->kernel))
		__atomic_store_n(&s->processes.unmaps_ns, seam_now_ns(),
				 __ATOMIC_RELAXED);
}

int seam_session_give_worker(struct seam_session *s,
			     const struct seam_side_record *side, size_t n,
			     uint64_t until_ns)
{
	struct seam_worker_side round = {side, n, until_ns};
	int err = seam_worker_give(s->worker, &s->copies, &s->held, &round);

	if (err)
		seam_session_lose_copies(s);
	if (err == -ENOBUFS)
		return 0;
	if (err) {
		s->lost_sideband += n;
		seam_worker_untold(s->worker, seam_now_ns());
	}
	return err;
}

/* Takes the copies that there are to be read. All that were made before
 * s->copies_until_ns are among them, or among those of before; but who is
 * preempted as it writes its own holds up those behind it. */
static int take_copies(struct seam_session *s)
{
	/* In this order: what a task had in the ring before an exec of its own
	 * has a place there by then. */
	uint64_t until_ns = seam_now_ns();
	const struct seam_kernel_put put = seam_kernel_put(s->kernel);
	int err =
		seam_kernel_drain_copies(s->kernel, seam_session_keep_copy, s);

	if (seam_kernel_copies_taken(s->kernel, &put))
		s->copies_until_ns = until_ns;
	return err;
}

/* Gives copies, table requests and sideband to the worker. */
static int read_copies(struct seam_session *s)
{
	struct seam_side_record *side = NULL;
	int err = take_copies(s);
	long n;

	see_unmaps(s);
	hold_files(s);
	n = seam_sideband_read(s->sideband, 0, &side, &s->lost_sideband);
	if (n >= 0)
		n = seam_session_give_records(s, side, (size_t)n);
	if (!err && n < 0)
		err = (int)n;
	if (!err)
		return seam_session_give_worker(s, side, (size_t)n,
						s->copies_until_ns);
	seam_session_lose_copies(s);
	s->lost_sideband += n > 0 ? (uint64_t)n : 0;
	seam_worker_untold(s->worker, seam_now_ns());
	return err;
}

static void strip_tracepoint(struct seam_session *s, struct seam_sample *sample)
{
	size_t n = seam_strip_count(&s->strip, sample->kernel_ips,
				    sample->n_kernel);

	sample->kernel_ips += n;
	sample->n_kernel -= n;
	if (sample->n_kernel)
		sample->ip = sample->kernel_ips[0];
}

/* From the frame that the timer interrupted on. */
static void strip_tick(struct seam_sample *sample,
		       const struct seam_wire_sample *rec)
{
	size_t i = 0;

	while (i < rec->nr && rec->ips[i] != rec->ip)
		i++;
	sample->kernel_ips = i < rec->nr ? rec->ips + i : &rec->ip;
	sample->n_kernel = i < rec->nr ? rec->nr - i : 1;
}

static const void *find_payload(struct seam_session *s,
				const struct seam_wire_sample *rec,
				size_t *ret_size)
{
	const struct seam_payload_of of = {
		.event = &s->events[rec->event],
		.tid = rec->head.tid,
		.cpu = rec->head.cpu,
		.flags = rec->flags,
		.time_ns = rec->head.time_ns,
	};

	return seam_payloads_find(s->payloads, &of, ret_size);
}

static void give_sample(struct seam_session *s,
			const struct seam_wire_sample *rec, size_t size)
{
	struct seam_sample sample = {
		.sz = sizeof(sample),
		.time_ns = rec->head.time_ns,
		.cookie = rec->head.cookie,
		.ip = rec->ip,
		.period = rec->period,
		.pid = rec->head.pid,
		.tid = rec->head.tid,
		.cpu = rec->head.cpu,
		.stack_tid = rec->stack_tid,
		.event = rec->event,
		.tail_ns = rec->flags & SEAM_SAMPLE_TAIL ? rec->taken_ns : 0,
		.user = rec->flags & SEAM_SAMPLE_USER,
		.user_ip = rec->user_ip,
		.end = rec->head.cookie ? 0 : (int)rec->end,
	};

	if ((size - sizeof(*rec)) / 8 < rec->nr || rec->event >= s->n_events) {
		s->lost_malformed++;
		return;
	}
	sample.max_frames = s->events[rec->event].max_frames;
	sample.id = seam_event_id(&s->events[rec->event], sample.cpu);
	sample.n_kernel = rec->nr;
	sample.kernel_ips = rec->ips;
	if (seam_event_is_lent(&s->events[rec->event]) && rec->nr)
		strip_tracepoint(s, &sample);
	if (rec->flags & SEAM_SAMPLE_BLOCKED)
		strip_tick(&sample, rec);
	if (s->events[rec->event].asks & SEAM_ASK_NO_KERNEL_STACK)
		sample.n_kernel = 0;
	if (!sample.n_kernel)
		sample.kernel_ips = NULL;
	if (seam_event_has_payload(&s->events[rec->event]))
		sample.payload = find_payload(s, rec, &sample.payload_size);
	s->client.on_sample(s->client.ctx, &sample);
}

/* What the kernel side says of each frame. Return: NULL: all by tables. */
static const uint8_t *methods_of(struct seam_session *s,
				 const struct seam_wire_stack *rec)
{
	if (!rec->by_fp || !rec->nr || rec->nr > SEAM_MAX_FRAMES)
		return NULL;
	s->found[0] = SEAM_METHOD_NONE;
	for (uint32_t i = 1; i < rec->nr; i++)
		s->found[i] = rec->ips[rec->nr + i / 64] >> (i & 63) & 1
				      ? SEAM_METHOD_FP
				      : SEAM_METHOD_SFRAME;
	return s->found;
}

static void give_stack(struct seam_session *s,
		       const struct seam_wire_stack *rec, size_t size)
{
	struct seam_user_stack stack = {
		.sz = sizeof(stack),
		.time_ns = rec->head.time_ns,
		.cookie = rec->head.cookie,
		.took_ns = rec->took_ns,
		.pid = rec->head.pid,
		.tid = rec->head.tid,
		.cpu = rec->head.cpu,
		.end = (int)rec->end,
		.before_exec = rec->flags & SEAM_STACK_EXEC,
		.at_exit = rec->flags & SEAM_STACK_EXIT,
		.asleep = rec->flags & SEAM_STACK_ASLEEP,
		.ips = rec->ips,
		.n_ips = rec->nr,
	};

	uint64_t words = (uint64_t)rec->nr + rec->by_fp, regs = words;

	if (rec->flags & SEAM_STACK_REGS)
		words += SEAM_WIRE_REGS;
	if ((size - sizeof(*rec)) / 8 < words ||
	    (rec->by_fp && rec->by_fp < (rec->nr + 63) / 64)) {
		s->lost_malformed++;
		return;
	}
	if (s->client.registers && rec->flags & SEAM_STACK_REGS)
		stack.regs = rec->ips + regs;
	stack.methods = methods_of(s, rec);
	s->client.on_stack(s->client.ctx, &stack);
}

static void give_records(struct seam_session *s, const struct seam_batch *from)
{
	const struct seam_wire *rec;
	size_t at = 0, size;

	while ((rec = seam_batch_next(from, &at, &size))) {
		if (rec->type == SEAM_WIRE_SAMPLE &&
		    size >= sizeof(struct seam_wire_sample))
			give_sample(s, (const void *)rec, size);
		else if (rec->type == SEAM_WIRE_STACK &&
			 size >= sizeof(struct seam_wire_stack))
			give_stack(s, (const void *)rec, size);
		else
			s->lost_malformed++;
	}
}

static void give_unwound(struct seam_session *s, struct seam_unwound *unwound,
			 long n)
{
	for (long i = 0; i < n; i++) {
		if (!s->client.registers)
			unwound[i].stack.regs = NULL;
		s->client.on_stack(s->client.ctx, &unwound[i].stack);
		free(unwound[i].ips);
	}
	free(unwound);
}

/* Return: 1: there is more. */
static int read_slice(struct seam_session *s)
{
	int more, err = 0;

	seam_batch_clear(&s->samples);
	more = seam_kernel_drain_samples(s->kernel, seam_session_keep_sample,
					 s);
	if (more >= 0 && s->payloads)
		err = seam_payloads_read(s->payloads);
	/* What can be handed out is, whatever failed. */
	give_records(s, &s->samples);
	return err ? err : more;
}

/* In slices, since all that is taken at once has to be kept; and no more than
 * the ring has room for: where records come faster than they are taken, the end
 * is never reached. Those that come meanwhile are for the next time. */
static int read_kernel(struct seam_session *s)
{
	size_t slices = seam_kernel_slices(s->kernel);
	int err;

	seam_kernel_rearm(s->kernel);
	/* First, so that what came to the ring before they were lost is handed
	 * out before them. */
	err = seam_kernel_drain_losses(s->kernel, seam_session_keep_loss, s);
	if (!err)
		err = read_copies(s);
	if (err)
		return err;
	do
		err = read_slice(s);
	while (err > 0 && --slices);
	return err < 0 ? err : 0;
}

int seam_session_read(struct seam_session *s)
{
	struct seam_unwound *unwound = NULL;
	int err, worker_err, deliver_err;
	long n_unwound;

	if (!s->worker) /* not started */
		return -EINVAL;
	n_unwound = seam_worker_take(s->worker, &unwound);
	worker_err = n_unwound < 0 ? (int)n_unwound : 0;
	while (n_unwound < 0) /* what it has done it gives then */
		n_unwound = seam_worker_take(s->worker, &unwound);
	seam_batch_clear(&s->samples);
	seam_batch_clear(&s->copies);
	seam_batch_clear(&s->losses);
	err = s->kernel ? read_kernel(s) : seam_direct_read(s, !s->running);
	give_records(s, &s->losses);
	give_unwound(s, unwound, n_unwound);
	deliver_err = seam_session_deliver(s, false);
	if (!err && (s->samples.err || s->copies.err || s->losses.err))
		err = -ENOMEM;
	if (!err)
		err = worker_err;
	return err ? err : deliver_err;
}

/* Of all events together, as that is what is counted. */
static uint64_t expected(const struct seam_session *s,
			 const struct seam_kernel_counts *k)
{
	uint64_t total = k->count[SEAM_COUNT_EXPIRIES];

	for (size_t i = 0; i < s->n_events; i++) {
		uint64_t n = seam_event_expected(&s->events[i]);

		/* A miss may be of any call. */
		if (n == SEAM_UNKNOWN ||
		    (k->tracepoint_misses && s->events[i].is_tracepoint &&
		     s->events[i].syscall >= 0))
			return SEAM_UNKNOWN;
		total += seam_event_is_lent(&s->events[i]) ? k->event_runs[i]
							   : n;
	}
	return total + k->tracepoint_misses;
}

/* Of the client's tasks: clocks alone say whose time it is. */
static uint64_t expected_watched(const struct seam_session *s,
				 const struct seam_kernel_counts *k)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (!s->events[i].is_clock)
			return SEAM_UNKNOWN;
	return k->count[SEAM_COUNT_WATCHED_EXPIRIES];
}

/* What the BPF side counts. */
static void set_kernel_counts(struct seam_session *s,
			      const struct seam_kernel_counts *k,
			      struct seam_counts *ret)
{
	const char *alone;

	ret->events = k->count[SEAM_COUNT_EVENTS];
	ret->expected = expected(s, k);
	ret->watched = k->count[SEAM_COUNT_WATCHED];
	ret->expected_watched = expected_watched(s, k);
	ret->withheld = k->count[SEAM_COUNT_WITHHELD];
	ret->withheld_watched = k->count[SEAM_COUNT_WATCHED_WITHHELD];
	ret->blocked = k->count[SEAM_COUNT_BLOCKED];
	ret->samples = k->count[SEAM_COUNT_SAMPLES];
	ret->wanted = k->count[SEAM_COUNT_WANTED];
	ret->own = k->count[SEAM_COUNT_OWN];
	ret->excluded = k->count[SEAM_COUNT_EXCLUDED];
	ret->unwinds = k->count[SEAM_COUNT_UNWINDS];
	ret->by_others = k->count[SEAM_COUNT_BY_OTHERS];
	ret->clients = seam_kernel_others(s->kernel, &alone);
	ret->moved = k->count[SEAM_COUNT_MOVED];
	ret->copies = k->count[SEAM_COUNT_COPIES];
	ret->copy_bytes = k->count[SEAM_COUNT_COPY_BYTES];
	ret->frames = k->count[SEAM_COUNT_FRAMES];
	ret->unwind_ns = k->count[SEAM_COUNT_UNWIND_NS];
	ret->fp_frames = k->count[SEAM_COUNT_FP_FRAMES];
	ret->mapped_frames = k->count[SEAM_COUNT_MAPPED_FRAMES];
	ret->lost_samples = k->count[SEAM_COUNT_LOST_SAMPLE] + s->lost_samples;
	ret->lost_sleeps = k->count[SEAM_COUNT_LOST_SLEEP];
	ret->lost_tasks = k->unfollowed;
	ret->made_unlooked = k->unseen_calls;
	ret->followed_again = k->count[SEAM_COUNT_SEEN_AGAIN];
	ret->lost_stacks = k->count[SEAM_COUNT_LOST_STACK] + s->lost_stacks;
	ret->lost_copies = k->count[SEAM_COUNT_LOST_COPY] + s->lost_waiting;
	if (seam_session_is_told(s))
		ret->lost_untold =
			k->count[SEAM_COUNT_LOST_UNTOLD] + s->losses.n_dropped;
	ret->lost_sideband = s->lost_sideband;
	if (s->payloads)
		ret->lost_payloads = seam_payloads_lost(s->payloads);
	if (s->payloads)
		ret->payload_addresses = seam_payloads_hidden(s->payloads);
	ret->no_element = k->count[SEAM_COUNT_NO_ELEMENT];
	ret->no_scratch = k->count[SEAM_COUNT_NO_SCRATCH];
	ret->lost_requests = k->count[SEAM_COUNT_LOST_MISS] + s->lost_requests;
	ret->lost_made = k->count[SEAM_COUNT_LOST_MADE] + s->lost_made;
	ret->refused = k->count[SEAM_COUNT_REFUSED];
	ret->closed = k->count[SEAM_COUNT_CLOSED];
	ret->stale = k->count[SEAM_COUNT_STALE];
	ret->again = k->count[SEAM_COUNT_AGAIN];
	ret->skipped = k->count[SEAM_COUNT_SKIPPED];
	ret->requests = k->count[SEAM_COUNT_REQUESTS];
	ret->requests_filtered = k->count[SEAM_COUNT_REQUESTS_FILTERED];
	ret->requests_none = k->count[SEAM_COUNT_REQUESTS_NONE];
	ret->not_kept = k->count[SEAM_COUNT_NOT_KEPT];
	ret->redo = k->count[SEAM_COUNT_REDO];
	ret->watch_full = k->count[SEAM_COUNT_WATCH_FULL];
	ret->windows = k->count[SEAM_COUNT_WINDOWS];
	ret->faulted = k->count[SEAM_COUNT_FAULTED];
	ret->last_hits = k->count[SEAM_COUNT_LAST_HITS];
	ret->map_walks = k->count[SEAM_COUNT_MAP_WALKS];
	ret->map_retries = k->count[SEAM_COUNT_MAP_RETRIES];
}

static void set_images(const struct seam_images_stats *images,
		       struct seam_counts *ret)
{
	ret->images = images->n;
	ret->image_bytes = images->bytes;
	ret->image_bytes_max = images->bytes_max;
	ret->images_evicted = images->evicted;
	ret->images_gone = images->gone;
}

static void set_made(const struct seam_jit_stats *st, struct seam_counts *ret)
{
	ret->made = st->added;
	ret->made_bytes = st->bytes;
	ret->made_bad_range = st->refused[SEAM_JIT_BAD_RANGE];
	ret->made_overlap = st->refused[SEAM_JIT_OVERLAP];
	ret->made_malformed = st->refused[SEAM_JIT_MALFORMED];
	ret->made_unreadable = st->refused[SEAM_JIT_UNREADABLE];
	ret->made_too_much = st->refused[SEAM_JIT_TOO_MUCH];
	ret->made_unknown = st->refused[SEAM_JIT_UNKNOWN];
	ret->made_unmapped = st->unmapped;
	ret->made_unseen = st->unseen;
	ret->made_vain = st->vain;
	ret->made_untold = st->untold;
}

static void set_tables(struct seam_session *s, struct seam_counts *ret)
{
	struct seam_tables_stats t;

	seam_tables_stats(s->tables, &t);
	ret->tables = t.loaded;
	ret->table_bytes = t.bytes;
	ret->table_bytes_max = t.bytes_max;
	ret->tables_evicted = t.evicted;
	ret->tables_asked = t.asked;
	ret->tables_gone = t.gone;
	ret->tables_none = t.none;
	ret->tables_too_big = t.too_big;
	ret->tables_left_out = t.left_out;
	ret->tables_mapped = t.mapped;
	ret->tables_forgotten = t.forgotten;
	ret->tables_own = t.own;
	ret->lost_requests += t.lost;
	set_images(&t.images, ret);
}

int seam_session_counts(struct seam_session *s, struct seam_counts *ret)
{
	struct seam_counts c = {.sz = sizeof(c)};
	struct seam_worker_stats worker;
	struct seam_kernel_counts k;
	int err = s->kernel ? seam_kernel_counts(s->kernel, &k) : 0;

	if (err)
		return err;
	if (s->kernel) {
		set_kernel_counts(s, &k, &c);
		set_tables(s, &c);
	} else {
		seam_direct_counts(s, &c);
	}
	seam_worker_stats(s->worker, &worker);
	c.lost_malformed = s->lost_malformed + worker.malformed +
			   (s->kernel ? k.malformed : 0);
	c.files_stuck = worker.files_stuck;
	c.lost_copies += worker.lost;
	c.lost_made += worker.lost_made;
	c.lost_sideband += worker.lost_sideband;
	c.lost_untold += seam_session_is_told(s) ? worker.untold : 0;
	c.processes_left = seam_aside_left();
	c.fp_frames += worker.dump.by_fp;
	c.guessed_frames = worker.dump.guessed;
	c.code_gone = worker.dump.code_gone;
	set_made(&worker.made, &c);
	return seam_opts_give(ret, &c, sizeof(c));
}
