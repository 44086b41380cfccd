/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Between the two processes that print payloads. */
#ifndef SEAM_LIB_REPORT_PAYLOAD_PRIVATE_H
#define SEAM_LIB_REPORT_PAYLOAD_PRIVATE_H

#include <stdint.h>

#include "perfdata/reader.h"

/* The longest that the kernel makes, with room. */
#define PAYLOAD_MAX 65536
/* libtraceevent's text is of a page or so. */
#define PAYLOAD_TEXT_MAX 65536

struct payload_ask { /* followed by the payload */
	uint64_t time_ns, id; /* id: of the tracepoint */
	uint32_t cpu, size;
};

enum payload_end {
	PAYLOAD_TEXT,
	PAYLOAD_UNKNOWN, /* the recording does not describe it */
	PAYLOAD_MALFORMED,
};

struct payload_answer { /* followed by the text */
	uint32_t end, size;
};

/* Answers what comes by the socket, until that is closed. */
void seam_payload_serve(const struct seam_pd_reader *r, int fd)
	__attribute__((noreturn));

#endif
