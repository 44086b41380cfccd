// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/serve-filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sanitized.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* A call, whatever it is called with. */
static const int calls[] = {
	/* Files, as far as serve_confine lets them be reached. */
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(lseek),
	SCMP_SYS(openat),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(utimensat),
	SCMP_SYS(flock),
	/* Memory; mmap is below. */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	/* Waiting, for events and for signals. */
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(restart_syscall),
	/* Those who knock, what opens files, and systemd. */
	SCMP_SYS(accept4),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom),
	/* What the C library asks of itself. */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(geteuid),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Of what was opened before: nothing is loaded any more, nor pinned. */
static const int bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,  BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY, BPF_PROG_TEST_RUN,   BPF_OBJ_GET_INFO_BY_FD,
};

static const int fcntl_commands[] = {F_GETFD, F_SETFD, F_GETFL, F_SETFL,
				     F_DUPFD_CLOEXEC};

static const int opener_calls[] = {
	SCMP_SYS(close),   SCMP_SYS(fstat),	      SCMP_SYS(newfstatat),
	SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),	      SCMP_SYS(sendmsg),
	SCMP_SYS(exit),	   SCMP_SYS(exit_group),      SCMP_SYS(rt_sigreturn),
	SCMP_SYS(futex),   SCMP_SYS(restart_syscall),
};

static int allow_all(scmp_filter_ctx ctx, const int *v, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, v[i], 0);
	return err;
}

/* With one of these as its argument number arg, an int: what is in the upper
 * half of its register is nobody's. */
static int allow_each(scmp_filter_ctx ctx, int call, unsigned arg, const int *v,
		      size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
				       SCMP_CMP(arg, SCMP_CMP_MASKED_EQ,
						UINT32_MAX, (uint64_t)v[i]));
	return err;
}

/* With none of these bits in its argument number arg. */
static int allow_without(scmp_filter_ctx ctx, int call, unsigned arg,
			 uint64_t bits)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits, 0));
}

static int allow_serving(scmp_filter_ctx ctx)
{
	const int local[] = {AF_UNIX};
	const int self[] = {getpid()};
	int err = allow_all(ctx, calls, COUNT(calls));

	if (!err)
		err = allow_each(ctx, SCMP_SYS(bpf), 0, bpf_commands,
				 COUNT(bpf_commands));
	if (!err)
		err = allow_each(ctx, SCMP_SYS(fcntl), 1, fcntl_commands,
				 COUNT(fcntl_commands));
	if (!err)
		err = allow_each(ctx, SCMP_SYS(socket), 0, local, 1);
	if (!err) /* abort(3) */
		err = allow_each(ctx, SCMP_SYS(tgkill), 0, self, 1);
	if (!err)
		err = allow_without(ctx, SCMP_SYS(mmap), 2, PROT_EXEC);
	if (!err)
		err = allow_without(ctx, SCMP_SYS(mprotect), 2, PROT_EXEC);
	return err;
}

static int allow_opening(scmp_filter_ctx ctx)
{
	int err = allow_all(ctx, opener_calls, COUNT(opener_calls));

	return err ? err
		   : allow_without(ctx, SCMP_SYS(openat), 2,
				   O_ACCMODE | O_CREAT | O_TRUNC);
}

static int filter(int (*allow)(scmp_filter_ctx ctx))
{
	scmp_filter_ctx ctx;
	int err;

	if (SEAM_IS_SANITIZED)
		return 0;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return -ENOMEM;
	err = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
			       SCMP_ACT_KILL_PROCESS);
	/* Good to have. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!err)
		err = allow(ctx);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}

int serve_filter(void)
{
	return filter(allow_serving);
}

int serve_filter_opener(void)
{
	return filter(allow_opening);
}
