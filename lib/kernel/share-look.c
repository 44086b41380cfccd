// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What clients have pinned, as seen by another that changes nothing. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

static int open_pin(const struct seam_share_group *g, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), SEAM_SHARE_FOLDER "/%s/%.63s", g->name,
		 name);
	return bpf_obj_get(path);
}

/* The map that another holds under a number. */
static int open_inner(int outer_fd, uint32_t at)
{
	uint32_t id;

	if (bpf_map_lookup_elem(outer_fd, &at, &id))
		return -ENOENT;
	return bpf_map_get_fd_by_id(id);
}

/* Positions stand each in a page of its own, before the data. */
static uint64_t ring_position(int fd, long page)
{
	long size = sysconf(_SC_PAGESIZE);
	uint64_t *at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd,
			    page * size);
	uint64_t position;

	if (at == MAP_FAILED)
		return 0;
	position = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	munmap(at, (size_t)size);
	return position;
}

static bool look_ring(int rings, uint32_t at, struct seam_share_client *c)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int fd = open_inner(rings, at);
	uint64_t read, written;

	if (fd < 0)
		return false;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		c->ring_bytes += info.max_entries;
	read = ring_position(fd, 0);
	written = ring_position(fd, 1);
	if (written > read)
		c->ring_used += written - read;
	close(fd);
	return true;
}

/* What is pinned there may be none of ours, and hold less than we have room
 * for. */
static bool holds(int fd, uint32_t key_size, uint32_t value_size)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
	       info.key_size == key_size && info.value_size == value_size;
}

static bool look_counts(int states, struct seam_share_client *c)
{
	static const enum seam_count which[SEAM_SHARE_LOST_MAX] = {
		[SEAM_SHARE_LOST_SAMPLES] = SEAM_COUNT_LOST_SAMPLE,
		[SEAM_SHARE_LOST_STACKS] = SEAM_COUNT_LOST_STACK,
		[SEAM_SHARE_LOST_COPIES] = SEAM_COUNT_LOST_COPY,
		[SEAM_SHARE_LOST_REQUESTS] = SEAM_COUNT_LOST_MISS,
		[SEAM_SHARE_LOST_UNTOLD] = SEAM_COUNT_LOST_UNTOLD,
	};
	int fd = open_inner(states, c->number),
	    cpus = libbpf_num_possible_cpus();
	struct seam_cpu_state *cpu = NULL;
	uint32_t zero = 0;
	bool ok = false;

	if (holds(fd, sizeof(zero), sizeof(*cpu)) && cpus > 0)
		cpu = calloc((size_t)cpus, sizeof(*cpu));
	if (cpu)
		ok = !bpf_map_lookup_elem(fd, &zero, cpu);
	for (int i = 0; ok && i < cpus; i++) {
		for (size_t j = 0; j < SEAM_SHARE_LOST_MAX; j++)
			c->lost[j] += cpu[i].counts[which[j]];
		c->unwinds += cpu[i].counts[SEAM_COUNT_UNWINDS];
		c->by_others += cpu[i].counts[SEAM_COUNT_BY_OTHERS];
		c->again += cpu[i].counts[SEAM_COUNT_AGAIN];
	}
	free(cpu);
	if (fd >= 0)
		close(fd);
	return ok;
}

static void look_client(const struct seam_share_group *g,
			struct seam_share_client *c)
{
	int rings = open_pin(g, "client_rings");
	int states = open_pin(g, "client_states");

	c->is_known = rings >= 0 && states >= 0 &&
		      look_ring(rings, SEAM_RING_STACKS + c->number, c) &&
		      look_ring(rings, SEAM_RING_COPIES + c->number, c) &&
		      look_counts(states, c);
	/* Of tools whose programs ask, and who wants registers, alone. */
	if (c->is_known)
		look_ring(rings, SEAM_RING_LOSSES + c->number, c);
	if (c->is_known)
		look_ring(rings, SEAM_RING_REQUESTS + c->number, c);
	if (rings >= 0)
		close(rings);
	if (states >= 0)
		close(states);
}

/* False: it cannot be told. */
static bool read_common(const struct seam_share_group *g,
			struct seam_common *ret)
{
	int fd = open_pin(g, "common");
	uint32_t zero = 0;
	bool ok = holds(fd, sizeof(zero), sizeof(*ret)) &&
		  !bpf_map_lookup_elem(fd, &zero, ret);

	if (fd >= 0)
		close(fd);
	return ok;
}

static uint64_t whole_pages(uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static void look_arena(struct seam_share_group *g,
		       const struct seam_common *common)
{
	g->far = common->far;
	g->arena_bytes = SEAM_TABLES_OFFSET + whole_pages(common->used_files);
	for (uint32_t i = 0; i < SEAM_MAX_CLIENTS; i++)
		g->arena_bytes += whole_pages(common->used_made[i]);
}

/* What the kernel says that a map takes; 0: it does not. */
static uint64_t map_memory(int fd)
{
	char path[48], line[128];
	uint64_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static void look_elements(struct seam_share_group *g)
{
	int fd = open_pin(g, "elements");

	if (fd < 0)
		return;
	g->element_bytes = map_memory(fd);
	close(fd);
}

/* Of the maps that clients have by their numbers in this one, which may hold
 * several of each. */
static void add_own(struct seam_share_list *list, uint32_t group, int outer)
{
	uint32_t at, *last = NULL;

	while (!bpf_map_get_next_key(outer, last, &at)) {
		int fd = open_inner(outer, at);
		uint64_t bytes = fd < 0 ? 0 : map_memory(fd);

		last = &at;
		if (fd >= 0)
			close(fd);
		for (uint32_t i = 0; i < list->n; i++)
			if (list->clients[i].group == group &&
			    list->clients[i].number == at % SEAM_MAX_CLIENTS)
				list->clients[i].memory += bytes;
	}
}

/* All that is pinned for a group, and what that leads to. */
static void look_memory(struct seam_share_list *list, uint32_t group)
{
	struct seam_share_group *g = &list->groups[group];
	struct bpf_map_info info;
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), SEAM_SHARE_FOLDER "/%s", g->name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int fd = entry->d_type == DT_REG ? open_pin(g, entry->d_name)
						 : -1;
		uint32_t size = sizeof(info);

		if (fd < 0)
			continue;
		g->memory += map_memory(fd);
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
			add_own(list, group, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static void look_group(struct seam_share_group *g)
{
	int fd = open_pin(g, "tables");
	struct seam_file_key key, *last = NULL;
	struct seam_table_ref ref;

	g->is_known = holds(fd, sizeof(key), sizeof(ref));
	/* It changes as we look, and may begin again. */
	for (uint32_t i = 0; g->is_known && i < 1 << 16; i++) {
		if (bpf_map_get_next_key(fd, last, &key))
			break;
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &ref))
			continue;
		g->tables += ref.state == SEAM_TABLE_LOADED;
		g->asked += ref.state == SEAM_TABLE_ASKED;
		g->mapped += ref.state == SEAM_TABLE_MAPPED;
		g->without += ref.state == SEAM_TABLE_NONE;
		if (ref.state == SEAM_TABLE_LOADED)
			g->table_bytes += ref.lookup.size;
	}
	if (fd >= 0)
		close(fd);
}

/* Of this build, for this kernel or the others: immediate's share nothing. */
static void look_way(struct seam_share_group *g)
{
	static const enum object objects[] = {OBJECT, OBJECT_IMPL};

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		size_t size;
		const void *bytes = seam_kernel_object(objects[i], &size);

		if (seam_share_way_of(seam_share_build(bytes, size), g->name,
				      &g->way))
			return;
	}
}

void seam_share_look(struct seam_share_list *list)
{
	struct seam_common common[SEAM_SHARE_LISTED];
	bool knows[SEAM_SHARE_LISTED];

	for (uint32_t i = 0; i < list->n_groups; i++) {
		knows[i] = false;
		look_way(&list->groups[i]);
		/* Another build's maps may be of our sizes, and say something
		 * else. */
		if (!list->groups[i].way.order)
			continue;
		look_group(&list->groups[i]);
		look_elements(&list->groups[i]);
		look_memory(list, i);
		knows[i] = read_common(&list->groups[i], &common[i]);
		if (knows[i])
			look_arena(&list->groups[i], &common[i]);
		list->groups[i].memory += list->groups[i].arena_bytes;
	}
	for (uint32_t i = 0; i < list->n; i++) {
		struct seam_share_client *c = &list->clients[i];

		if (!list->groups[c->group].way.order)
			continue;
		look_client(&list->groups[c->group], c);
		if (!knows[c->group])
			continue;
		c->made_bytes = common[c->group].used_made[c->number];
		c->loads_own = common[c->group].load_own >> c->number & 1;
		snprintf(c->client, sizeof(c->client), "%.*s",
			 SEAM_CLIENT_NAME - 1,
			 common[c->group].names[c->number]);
		/* A process may be more than one client. */
		if (common[c->group].owner)
			c->owns = c->owns &&
				  c->number == common[c->group].owner - 1;
	}
}
