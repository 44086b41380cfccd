// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Pages of a recording are mapped in pieces, ahead of who reads them, since
 * faults, one for a few pages each, take longer. Of a large file a thread does
 * this, and at the end a share of unmapping them: with what is read of a stack
 * copy, these take longer than the reading. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cpus.h"
#include "base/thread.h"
#include "perfdata/reader-priv.h"

#define PIECE (2u << 20)
#define AHEAD 4 /* pieces */
/* A smaller file is not worth a thread. */
#define THREAD_MIN (16u << 20)

struct pd_bring {
	const struct pd_part *part;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t next; /* piece that nobody has taken */
	size_t end; /* the thread takes those before it */
	bool is_over;
};

/* Where the kernel does not know this, faults do it. */
static void bring(const struct pd_part *part, size_t piece)
{
#ifdef MADV_POPULATE_READ
	size_t off = piece * PIECE;
	size_t n = part->size - off < PIECE ? part->size - off : PIECE;

	madvise((void *)(part->p + off), n, MADV_POPULATE_READ);
#else
	(void)part;
	(void)piece;
#endif
}

static size_t n_pieces(const struct pd_part *part)
{
	return part->size / PIECE + (part->size % PIECE != 0);
}

static void *run(void *arg)
{
	struct pd_bring *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->is_over) {
		size_t piece = b->next;

		if (piece >= b->end) {
			pthread_cond_wait(&b->changed, &b->lock);
			continue;
		}
		b->next++;
		pthread_mutex_unlock(&b->lock);
		bring(b->part, piece);
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static bool is_worth_it(const struct pd_part *part)
{
	return part->mapped && part->size >= THREAD_MIN && seam_cpus() > 1;
}

void seam_pd_bring_begin(struct seam_pd_reader *r, const uint8_t *at)
{
	struct pd_bring *b;

	r->brought = at;
	if (!is_worth_it(r->part))
		return;
	b = calloc(1, sizeof(*b));
	if (!b)
		return;
	b->part = r->part;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	if (!seam_thread_start(&b->thread, run, b)) {
		r->bring = b;
		return;
	}
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void seam_pd_bring_end(struct seam_pd_reader *r)
{
	struct pd_bring *b = r->bring;

	if (!b)
		return;
	seam_thread_stop(&b->thread, 1, &b->lock, &b->changed, &b->is_over);
	free(b);
	r->bring = NULL;
}

/* Return: whether the piece is the caller's to bring. */
static bool take(struct pd_bring *b, size_t piece)
{
	size_t end = piece + 1 + AHEAD, n = n_pieces(b->part);
	bool mine;

	pthread_mutex_lock(&b->lock);
	mine = b->next <= piece;
	if (mine)
		b->next = piece + 1;
	b->end = end < n ? end : n;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	return mine;
}

void seam_pd_bring(struct seam_pd_reader *r, const uint8_t *at)
{
	const struct pd_part *part = r->part;
	size_t piece;

	if (!part->mapped || at < r->brought)
		return;
	piece = (size_t)(at - part->p) / PIECE;
	if (piece + 1 < n_pieces(part))
		r->brought = part->p + (piece + 1) * PIECE;
	else
		r->brought = part->p + part->size;
	if (!r->bring || take(r->bring, piece))
		bring(part, piece);
}

static void *unmap_part(void *arg)
{
	struct pd_part *part = arg;

	munmap((void *)part->p, part->size);
	return NULL;
}

void seam_pd_unmap(struct pd_part *part)
{
	struct pd_part rest = *part;
	size_t half = n_pieces(part) / 2 * PIECE;
	pthread_t thread;

	rest.p += half;
	rest.size -= half;
	if (is_worth_it(part) &&
	    !seam_thread_start(&thread, unmap_part, &rest)) {
		munmap((void *)part->p, half);
		pthread_join(thread, NULL);
		return;
	}
	munmap((void *)part->p, part->size);
}
