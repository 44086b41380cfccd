// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: threads get no signals, whoever makes them keeps his, and they
 * end when they are told that it is over. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"

#define N 3

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	size_t n_begun, n_blocked, n_ended;
};

static void *run(void *arg)
{
	struct shared *s = arg;
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	pthread_mutex_lock(&s->lock);
	s->n_begun++;
	s->n_blocked += sigismember(&mask, SIGTERM) == 1 &&
			sigismember(&mask, SIGXFSZ) == 1;
	pthread_cond_broadcast(&s->changed);
	while (!s->over)
		pthread_cond_wait(&s->changed, &s->lock);
	s->n_ended++;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void start_and_stop(void **state)
{
	struct shared s = {.lock = PTHREAD_MUTEX_INITIALIZER,
			   .changed = PTHREAD_COND_INITIALIZER};
	pthread_t threads[N];
	sigset_t mask;

	(void)state;
	for (size_t i = 0; i < N; i++)
		assert_int_equal(seam_thread_start(&threads[i], run, &s), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
	pthread_mutex_lock(&s.lock);
	while (s.n_begun < N)
		pthread_cond_wait(&s.changed, &s.lock);
	assert_int_equal(s.n_blocked, N);
	assert_int_equal(s.n_ended, 0);
	pthread_mutex_unlock(&s.lock);
	seam_thread_stop(threads, N, &s.lock, &s.changed, &s.over);
	assert_int_equal(s.n_ended, N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_and_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
