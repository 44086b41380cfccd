/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Requests for tables of files, in the order in which they came: of all clients
 * that share, where these are ours to load. Who answers them does it between
 * any two of its other things, and not when a tool comes to read its session.
 */
#ifndef SEAM_LIB_CAPTURE_REQUESTS_H
#define SEAM_LIB_CAPTURE_REQUESTS_H

#include "kernel/kernel.h"
#include "pager/tables.h"
#include "process/opener.h"

struct seam_requests;

/* All stay the caller's and must outlive it. opener NULL: files are opened
 * here, by a thread of its own, whatever else is being done; otherwise between
 * any two answers. */
int seam_requests_open(struct seam_kernel *k, struct seam_tables *tables,
		       const struct seam_opener *opener,
		       struct seam_requests **ret);
/* NULL is fine. Return: NULL. */
struct seam_requests *seam_requests_close(struct seam_requests *r);

/* What follows is for one thread. */

/* Answers those that have come, and some that come meanwhile. Return: 0; or as
 * seam_tables_serve, for the first that failed so. */
int seam_requests_answer(struct seam_requests *r);
/* The file that one of our own tasks asked for the table of, as it was opened
 * then; the caller's. Return: negative: there is none. */
int seam_requests_take(struct seam_requests *r,
		       const struct seam_file_key *key);
/* Closes files of requests from before then, whose turn is over. */
void seam_requests_pass(struct seam_requests *r, uint64_t until_ns);
/* Readable when there is one to answer. */
int seam_requests_fd(const struct seam_requests *r);

#endif
