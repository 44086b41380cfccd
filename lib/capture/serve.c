// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "event/fail.h"
#include "event/order.h"
#include "kernel/engine.h"
#include "kernel/kernel.h"
#include "pager/tables.h"
#include "process/far.h"
#include "process/process.h"

/* Of each ring; requests alone come here. A full one asks again. */
#define RING_PAGES 64
/* As many as the ring of requests holds. */
#define MAX_REQUESTS (RING_PAGES * 4096 / sizeof(struct seam_wire_miss))
/* Files that are held open while others are read. */
#define MAX_HELD 512

struct request {
	struct seam_wire_miss miss;
	int fd; /* of the file, or negative */
};

struct seam_serve {
	struct seam_kernel *kernel;
	struct seam_images images;
	struct seam_processes processes; /* none: nobody is followed */
	struct seam_tables *tables;
	struct request requests[MAX_REQUESTS]; /* a queue */
	size_t first, n_requests, n_held;
};

static int open_kernel(const struct seam_serve_opts *opts, struct seam_serve *s,
		       struct seam_errinfo *reterr)
{
	struct seam_kernel_opts kernel = {
		.stack_copy =
			opts->stack_copy ? opts->stack_copy : SEAM_MAX_COPY,
		.buffer_pages = RING_PAGES,
		.only_tables = true,
	};
	const char *order = opts->unwind ? opts->unwind : SEAM_DEFAULT_ORDER;
	const char *wrong = seam_order_parse(order, &kernel.methods), *why;
	int err;

	if (wrong)
		return seam_fail(reterr, -EINVAL, "unwind '%s': %s", order,
				 wrong);
	if (seam_kernel_is_realtime(NULL))
		return seam_fail(reterr, -ENOTSUP,
				 "no engine deferred: " SEAM_REALTIME_WHY);
	err = seam_kernel_open(&kernel, &s->kernel, reterr);
	if (err)
		return err;
	seam_kernel_others(s->kernel, &why);
	return why ? seam_fail(reterr, -ENOTSUP, "nothing can be shared: %s",
			       why)
		   : 0;
}

int seam_serve_open(const struct seam_serve_opts *opts, struct seam_serve **ret,
		    struct seam_errinfo *reterr)
{
	const struct seam_session_opts tables = {
		.table_memory = opts->table_memory,
	};
	struct seam_serve *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->processes.images = &s->images;
	s->processes.opener = opts->opener;
	err = open_kernel(opts, s, reterr);
	if (!err)
		err = seam_tables_open(s->kernel, &s->processes, &tables,
				       &s->tables);
	if (!err)
		err = seam_tables_begin(s->tables);
	if (err) {
		seam_serve_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct seam_serve *seam_serve_close(struct seam_serve *s)
{
	if (!s)
		return NULL;
	for (; s->n_requests; s->n_requests--, s->first++)
		if (s->requests[s->first % MAX_REQUESTS].fd >= 0)
			close(s->requests[s->first % MAX_REQUESTS].fd);
	seam_tables_close(s->tables);
	seam_kernel_close(s->kernel);
	seam_processes_fini(&s->processes);
	seam_images_fini(&s->images);
	free(s);
	return NULL;
}

/* Its process may end at any moment: the file is opened at once, the table made
 * when those that were asked for before are. */
static void hold(void *ctx, const struct seam_wire *rec, size_t size)
{
	const struct seam_wire_miss *miss = (const void *)rec;
	struct seam_serve *s = ctx;
	struct request *r;

	if (rec->type != SEAM_WIRE_MISS || size < sizeof(*miss) ||
	    s->n_requests == MAX_REQUESTS)
		return;
	r = &s->requests[(s->first + s->n_requests++) % MAX_REQUESTS];
	r->miss = *miss;
	r->fd = -EMFILE;
	if (seam_is_far(miss->fs_magic, miss->fs_flags)) {
		seam_kernel_count_far(s->kernel);
		r->fd = -EREMOTE;
	} else if (s->n_held < MAX_HELD) {
		r->fd = seam_tables_hold(s->kernel, s->processes.opener, miss);
		s->n_held += r->fd >= 0;
	}
}

/* Nothing here takes samples; but what lies in their ring would wake us for
 * ever. */
static void ignore(void *ctx, const struct seam_wire *rec, size_t size)
{
	(void)ctx;
	(void)rec;
	(void)size;
}

/* What was asked for since. */
static int take(struct seam_serve *s)
{
	int err;

	seam_kernel_rearm(s->kernel);
	err = seam_kernel_drain_copies(s->kernel, hold, s);
	return err ? err : seam_kernel_drain_samples(s->kernel, ignore, NULL);
}

static int answer_first(struct seam_serve *s)
{
	struct request *r = &s->requests[s->first];
	int err = seam_tables_answer(s->tables, &r->miss, r->fd);

	if (r->fd >= 0) {
		close(r->fd);
		s->n_held--;
	}
	s->first = (s->first + 1) % MAX_REQUESTS;
	s->n_requests--;
	return err;
}

int seam_serve_work(struct seam_serve *s)
{
	int err = take(s);

	/* A table may take long to make, and processes end meanwhile: what they
	 * ask for is opened between any two. */
	for (size_t i = 0; !err && s->n_requests && i < MAX_REQUESTS; i++) {
		err = answer_first(s);
		if (!err)
			err = take(s);
	}
	/* Nobody's copies are unwound here. */
	seam_images_release(&s->images);
	seam_tables_tend(s->tables);
	return err;
}

int seam_serve_fd(const struct seam_serve *s)
{
	return seam_kernel_poll_fd(s->kernel);
}

bool seam_serve_has_clients(const struct seam_serve *s)
{
	return seam_kernel_has_others(s->kernel);
}
