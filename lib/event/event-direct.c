// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What an event asks of the kernel where no BPF program takes the stacks, and
 * why the kernel does not open one. */
#include "event/event-direct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/uapi.h"
#include "core/wire.h"
#include "event/fail.h"
#include "unwind/perf-regs.h"

/* Debian's kernels know 3, and have it by default: events are root's then,
 * whatever other capabilities say. */
static int paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (f) {
		if (fscanf(f, "%d", &level) != 1)
			level = 0;
		fclose(f);
	}
	return level;
}

static int fail_rights(const struct seam_event *ev, int err,
		       struct seam_errinfo *reterr)
{
	if (paranoid() > 2)
		return seam_fail(reterr, err,
				 "opening %s on every CPU is not permitted: "
				 "run as root, or with CAP_BPF, CAP_PERFMON "
				 "and kernel.perf_event_paranoid below 3",
				 ev->name);
	return seam_fail(reterr, err,
			 "opening %s on every CPU is not "
			 "permitted: " SEAM_TAKES_RIGHTS,
			 ev->name);
}

/* In a task, where the kernel's part is not asked for, or is what was. */
static int fail_task_rights(const struct seam_event *ev, int tid, int err,
			    struct seam_errinfo *reterr)
{
	if (paranoid() > 2)
		return seam_fail(reterr, err,
				 "opening %s is not permitted, as "
				 "kernel.perf_event_paranoid is above 2: run "
				 "as root, or lower it (sudo sysctl "
				 "kernel.perf_event_paranoid=2)",
				 ev->name);
	if (ev->asks & SEAM_ASK_KERNEL_MODE)
		return seam_fail(reterr, err,
				 "what the kernel does (%s) is not "
				 "permitted: " SEAM_TAKES_RIGHTS,
				 ev->name);
	return seam_fail(reterr, err,
			 "task %d is another user's, or may not be "
			 "traced: " SEAM_TAKES_RIGHTS,
			 tid);
}

int seam_event_fail(const struct seam_event *ev, int tid, int cpu, int err,
		    struct seam_errinfo *reterr)
{
	if (err == -EACCES || err == -EPERM)
		return tid < 0 ? fail_rights(ev, err, reterr)
			       : fail_task_rights(ev, tid, err, reterr);
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV)
		return seam_fail(reterr, err,
				 "this machine cannot count %s; try -e "
				 "cpu-clock",
				 ev->name);
	if (err == -EMFILE)
		return seam_fail(reterr, err,
				 "too many files are open, one for each event, "
				 "thread and CPU: raise the limit with ulimit "
				 "-n, or record fewer threads with -t");
	if (err == -EINVAL && ev->attr.type >= PERF_TYPE_RAW)
		return seam_fail(reterr, err,
				 "the kernel does not sample %s: its PMU "
				 "counts alone, or a term is not right for "
				 "it; try -e cpu-clock",
				 ev->name);
	return seam_fail(reterr, err, "opening %s on CPU %d failed (%s)",
			 ev->name, cpu, strerror(-err));
}

/* Without BPF: the samples themselves have both halves of the stack. */
static void set_direct(const struct seam_event *ev,
		       const struct seam_event_direct *direct,
		       struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->exclude_callchain_user = !direct->defers || !ev->max_frames;
	attr->exclude_callchain_kernel =
		!!(ev->asks & (SEAM_ASK_NO_KERNEL | SEAM_ASK_NO_KERNEL_STACK));
	/* Even if no user half is wanted: with :u the ip comes from here. */
	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user =
		direct->defers ? SEAM_PERF_IP_MASK : SEAM_PERF_REGS_MASK;
	if (ev->max_frames && direct->defers) {
		seam_event_defer(attr, SEAM_ATTR_DEFER_CALLCHAIN);
	} else if (ev->max_frames) {
		attr->sample_type |= PERF_SAMPLE_STACK_USER;
		attr->sample_stack_user = direct->stack_copy;
	}
	/* Without, the registers are those interrupted, which may be of
	 * later than behind the precise ip's instruction. */
	if (attr->precise_ip && !direct->defers) {
		attr->sample_type |= PERF_SAMPLE_REGS_INTR;
		attr->sample_regs_intr = SEAM_PERF_REGS_MASK;
	}
	if (attr->freq)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	attr->read_format |= SEAM_READ_LOST;
	seam_scope_set(&direct->scope, attr);
}

/* Whether the kernel takes the event as it is. */
static int try_open(const struct seam_event *ev, const struct seam_scope *scope)
{
	struct perf_event_attr attr = ev->opened;
	int tid = seam_scope_tid(scope, 0), fd;

	fd = seam_perf_event_open(&attr, tid, tid < 0 ? 0 : -1);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* The kernel's part is not permitted: as if the user had said so. */
static int leave_kernel_out(struct seam_event *ev)
{
	char *name;

	ev->attr.exclude_kernel = 1;
	ev->attr.exclude_hv = 1;
	ev->asks |= SEAM_ASK_NO_KERNEL;
	if (strcmp(ev->name, ev->base))
		return 0; /* it has modifiers, or a name of its own */
	if (asprintf(&name, "%s:u", ev->base) < 0)
		return -ENOMEM;
	free(ev->name);
	ev->name = name;
	return 0;
}

/* The samples are the tracepoint's own. */
static int find_tracepoint(struct seam_event *ev, struct seam_errinfo *reterr)
{
	if (seam_tracepoint_read(ev->base, &ev->tracepoint))
		return seam_fail(reterr, -ENOENT,
				 "there is no tracepoint %s in tracefs; is it "
				 "mounted, and open to you? (sudo mount -t "
				 "tracefs tracefs /sys/kernel/tracing)",
				 ev->base);
	ev->opened.type = PERF_TYPE_TRACEPOINT;
	ev->opened.config = ev->tracepoint.id;
	ev->opened.sample_type |= PERF_SAMPLE_RAW;
	ev->is_tracepoint = false;
	return 0;
}

static bool is_about_rights(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* As the kernel takes it, if need be without what it does not know, and without
 * what a tracepoint tells: that is root's, unless all may see it. */
static int try_events(struct seam_event *ev, const struct seam_scope *scope)
{
	int err = try_open(ev, scope);

	if (err == -EINVAL) {
		ev->opened.read_format &= ~(uint64_t)SEAM_READ_LOST;
		err = try_open(ev, scope);
	}
	if (is_about_rights(err) && ev->opened.sample_type & PERF_SAMPLE_RAW) {
		ev->opened.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
		err = try_open(ev, scope);
	}
	return err;
}

/* Finds what this kernel, and our rights, let it have. */
int seam_event_settle(struct seam_event *ev, struct seam_event_direct *direct,
		      struct seam_errinfo *reterr)
{
	int err = ev->is_tracepoint ? find_tracepoint(ev, reterr) : 0;

	if (err)
		return err;
	if (ev->is_probe)
		return seam_fail(reterr, -ENOTSUP,
				 "places in programs take "
				 "BPF: " SEAM_TAKES_RIGHTS);
	if (ev->is_sleep)
		return seam_fail(reterr, -ENOTSUP,
				 "%s takes BPF (" SEAM_TAKES_RIGHTS
				 "); without, context-switches shows where "
				 "tasks leave the CPU",
				 ev->base);
	set_direct(ev, direct, &ev->opened);
	err = try_events(ev, &direct->scope);
	seam_event_use_payload(ev);
	if (!is_about_rights(err))
		return 0; /* what else is wrong is said when it is opened */
	if (ev->asks & SEAM_ASK_KERNEL_MODE)
		return seam_event_fail(ev, seam_scope_tid(&direct->scope, 0), 0,
				       err, reterr);
	ev->opened.exclude_kernel = 1;
	ev->opened.exclude_hv = 1;
	/* Refused too by Linux 7.3, though no event would have any. */
	ev->opened.exclude_callchain_kernel = 1;
	if (try_open(ev, &direct->scope))
		return 0;
	return leave_kernel_out(ev);
}
