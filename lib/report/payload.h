/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Prints what tracepoints tell, by libtraceevent. */
#ifndef SEAM_LIB_REPORT_PAYLOAD_H
#define SEAM_LIB_REPORT_PAYLOAD_H

#include "perfdata/reader.h"
#include "report/strbuf.h"

struct seam_payload_printer;

/* Of a recording, which must outlive it. Return: 0 or -ENOMEM; *ret is NULL if
 * it describes no tracepoint. */
int seam_payload_printer_new(const struct seam_pd_reader *r,
			     struct seam_payload_printer **ret);
void seam_payload_printer_free(struct seam_payload_printer *p);

/*
 * Appends the payload of a sample of the event: "prev_comm=...", or in brackets
 * why there is none. A sample of no tracepoint, or of one that the recording
 * does not describe: nothing. p may be NULL.
 */
void seam_payload_print(struct seam_payload_printer *p,
			const struct seam_pd_attr *event,
			const struct seam_pd_rec *sample,
			struct seam_strbuf *b);

#endif
