/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Prints samples one by one, each with the names of its frames. One thread
 * uses a printer, and several may share a resolver. */
#ifndef SEAM_LIB_REPORT_PRINTER_H
#define SEAM_LIB_REPORT_PRINTER_H

#include "report/printed.h"

struct seam_printer;

struct seam_printer_opts {
	const struct seam_pd_reader *reader;
	struct seam_resolver *resolver;
	struct seam_payload_printer *payloads; /* NULL: there are none */
	struct seam_text_opts text;
	bool json; /* else as perf script prints them */
	struct seam_printed_lines *lines; /* that they share; NULL: none */
};

/* All of what opts names must outlive it; of printers that share a lock, which
 * the resolver is used with, none has payloads. lock: NULL: there is but one.
 * Return: 0 or -ENOMEM. */
int seam_printer_new(const struct seam_printer_opts *opts,
		     pthread_mutex_t *lock, struct seam_printer **ret);
/* NULL is fine. Return: NULL. */
struct seam_printer *seam_printer_free(struct seam_printer *p);
/* Appends a sample. Return: 0; -ENOMEM: b is as it was. */
int seam_printer_add(struct seam_printer *p, const struct seam_stitched *s,
		     struct seam_strbuf *b);

#endif
