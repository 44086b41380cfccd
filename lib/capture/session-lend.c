// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A session's maps, for BPF programs of the process that ask for stacks. */
#include <errno.h>
#include <string.h>

#include "capture/session-priv.h"
#include "event/fail.h"

static int lend_fail(int err, const char *name, struct seam_errinfo *reterr)
{
	if (err == -EPROTO)
		return seam_fail(
			reterr, err,
			"the object has seam-request.bpf.o of another "
			"build of seam linked in (%s differs): link it "
			"to the one that libseam came with",
			name);
	return seam_fail(reterr, err, "map %s cannot be shared (%s)", name,
			 strerror(-err));
}

int seam_session_map(struct seam_session *s, const char *name,
		     const void *bytes, size_t size,
		     struct seam_errinfo *reterr)
{
	int fd, err;

	if (!s->client.sz)
		return seam_fail(reterr, -EINVAL, "the session has no client");
	if (!s->kernel || s->engine != SEAM_ENGINE_DEFERRED)
		return seam_fail(reterr, -ENOTSUP,
				 "BPF programs can ask for stacks with the "
				 "engine deferred alone ('seam doctor' says "
				 "what it needs)");
	fd = seam_kernel_lend(s->kernel, name, bytes, size);
	/* It is none of ours: that is no failure of anybody's. */
	if (fd == -ENOENT)
		return fd;
	err = fd < 0 ? fd : seam_kernel_hear_losses(s->kernel);
	if (err)
		return lend_fail(err, name, reterr);
	s->lent = true;
	s->hears_losses = true;
	return fd;
}

int seam_session_keep_in(struct seam_session *s, int map_fd,
			 struct seam_errinfo *reterr)
{
	int err;

	if (!s->lent || s->running)
		return seam_fail(reterr, -EBUSY,
				 "stacks can be kept for an object that was "
				 "lent the session, before that starts");
	/* Whose a stack is that comes for `all` nobody knows in the kernel, and
	 * the tool deletes those alone that it asked for. */
	if (s->client.all)
		return seam_fail(reterr, -EINVAL,
				 "a client that has all stacks keeps none in a "
				 "map, which others' would fill: open another "
				 "session for what is kept");
	err = seam_kernel_keep(s->kernel, map_fd);
	if (err == -EINVAL)
		return seam_fail(
			reterr, err,
			"stacks are kept in a map of type hash without "
			"flags, of struct seam_bpf_stack by cookie");
	return err ? seam_fail(reterr, err, "the map cannot be had (%s)",
			       strerror(-err))
		   : 0;
}

uint32_t seam_session_client(const struct seam_session *s)
{
	return s->kernel ? seam_kernel_client(s->kernel) : 0;
}
