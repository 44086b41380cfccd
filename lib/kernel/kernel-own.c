// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The maps that are this client's alone, put where all clients' programs find
 * them by its number. To put one, the kernel waits until no program uses what
 * was there: some milliseconds, however fast the machine. So all are put at
 * once, by threads.
 */
#include <bpf/bpf.h>

#include "base/thread.h"
#include "kernel/kernel-priv.h"

struct own {
	const struct bpf_map *to;
	uint32_t at;
	int fd;
};

struct put {
	struct own own;
	int err;
	pthread_t thread;
	bool runs;
};

#define N_OWN 8

static void *put(void *arg)
{
	struct put *p = arg;
	const struct own *o = &p->own;

	p->err = bpf_map__update_elem(o->to, &o->at, sizeof(o->at), &o->fd,
				      sizeof(o->fd), BPF_ANY);
	return NULL;
}

static int put_all(const struct own own[N_OWN])
{
	struct put puts[N_OWN];
	int err = 0;

	for (size_t i = 0; i < N_OWN; i++) {
		struct put *p = &puts[i];

		p->own = own[i];
		p->runs = !seam_thread_start(&p->thread, put, p);
		if (!p->runs)
			put(p);
	}
	for (size_t i = 0; i < N_OWN; i++) {
		if (puts[i].runs)
			pthread_join(puts[i].thread, NULL);
		if (!err)
			err = puts[i].err;
	}
	return err;
}

int seam_kernel_put_own(struct seam_kernel *k)
{
	const uint32_t number = seam_kernel_client(k);
	const struct bpf_map *rings = k->skel->maps.client_rings;
	const struct own own[N_OWN] = {
		{rings, SEAM_RING_STACKS + number,
		 bpf_map__fd(k->skel->maps.ring)},
		{rings, SEAM_RING_COPIES + number,
		 bpf_map__fd(k->skel->maps.copies)},
		{rings, SEAM_RING_REQUESTS + number, k->requests_fd},
		{k->skel->maps.client_states, number,
		 bpf_map__fd(k->skel->maps.cpu_states)},
		{k->skel->maps.client_made_tables, number,
		 bpf_map__fd(k->skel->maps.made_tables)},
		{k->skel->maps.client_made_spans, number,
		 bpf_map__fd(k->skel->maps.made_spans)},
		{k->skel->maps.client_makers, number,
		 bpf_map__fd(k->skel->maps.makers)},
		{k->skel->maps.client_sleeps, number,
		 bpf_map__fd(k->skel->maps.sleeps)},
	};

	return put_all(own);
}
