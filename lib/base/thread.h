/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Threads that work beside the caller's and leave all signals to those, which
 * may wait for some. */
#ifndef SEAM_LIB_BASE_THREAD_H
#define SEAM_LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Return: 0, or -errno, with *ret as it was. */
int seam_thread_start(pthread_t *ret, void *(*fn)(void *), void *arg);

/* Ends threads that wait for changes: sets *over under the lock, wakes them,
 * waits for the end of all n and destroys lock and condition, which nobody may
 * use any more. */
void seam_thread_stop(const pthread_t *threads, size_t n, pthread_mutex_t *lock,
		      pthread_cond_t *changed, bool *over);

#endif
