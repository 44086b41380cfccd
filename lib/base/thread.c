// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/thread.h"

#include <signal.h>

int seam_thread_start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	pthread_t thread;
	int err;

	/* A thread begins with the mask of who made it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	*ret = thread;
	return 0;
}

void seam_thread_stop(const pthread_t *threads, size_t n, pthread_mutex_t *lock,
		      pthread_cond_t *changed, bool *over)
{
	pthread_mutex_lock(lock);
	*over = true;
	pthread_cond_broadcast(changed);
	pthread_mutex_unlock(lock);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(changed);
	pthread_mutex_destroy(lock);
}
