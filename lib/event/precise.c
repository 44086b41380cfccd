// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/precise.h"

#include <errno.h>
#include <unistd.h>

#include "core/uapi.h"
#include "event/event-direct.h"
#include "event/fail.h"

/* What the kernel opens. 0: nothing, or nothing at all, which is told when the
 * event itself is opened. */
static unsigned int most_precise(const struct perf_event_attr *wanted)
{
	struct perf_event_attr attr = {
		.type = wanted->type,
		.size = SEAM_ATTR_SIZE,
		.config = wanted->config,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	for (unsigned int level = 3; level; level--) {
		int fd;

		attr.precise_ip = level & 3;
		fd = seam_perf_event_open(&attr, 0, -1);
		if (fd >= 0) {
			close(fd);
			return level;
		}
	}
	return 0;
}

/*
 * A precise event's ip is its instruction's; the registers that BPF takes in
 * task work are those interrupted, and their stack is theirs. The kernel wants
 * its own chain of such an event before a program may ask for one, with both
 * halves (perf_event_set_bpf_handler: EPROTO).
 *
 * Records may not come in batches, of which only the last one interrupts: the
 * others have no entry to be joined with. The kernel batches what has a fixed
 * period and asks for nothing that the hardware does not note. A chain is such
 * a thing, and so is the time by a clock of ours.
 */
int seam_event_precise(const struct seam_event_name *name,
		       struct seam_event *ev, struct seam_errinfo *reterr)
{
	/* Of what has no such thing perf takes it, too. */
	if (name->precise_max && ev->attr.type != PERF_TYPE_SOFTWARE) {
		ev->attr.precise_ip = most_precise(&ev->attr) & 3;
		return 0;
	}
	if (!name->precise)
		return 0;
	if (ev->attr.type == PERF_TYPE_SOFTWARE)
		return seam_fail(reterr, -EINVAL,
				 "%s: only events of the hardware can be "
				 "precise (':p')",
				 ev->base);
	ev->attr.precise_ip = name->precise & 3;
	return 0;
}
