// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/thread.h"

#define N_BATCHES 3
#define BATCH 256 /* samples, */
#define BATCH_FRAMES 16384 /* or as many with that many frames */

struct batch {
	size_t n, n_frames, cap_frames;
	struct seam_frame *frames;
	size_t frames_at[BATCH];
	struct seam_pd_rec recs[BATCH];
	struct seam_stitched v[BATCH];
};

struct seam_ahead {
	struct seam_stitch *stitch;
	struct batch batches[N_BATCHES];
	struct batch *now; /* that next() delivers from */
	size_t at; /* its next sample */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t made, used; /* batches, in all */
	bool is_over; /* nobody asks for more */
	bool is_done; /* and there are none: */
	int rc;
};

static int keep(struct batch *b, const struct seam_stitched *s)
{
	if (seam_grow(&b->frames, b->n_frames + s->n_frames, &b->cap_frames,
		      sizeof(*b->frames)))
		return -ENOMEM;
	if (s->n_frames)
		memcpy(b->frames + b->n_frames, s->frames,
		       s->n_frames * sizeof(*b->frames));
	b->frames_at[b->n] = b->n_frames;
	b->n_frames += s->n_frames;
	b->recs[b->n] = *s->rec;
	b->v[b->n] = *s;
	b->v[b->n].rec = &b->recs[b->n];
	b->n++;
	return 0;
}

/* Return: as seam_stitch_next() did last. */
static int fill(struct seam_stitch *stitch, struct batch *b)
{
	struct seam_stitched s;
	int rc = 1;

	b->n = b->n_frames = 0;
	while (b->n < BATCH && b->n_frames < BATCH_FRAMES) {
		rc = seam_stitch_next(stitch, &s);
		if (rc > 0 && keep(b, &s))
			rc = -ENOMEM;
		if (rc <= 0)
			break;
	}
	for (size_t i = 0; i < b->n; i++) /* they move no more */
		b->v[i].frames = b->frames + b->frames_at[i];
	return rc;
}

static void *run(void *arg)
{
	struct seam_ahead *a = arg;
	int rc = 1;

	pthread_mutex_lock(&a->lock);
	while (rc > 0 && !a->is_over) {
		if (a->made - a->used == N_BATCHES) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		rc = fill(a->stitch, &a->batches[a->made % N_BATCHES]);
		pthread_mutex_lock(&a->lock);
		a->made++;
		pthread_cond_broadcast(&a->changed);
	}
	a->is_done = true;
	a->rc = rc;
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

int seam_ahead_new(struct seam_stitch *s, struct seam_ahead **ret)
{
	struct seam_ahead *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->stitch = s;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	rc = seam_thread_start(&a->thread, run, a);
	if (rc) {
		pthread_cond_destroy(&a->changed);
		pthread_mutex_destroy(&a->lock);
		free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

struct seam_ahead *seam_ahead_free(struct seam_ahead *a)
{
	if (!a)
		return NULL;
	seam_thread_stop(&a->thread, 1, &a->lock, &a->changed, &a->is_over);
	for (size_t i = 0; i < N_BATCHES; i++)
		free(a->batches[i].frames);
	free(a);
	return NULL;
}

/* Return: 1, or why there is none. */
static int next_batch(struct seam_ahead *a)
{
	int rc = 1;

	pthread_mutex_lock(&a->lock);
	if (a->now) {
		a->used++;
		pthread_cond_broadcast(&a->changed);
	}
	while (a->made == a->used && !a->is_done)
		pthread_cond_wait(&a->changed, &a->lock);
	a->at = 0;
	a->now = NULL;
	if (a->made == a->used)
		rc = a->rc;
	else
		a->now = &a->batches[a->used % N_BATCHES];
	pthread_mutex_unlock(&a->lock);
	return rc;
}

int seam_ahead_next(struct seam_ahead *a, struct seam_stitched *ret)
{
	while (!a->now || a->at == a->now->n) {
		int rc = next_batch(a);

		if (rc <= 0)
			return rc;
	}
	*ret = a->now->v[a->at++];
	return 1;
}
