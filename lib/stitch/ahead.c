// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/ahead.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "stitch/slice.h"

#define N_BATCHES 3

static_assert(N_BATCHES * SEAM_SLICE < SEAM_STITCH_KEPT,
	      "what is delivered is still there");

struct seam_ahead {
	struct seam_stitch *stitch;
	struct seam_slice batches[N_BATCHES];
	struct seam_slice *now; /* that next() delivers from */
	size_t at; /* its next sample */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t made, used; /* batches, in all */
	bool is_over; /* nobody asks for more */
	bool is_done; /* and there are none: */
	int rc;
};

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
		rc = seam_slice_fill(&a->batches[a->made % N_BATCHES],
				     a->stitch, SEAM_SLICE);
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
		seam_slice_fini(&a->batches[i]);
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
