// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the kernel side hands over: records, counts. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

int seam_kernel_on_record(void *kernel, void *data, size_t size)
{
	struct seam_kernel *k = kernel;
	/* As in the ring: behind a header, in 8-byte steps. */
	uint64_t room = BPF_RINGBUF_HDR_SZ + (((uint64_t)size + 7) & ~7ULL);

	if (size >= sizeof(struct seam_wire))
		k->fn(k->fn_ctx, data, size);
	else
		__atomic_fetch_add(&k->malformed, 1, __ATOMIC_RELAXED);
	k->left -= room < k->left ? room : k->left;
	return k->left ? 0 : -ENOBUFS;
}

/* Takes all that is there now, but no more than so many bytes. */
static int drain(struct seam_kernel *k, struct ring_buffer *ring, size_t most,
		 seam_record_fn *fn, void *ctx)
{
	int n;

	k->fn = fn;
	k->fn_ctx = ctx;
	k->left = most;
	n = ring_buffer__consume(ring);
	if (!k->left)
		return 1;
	return n < 0 ? n : 0;
}

int seam_kernel_drain_samples(struct seam_kernel *k, seam_record_fn *fn,
			      void *ctx)
{
	return drain(k, k->samples, SEAM_SAMPLES_SLICE, fn, ctx);
}

size_t seam_kernel_slices(const struct seam_kernel *k)
{
	return bpf_map__max_entries(k->skel->maps.ring) / SEAM_SAMPLES_SLICE +
	       1;
}

int seam_kernel_drain_copies(struct seam_kernel *k, seam_record_fn *fn,
			     void *ctx)
{
	int n = drain(k, k->copies, bpf_map__max_entries(k->skel->maps.copies),
		      fn, ctx);

	return n < 0 ? n : 0;
}

int seam_kernel_drain_losses(struct seam_kernel *k, seam_record_fn *fn,
			     void *ctx)
{
	int n = k->losses ? drain(k, k->losses, SEAM_LOSSES_SIZE, fn, ctx) : 0;

	return n < 0 ? n : 0;
}

struct seam_kernel_put seam_kernel_put(const struct seam_kernel *k)
{
	return (struct seam_kernel_put){
		.samples = seam_ring_put(&k->samples_view),
		.copies = seam_ring_put(&k->copies_view),
		.losses = seam_ring_put(&k->losses_view),
	};
}

bool seam_kernel_copies_taken(const struct seam_kernel *k,
			      const struct seam_kernel_put *put)
{
	return seam_ring_taken(&k->copies_view, put->copies);
}

bool seam_kernel_all_taken(const struct seam_kernel *k,
			   const struct seam_kernel_put *put)
{
	return seam_ring_taken(&k->samples_view, put->samples) &&
	       seam_ring_taken(&k->copies_view, put->copies) &&
	       seam_ring_taken(&k->losses_view, put->losses);
}

int seam_kernel_poll_fd(const struct seam_kernel *k)
{
	return k->poll_fd;
}

void seam_kernel_rearm(const struct seam_kernel *k)
{
	struct epoll_event edges[4]; /* of as many rings */

	epoll_wait(k->poll_fd, edges, 4, 0);
}

/* What came while the program was at work on the same CPU. */
static uint64_t misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(prog);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	return info.recursion_misses;
}

/* Of what tasks did, what no program saw. A second one may be behind in
 * counting it while the first's count is read. */
static uint64_t unfollowed(const struct seam_kernel *k, uint64_t seen_again)
{
	struct bpf_program *progs[FOLLOWERS];
	uint64_t n = misses(k->skel->progs.seam_exit_signals);

	seam_kernel_followers(k, false, progs);
	for (size_t i = 0; i < FOLLOWERS; i++)
		n += misses(progs[i]);
	return n > seen_again ? n - seen_again : 0;
}

/* System calls of which one may have unmapped made code: no more than these
 * were seen by no program. The kernel does not say which calls they were. */
static uint64_t unseen_calls(const struct seam_kernel *k)
{
	const struct bpf_program *second = k->skel->progs.seam_unmap_again;
	const uint64_t first = misses(k->skel->progs.seam_unmap_enter);
	const uint64_t again = k->unmaps_again ? misses(second) : first;

	return first < again ? first : again;
}

int seam_kernel_counts(struct seam_kernel *k, struct seam_kernel_counts *ret)
{
	struct seam_cpu_state *cpus;
	int n = libbpf_num_possible_cpus();
	uint32_t zero = 0;
	int err;

	if (n < 0)
		return n;
	cpus = calloc((size_t)n, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	err = bpf_map__lookup_elem(k->skel->maps.cpu_states, &zero,
				   sizeof(zero), cpus,
				   (size_t)n * sizeof(*cpus), 0);
	memset(ret, 0, sizeof(*ret));
	for (int c = 0; !err && c < n; c++) {
		for (int i = 0; i < SEAM_COUNT_MAX; i++)
			ret->count[i] += cpus[c].counts[i];
		for (int i = 0; i < SEAM_END_MAX; i++)
			ret->end[i] += cpus[c].ends[i];
		for (int i = 0; i < SEAM_MAX_EVENTS; i++)
			ret->event_runs[i] += cpus[c].event_runs[i];
	}
	ret->malformed = __atomic_load_n(&k->malformed, __ATOMIC_RELAXED);
	ret->tracepoint_misses = misses(k->skel->progs.seam_tracepoint);
	ret->unfollowed = unfollowed(k, ret->count[SEAM_COUNT_SEEN_AGAIN]);
	ret->unseen_calls = unseen_calls(k);
	free(cpus);
	return err;
}
