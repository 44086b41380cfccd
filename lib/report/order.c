// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/thread.h"
#include "stitch/slice.h"

#define THREADS 4 /* beside the caller's: more have nothing left to print */
/* At a time. Fewer wake threads more often, for what takes less than waking. */
#define SAMPLES 256
#define SLOTS 2 /* for each thread: one is printed while another is filled */

static_assert(SLOTS * (THREADS + 1) * SAMPLES < SEAM_STITCH_KEPT,
	      "what is printed is still there");

/* Samples, from the stitcher to the caller. */
struct slot {
	struct seam_slice slice;
	struct seam_strbuf text;
	bool is_printed;
	int rc; /* of printing */
};

struct thread {
	struct seam_order *order;
	struct seam_printer *printer;
};

/* Who fills a slot, or prints one, does it without the lock: it is nobody
 * else's meanwhile, and so is the stitcher of who fills. */
struct seam_order {
	struct seam_order_opts opts;
	struct thread threads[THREADS + 1]; /* the first is the caller */
	pthread_t ids[THREADS];
	size_t n_threads; /* beside the caller's */
	pthread_mutex_t resolving; /* the resolver */
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct slot *slots;
	size_t n_slots;
	size_t made, taken, used; /* slots, in all */
	bool is_filling;
	bool is_delivered; /* slot used is the caller's */
	bool is_over; /* nobody asks for more */
	bool is_done; /* the stitcher has no more: */
	int rc;
};

static struct slot *slot_of(struct seam_order *o, size_t i)
{
	return &o->slots[i % o->n_slots];
}

static bool can_fill(const struct seam_order *o)
{
	return !o->is_filling && !o->is_done && o->made - o->used < o->n_slots;
}

/* Both with the lock held, but not while they are at work. */
static void fill(struct seam_order *o)
{
	struct slot *slot = slot_of(o, o->made);
	int rc;

	o->is_filling = true;
	pthread_mutex_unlock(&o->lock);
	rc = seam_slice_fill(&slot->slice, o->opts.stitch, SAMPLES);
	seam_strbuf_reset(&slot->text);
	slot->is_printed = false;
	slot->rc = 0;
	pthread_mutex_lock(&o->lock);
	o->is_filling = false;
	o->made++;
	if (rc <= 0) {
		o->is_done = true;
		o->rc = rc;
	}
	pthread_cond_broadcast(&o->changed);
}

static void print(struct seam_order *o, struct seam_printer *printer)
{
	struct slot *slot = slot_of(o, o->taken++);
	const struct seam_slice *slice = &slot->slice;
	int rc = 0;

	pthread_mutex_unlock(&o->lock);
	for (size_t i = 0; !rc && i < slice->n; i++)
		if (!o->opts.wants || o->opts.wants(o->opts.ctx, &slice->v[i]))
			rc = seam_printer_add(printer, &slice->v[i],
					      &slot->text);
	pthread_mutex_lock(&o->lock);
	slot->rc = rc;
	slot->is_printed = true;
	pthread_cond_broadcast(&o->changed);
}

/* The first of them stays with the stitcher, whose data are in its CPU's cache,
 * as long as there is room. */
static void *run(void *arg)
{
	struct thread *t = arg;
	struct seam_order *o = t->order;
	const bool is_first = t == &o->threads[1];

	pthread_mutex_lock(&o->lock);
	while (!o->is_over) {
		if (is_first && can_fill(o))
			fill(o);
		else if (o->taken < o->made)
			print(o, t->printer);
		else if (can_fill(o))
			fill(o);
		else
			pthread_cond_wait(&o->changed, &o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static void let_go(struct seam_order *o)
{
	for (size_t i = 0; i <= THREADS; i++)
		seam_printer_free(o->threads[i].printer);
	for (size_t i = 0; i < o->n_slots; i++) {
		seam_slice_fini(&o->slots[i].slice);
		seam_strbuf_fini(&o->slots[i].text);
	}
	free(o->slots);
	seam_printed_lines_free(o->opts.printer.lines);
	pthread_mutex_destroy(&o->resolving);
	free(o);
}

/* Those that can be had. */
static int start(struct seam_order *o)
{
	const size_t cpus = seam_cpus(), n = cpus > THREADS ? THREADS + 1
					     : cpus > 2	    ? cpus
							    : 2;
	int rc = 0;

	o->slots = calloc(SLOTS * n, sizeof(*o->slots));
	if (!o->slots)
		return -ENOMEM;
	o->n_slots = SLOTS * n; /* before any of them looks */
	if (!o->opts.printer.json) {
		o->opts.printer.lines = seam_printed_lines_new(
			seam_pd_n_records(o->opts.printer.reader));
		rc = o->opts.printer.lines ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !rc && i < n; i++) {
		struct thread *t = &o->threads[i];

		t->order = o;
		rc = seam_printer_new(&o->opts.printer, &o->resolving,
				      &t->printer);
		if (!rc && i)
			rc = seam_thread_start(&o->ids[i - 1], run, t);
		if (!rc && i)
			o->n_threads++;
	}
	return o->n_threads ? 0 : rc;
}

int seam_order_new(const struct seam_order_opts *opts, struct seam_order **ret)
{
	struct seam_order *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return -ENOMEM;
	o->opts = *opts;
	pthread_mutex_init(&o->resolving, NULL);
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->changed, NULL);
	rc = start(o);
	if (rc) {
		pthread_cond_destroy(&o->changed);
		pthread_mutex_destroy(&o->lock);
		let_go(o);
		return rc;
	}
	*ret = o;
	return 0;
}

struct seam_order *seam_order_free(struct seam_order *o)
{
	if (!o)
		return NULL;
	seam_thread_stop(o->ids, o->n_threads, &o->lock, &o->changed,
			 &o->is_over);
	let_go(o);
	return NULL;
}

/* The next slot, when it is printed, with the lock held; NULL: there is none
 * any more. */
static struct slot *await(struct seam_order *o)
{
	for (;;) {
		struct slot *slot = slot_of(o, o->used);

		if (o->used < o->taken && slot->is_printed)
			return slot;
		if (o->taken < o->made)
			print(o, o->threads[0].printer);
		else if (o->is_done && o->used == o->made)
			return NULL;
		else
			pthread_cond_wait(&o->changed, &o->lock);
	}
}

int seam_order_next(struct seam_order *o, struct seam_strbuf **ret)
{
	struct slot *slot;
	int rc;

	pthread_mutex_lock(&o->lock);
	if (o->is_delivered) { /* what next() returned last is done with */
		rc = slot_of(o, o->used)->rc;
		if (rc) {
			pthread_mutex_unlock(&o->lock);
			return rc;
		}
		o->is_delivered = false;
		o->used++;
		pthread_cond_broadcast(&o->changed);
	}
	slot = await(o);
	rc = slot ? 1 : o->rc;
	o->is_delivered = slot != NULL;
	if (slot)
		*ret = &slot->text;
	pthread_mutex_unlock(&o->lock);
	return rc;
}
