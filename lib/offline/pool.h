/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Threads that share out the items of a window, one window at a time, while
 * the caller does something else; it helps when it needs the result.
 *
 *	seam_pool_begin(pool, n, do_one, ctx);
 *	...
 *	seam_pool_finish(pool);
 */
#ifndef SEAM_LIB_OFFLINE_POOL_H
#define SEAM_LIB_OFFLINE_POOL_H

#include <stddef.h>

#define SEAM_POOL_MAX 32 /* threads */
#define SEAM_POOL_WHO (SEAM_POOL_MAX + 1)

struct seam_pool;

/* As many threads as there are processors to run on, less the caller's; where
 * one cannot be had, fewer. Return: 0 or -ENOMEM. */
int seam_pool_new(struct seam_pool **ret);
/* NULL is fine. Finishes first. Return: NULL. */
struct seam_pool *seam_pool_free(struct seam_pool *pool);

/* Each of the numbers below n is given to fn once, in any order, and with it
 * who does it: one thing at a time has that number, of SEAM_POOL_WHO. What was
 * begun before has to be finished. */
void seam_pool_begin(struct seam_pool *pool, size_t n,
		     void (*fn)(void *ctx, size_t i, size_t who), void *ctx);
/* Until all is done. */
void seam_pool_finish(struct seam_pool *pool);

#endif
