// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The cookies that tools' programs were given: see struct seam_asked_cpu. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "kernel/kernel-priv.h"

int seam_kernel_open_asked(struct seam_kernel *k)
{
	const struct bpf_map *map = k->skel->maps.asked_cookies;
	uint32_t n = bpf_map__max_entries(map);
	void *at = mmap(NULL, n * sizeof(*k->asked), PROT_READ | PROT_WRITE,
			MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	k->asked = at;
	k->n_asked = n;
	return 0;
}

void seam_kernel_close_asked(struct seam_kernel *k)
{
	if (k->asked)
		munmap(k->asked, k->n_asked * sizeof(*k->asked));
	k->asked = NULL;
}

/* Who was interrupted over a slot, or preempted, has not filled it yet, but
 * whoever came in between has his. */
static void drain(struct seam_asked_cpu *a, uint32_t cpu,
		  seam_kernel_asked_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&a->head, __ATOMIC_ACQUIRE);
	uint64_t tail = a->tail;

	for (uint64_t at = tail; at != head; at++) {
		struct seam_asked_slot *slot = &a->slots[at % SEAM_ASKED_SLOTS];
		uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);

		if (seq == SEAM_ASKED_FILLED(at)) {
			fn(ctx, slot, cpu);
			slot->seq = SEAM_ASKED_TAKEN(at);
			seq = slot->seq;
		}
		if (seq == SEAM_ASKED_TAKEN(at) && at == tail)
			tail++;
	}
	__atomic_store_n(&a->tail, tail, __ATOMIC_RELEASE);
}

void seam_kernel_drain_asked(struct seam_kernel *k, seam_kernel_asked_fn *fn,
			     void *ctx)
{
	for (uint32_t i = 0; i < k->n_asked; i++)
		drain(&k->asked[i], i, fn, ctx);
}
