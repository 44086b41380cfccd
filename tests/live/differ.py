#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: where neither the registers nor the stack are the event's any
more when its stack is taken, the sample says regs-differ and shows the
event's own ip, and nothing that came of what is there now.

Two programs lose their stacks between an event and the return to user space.
One runs on the very memory that it has given to signals as their alternate
stack (SS_AUTODISARM: the kernel does not look), so that a handler's frame is
put on top of its callers; the handler goes back by a longjmp. The other's
stack is written over by its tracer, who sets it going elsewhere.
"""

import collections
import re
import sys

import livetest

DEPTH = 60
COMMON = r"""
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAY() __asm__ volatile("" ::: "memory")
#define SIZE 65536
static char area[SIZE] __attribute__((aligned(4096)));
void on_stack(void *top, void (*fn)(void));
/* The outermost frame of a stack that begins here. */
__asm__(".text\n.globl on_stack\n.type on_stack, @function\n"
	"on_stack:\n.cfi_startproc\n.cfi_undefined %%rip\n"
	"	movq %%rdi, %%rsp\n	call *%%rsi\n	ud2\n"
	".cfi_endproc\n.size on_stack, . - on_stack\n");

static int tid;
void send_one(void) { syscall(SYS_tgkill, getpid(), tid, SIGUSR1); STAY(); }
void down(int n)
{
	volatile char pad[100];
	pad[0] = n;
	if (n > 1)
		down(n - 1);
	else
		send_one();
	STAY();
}
void on_fiber(void) { down(%d); STAY(); }
""" % DEPTH

DISARMED = COMMON + r"""
static sigjmp_buf back;
""" + livetest.CPU_MS + r"""
void handler(int sig) { siglongjmp(back, 1); }
void arm(void)
{
	stack_t ss = {.ss_sp = area, .ss_size = SIZE,
		      .ss_flags = (int)(1u << 31)};
	if (sigaltstack(&ss, NULL))
		_exit(3);
}
void one(void)
{
	if (sigsetjmp(back, 1))
		return;
	arm();
	on_stack(area + SIZE, on_fiber);
}
int main(void)
{
	struct sigaction sa;

	tid = (int)syscall(SYS_gettid);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	while (cpu_ms() < 1500)
		one();
	_exit(0);
}
"""

TRACED = COMMON + r"""
#define STOPS 500
static int traced(void)
{
	tid = (int)syscall(SYS_gettid);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	on_stack(area + SIZE, on_fiber);
	return 0;
}
/* The whole stack, and to its beginning; the event's was further down. */
static void spoil(int pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		_exit(4);
	for (long at = regs.rsp & ~7L; at < (long)area + SIZE; at += 8)
		ptrace(PTRACE_POKEDATA, pid, at, 0x4141414141414141);
	regs.rip = (unsigned long)on_stack;
	regs.rdi = (unsigned long)area + SIZE / 2;
	regs.rsi = (unsigned long)on_fiber;
	regs.rsp = (unsigned long)area + SIZE / 4;
	regs.orig_rax = -1;
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
}
static void restart(int pid)
{
	struct user_regs_struct regs;

	/* To the other half and back, so that each stack is a new one. */
	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	regs.rdi = (unsigned long)area + SIZE;
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
}
int main(void)
{
	int pid = fork(), status;

	if (!pid)
		return traced();
	for (int i = 0; i < STOPS; i++) {
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGUSR1)
			return 5;
		spoil(pid);
		restart(pid);
		if (ptrace(PTRACE_CONT, pid, 0, 0))
			return 6;
	}
	waitpid(pid, &status, 0);
	kill(pid, SIGKILL);
	return 0;
}
"""
START = r"_start __libc_start_main(_impl)? __libc_start_call_main main"
FIBER = r"on_stack( on_fiber( down){0,%d}" % DEPTH
WHOLE = re.compile(
    START + r"( one( (?!on_stack)\S+)*| (?!one)\S+)*$|" + FIBER +
    r")?$|on_stack on_fiber( down){%d} send_one( \S+)?$" % DEPTH)


def hold(bench, what, recording, least):
    """Samples that differ show their leaf alone, others are whole and a
    path of the program. Those of a handler on a stack that is spoilt have
    nothing to go on with, and are left out."""
    if not bench.test(what + ": recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return []
    differ, wrong, ends = [], [], collections.Counter()
    for sample in recording.samples():
        path = " ".join(livetest.user_path(sample))
        ends[sample["end"]] += 1
        if sample["end"] == "regs-differ":
            differ.append(sample)
        elif ("main" in path.split() or "down" in path.split()) and \
                "__restore_rt" not in path and \
                (sample["end"] != "outermost" or not WHOLE.match(path)):
            wrong.append(sample)
    bench.note("%s: %s, %d moved" % (what, dict(ends),
                                     recording.summary["moved"]))
    bench.test(what + ": samples end in regs-differ, and are counted",
               len(differ) > least and
               recording.summary["end"]["regs-differ"] == len(differ), ends)
    bench.test(what + ": these show the system call that they were in, and "
               "nothing else", all(len(livetest.user_frames(s)) == 1 and
                                   "syscall" in livetest.user_path(s)[0]
                                   for s in differ), "\n".join(
                   livetest.show(s) for s in differ
                   if len(livetest.user_frames(s)) != 1)[:3000])
    bench.test(what + ": every other stack is whole and the program's own",
               not wrong, "%d wrong\n" % len(wrong) +
               "\n".join(map(livetest.show, wrong[:5])))
    return differ


def programs(bench):
    bench.compile(DISARMED, "disarmed")
    bench.compile(TRACED, "traced")


def disarmed(bench):
    exe = bench.compile(DISARMED, "disarmed")
    # A handler's stack leads round in circles: no more than is of use.
    recording = bench.record("-e", "cpu-clock", "-F", "9999", "--max-stack",
                             "200", "--", exe)
    differ = hold(bench, "a handler on top of its callers", recording, 200)
    bench.test("a handler on top of its callers: all in the kernel, most in "
               "building its frame",
               all(map(livetest.kernel_frames, differ)) and
               sum("arch_do_signal_or_restart" in " ".join(
                   f.get("sym", "") for f in livetest.kernel_frames(s))
                   for s in differ) > 0.9 * len(differ),
               "\n".join(livetest.show(s) for s in differ
                         if "arch_do_signal" not in livetest.show(s)))


def traced(bench):
    exe = bench.compile(TRACED, "traced")
    recording = bench.record("-e", "context-switches", "-c", "1", "--", exe)
    differ = hold(bench, "a tracer", recording, 300)
    # Some are preempted on the way there.
    bench.test("a tracer: most stopped for it", sum(
        "ptrace_stop" in " ".join(
            f.get("sym", "") for f in livetest.kernel_frames(s))
        for s in differ) > 0.9 * len(differ))


if __name__ == "__main__":
    sys.exit(livetest.main(disarmed, traced, programs=programs,
                           of="deferred"))
