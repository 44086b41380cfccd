/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/lend.h: a session's maps, for a tool's own BPF object in which
 * seam_request is linked (<seam/seam.bpf.h>). Include <bpf/libbpf.h> before:
 * this is compiled into the tool, so that it works with the libbpf that the
 * tool has, in whatever version.
 *
 *	obj = bpf_object__open_file("tool.bpf.o", NULL);
 *	client = seam_session_lend(session, obj, &err);
 *	...	tell the programs the number
 *	bpf_object__load(obj);
 *	...	seam_session_keep, if the programs look for stacks
 *	...	attach them
 *	seam_session_start(session, &err);
 *
 * The session has its client by then. Close it after the object.
 */
#ifndef SEAM_LEND_H
#define SEAM_LEND_H

#ifndef __LIBBPF_LIBBPF_H
#error "include <bpf/libbpf.h> before"
#endif

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "seam/tracer.h"

/*
 * Makes obj, which is open and not loaded yet, share the session's maps.
 * Return: the client's number, which its programs pass to seam_request; or
 * -errno: -ENOENT: obj has no seam-request.bpf.o linked in; -EPROTO: it has
 * another build's; -ENOTSUP: the session's engine is not deferred. reterr may
 * be NULL.
 */
static inline int seam_session_lend(struct seam_session *s,
				    struct bpf_object *obj,
				    struct seam_errinfo *reterr)
{
	struct bpf_map *map;
	int n = 0;

	if (reterr)
		*reterr = (struct seam_errinfo){0};
	bpf_object__for_each_map(map, obj)
	{
		size_t size = 0;
		const void *bytes = bpf_map__initial_value(map, &size);
		int fd = seam_session_map(s, bpf_map__name(map), bytes,
					  bpf_map__value_size(map), reterr);

		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		fd = bpf_map__reuse_fd(map, fd);
		if (fd < 0 && reterr)
			snprintf(reterr->reason, sizeof(reterr->reason),
				 "map %s cannot be reused (%s)",
				 bpf_map__name(map), strerror(-fd));
		if (fd < 0)
			return fd;
		n++;
	}
	if (!n && reterr)
		snprintf(reterr->reason, sizeof(reterr->reason),
			 "the object has no seam-request.bpf.o linked in");
	return n ? (int)seam_session_client(s) : -ENOENT;
}

/*
 * Has the client's stacks put into a map of the tool's as well, where its BPF
 * programs find them by cookie: see struct seam_bpf_stack of <seam/seam.bpf.h>.
 * Once the object is loaded, and before the session is started. Return: 0, or
 * -errno; -EINVAL: it is no such map.
 */
static inline int seam_session_keep(struct seam_session *s,
				    const struct bpf_map *map,
				    struct seam_errinfo *reterr)
{
	return seam_session_keep_in(s, bpf_map__fd(map), reterr);
}

#endif
