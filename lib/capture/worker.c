// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/wake.h"
#include "capture/requests.h"
#include "capture/round.h"
#include "capture/spares.h"
#include "core/err.h"

/* More waiting bytes than this, and copies are lost, counted. */
#define MAX_WAITING (256u << 20)
/* Without anything to do it looks after its tables so often. */
#define TEND_MS 1000
/* A file is kept no longer for a turn that a tool does not come to read. */
#define OURS_NS 30000000000ULL

struct seam_worker {
	pthread_t thread;
	int wake_fd; /* when a round, or the end, has come */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	struct seam_round *first, **last;
	size_t waiting; /* bytes */
	size_t held; /* files, until their round is done */
	struct seam_spares spares;
	bool busy, stop;
	int err;
	struct seam_unwound *done;
	size_t n_done, max_done;
	struct seam_worker_stats published;
	/* Until when words of any process may be lost, where no round waits
	 * that could say it; 0: none are. */
	uint64_t untold_ns;
	/* The thread's own. */
	bool is_idle; /* nothing has come for as long as it waits */
	struct seam_processes *processes;
	struct seam_tables *tables;
	struct seam_requests *requests; /* NULL without tables */
	struct seam_copier copier;
	struct seam_side later; /* of after the copies of past rounds */
	uint64_t passed_ns; /* of the round before */
	struct seam_worker_stats stats;
};

static int keep(struct seam_worker *w, const struct seam_unwound *u)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	if (w->n_done == w->max_done) {
		size_t max = w->max_done ? w->max_done * 2 : 64;
		void *done = realloc(w->done, max * sizeof(*w->done));

		if (done) {
			w->done = done;
			w->max_done = max;
		} else {
			err = -ENOMEM;
		}
	}
	if (!err)
		w->done[w->n_done++] = *u;
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* There is no memory for it, or none for what was mapped. Return: 0, and it is
 * told; -ENOMEM. */
static int lose_copy(struct seam_worker *w, const struct seam_wire_copy *copy)
{
	struct seam_unwound u;
	int err;

	seam_copier_lose(copy, &u);
	err = keep(w, &u);
	if (err)
		free(u.ips);
	w->stats.lost++;
	w->stats.untold += err != 0;
	return err;
}

static int unwind_copy(struct seam_worker *w, const struct seam_wire_copy *copy,
		       size_t size)
{
	struct seam_unwound u;
	int err;

	if (size - sizeof(*copy) < copy->size) {
		w->stats.malformed++;
		return 0;
	}
	err = seam_copier_unwind(&w->copier, copy, &u);
	if (!err) {
		err = keep(w, &u);
		if (!err)
			return 0;
		free(u.ips);
	}
	(void)lose_copy(w, copy);
	return err;
}

static int serve(struct seam_worker *w)
{
	return w->requests ? seam_requests_answer(w->requests) : 0;
}

static int on_miss(struct seam_worker *w, struct seam_round *r,
		   const struct seam_wire_miss *miss)
{
	int fd = seam_held_take(&r->held, &miss->key), err;
	int before = seam_requests_take(w->requests, &miss->key);

	err = seam_tables_answer(w->tables, miss, fd < 0 ? before : fd);
	if (fd >= 0)
		close(fd);
	if (before >= 0)
		close(before);
	return err;
}

/* What a process said of code that it made: any that it had may be gone. */
static void lose_made(struct seam_worker *w, const struct seam_wire *rec)
{
	w->stats.lost_made++;
	seam_processes_untold(w->processes, rec->pid, rec->time_ns);
}

static int on_made(struct seam_worker *w, const struct seam_wire *rec,
		   size_t size)
{
	int err = seam_processes_made(w->processes, (const void *)rec, size);

	if (err)
		lose_made(w, rec);
	return err;
}

/* failed: what was mapped could not be followed, for want of memory. Requests
 * are answered, as they are not by that: nobody else would. */
static int on_record(struct seam_worker *w, struct seam_round *r,
		     const struct seam_wire *rec, size_t size, int failed)
{
	if (rec->type == SEAM_WIRE_COPY &&
	    size >= sizeof(struct seam_wire_copy))
		return failed ? lose_copy(w, (const void *)rec)
			      : unwind_copy(w, (const void *)rec, size);
	if (rec->type == SEAM_WIRE_MISS &&
	    size >= sizeof(struct seam_wire_miss))
		return on_miss(w, r, (const void *)rec);
	if (rec->type == SEAM_WIRE_JIT &&
	    size >= sizeof(struct seam_wire_jit)) {
		if (!failed)
			return on_made(w, rec, size);
		lose_made(w, rec);
		return failed;
	}
	w->stats.malformed++;
	return 0;
}

/* Follows the sideband from *at on, up to a time; on error up to the record
 * that there was no memory for. */
static int follow(struct seam_worker *w, const struct seam_round *r, size_t *at,
		  uint64_t until_ns)
{
	const struct perf_event_header *header;
	uint64_t time;
	int err = 0;

	while (!err && *at < r->side.size) {
		header = seam_side_at(&r->side, *at, &time);
		if (time > until_ns)
			break;
		err = seam_processes_follow(w->processes, time, header);
		if (!err)
			*at += sizeof(time) + header->size;
	}
	return err;
}

/* What the round before left is put among the round's own, by time: a reading
 * finds a record on one CPU, and the next one an older one on another. */
static int take_later(struct seam_worker *w, struct seam_round *r)
{
	struct seam_side all;

	if (!w->later.size)
		return 0;
	if (seam_side_merge(&w->later, &r->side, &all)) {
		w->stats.lost_sideband += seam_side_count(&r->side);
		return -ENOMEM;
	}
	free(w->later.bytes);
	free(r->side.bytes);
	w->later = (struct seam_side){0};
	r->side = all;
	return 0;
}

/* From a place in the round's sideband on. Takes no memory, of which there may
 * be none. */
static void keep_later(struct seam_worker *w, struct seam_round *r, size_t at)
{
	size_t size = r->side.size - at;

	if (!size)
		return;
	memmove(r->side.bytes, r->side.bytes + at, size);
	w->later = (struct seam_side){r->side.bytes, size};
	r->side = (struct seam_side){0};
}

struct untold_ctx {
	struct seam_worker *worker;
	uint64_t until_ns;
};

static void end_one(void *ctx, uint64_t pid, void *value)
{
	struct untold_ctx *c = ctx;

	(void)value;
	seam_processes_untold(c->worker->processes, (uint32_t)pid, c->until_ns);
}

static void end_untold(struct seam_worker *w, const struct seam_round *r)
{
	struct untold_ctx ctx = {w, r->untold_ns};

	seam_idmap_each(&r->untold, end_one, &ctx);
	if (r->all_untold_ns)
		seam_processes_all_untold(w->processes, r->all_untold_ns);
}

/* Copies are unwound with what was mapped when they were taken. Records of
 * later than the round wait: an exec may be among them whose task's copy, of
 * before it, comes in the next round. */
static int work(struct seam_worker *w, struct seam_round *r)
{
	const struct seam_wire *rec;
	size_t at = 0, size, side = 0;
	const int no_side = take_later(w, r);
	int err = no_side, one_err = 0;

	while ((rec = seam_batch_next(&r->copies, &at, &size))) {
		/* Others wait for these. */
		int e = serve(w);

		if (!one_err)
			one_err = e;
		if (!err)
			err = follow(w, r, &side, rec->time_ns);
		e = on_record(w, r, rec, size, err);
		if (!one_err)
			one_err = e;
	}
	/* Before a fork of the round copies them, and of those born in it. */
	end_untold(w, r);
	if (!err)
		err = follow(w, r, &side, r->until_ns);
	end_untold(w, r);
	if (!no_side)
		keep_later(w, r, side);
	return err ? err : one_err;
}

static void drop_spares(struct seam_worker *w)
{
	struct seam_spares dropped;

	pthread_mutex_lock(&w->lock);
	dropped = w->spares;
	w->spares = (struct seam_spares){0};
	pthread_mutex_unlock(&w->lock);
	seam_spares_fini(&dropped);
}

/* Lets go of what nobody needs any more. */
static void tend(struct seam_worker *w)
{
	seam_processes_forget(w->processes, seam_now_ns());
	seam_images_release(w->processes->images, seam_now_ns());
	if (w->tables)
		seam_tables_tend(w->tables);
	if (w->requests)
		seam_requests_pass(w->requests, seam_now_ns() - OURS_NS);
}

static void end_round(struct seam_worker *w, struct seam_round *r)
{
	/* One whose program was interrupted comes a round after its time. */
	if (w->requests)
		seam_requests_pass(w->requests, w->passed_ns);
	w->passed_ns = r->until_ns;
	pthread_mutex_lock(&w->lock);
	seam_spares_put(&w->spares, &r->copies);
	pthread_mutex_unlock(&w->lock);
	seam_round_free(r);
}

/* With the lock, without it while it waits: until there is a round or a
 * request, or time to tend, or the end. */
static void await_work(struct seam_worker *w)
{
	struct pollfd fds[] = {
		{.fd = w->wake_fd, .events = POLLIN},
		{.fd = w->requests ? seam_requests_fd(w->requests) : -1,
		 .events = POLLIN},
	};

	if (w->first || w->stop)
		return;
	pthread_mutex_unlock(&w->lock);
	w->is_idle = !poll(fds, sizeof(fds) / sizeof(fds[0]), TEND_MS);
	seam_wake_heard(w->wake_fd);
	pthread_mutex_lock(&w->lock);
}

/* The next round, NULL: none is there. Return: false at the end. */
static bool next_round(struct seam_worker *w, struct seam_round **ret)
{
	struct seam_round *r;
	bool more;

	pthread_mutex_lock(&w->lock);
	w->busy = false;
	pthread_cond_broadcast(&w->changed);
	await_work(w);
	r = w->first;
	if (r) {
		w->first = r->next;
		if (!w->first)
			w->last = &w->first;
		w->waiting -= r->copies.used + r->side.size;
		w->busy = true;
	}
	more = r || !w->stop;
	if (r && w->untold_ns > r->all_untold_ns)
		r->all_untold_ns = w->untold_ns;
	if (r)
		w->untold_ns = 0;
	pthread_mutex_unlock(&w->lock);
	*ret = r;
	return more;
}

static void *run(void *arg)
{
	struct seam_worker *w = arg;
	struct seam_round *r;

	while (next_round(w, &r)) {
		size_t held = r ? r->held.n : 0;
		int err = serve(w), work_err = r ? work(w, r) : 0;

		err = err ? err : work_err;
		tend(w);
		if (r)
			end_round(w, r);
		else if (w->is_idle)
			drop_spares(w);
		pthread_mutex_lock(&w->lock);
		w->held -= held;
		w->stats.images = w->processes->images->stats;
		w->stats.made = w->processes->jit.stats;
		w->stats.files_stuck = w->processes->fetch.timeouts;
		w->stats.frames = w->copier.frames;
		w->stats.unwind_ns = w->copier.unwind_ns;
		w->stats.dump = w->copier.counts;
		w->published = w->stats;
		if (err && !w->err)
			w->err = err;
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

static int open_requests(struct seam_worker *w)
{
	w->wake_fd = seam_wake_open();
	if (w->wake_fd < 0)
		return w->wake_fd;
	return w->tables ? seam_requests_open(seam_tables_kernel(w->tables),
					      w->tables, NULL, &w->requests)
			 : 0;
}

static void fini(struct seam_worker *w)
{
	seam_requests_close(w->requests);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	free(w);
}

int seam_worker_start(struct seam_processes *processes,
		      struct seam_tables *tables, uint32_t methods,
		      uint32_t max_frames, struct seam_worker **ret)
{
	struct seam_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->processes = processes;
	w->tables = tables;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	err = open_requests(w);
	if (!err)
		err = seam_copier_init(&w->copier, processes, methods,
				       max_frames);
	if (err) {
		fini(w);
		return err;
	}
	err = seam_thread_start(&w->thread, run, w);
	if (err) {
		seam_copier_fini(&w->copier);
		fini(w);
		return err;
	}
	*ret = w;
	return 0;
}

struct seam_worker *seam_worker_stop(struct seam_worker *w)
{
	if (!w)
		return NULL;
	/* It does not wait for the condition. */
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_mutex_unlock(&w->lock);
	seam_wake(w->wake_fd);
	seam_thread_stop(&w->thread, 1, &w->lock, &w->changed, &w->stop);
	for (size_t i = 0; i < w->n_done; i++)
		free(w->done[i].ips);
	free(w->done);
	free(w->later.bytes);
	seam_spares_fini(&w->spares);
	seam_copier_fini(&w->copier);
	fini(w);
	return NULL;
}

int seam_worker_give(struct seam_worker *w, struct seam_batch *copies,
		     struct seam_held *held,
		     const struct seam_worker_side *side)
{
	struct seam_round *r;
	int err = 0;

	if (!copies->used && !side->n)
		return 0;
	r = seam_round_new(side);
	if (!r)
		return -ENOMEM;
	pthread_mutex_lock(&w->lock);
	if (copies->used && w->waiting > MAX_WAITING) {
		if (seam_round_untold(r, copies)) /* not each can be named */
			r->all_untold_ns = seam_now_ns();
		err = -ENOBUFS; /* of the copies only, see below */
	} else {
		r->copies.bytes = copies->bytes;
		r->copies.used = copies->used;
		r->copies.room = copies->room;
		copies->bytes = NULL;
		copies->used = 0;
		copies->room = 0;
		seam_spares_take(&w->spares, copies);
		r->held = *held;
		*held = (struct seam_held){0};
	}
	/* Sideband is small, and without it all that follows would be wrong. */
	*w->last = r;
	w->last = &r->next;
	w->waiting += r->copies.used + r->side.size;
	w->held += r->held.n;
	pthread_mutex_unlock(&w->lock);
	seam_wake(w->wake_fd);
	return err;
}

void seam_worker_untold(struct seam_worker *w, uint64_t time_ns)
{
	struct seam_round *r;
	uint64_t *untold_ns = &w->untold_ns;

	pthread_mutex_lock(&w->lock);
	/* Behind what was said before. */
	for (r = w->first; r; r = r->next)
		untold_ns = &r->all_untold_ns;
	if (time_ns > *untold_ns)
		*untold_ns = time_ns;
	pthread_mutex_unlock(&w->lock);
}

size_t seam_worker_held(struct seam_worker *w)
{
	size_t n;

	pthread_mutex_lock(&w->lock);
	n = w->held;
	pthread_mutex_unlock(&w->lock);
	return n;
}

long seam_worker_take(struct seam_worker *w, struct seam_unwound **ret)
{
	long n;

	pthread_mutex_lock(&w->lock);
	n = w->err ? w->err : (long)w->n_done;
	if (w->err) {
		w->err = 0;
	} else {
		*ret = w->done;
		w->done = NULL;
		w->n_done = 0;
		w->max_done = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}

void seam_worker_stats(struct seam_worker *w, struct seam_worker_stats *ret)
{
	*ret = (struct seam_worker_stats){0};
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	*ret = w->published;
	pthread_mutex_unlock(&w->lock);
}

void seam_worker_wait(struct seam_worker *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->first || w->busy)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
}
