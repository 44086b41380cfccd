/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What clients have by their numbers, each its own, and find of each other. */
#ifndef SEAM_BPF_CLIENTS_H
#define SEAM_BPF_CLIENTS_H

#include "bpf/maps.h"

#define ENOENT 2

/*
 * What clients share: the elements, and by a client's number what the others'
 * programs need of it. Its rings (SEAM_RING_STACKS ff.); what is counted for
 * it; and what it has to be spared.
 */
struct other_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct other_cpu_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct seam_cpu_state);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SEAM_CLIENT_RINGS);
	__type(key, uint32_t);
	__array(values, struct other_ring);
} client_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SEAM_MAX_CLIENTS);
	__type(key, uint32_t);
	__array(values, struct other_cpu_states);
} client_states SEC(".maps");

/* Where its programs look for its stacks, if they do. Preallocated, which may
 * be written to in any context. */
struct kept_stacks {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint64_t); /* cookie */
	__type(value, struct seam_wire_kept);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SEAM_MAX_CLIENTS);
	__type(key, uint32_t);
	__array(values, struct kept_stacks);
} client_stacks SEC(".maps");

/* Not 0: it may not know of all code that went (spans.h), so copies of others
 * are not for it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEAM_MAX_CLIENTS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} client_untold SEC(".maps");

/* Of a hash that each client has one of, all of them: client_NAME. The kernel
 * has each as large as it is; it is the kind that has to be as here. */
#define CLIENT_HASHES(name, key_type, value_type)                              \
	struct other_##name {                                                  \
		__uint(type, BPF_MAP_TYPE_HASH);                               \
		__uint(map_flags, BPF_F_NO_PREALLOC);                          \
		__uint(max_entries, 1);                                        \
		__type(key, key_type);                                         \
		__type(value, value_type);                                     \
	};                                                                     \
	struct {                                                               \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                      \
		__uint(max_entries, SEAM_MAX_CLIENTS);                         \
		__type(key, uint32_t);                                         \
		__array(values, struct other_##name);                          \
	} client_##name SEC(".maps")

CLIENT_HASHES(made_tables, struct seam_file_key, struct seam_table_ref);
CLIENT_HASHES(sleeps, uint64_t, struct sample_buffer);

/* A client that had our number before may still be at work: at a task work
 * that it was asked for. What it knew of made code lies where ours does, and
 * its rings' place is ours. */
static __always_inline bool is_alive(void)
{
	const struct seam_common *all = common_state();
	uint32_t i = seam_client & (SEAM_MAX_CLIENTS - 1);

	return all &&
	       *(const volatile uint64_t *)&all->lives[i] == seam_client_life;
}

/*
 * What is our own, by our number, as others find it: a program that is yet to
 * run in a task that sleeps keeps the maps that it names, and these are most of
 * the memory of a client that has ended. all: of all clients. NULL: we have
 * ended. Who gets our number says so first, so that is looked at last.
 */
static __always_inline void *own_at(void *all, uint32_t at)
{
	void *own = bpf_map_lookup_elem(all, &at);

	return own && is_alive() ? own : NULL;
}

static __always_inline void *own_map(void *all)
{
	return own_at(all, seam_client);
}

/* which: SEAM_RING_STACKS ff. */
static __always_inline void *own_ring(uint32_t which)
{
	return own_at(&client_rings, which + seam_client);
}

static __always_inline void *own_find(void *all, const void *key)
{
	void *own = own_map(all);

	return own ? bpf_map_lookup_elem(own, key) : NULL;
}

/* Return: 0, or -errno. */
static __always_inline long own_put(void *all, const void *key,
				    const void *value, uint64_t flags)
{
	void *own = own_map(all);

	return own ? bpf_map_update_elem(own, key, value, flags) : -ENOENT;
}

static __always_inline long own_drop(void *all, const void *key)
{
	void *own = own_map(all);

	return own ? bpf_map_delete_elem(own, key) : -ENOENT;
}

#endif
