// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/far.h"
#include "process/held.h"

/* As many as their ring holds. */
#define MAX_REQUESTS (SEAM_REQUESTS_SIZE / sizeof(struct seam_wire_miss))
/* Files that are held open while others are read. */
#define MAX_HELD 256
#define MAX_OURS 64
#define OURS_NS 5000000000

struct request {
	struct seam_wire_miss miss;
	int fd; /* of the file, or negative */
};

struct seam_requests {
	struct seam_kernel *kernel;
	struct seam_tables *tables;
	const struct seam_opener *opener;
	struct request queue[MAX_REQUESTS];
	size_t first, n, n_held;
	/* Files of our own tasks, for when they ask in turn; and of before. */
	struct seam_held ours, older;
	uint64_t since_ns; /* older ones are of before then */
};

int seam_requests_open(struct seam_kernel *k, struct seam_tables *tables,
		       const struct seam_opener *opener,
		       struct seam_requests **ret)
{
	struct seam_requests *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->kernel = k;
	r->tables = tables;
	r->opener = opener;
	*ret = r;
	return 0;
}

struct seam_requests *seam_requests_close(struct seam_requests *r)
{
	if (!r)
		return NULL;
	for (; r->n; r->n--, r->first++)
		if (r->queue[r->first % MAX_REQUESTS].fd >= 0)
			close(r->queue[r->first % MAX_REQUESTS].fd);
	seam_held_fini(&r->ours);
	seam_held_fini(&r->older);
	free(r);
	return NULL;
}

/* Its process may end at any moment: the file is opened at once, the table made
 * when those that were asked for before are. One that is far may never open. */
static bool hold(void *ctx, const struct seam_wire_miss *miss)
{
	struct seam_requests *r = ctx;
	struct request *to = &r->queue[(r->first + r->n++) % MAX_REQUESTS];

	to->miss = *miss;
	to->fd = -EMFILE;
	if (r->n_held < MAX_HELD &&
	    !seam_is_far(miss->fs_magic, miss->fs_flags)) {
		to->fd = seam_tables_hold(r->kernel, r->opener, miss);
		r->n_held += to->fd >= 0;
	}
	return r->n < MAX_REQUESTS;
}

/* What was asked for since, as far as there is room for it: the rest stays in
 * the ring. */
static int take(struct seam_requests *r)
{
	seam_kernel_serves(r->kernel);
	return r->n < MAX_REQUESTS
		       ? seam_kernel_drain_requests(r->kernel, hold, r)
		       : 0;
}

/* A task of ours may be gone, and its file with it, when it asks in turn. */
static void keep_ours(struct seam_requests *r, const struct request *of)
{
	if (of->miss.client != seam_kernel_client(r->kernel)) {
		close(of->fd);
		return;
	}
	if (r->ours.n == MAX_OURS)
		close(seam_held_take(&r->ours, &r->ours.files[0].key));
	seam_held_add(&r->ours, &of->miss.key, of->fd);
}

int seam_requests_take(struct seam_requests *r, const struct seam_file_key *key)
{
	int fd = seam_held_take(&r->ours, key);

	return fd < 0 ? seam_held_take(&r->older, key) : fd;
}

void seam_requests_tend(struct seam_requests *r, uint64_t now_ns)
{
	if (now_ns - r->since_ns < OURS_NS)
		return;
	seam_held_fini(&r->older);
	r->older = r->ours;
	r->ours = (struct seam_held){0};
	r->since_ns = now_ns;
}

static int answer_first(struct seam_requests *r)
{
	struct request *first = &r->queue[r->first];
	int err = seam_tables_serve(r->tables, &first->miss, first->fd);

	if (first->fd >= 0) {
		keep_ours(r, first);
		r->n_held--;
	}
	r->first = (r->first + 1) % MAX_REQUESTS;
	r->n--;
	return err;
}

int seam_requests_answer(struct seam_requests *r)
{
	int err = take(r);

	/* A table may take long to make, and processes end meanwhile: what they
	 * ask for is opened between any two. */
	for (size_t i = 0; !err && r->n && i < MAX_REQUESTS; i++) {
		err = answer_first(r);
		if (!err)
			err = take(r);
	}
	return err;
}

int seam_requests_fd(const struct seam_requests *r)
{
	return seam_kernel_requests_fd(r->kernel);
}
