/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What tracefs says of a tracepoint: its number, and how its payload is laid
 * out. */
#ifndef SEAM_LIB_EVENT_TRACEPOINT_H
#define SEAM_LIB_EVENT_TRACEPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "event/payload-hide.h"

struct seam_tracepoint {
	uint64_t id;
	char *format; /* its fields, as tracefs prints them */
	size_t size; /* bytes of payload, without strings and other arrays
		      * whose length varies */
	size_t tid_at; /* where in it its thread is, 4 bytes */
	struct seam_payload_fields fields;
};

/* name: SUBSYSTEM:NAME. Return: 0; -ENOENT, -EACCES, ...: tracefs does not
 * tell; -EBADMSG: not in a way that we know. */
int seam_tracepoint_read(const char *name, struct seam_tracepoint *ret);
void seam_tracepoint_fini(struct seam_tracepoint *tp);

/* tracefs's root, mounted or not. Return: a descriptor, or -1 with errno. */
int seam_tracefs_open(void);

#endif
