// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/peek.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "base/thread.h"
#include "seam/unwind.h"

/* Once left behind it is the thread's, which frees it. */
struct seam_peek_thread {
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	enum { IDLE, ASKED, DONE } state;
	bool end, is_left;
	pid_t pid;
	uint64_t addr;
	size_t size;
	uint8_t *bytes;
	int result;
};

static void thread_free(struct seam_peek_thread *t)
{
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t->bytes);
	free(t);
}

static void *run(void *arg)
{
	struct seam_peek_thread *t = arg;
	bool is_left;
	int result;

	pthread_mutex_lock(&t->lock);
	while (!t->end) {
		if (t->state != ASKED) {
			pthread_cond_wait(&t->changed, &t->lock);
			continue;
		}
		pthread_mutex_unlock(&t->lock);
		result = seam_read_process(&t->pid, t->addr, t->bytes, t->size);
		pthread_mutex_lock(&t->lock);
		t->result = result;
		t->state = DONE;
		pthread_cond_signal(&t->changed);
	}
	is_left = t->is_left;
	pthread_mutex_unlock(&t->lock);
	if (is_left)
		thread_free(t);
	return NULL;
}

static int start(struct seam_peek_thread **ret)
{
	struct seam_peek_thread *t = calloc(1, sizeof(*t));
	pthread_condattr_t clock;
	int err;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &clock);
	pthread_condattr_destroy(&clock);
	err = seam_thread_start(&t->id, run, t);
	if (err) {
		thread_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

/* Under the lock. Return: false: it takes too long. */
static bool await(struct seam_peek_thread *t)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(SEAM_PEEK_NS / 1000000000);
	while (t->state != DONE && !err)
		err = pthread_cond_timedwait(&t->changed, &t->lock, &until);
	return t->state == DONE;
}

/* Under the lock, and unlocks. */
static void leave(struct seam_peek *p, struct seam_peek_thread *t)
{
	t->end = t->is_left = true;
	pthread_detach(t->id);
	pthread_mutex_unlock(&t->lock);
	p->thread = NULL;
	p->left++;
}

int seam_peek_read(struct seam_peek *p, uint32_t pid, uint64_t addr, void *to,
		   size_t size)
{
	struct seam_peek_thread *t;
	uint8_t *bytes;
	int err = 0;

	if (p->left >= SEAM_PEEK_LEFT)
		return -EBUSY;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	if (!p->thread)
		err = start(&p->thread);
	if (err) {
		free(bytes);
		return err;
	}
	t = p->thread;
	pthread_mutex_lock(&t->lock);
	t->pid = (pid_t)pid;
	t->addr = addr;
	t->size = size;
	t->bytes = bytes;
	t->state = ASKED;
	pthread_cond_signal(&t->changed);
	if (!await(t)) {
		leave(p, t);
		return -ETIMEDOUT;
	}
	err = t->result;
	if (!err)
		memcpy(to, bytes, size);
	t->state = IDLE;
	t->bytes = NULL;
	pthread_mutex_unlock(&t->lock);
	free(bytes);
	return err;
}

void seam_peek_fini(struct seam_peek *p)
{
	struct seam_peek_thread *t = p->thread;

	p->thread = NULL;
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->end = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->id, NULL);
	thread_free(t);
}
