// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "offline/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/thread.h"

struct seam_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[SEAM_POOL_MAX];
	size_t n_threads;
	size_t n_known; /* threads that have a number */
	bool is_over;
	/* The window; all but its numbers stand still meanwhile. */
	size_t n, next, done;
	void (*fn)(void *ctx, size_t i, size_t who);
	void *ctx;
};

/* With the lock held, but for fn. */
static void help(struct seam_pool *p, size_t who)
{
	while (p->next < p->n) {
		size_t i = p->next++;

		pthread_mutex_unlock(&p->lock);
		p->fn(p->ctx, i, who);
		pthread_mutex_lock(&p->lock);
		if (++p->done == p->n)
			pthread_cond_broadcast(&p->changed);
	}
}

static void *run(void *arg)
{
	struct seam_pool *p = arg;
	size_t who;

	pthread_mutex_lock(&p->lock);
	who = ++p->n_known; /* 0 is the caller's */
	while (!p->is_over) {
		help(p, who);
		if (!p->is_over)
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static size_t n_wanted(void)
{
	size_t n = seam_cpus() - 1;

	return n < SEAM_POOL_MAX ? n : SEAM_POOL_MAX;
}

int seam_pool_new(struct seam_pool **ret)
{
	struct seam_pool *p = calloc(1, sizeof(*p));
	size_t wanted = n_wanted();

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	while (p->n_threads < wanted &&
	       !seam_thread_start(&p->threads[p->n_threads], run, p))
		p->n_threads++;
	*ret = p;
	return 0;
}

struct seam_pool *seam_pool_free(struct seam_pool *p)
{
	if (!p)
		return NULL;
	seam_pool_finish(p);
	seam_thread_stop(p->threads, p->n_threads, &p->lock, &p->changed,
			 &p->is_over);
	free(p);
	return NULL;
}

void seam_pool_begin(struct seam_pool *p, size_t n,
		     void (*fn)(void *ctx, size_t i, size_t who), void *ctx)
{
	pthread_mutex_lock(&p->lock);
	p->n = n;
	p->next = p->done = 0;
	p->fn = fn;
	p->ctx = ctx;
	if (n)
		pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void seam_pool_finish(struct seam_pool *p)
{
	pthread_mutex_lock(&p->lock);
	help(p, 0);
	while (p->done < p->n)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}
