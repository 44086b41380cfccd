/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The engine `native`: the kernel's own deferral. A sample's chain ends in a
 * cookie; one record for each entry brings the user's half, walked by frame
 * pointers alone, on the way back to user space.
 *
 * The kernel does not say why its walk ended: so a stack is SEAM_UNPROVEN, or
 * SEAM_MAX_STACK where the kernel's room was used up. What the kernel leaves
 * open is decided here: the user's half of an exiting task comes with its
 * sample; a stack that was taken behind an exec is not that of the entry; and
 * at the end some tasks sleep on.
 */
#ifndef SEAM_LIB_EVENT_NATIVE_H
#define SEAM_LIB_EVENT_NATIVE_H

#include "base/idmap.h"
#include "perfdata/reader.h"
#include "seam/tracer.h"

/* Of a deferred record: the kernel has a page for it. */
#define SEAM_NATIVE_MAX_IPS 510

struct seam_native {
	const struct seam_client_opts *client; /* borrowed */
	struct seam_idmap tasks; /* struct task, by tid */
	uint64_t *ips; /* of one user stack */
	uint8_t *methods; /* of all: the first by registers */
	uint32_t max_chain; /* addresses of a sample's own chain */
	uint64_t made; /* cookies */
	uint64_t stacks, frames;
	uint64_t lost_ns; /* when the kernel last said that records were */
	int err; /* the first */
};

/* Whether this kernel defers: 0, or what it says to an event that wants it
 * (-EINVAL: it knows nothing of it). */
int seam_native_probe(void);
/* client must outlive it. Return: 0 or -ENOMEM. */
int seam_native_init(struct seam_native *n,
		     const struct seam_client_opts *client);
/*
 * Gives the client a sample, which is filled but for cookie and end, and its
 * user stack if it came with it. user_ip: where its task left user space; 0: it
 * has none. Return: whether it wants a user stack.
 */
bool seam_native_sample(struct seam_native *n, const struct seam_pd_rec *rec,
			uint64_t user_ip, struct seam_sample *sample);
/* Any other record of the sideband, in order of time with the samples. */
void seam_native_record(struct seam_native *n, const struct seam_pd_rec *rec);
/*
 * No more comes: the tasks whose stack is awaited still sleep, if no record
 * was lost since their sample. lost: some were that no record tells of.
 */
void seam_native_end(struct seam_native *n, bool lost);
void seam_native_fini(struct seam_native *n);

#endif
