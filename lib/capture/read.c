// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One reading of a session: both rings and the sideband, put in order and
 * handed to the client.
 *
 * The order of reading makes it whole: samples first, so that a copy taken
 * before the last of them is found in the second ring; sideband last, so
 * that whatever a process had mapped when its stack was copied is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session-priv.h"
#include "unwind/dump.h"

/* A process that ended may still have records on the way. */
#define KEEP_DEAD_NS 5000000000ULL

struct find_ctx {
	struct seam_session *s;
	struct seam_process *process;
};

static int find_mapping(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	struct find_ctx *f = ctx;
	struct seam_map *map;
	uint64_t svma;

	map = f->process ? seam_process_map(&f->s->processes, f->process, avma)
			 : NULL;
	if (!map)
		return -ENOENT;
	memset(ret, 0, sizeof(*ret));
	ret->start = map->start;
	ret->end = map->end;
	if (!map->image || !map->image->elf ||
	    !seam_elf_off_to_svma(map->image->elf, avma - map->start + map->off,
				  &svma))
		return 0;
	ret->bias = avma - svma;
	ret->elf = map->image->elf;
	ret->cfi = seam_image_cfi(map->image);
	ret->derived = seam_image_derived(map->image);
	return 0;
}

static void set_dump(struct seam_dump *dump, const struct seam_wire_copy *copy,
		     struct find_ctx *ctx)
{
	memset(dump, 0, sizeof(*dump));
	memcpy(dump->regs.r, copy->regs, sizeof(dump->regs.r));
	dump->regs.valid = (1u << SEAM_CFI_REGS) - 1;
	dump->stack_avma = copy->stack;
	dump->stack = copy->bytes;
	dump->stack_size = copy->size;
	dump->cut = copy->cut;
	dump->find = find_mapping;
	dump->ctx = ctx;
}

static int keep_unwound(struct seam_session *s, const struct seam_wire *head,
			const struct seam_wire_copy *copy, size_t n, int end)
{
	struct seam_unwound *u;

	if (s->n_unwound == s->max_unwound) {
		size_t max = s->max_unwound ? s->max_unwound * 2 : 64;

		u = realloc(s->unwound, max * sizeof(*u));
		if (!u)
			return -ENOMEM;
		s->unwound = u;
		s->max_unwound = max;
	}
	u = &s->unwound[s->n_unwound];
	memset(u, 0, sizeof(*u));
	u->ips = malloc(n * sizeof(*u->ips));
	if (!u->ips)
		return -ENOMEM;
	memcpy(u->ips, s->ips, n * sizeof(*u->ips));
	u->stack = (struct seam_user_stack){
		.time_ns = head->time_ns,
		.cookie = head->cookie,
		.took_ns = copy->took_ns,
		.pid = head->pid,
		.tid = head->tid,
		.cpu = head->cpu,
		.end = end,
		.before_exec = copy->flags & SEAM_STACK_EXEC,
		.at_exit = copy->flags & SEAM_STACK_EXIT,
		.ips = u->ips,
		.n_ips = n,
	};
	s->n_unwound++;
	return 0;
}

static int unwind_copy(struct seam_session *s,
		       const struct seam_wire_copy *copy, size_t size)
{
	struct find_ctx ctx = {
		s, seam_process_find(&s->processes, copy->head.pid)};
	struct seam_dump dump;
	size_t n;
	int end;

	if (size < sizeof(*copy) || size - sizeof(*copy) < copy->size)
		return 0;
	set_dump(&dump, copy, &ctx);
	n = seam_dump_unwind(&dump, s->ips, s->client.max_frames, &end);
	return keep_unwound(s, &copy->head, copy, n, end);
}

static int on_copies_record(struct seam_session *s, const struct seam_wire *rec,
			    size_t size)
{
	if (rec->type == SEAM_WIRE_COPY)
		return unwind_copy(s, (const void *)rec, size);
	if (rec->type == SEAM_WIRE_MISS &&
	    size >= sizeof(struct seam_wire_miss))
		return seam_tables_answer(s->tables, (const void *)rec);
	return 0;
}

/* pid, and the parent's for FORK: where records of both kinds have them. */
static uint32_t record_pid(const struct perf_event_header *h, int word)
{
	uint32_t pid;

	memcpy(&pid, (const uint8_t *)(h + 1) + 4 * word, sizeof(pid));
	return pid;
}

static bool is_followed(struct seam_session *s,
			const struct perf_event_header *h)
{
	if (s->client.tasks == SEAM_TASKS_ALL || h->type == PERF_RECORD_LOST)
		return true;
	if (h->type == PERF_RECORD_FORK &&
	    seam_idmap_get(&s->followed, record_pid(h, 1)) &&
	    seam_idmap_put(&s->followed, record_pid(h, 0), s))
		return false;
	return seam_idmap_get(&s->followed, record_pid(h, 0)) != NULL;
}

static int on_side_record(struct seam_session *s,
			  const struct seam_side_record *side)
{
	int err;

	if (!is_followed(s, side->header))
		return 0;
	err = seam_processes_follow(&s->processes, side->time_ns, side->header);
	if (!err && s->client.on_record)
		s->client.on_record(s->client.ctx, side->time_ns, side->header);
	return err;
}

/* Copies are unwound with what was mapped when they were taken. */
static int read_copies(struct seam_session *s)
{
	const struct seam_side_record *side = NULL;
	const struct seam_wire *rec;
	size_t at = 0, size, i = 0;
	long n = seam_sideband_read(s->sideband, &side, &s->lost_sideband);
	int err = n < 0 ? (int)n : 0;

	while (!err && (rec = seam_batch_next(&s->copies, &at, &size))) {
		for (; !err && i < (size_t)n && side[i].time_ns <= rec->time_ns;
		     i++)
			err = on_side_record(s, &side[i]);
		if (!err)
			err = on_copies_record(s, rec, size);
	}
	for (; !err && i < (size_t)n; i++)
		err = on_side_record(s, &side[i]);
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

static void give_sample(struct seam_session *s,
			const struct seam_wire_sample *rec, size_t size)
{
	struct seam_sample sample = {
		.time_ns = rec->head.time_ns,
		.cookie = rec->head.cookie,
		.ip = rec->ip,
		.period = rec->period,
		.pid = rec->head.pid,
		.tid = rec->head.tid,
		.cpu = rec->head.cpu,
		.event = rec->event,
		.user = rec->flags & SEAM_SAMPLE_USER,
		.end = rec->head.cookie ? 0 : (int)rec->end,
	};

	if (size < sizeof(*rec) || (size - sizeof(*rec)) / 8 < rec->nr ||
	    rec->event >= s->n_events)
		return;
	if (rec->flags & SEAM_SAMPLE_OWN) {
		s->own++;
		return;
	}
	sample.n_kernel = rec->nr;
	sample.kernel_ips = rec->ips;
	if (s->events[rec->event].is_tracepoint)
		strip_tracepoint(s, &sample);
	if (!sample.n_kernel)
		sample.kernel_ips = NULL;
	s->client.on_sample(s->client.ctx, &sample);
}

static void give_stack(struct seam_session *s,
		       const struct seam_wire_stack *rec, size_t size)
{
	struct seam_user_stack stack = {
		.time_ns = rec->head.time_ns,
		.cookie = rec->head.cookie,
		.took_ns = rec->took_ns,
		.pid = rec->head.pid,
		.tid = rec->head.tid,
		.cpu = rec->head.cpu,
		.end = (int)rec->end,
		.before_exec = rec->flags & SEAM_STACK_EXEC,
		.at_exit = rec->flags & SEAM_STACK_EXIT,
		.ips = rec->ips,
		.n_ips = rec->nr,
	};

	if (size < sizeof(*rec) || (size - sizeof(*rec)) / 8 < rec->nr)
		return;
	s->client.on_stack(s->client.ctx, &stack);
}

/* Stacks that the library unwound, up to a time or, at any rate, a number. */
static void give_unwound(struct seam_session *s, uint64_t until_ns,
			 size_t number)
{
	while (s->next_unwound < s->n_unwound) {
		struct seam_unwound *u = &s->unwound[s->next_unwound];

		if (u->stack.time_ns > until_ns && s->next_unwound >= number)
			return;
		s->client.on_stack(s->client.ctx, &u->stack);
		free(u->ips);
		s->next_unwound++;
	}
}

/*
 * Copies are drained after samples, so some are ahead of their samples: a
 * stack waits for a later sample, or for the next reading, which begins with
 * all samples that were before it.
 */
static void give_samples(struct seam_session *s, size_t n_before)
{
	const struct seam_wire *rec;
	size_t at = 0, size;

	while ((rec = seam_batch_next(&s->samples, &at, &size))) {
		give_unwound(s, rec->time_ns, 0);
		if (rec->type == SEAM_WIRE_SAMPLE)
			give_sample(s, (const void *)rec, size);
		else if (rec->type == SEAM_WIRE_STACK)
			give_stack(s, (const void *)rec, size);
	}
	give_unwound(s, 0, n_before);
	s->n_unwound -= s->next_unwound;
	if (s->n_unwound)
		memmove(s->unwound, s->unwound + s->next_unwound,
			s->n_unwound * sizeof(*s->unwound));
	s->next_unwound = 0;
}

int seam_session_read(struct seam_session *s)
{
	uint64_t now = seam_now_ns();
	size_t n_before = s->n_unwound;
	int err;

	seam_batch_clear(&s->samples);
	seam_batch_clear(&s->copies);
	err = seam_kernel_drain_samples(s->kernel, seam_batch_add, &s->samples);
	if (!err)
		err = seam_kernel_drain_copies(s->kernel, seam_batch_add,
					       &s->copies);
	if (!err)
		err = read_copies(s);
	/* What can be handed out is, whatever failed. */
	give_samples(s, n_before);
	if (now > KEEP_DEAD_NS)
		seam_processes_forget(&s->processes, now - KEEP_DEAD_NS);
	if (!err && (s->samples.err || s->copies.err))
		err = -ENOMEM;
	return err;
}

/* Of all events together, as that is what is counted; 0: cannot be told. */
static uint64_t expected(const struct seam_session *s,
			 const struct seam_kernel_counts *k)
{
	uint64_t total = k->count[SEAM_COUNT_EXPIRIES];

	for (size_t i = 0; i < s->n_events; i++) {
		if (s->events[i].is_tracepoint)
			total += k->event_runs[i];
		else if (!seam_event_can_expect(&s->events[i]))
			return 0;
		else
			total += seam_event_expected(&s->events[i]);
	}
	return total + k->tracepoint_misses;
}

int seam_session_counts(struct seam_session *s, struct seam_counts *ret)
{
	const struct seam_tables_stats *t = seam_tables_stats(s->tables);
	struct seam_kernel_counts k;
	int err = seam_kernel_counts(s->kernel, &k);

	if (err)
		return err;
	memset(ret, 0, sizeof(*ret));
	ret->events = k.count[SEAM_COUNT_EVENTS];
	ret->expected = expected(s, &k);
	ret->samples = k.count[SEAM_COUNT_SAMPLES];
	ret->wanted = k.count[SEAM_COUNT_WANTED];
	ret->own = s->own;
	ret->unwinds = k.count[SEAM_COUNT_UNWINDS];
	ret->moved = k.count[SEAM_COUNT_MOVED];
	ret->copies = k.count[SEAM_COUNT_COPIES];
	ret->copy_bytes = k.count[SEAM_COUNT_COPY_BYTES];
	ret->frames = k.count[SEAM_COUNT_FRAMES];
	ret->unwind_ns = k.count[SEAM_COUNT_UNWIND_NS];
	ret->lost_samples =
		k.count[SEAM_COUNT_LOST_SAMPLE] + s->samples.n_dropped;
	ret->lost_stacks = k.count[SEAM_COUNT_LOST_STACK];
	ret->lost_copies = k.count[SEAM_COUNT_LOST_COPY] + s->copies.n_dropped;
	ret->lost_sideband = s->lost_sideband;
	ret->no_element = k.count[SEAM_COUNT_NO_ELEMENT];
	ret->no_scratch = k.count[SEAM_COUNT_NO_SCRATCH];
	ret->lost_requests = k.count[SEAM_COUNT_LOST_MISS];
	ret->refused = k.count[SEAM_COUNT_REFUSED];
	ret->closed = k.count[SEAM_COUNT_CLOSED];
	ret->stale = k.count[SEAM_COUNT_STALE];
	ret->skipped = k.count[SEAM_COUNT_SKIPPED];
	ret->redo = k.count[SEAM_COUNT_REDO];
	ret->watch_full = k.count[SEAM_COUNT_WATCH_FULL];
	ret->windows = k.count[SEAM_COUNT_WINDOWS];
	ret->faulted = k.count[SEAM_COUNT_FAULTED];
	ret->rule_hits = k.count[SEAM_COUNT_RULE_HITS];
	ret->map_walks = k.count[SEAM_COUNT_MAP_WALKS];
	ret->map_retries = k.count[SEAM_COUNT_MAP_RETRIES];
	ret->tables = t->loaded;
	ret->table_bytes = t->bytes;
	ret->table_bytes_max = t->bytes_max;
	ret->tables_evicted = t->evicted;
	ret->tables_asked = t->asked;
	ret->tables_gone = t->gone;
	ret->tables_none = t->none;
	ret->tables_too_big = t->too_big;
	return 0;
}
