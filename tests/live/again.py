#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: an event that comes when its entry's stack has been taken, and
before the task is back in user space, has a stack of its own, under a cookie of
its own, and is counted.

A signal that a call sends to its own thread is delivered on the call's way
back, behind the task work.
"""

import collections
import sys

import livetest

CALLS = 500
SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile int count;
static void on_signal(int signal) { count += signal == SIGUSR1; }
__attribute__((noipa)) void ask(void)
{
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	STAY();
}
__attribute__((noipa)) void even(void) { ask(); STAY(); }
__attribute__((noipa)) void odd(void) { ask(); STAY(); }
int main(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < CALLS; i++)
		if (i & 1) odd(); else even();
	return count != CALLS;
}
"""


def program(bench):
    return bench.compile(SOURCE, "signals", "-DCALLS=%d" % CALLS,
                         "-fno-optimize-sibling-calls")


def way(sample):
    """Of main's calls."""
    path = livetest.user_path(sample)
    return path[path.index("main") + 1:] if "main" in path else path


def again(bench):
    recording = bench.record("-m", "16M", "-e", "raw_syscalls:sys_enter,"
                             "signal:signal_deliver", "-c", "1", "--",
                             program(bench))
    samples = recording.samples()
    calls = [s for s in samples if way(s)[1:] == ["ask", "syscall"]]
    told = [s for s in calls if s["event"] == "signal:signal_deliver"]
    asked = [s for s in calls if s["event"] == "raw_syscalls:sys_enter" and
             "on_signal" not in way(s)]
    bench.test("each call has its sample, and so has each signal",
               recording.status == 0 and len(told) == CALLS and
               len(asked) >= CALLS, "%d, %d\n%s" % (
                   len(told), len(asked), recording.log))
    bench.test("all of them whole, and of the way that this call was",
               all(s["end"] == "outermost" for s in calls) and
               collections.Counter(way(s)[0] for s in told) ==
               {"even": CALLS / 2, "odd": CALLS / 2},
               "\n".join(map(livetest.show, told[:3])))
    cookies = [s["cookie"] for s in told + asked]
    bench.test("each under a cookie of its own",
               len(set(cookies)) == len(cookies), len(set(cookies)))
    bench.test("the signals' are counted as taken again",
               recording.summary["again"] == CALLS and
               recording.summary["unwinds"] >= len(cookies),
               recording.summary)


if __name__ == "__main__":
    sys.exit(livetest.main(again, programs=program, of="deferred"))
