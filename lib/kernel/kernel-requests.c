// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The ring of requests for tables, which is read by a thread of its own: who
 * does not read its session is no hindrance to others. */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

static int on_request(void *kernel, void *data, size_t size)
{
	struct seam_kernel *k = kernel;

	if (size < sizeof(struct seam_wire_miss)) {
		__atomic_fetch_add(&k->malformed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (k->on_request(k->on_request_ctx, data))
		return 0;
	k->is_enough = true;
	return -ENOBUFS;
}

int seam_kernel_open_requests(struct seam_kernel *k)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "requests", 0, 0,
				SEAM_REQUESTS_SIZE, NULL);

	if (fd < 0)
		return fd;
	k->requests_fd = fd;
	k->requests = ring_buffer__new(fd, on_request, k, NULL);
	return k->requests ? 0 : -errno;
}

void seam_kernel_close_requests(struct seam_kernel *k)
{
	ring_buffer__free(k->requests);
	k->requests = NULL;
	if (k->requests_fd)
		close(k->requests_fd);
	k->requests_fd = 0;
}

int seam_kernel_requests_fd(const struct seam_kernel *k)
{
	return ring_buffer__epoll_fd(k->requests);
}

int seam_kernel_drain_requests(struct seam_kernel *k, seam_request_fn *fn,
			       void *ctx)
{
	int n;

	k->on_request = fn;
	k->on_request_ctx = ctx;
	k->is_enough = false;
	n = ring_buffer__consume(k->requests);
	return n < 0 && !k->is_enough ? n : 0;
}
