// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/merge.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/spill.h"
#include "cli/lacking.h"
#include "cli/replaced.h"

#define COPY (64 << 10) /* bytes at once */

int merge_replace(const char *path, int (*make)(void *ctx, int fd), void *ctx)
{
	const struct replaced r = {.path = path,
				   .like_fd = REPLACED_OWN,
				   .make = make,
				   .ctx = ctx};

	return replaced(&r);
}

static int write_all(int fd, const uint8_t *p, size_t size)
{
	while (size) {
		struct pollfd room = {.fd = fd, .events = POLLOUT};
		ssize_t n = write(fd, p, size);

		/* Whoever shares the pipe may have made it nonblocking. */
		if (n < 0 && errno == EAGAIN)
			poll(&room, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		p += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int copy_out(int from, int to)
{
	uint8_t buf[COPY];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buf, sizeof(buf), at)) != 0) {
		int rc = n < 0 ? -errno : write_all(to, buf, (size_t)n);

		if (rc && !(n < 0 && rc == -EINTR))
			return rc;
		at += n > 0 ? n : 0;
	}
	return 0;
}

int merge_pipe(int fd, int (*make)(void *ctx, int fd), void *ctx)
{
	int file = seam_spill_file();
	int rc = file < 0 ? file : make(ctx, file), err;

	if (rc >= 0) {
		err = copy_out(file, fd);
		rc = err ? err : rc;
	}
	if (file >= 0)
		close(file);
	return rc;
}

int merge_into(struct seam_pd_reader *r, const char *name, int fd,
	       struct seam_inject_opts opts, struct seam_injected *ret)
{
	struct lacking lacking = {.recording = name};
	const struct seam_inject_tell tell = {lacking_file, &lacking};
	int rc;

	opts.tell = &tell;
	rc = seam_inject(r, fd, &opts, ret);
	lacking_end(&lacking);
	return rc;
}
