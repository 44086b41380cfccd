/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files of file systems that another process or machine serves (far.h), for
 * who must not wait for these: a process of its own opens and reads them. It
 * cannot be a thread: a task that waits for an answer which a FUSE daemon has
 * yet to give cannot be killed, and a process with such a thread does not end.
 * Even closing such a file asks. So nothing but copies comes here.
 *
 * That process is begun when the first such file is met, and left behind when
 * it does not go on for a second (aside.h). It has none of our files and of
 * shared memory nothing; our own memory it has as that was when it began.
 */
#ifndef SEAM_LIB_PROCESS_FETCH_H
#define SEAM_LIB_PROCESS_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/wire.h"
#include "seam/tracer.h"

#define SEAM_FETCH_NS 1000000000ULL /* without getting on */
#define SEAM_FETCH_ALL_NS 5000000000ULL /* for one answer */
/* What did not answer is not asked meanwhile, nor is any file beside it. */
#define SEAM_FETCH_AGAIN_NS 10000000000ULL
#define SEAM_FETCH_STUCK 16 /* file systems that are known not to answer */

struct seam_fetch {
	bool runs; /* a process for it does, known as */
	int pidfd;
	int fd; /* that leads to it */
	uint32_t dev; /* of the file that is open there */
	bool has_key_prog;
	int key_prog; /* of seam_kernel_key_prog */
	struct {
		uint32_t dev;
		uint64_t until_ns;
	} stuck[SEAM_FETCH_STUCK];
	size_t next_stuck;
	uint64_t timeouts; /* and files that too many were in the way of */
};

/* Where the file is found: the process's mapping, or its path there. */
struct seam_fetch_from {
	uint32_t pid;
	uint32_t dev; /* the kernel's number of the file system; 0: unknown */
	uint64_t start, end; /* of the mapping */
	const char *path; /* NULL: by its mapping */
};

struct seam_fetched {
	struct stat st;
	/* With a key_prog: as seam_kernel_key_of_fd. */
	bool has_key;
	struct seam_file_key key;
	uint64_t mtime_ns;
	char path[SEAM_REFUSED_PATH]; /* where it was found, as far as told */
};

/*
 * Opens a file there, in place of the one before. Return: 0; -ETIMEDOUT;
 * -EBUSY: its file system did not answer lately, or there are too many of them;
 * what opening it gave; -ENOMEM; -EIO: the process ended.
 */
int seam_fetch_open(struct seam_fetch *f, const struct seam_fetch_from *from,
		    struct seam_fetched *ret);
/*
 * Of the file that is open: all parts that tables and unwinding need, at their
 * places in a file in memory. *now: the file when that had been read. Return:
 * a descriptor, the caller's; -EINVAL: no ELF file; else as above.
 */
int seam_fetch_copy(struct seam_fetch *f, struct seam_fetched *now);
/* Up to SEAM_FETCH_PAGE bytes of it. Return: how many; -errno. */
#define SEAM_FETCH_PAGE 4096
ssize_t seam_fetch_read(struct seam_fetch *f, uint64_t off, void *to,
			size_t size);
/* Whatever of these has failed, or none has been called. */
void seam_fetch_close(struct seam_fetch *f);
void seam_fetch_fini(struct seam_fetch *f);

#endif
