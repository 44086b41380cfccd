// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/printer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct seam_printer {
	struct seam_printer_opts opts;
	pthread_mutex_t *lock;
	struct seam_printed *printed; /* NULL: json */
	struct seam_text_head heads[SEAM_TEXT_HEADS];
	struct seam_name *names;
	size_t cap_names;
};

int seam_printer_new(const struct seam_printer_opts *opts,
		     pthread_mutex_t *lock, struct seam_printer **ret)
{
	struct seam_printer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->opts = *opts;
	p->lock = lock;
	if (!opts->json) {
		p->printed =
			seam_printed_new(opts->resolver, lock, opts->lines);
		if (!p->printed) {
			free(p);
			return -ENOMEM;
		}
	}
	*ret = p;
	return 0;
}

struct seam_printer *seam_printer_free(struct seam_printer *p)
{
	if (!p)
		return NULL;
	seam_printed_free(p->printed);
	free(p->names);
	free(p);
	return NULL;
}

/* What is named stays so; so only the naming needs the lock. */
static int resolve(struct seam_printer *p, const struct seam_stitched *s)
{
	int rc;

	if (seam_grow(&p->names, s->n_frames, &p->cap_names, sizeof(*p->names)))
		return -ENOMEM;
	if (p->lock)
		pthread_mutex_lock(p->lock);
	rc = seam_resolve(p->opts.resolver, s->frames, s->n_frames, p->names);
	if (p->lock)
		pthread_mutex_unlock(p->lock);
	return rc;
}

int seam_printer_add(struct seam_printer *p, const struct seam_stitched *s,
		     struct seam_strbuf *b)
{
	struct seam_text t = {
		.sample = s,
		.attr = seam_pd_event(p->opts.reader, (size_t)s->rec->event),
		.payloads = p->opts.payloads,
		.printed = p->printed,
		/* Of streams, which one thread reads, events may be named anew.
		 */
		.heads = p->lock ? p->heads : NULL,
		.opts = p->opts.text,
	};
	const size_t begin = b->len;
	int rc = 0;

	if (!p->printed || !seam_text_has_chain(&t))
		rc = resolve(p, s);
	if (rc)
		return rc;
	t.names = p->names;
	if (p->opts.json)
		seam_text_json(b, &t);
	else
		seam_text_perf(b, &t);
	rc = b->err;
	if (rc) { /* what is before it is good */
		b->err = 0;
		b->len = begin;
	}
	return rc;
}
