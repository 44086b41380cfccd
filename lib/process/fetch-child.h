/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What fetch.c and its process say to each other, in packets. */
#ifndef SEAM_LIB_PROCESS_FETCH_CHILD_H
#define SEAM_LIB_PROCESS_FETCH_CHILD_H

#include "process/fetch.h"

#define FETCH_PATH_MAX 4096

struct fetch_ask {
	enum { FETCH_OPEN, FETCH_COPY, FETCH_READ, FETCH_CLOSE } what;
	uint32_t pid;
	uint64_t start, end;
	uint64_t off, size;
	char path[FETCH_PATH_MAX]; /* empty: by the mapping */
};

/* FETCH_COPY's has a descriptor beside it, and FETCH_READ's bytes behind. */
struct fetch_answer {
	int result; /* -EINPROGRESS: it goes on, and another answer comes */
	struct seam_fetched file;
};

/* Answers what comes by the socket until its end; does not return. key_prog
 * -1: none. */
void seam_fetch_serve(int fd, int key_prog) __attribute__((noreturn));

#endif
