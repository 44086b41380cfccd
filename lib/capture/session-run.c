// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The loop of a program that has no other. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "capture/session-priv.h"

/* What comes between two wakings stays in the kernel no longer than that. */
#define READ_MS 100
#define MS_NS 1000000ULL

/* How long to wait for what comes, in ms. */
static int wait_ms(uint64_t now_ns, uint64_t until_ns)
{
	uint64_t left_ns = until_ns - now_ns;

	return left_ns < READ_MS * MS_NS ? (int)(left_ns / MS_NS) + 1 : READ_MS;
}

int seam_session_run(struct seam_session *s, int timeout_ms)
{
	struct pollfd p = {.fd = seam_session_fd(s), .events = POLLIN};
	uint64_t now_ns = seam_now_ns(), until_ns = UINT64_MAX;

	if (!s->running)
		return -EINVAL;
	if (timeout_ms >= 0)
		until_ns = now_ns + (uint64_t)timeout_ms * MS_NS;
	for (;;) {
		/* Asked before, so that what they did last is read. */
		bool gone = seam_session_targets_gone(s);
		int err = seam_session_read(s);

		if (err)
			return err;
		if (gone)
			return 1;
		now_ns = seam_now_ns();
		if (now_ns >= until_ns)
			return 0;
		if (poll(&p, 1, wait_ms(now_ns, until_ns)) < 0)
			return -errno;
	}
}
