// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/serve.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "capture/requests.h"
#include "event/fail.h"
#include "event/order.h"
#include "kernel/engine.h"
#include "kernel/kernel.h"
#include "pager/tables.h"
#include "process/process.h"

/* Of the rings of who records, to which nothing comes here. */
#define RING_PAGES 1

struct seam_serve {
	struct seam_kernel *kernel;
	struct seam_images images;
	struct seam_processes processes; /* none: nobody is followed */
	struct seam_tables *tables;
	struct seam_requests *requests;
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
		err = seam_requests_open(s->kernel, s->tables, opts->opener,
					 &s->requests);
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
	seam_requests_close(s->requests);
	seam_tables_close(s->tables);
	seam_kernel_close(s->kernel);
	seam_processes_fini(&s->processes);
	seam_images_fini(&s->images);
	free(s);
	return NULL;
}

/* Nothing here takes samples; but what lies in their rings would wake us for
 * ever: of who had our number, that others had not swept yet. */
static void ignore(void *ctx, const struct seam_wire *rec, size_t size)
{
	(void)ctx;
	(void)rec;
	(void)size;
}

static int empty(struct seam_serve *s)
{
	int err;

	seam_kernel_rearm(s->kernel);
	err = seam_kernel_drain_copies(s->kernel, ignore, NULL);
	return err ? err : seam_kernel_drain_samples(s->kernel, ignore, NULL);
}

int seam_serve_work(struct seam_serve *s)
{
	int err = empty(s);

	if (!err)
		err = seam_requests_answer(s->requests);
	/* Nobody's copies are unwound here. */
	seam_images_release(&s->images, seam_now_ns());
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
