/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Kernel constants newer than the headers of Debian 12 (linux-libc-dev 6.1).
 * They are numbers of an ABI that cannot change, so they are stated here
 * under our own names and never collide with a newer <linux/perf_event.h>.
 */
#ifndef SEAM_CORE_UAPI_H
#define SEAM_CORE_UAPI_H

/* struct perf_event_attr's flag word: the bits after build_id (34). */
#define SEAM_ATTR_FLAGS_OFFSET 40
#define SEAM_ATTR_DEFER_CALLCHAIN 38 /* this event asks for deferral */
#define SEAM_ATTR_DEFER_OUTPUT 39 /* this event gets the records */
#define SEAM_ATTR_SIZE 128 /* what every perf opens; 6.1's most */
#define SEAM_READ_LOST 16 /* PERF_FORMAT_LOST of .read_format, Linux 6.0 */

/* {header; u64 cookie; u64 nr; u64 ips[nr]; sample_id} */
#define SEAM_RECORD_CALLCHAIN_DEFERRED 22
/* The last but one entry of a sample's callchain; the cookie follows. */
#define SEAM_CONTEXT_USER_DEFERRED ((uint64_t)-640)

/* Every callchain entry from here up is a marker, not an address. */
#define SEAM_CONTEXT_MAX ((uint64_t)-4095)

#endif
