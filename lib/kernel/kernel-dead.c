// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What a client that is gone has left in what clients share. One that ends
 * takes it with it; of one that was killed whoever notices does. Else others
 * would go on taking stacks for it, with registers, and all that was ever asked
 * for, until somebody got its number.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

static int run(const struct bpf_program *prog, void *args, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args,
		    .ctx_size_in = size);

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
}

static int sweep(struct seam_kernel *k, uint32_t clients)
{
	struct seam_sweep_args args = {.clients = clients};

	return run(k->skel->progs.seam_sweep, &args, sizeof(args));
}

/* What its tables of made code took of the arena. */
static void drop_made(struct seam_kernel *k, uint32_t number)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), used;
	struct seam_arena_drop_args args = {
		.at = SEAM_MADE_OFFSET + number * SEAM_MADE_SIZE,
	};

	used = __atomic_exchange_n(&k->common->used_made[number], 0,
				   __ATOMIC_SEQ_CST);
	if (used > SEAM_MADE_SIZE)
		used = SEAM_MADE_SIZE;
	args.pages = (uint32_t)((used + page - 1) / page);
	if (args.pages)
		run(k->skel->progs.seam_arena_drop, &args, sizeof(args));
}

/* Nothing is kept back from it for what it does not know. */
static int trust(struct seam_kernel *k, uint32_t number)
{
	const uint32_t none = 0;

	return bpf_map__update_elem(k->skel->maps.client_untold, &number,
				    sizeof(number), &none, sizeof(none),
				    BPF_ANY);
}

/* The kernel waits for all programs at each, and most are not there. */
static void drop(const struct bpf_map *map, uint32_t at)
{
	int fd = bpf_map__fd(map);
	uint32_t id;

	if (!bpf_map_lookup_elem(fd, &at, &id))
		bpf_map_delete_elem(fd, &at);
}

void seam_kernel_drop_maps(struct seam_kernel *k, uint32_t number)
{
	drop(k->skel->maps.client_rings, SEAM_RING_STACKS + number);
	drop(k->skel->maps.client_rings, SEAM_RING_COPIES + number);
	drop(k->skel->maps.client_rings, SEAM_RING_LOSSES + number);
	drop(k->skel->maps.client_rings, SEAM_RING_REQUESTS + number);
	drop(k->skel->maps.client_states, number);
	drop(k->skel->maps.client_stacks, number);
	drop(k->skel->maps.client_made_tables, number);
	drop(k->skel->maps.client_made_spans, number);
	drop(k->skel->maps.client_makers, number);
	drop(k->skel->maps.client_sleeps, number);
}

int seam_kernel_sweep_own(struct seam_kernel *k)
{
	int err = trust(k, seam_kernel_client(k));

	drop_made(k, seam_kernel_client(k));
	return err ? err : sweep(k, 1U << seam_kernel_client(k));
}

static void unset(uint32_t *bits, uint32_t clients)
{
	__atomic_and_fetch(bits, ~clients, __ATOMIC_SEQ_CST);
}

/* Their wishes first: who asks from then on asks nothing for them. */
static void forget(void *ctx, uint32_t clients)
{
	struct seam_kernel *k = ctx;

	unset(&k->common->want_all, clients);
	unset(&k->common->want_regs, clients);
	unset(&k->common->serving, clients);
	unset(&k->common->load_own, clients);
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++) {
		if (!(clients >> i & 1))
			continue;
		seam_kernel_name(k, i, NULL);
		seam_kernel_drop_maps(k, i);
		trust(k, i);
	}
	/* What is bound to their tables is bound anew, before these go. */
	seam_kernel_tables_changed(k);
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++)
		if (clients >> i & 1)
			drop_made(k, i);
	sweep(k, clients);
	unset(&k->common->there, clients);
}

void seam_kernel_arrive(struct seam_kernel *k)
{
	__atomic_or_fetch(&k->common->there, 1U << seam_kernel_client(k),
			  __ATOMIC_SEQ_CST);
}

void seam_kernel_depart(struct seam_kernel *k)
{
	if (k->is_shared && k->common && seam_share_has_others(&k->share))
		forget(k, 1U << seam_kernel_client(k));
}

void seam_kernel_bury(struct seam_kernel *k)
{
	uint32_t others;

	if (!k->is_shared)
		return;
	others = __atomic_load_n(&k->common->there, __ATOMIC_SEQ_CST) &
		 ~(1U << seam_kernel_client(k));
	seam_share_bury(&k->share, others, forget, k);
}
