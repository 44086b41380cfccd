/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The samples of a stitcher as text, named and printed by several threads and
 * delivered in the order in which the stitcher has them:
 *
 *	struct seam_strbuf *text;
 *	struct seam_order *o;
 *	if (seam_order_new(&opts, &o) == 0)
 *		while (seam_order_next(o, &text) > 0)
 *			...
 *	seam_order_free(o);
 *
 * From new() on the stitcher, its reader and the resolver are its own until
 * next() has returned 0 or an error, or free().
 */
#ifndef SEAM_LIB_REPORT_ORDER_H
#define SEAM_LIB_REPORT_ORDER_H

#include "report/printer.h"

struct seam_order;

struct seam_order_opts {
	struct seam_stitch *stitch;
	struct seam_printer_opts printer; /* without payloads */
	/* Which samples are printed; several threads ask. NULL: all. */
	bool (*wants)(const void *ctx, const struct seam_stitched *s);
	const void *ctx;
};

/* Return: 0; -ENOMEM, -EAGAIN: there is no thread to be had, and the stitcher
 * is as it was. */
int seam_order_new(const struct seam_order_opts *opts, struct seam_order **ret);
/* NULL is fine. Return: NULL. */
struct seam_order *seam_order_free(struct seam_order *o);
/* Return: 1, with some samples' text, or none, in *ret, valid until the next
 * call; 0 at the end; -errno, when all that lies before has been delivered. */
int seam_order_next(struct seam_order *o, struct seam_strbuf **ret);

#endif
