// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/requests.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/wake.h"
#include "process/far.h"

/* As many as their ring holds. */
#define MAX_REQUESTS (SEAM_REQUESTS_SIZE / sizeof(struct seam_wire_miss))
/* Files that are held open while others are read, and for their turn. */
#define MAX_HELD 256

struct request {
	struct seam_wire_miss miss;
	int fd; /* of the file, or negative */
};

struct seam_requests {
	struct seam_kernel *kernel;
	struct seam_tables *tables;
	const struct seam_opener *opener;
	pthread_t thread; /* that takes them, if there is no opener */
	int room_fd; /* for it, when there is room again, or it is to end */
	pthread_mutex_t lock; /* of what follows, up to ours */
	int come_fd; /* readable while the queue is not empty */
	struct request queue[MAX_REQUESTS];
	size_t first, n, n_held;
	bool over;
	/* Who answers has these: files of our own tasks, for their turn. */
	struct request ours[MAX_HELD];
	size_t n_ours;
};

/* --- taking them --- */

static bool may_hold(struct seam_requests *r, const struct seam_wire_miss *miss)
{
	bool has_room;

	/* One that is far may never open. */
	if (seam_is_far(miss->fs_magic, miss->fs_flags))
		return false;
	pthread_mutex_lock(&r->lock);
	has_room = r->n_held < MAX_HELD;
	pthread_mutex_unlock(&r->lock);
	return has_room;
}

/* Its process may end at any moment: the file is opened at once, the table made
 * when those that were asked for before are. Return: whether another one has
 * room. */
static bool take_one(void *ctx, const struct seam_wire_miss *miss)
{
	struct seam_requests *r = ctx;
	struct request new = {.miss = *miss, .fd = -EMFILE};
	bool has_room;

	if (may_hold(r, miss))
		new.fd = seam_tables_hold(r->kernel, r->opener, miss);
	pthread_mutex_lock(&r->lock);
	if (!r->n)
		seam_wake(r->come_fd);
	r->queue[(r->first + r->n++) % MAX_REQUESTS] = new;
	r->n_held += new.fd >= 0;
	has_room = r->n < MAX_REQUESTS;
	pthread_mutex_unlock(&r->lock);
	return has_room;
}

static bool has_room(struct seam_requests *r)
{
	bool has;

	pthread_mutex_lock(&r->lock);
	has = r->n < MAX_REQUESTS;
	pthread_mutex_unlock(&r->lock);
	return has;
}

/* As many as there is room for: the rest stays in the ring. Nothing else ends
 * it. */
static void take(struct seam_requests *r)
{
	if (has_room(r))
		(void)seam_kernel_drain_requests(r->kernel, take_one, r);
}

static bool is_over(struct seam_requests *r)
{
	bool over;

	pthread_mutex_lock(&r->lock);
	over = r->over;
	pthread_mutex_unlock(&r->lock);
	return over;
}

/* A single table may take a second to make, and the processes that ask
 * meanwhile have ended by then. */
static void *run(void *arg)
{
	struct seam_requests *r = arg;
	struct pollfd fds[] = {
		{.fd = r->room_fd, .events = POLLIN},
		{.events = POLLIN},
	};

	while (!is_over(r)) {
		fds[1].fd =
			has_room(r) ? seam_kernel_requests_fd(r->kernel) : -1;
		poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
		seam_wake_heard(r->room_fd);
		take(r);
	}
	return NULL;
}

/* --- answering them --- */

/* Without a thread those that have come are taken here. */
static void arrive(struct seam_requests *r)
{
	seam_kernel_serves(r->kernel);
	if (r->opener)
		take(r);
}

static bool take_first(struct seam_requests *r, struct request *ret)
{
	bool was_full, is_any;

	pthread_mutex_lock(&r->lock);
	was_full = r->n == MAX_REQUESTS;
	is_any = r->n;
	if (is_any) {
		*ret = r->queue[r->first];
		r->first = (r->first + 1) % MAX_REQUESTS;
		r->n_held -= ret->fd >= 0;
		if (!--r->n)
			seam_wake_heard(r->come_fd);
	}
	pthread_mutex_unlock(&r->lock);
	if (was_full)
		seam_wake(r->room_fd);
	return is_any;
}

/* A task of ours may be gone, and its file with it, when it asks in turn. */
static void keep_ours(struct seam_requests *r, const struct request *of)
{
	if (of->miss.client == seam_kernel_client(r->kernel) &&
	    r->n_ours < MAX_HELD)
		r->ours[r->n_ours++] = *of;
	else
		close(of->fd);
}

int seam_requests_answer(struct seam_requests *r)
{
	struct request first;
	int err = 0;

	arrive(r);
	for (size_t i = 0; !err && i < MAX_REQUESTS && take_first(r, &first);
	     i++) {
		err = seam_tables_serve(r->tables, &first.miss, first.fd);
		if (first.fd >= 0)
			keep_ours(r, &first);
		arrive(r);
	}
	return err;
}

int seam_requests_take(struct seam_requests *r, const struct seam_file_key *key)
{
	for (size_t i = 0; i < r->n_ours; i++) {
		int fd = r->ours[i].fd;

		if (memcmp(&r->ours[i].miss.key, key, sizeof(*key)))
			continue;
		r->ours[i] = r->ours[--r->n_ours];
		return fd;
	}
	return -ENOENT;
}

void seam_requests_pass(struct seam_requests *r, uint64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_ours; i++) {
		if (r->ours[i].miss.head.time_ns < until_ns)
			close(r->ours[i].fd);
		else
			r->ours[kept++] = r->ours[i];
	}
	r->n_ours = kept;
}

int seam_requests_fd(const struct seam_requests *r)
{
	return r->opener ? seam_kernel_requests_fd(r->kernel) : r->come_fd;
}

/* --- from begin to end --- */

static void drop_all(struct seam_requests *r)
{
	struct request first;

	while (take_first(r, &first))
		if (first.fd >= 0)
			close(first.fd);
	seam_requests_pass(r, UINT64_MAX);
}

static void fini(struct seam_requests *r)
{
	drop_all(r);
	if (r->come_fd >= 0)
		close(r->come_fd);
	if (r->room_fd >= 0)
		close(r->room_fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static int begin(struct seam_requests *r)
{
	r->come_fd = seam_wake_open();
	r->room_fd = seam_wake_open();
	if (r->come_fd < 0)
		return r->come_fd;
	if (r->room_fd < 0)
		return r->room_fd;
	/* An opener is spoken to by one thread. */
	return r->opener ? 0 : seam_thread_start(&r->thread, run, r);
}

int seam_requests_open(struct seam_kernel *k, struct seam_tables *tables,
		       const struct seam_opener *opener,
		       struct seam_requests **ret)
{
	struct seam_requests *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->kernel = k;
	r->tables = tables;
	r->opener = opener;
	pthread_mutex_init(&r->lock, NULL);
	err = begin(r);
	if (err) {
		fini(r);
		return err;
	}
	*ret = r;
	return 0;
}

struct seam_requests *seam_requests_close(struct seam_requests *r)
{
	if (!r)
		return NULL;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_mutex_unlock(&r->lock);
	seam_wake(r->room_fd);
	if (!r->opener)
		pthread_join(r->thread, NULL);
	fini(r);
	return NULL;
}
