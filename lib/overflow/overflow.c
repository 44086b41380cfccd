// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "overflow/overflow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/uapi.h"
#include "event/event.h"
#include "event/fail.h"
#include "overflow/samples.h"

#define FLAGS ((uint32_t)SEAM_OVERFLOW_KERNEL | (uint32_t)SEAM_OVERFLOW_SAMPLES)
/* None but what samples: so an event can be given a period later. */
#define NEVER (1ULL << 62)

struct seam_overflow {
	int fd;
	struct seam_samples samples;
};

static void set_attr(const struct seam_overflow_opts *opts,
		     struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = SEAM_ATTR_SIZE;
	attr->type = opts->type;
	attr->config = opts->config;
	attr->config1 = opts->config1;
	attr->config2 = opts->config2;
	if (opts->type == PERF_TYPE_BREAKPOINT)
		attr->bp_type = opts->bp_type;
	attr->sample_period = NEVER;
	attr->read_format = SEAM_OVERFLOW_READ_FORMAT;
	attr->disabled = 1;
	/* A counter that others get in turn has no exact count. */
	attr->pinned = 1;
	attr->exclude_kernel = !(opts->flags & SEAM_OVERFLOW_KERNEL);
	attr->exclude_hv = attr->exclude_kernel;
	if (opts->flags & SEAM_OVERFLOW_SAMPLES)
		seam_samples_ask(attr);
}

static int fail_open(const struct seam_overflow_opts *opts, int err,
		     struct seam_errinfo *reterr)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -EOPNOTSUPP:
		return seam_fail(reterr, err,
				 "this machine has no event of type %u, "
				 "config 0x%llx",
				 opts->type, (unsigned long long)opts->config);
	case -ESRCH:
		return seam_fail(reterr, err, "there is no thread %d",
				 opts->tid);
	case -EACCES:
	case -EPERM:
		return seam_fail(
			reterr, err,
			"counting in thread %d is not permitted: it must be "
			"the caller's, and for the kernel's part "
			"kernel.perf_event_paranoid at most 1",
			opts->tid);
	case -ENOSPC:
		return seam_fail(reterr, err,
				 "all the counters of this kind are taken");
	}
	return seam_fail(reterr, err, "the kernel refuses the event (%s)",
			 strerror(-err));
}

/* O_ASYNC comes last: from then on overflows are told. */
static int set_signal(int fd, const struct seam_overflow_opts *opts,
		      struct seam_errinfo *reterr)
{
	struct f_owner_ex owner = {F_OWNER_TID, opts->notify_tid};

	if (!opts->signum)
		return 0;
	if (!owner.pid)
		owner.pid = opts->tid;
	if (!owner.pid)
		owner.pid = (int)syscall(SYS_gettid);
	if (fcntl(fd, F_SETOWN_EX, &owner) ||
	    fcntl(fd, F_SETSIG, opts->signum) || fcntl(fd, F_SETFL, O_ASYNC)) {
		int err = -errno;

		return seam_fail(reterr, err,
				 "signal %d cannot be sent to thread %d (%s)",
				 opts->signum, owner.pid, strerror(-err));
	}
	return 0;
}

static int set_samples(struct seam_overflow *o,
		       const struct seam_overflow_opts *opts,
		       struct seam_errinfo *reterr)
{
	int err = opts->flags & SEAM_OVERFLOW_SAMPLES
			  ? seam_samples_map(&o->samples, o->fd)
			  : 0;

	return err ? seam_fail(reterr, err,
			       "no ring for samples (%s): end other "
			       "recordings, or raise "
			       "kernel.perf_event_mlock_kb",
			       strerror(-err))
		   : 0;
}

int seam_overflow_open(const struct seam_overflow_opts *opts,
		       struct seam_overflow **ret, struct seam_errinfo *reterr)
{
	struct seam_overflow *o;
	struct perf_event_attr attr;
	int err;

	if (opts->sz != sizeof(*opts))
		return seam_fail(reterr, -EINVAL,
				 "the options are of another libseam");
	if ((opts->flags & ~FLAGS) || opts->tid < 0 || opts->notify_tid < 0 ||
	    opts->signum < 0)
		return seam_fail(reterr, -EINVAL,
				 "a flag is unknown, or a thread or signal "
				 "below 0");
	o = calloc(1, sizeof(*o));
	if (!o)
		return seam_fail(reterr, -ENOMEM, "no memory");
	set_attr(opts, &attr);
	o->fd = seam_perf_event_open(&attr, opts->tid, -1);
	err = o->fd < 0 ? fail_open(opts, o->fd, reterr) : 0;
	if (!err)
		err = set_signal(o->fd, opts, reterr);
	if (!err)
		err = set_samples(o, opts, reterr);
	if (err)
		seam_overflow_close(o);
	else
		*ret = o;
	return err;
}

struct seam_overflow *seam_overflow_close(struct seam_overflow *o)
{
	if (!o)
		return NULL;
	seam_samples_unmap(&o->samples);
	if (o->fd >= 0)
		close(o->fd);
	free(o);
	return NULL;
}

static int control(const struct seam_overflow *o, unsigned long request,
		   void *arg)
{
	int saved = errno, err = ioctl(o->fd, request, arg) ? -errno : 0;

	errno = saved;
	return err;
}

int seam_overflow_arm(struct seam_overflow *o, uint64_t every)
{
	int err = every && !(every >> 63) ? 0 : -EINVAL;

	if (!err)
		err = control(o, PERF_EVENT_IOC_DISABLE, NULL);
	if (!err)
		err = control(o, PERF_EVENT_IOC_RESET, NULL);
	/* Also what was left of the last period is forgotten. */
	if (!err)
		err = control(o, PERF_EVENT_IOC_PERIOD, &every);
	return err ? err : control(o, PERF_EVENT_IOC_ENABLE, NULL);
}

int seam_overflow_disarm(struct seam_overflow *o)
{
	return control(o, PERF_EVENT_IOC_DISABLE, NULL);
}

int seam_overflow_count(const struct seam_overflow *o, uint64_t *ret)
{
	struct seam_overflow_reading now;
	int saved = errno;
	ssize_t n = read(o->fd, &now, sizeof(now));
	int err = n < 0 ? -errno : 0;

	errno = saved;
	/* A pinned counter that could not have its place has ended. */
	if (!err && (n != sizeof(now) || now.enabled_ns != now.running_ns))
		err = -EBUSY;
	if (!err)
		*ret = now.count;
	return err;
}

int seam_overflow_fd(const struct seam_overflow *o)
{
	return o->fd;
}

bool seam_overflow_is(const struct seam_overflow *o, const siginfo_t *info)
{
	/* SI_SIGIO: of a signal whose codes mean something else. */
	return (info->si_code > 0 || info->si_code == SI_SIGIO) &&
	       info->si_fd == o->fd;
}

long seam_overflow_read(struct seam_overflow *o, seam_overflow_fn fn, void *ctx,
			uint64_t *ret_lost)
{
	return seam_samples_read(&o->samples, fn, ctx, ret_lost);
}
