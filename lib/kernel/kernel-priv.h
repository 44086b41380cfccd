/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of the kernel side's door share: kernel.c sets it up and
 * attaches, kernel-tables.c has its tables, kernel-read.c what it says,
 * kernel-unmap.c sees code go. */
#ifndef SEAM_LIB_KERNEL_KERNEL_PRIV_H
#define SEAM_LIB_KERNEL_KERNEL_PRIV_H

#include <bpf/libbpf.h>

#include "kernel/kernel.h"
#include "kernel/ring-view.h"
#include "kernel/share.h"
#include "seam.skel.h"

/* Those that follow tasks, twice (bpf/again.h), and two more. */
#define FOLLOWERS 6
#define TASK_PROGRAMS (2 * FOLLOWERS + 2)
#define RAW_PROGRAMS 5 /* some of them, too */
/* Room for 3,640 losses; or, with registers, for 1,260. */
#define SEAM_LOSSES_SIZE (256 << 10)

/* What an object is made for. */
enum object { OBJECT, OBJECT_IMPL, OBJECT_AT_ONCE };

struct seam_kernel {
	struct seam_bpf *skel;
	enum object object; /* that it is */
	struct seam_bpf *slept; /* see seam_kernel_load_slept; else NULL */
	struct ring_buffer *samples, *copies;
	struct seam_ring_view samples_view, copies_view;
	struct ring_buffer *losses; /* NULL: it has not asked for them */
	int losses_fd; /* its map; else 0 */
	struct seam_ring_view losses_view;
	/* Another thread's: */
	struct ring_buffer *requests;
	int requests_fd; /* its map; else 0 */
	seam_request_fn *on_request;
	void *on_request_ctx;
	bool is_enough; /* it takes no more now */
	struct bpf_link *links[TASK_PROGRAMS];
	size_t n_links;
	int raw[RAW_PROGRAMS]; /* what keeps these on their tracepoints */
	size_t n_raw;
	/* NULL: nobody needs it yet; or no second program. */
	struct bpf_link *unmaps, *unmaps_again;
	uint64_t arena_kept; /* the address of one that is being made, or 0 */
	uint8_t *arena;
	size_t arena_size;
	struct seam_common *common; /* what clients share of it */
	uint64_t life; /* seam_client_life */
	int poll_fd;
	uint64_t event_tag;
	int *attached; /* what keeps programs on their events */
	size_t n_attached;
	seam_record_fn *fn;
	void *fn_ctx;
	struct seam_share share;
	bool owns; /* the tables of files, as the lock has it */
	bool is_shared; /* tasks' elements, with clients that may come */
	bool has_cookies; /* the machine's counters of them */
	bool is_half; /* some of the maps only: no object to load */
	char alone[160]; /* why not */
	uint64_t left; /* bytes of a ring that this drain may yet take */
	uint64_t malformed; /* records, too short to be any */
};

/*
 * kernel-share.c. Before the maps are made: they are those of the clients that
 * are at work, if there are any. Else we stay alone, and k->alone says why.
 * -errno: so we do, but the object must be opened anew for that.
 */
int seam_kernel_share(struct seam_kernel *k,
		      const struct seam_kernel_opts *opts);
/* Takes the machine's counters of cookies. Before the maps are made. */
int seam_kernel_cookies(struct seam_kernel *k, struct seam_errinfo *reterr);
/* Stacks of clients of one group are equal: they have the same programs, and
 * the same ways to unwind. What user space does with what is shared is the
 * same, too. */
uint64_t seam_kernel_group(const struct seam_kernel *k,
			   const struct seam_kernel_opts *opts);
/* Once the maps are made, and before anything is attached. */
int seam_kernel_shared(struct seam_kernel *k);
/* kernel-dead.c. Whoever had our number before, nothing of it is left. Nobody
 * takes a stack for us before, since nothing is asked for us. */
int seam_kernel_sweep_own(struct seam_kernel *k);
/* Of a number that is nobody's any more. */
void seam_kernel_drop_maps(struct seam_kernel *k, uint32_t number);
/* We are there, to be missed when we are killed; and we go. */
void seam_kernel_arrive(struct seam_kernel *k);
void seam_kernel_depart(struct seam_kernel *k);
/* kernel-share.c. What that client is called. */
void seam_kernel_name(struct seam_kernel *k, uint32_t number, const char *name);
/* Whether we record nothing, and others are not to wait for us. */
void seam_kernel_set_serving(struct seam_kernel *k, bool serves);
/* Once the programs are gone. */
void seam_kernel_unshare(struct seam_kernel *k);

/* Its bytes. */
const void *seam_kernel_object(enum object which, size_t *ret_size);
/* The object for this kernel, with nothing loaded yet. */
int seam_kernel_open_object(struct seam_bpf **ret, enum object which);
/* kernel-attach.c. All that are no event's. */
int seam_kernel_attach_tasks(struct seam_kernel *k);
/* The programs that follow tasks; again: the second ones, in the same order. */
struct bpf_program;
void seam_kernel_followers(const struct seam_kernel *k, bool again,
			   struct bpf_program *ret[static FOLLOWERS]);

/* kernel-requests.c. Makes the ring. */
int seam_kernel_open_requests(struct seam_kernel *k);
void seam_kernel_close_requests(struct seam_kernel *k);

/* kernel-own.c. Others' programs find what is ours from then on. */
int seam_kernel_put_own(struct seam_kernel *k);

/* kernel-lend.c. */
void seam_kernel_close_losses(struct seam_kernel *k);

/* kernel.c: has the poll_fd tell of a ring. Return: 0 or -errno. */
int seam_kernel_hear(struct seam_kernel *k, int ring_fd);

/* A ring's callback. Return: 0; -ENOBUFS: no more now. */
int seam_kernel_on_record(void *kernel, void *data, size_t size);

#endif
