// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Our maps, for another tool's object that has bpf/seam-request.bpf.c in it. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

#define PREFIX "seam_"
#define CONSTANTS ".rodata.seam"
#define SHARED ".data.seam"
/* The same maps as elements and outsides, to the part that the tool compiles
 * itself: to that their values are but something with an address. */
#define ENTRIES "seam_entries"
#define WORKS "seam_works"

/* What the object was made as stands first in its constants, which are as many
 * bytes as ours. */
static int check_made_as(struct seam_kernel *k, const void *bytes)
{
	const struct seam_bpf__rodata_seam *ours = k->skel->rodata_seam, *its;

	its = bytes;
	if (!bytes || memcmp(&its->seam_made_as, &ours->seam_made_as,
			     sizeof(ours->seam_made_as)))
		return -EPROTO;
	return 0;
}

static const struct bpf_map *find(struct seam_kernel *k, const char *name)
{
	if (!strcmp(name, CONSTANTS) || !strcmp(name, SHARED))
		return bpf_object__find_map_by_name(k->skel->obj, name);
	if (!strcmp(name, ENTRIES))
		return k->skel->maps.elements;
	if (!strcmp(name, WORKS))
		return k->skel->maps.outsides;
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return NULL;
	return bpf_object__find_map_by_name(k->skel->obj,
					    name + strlen(PREFIX));
}

int seam_kernel_lend(struct seam_kernel *k, const char *name, const void *bytes,
		     size_t size)
{
	const struct bpf_map *map = find(k, name);
	int err;

	if (!map)
		return -ENOENT;
	if (size != bpf_map__value_size(map) && strcmp(name, ENTRIES) &&
	    strcmp(name, WORKS))
		return -EPROTO;
	if (!strcmp(name, CONSTANTS)) {
		err = check_made_as(k, bytes);
		if (err)
			return err;
	}
	return bpf_map__fd(map);
}

static int open_losses(struct seam_kernel *k)
{
	int err;

	k->losses =
		ring_buffer__new(k->losses_fd, seam_kernel_on_record, k, NULL);
	if (!k->losses)
		return -errno;
	err = seam_ring_view_open(&k->losses_view, k->losses_fd);
	return err ? err : seam_kernel_hear(k, k->losses_fd);
}

int seam_kernel_hear_losses(struct seam_kernel *k)
{
	uint32_t at = SEAM_RING_LOSSES + seam_kernel_client(k);
	int err;

	if (k->losses)
		return 0;
	k->losses_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "losses", 0, 0,
				      SEAM_LOSSES_SIZE, NULL);
	if (k->losses_fd < 0) {
		err = k->losses_fd;
		k->losses_fd = 0;
		return err;
	}
	err = open_losses(k);
	if (!err)
		err = bpf_map__update_elem(k->skel->maps.client_rings, &at,
					   sizeof(at), &k->losses_fd,
					   sizeof(k->losses_fd), BPF_ANY);
	if (err)
		seam_kernel_close_losses(k);
	return err;
}

void seam_kernel_close_losses(struct seam_kernel *k)
{
	ring_buffer__free(k->losses);
	k->losses = NULL;
	seam_ring_view_close(&k->losses_view);
	if (k->losses_fd)
		close(k->losses_fd);
	k->losses_fd = 0;
}

int seam_kernel_keep(struct seam_kernel *k, int map_fd)
{
	uint32_t number = seam_kernel_client(k);
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map_fd, &info, &size))
		return -errno;
	if (info.type != BPF_MAP_TYPE_HASH || info.map_flags ||
	    info.key_size != sizeof(uint64_t) ||
	    info.value_size != sizeof(struct seam_wire_kept))
		return -EINVAL;
	return bpf_map__update_elem(k->skel->maps.client_stacks, &number,
				    sizeof(number), &map_fd, sizeof(map_fd),
				    BPF_ANY);
}

uint32_t seam_kernel_client(const struct seam_kernel *k)
{
	return k->skel->rodata_seam->seam_client;
}
