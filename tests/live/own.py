#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what the unwind itself causes is seam's cost, and no sample.

A thread on a stack of file pages goes 40 pages deep and lets all of them be
dropped. Whoever reads its stack then has to fault them in, some at a time:
where system calls are recorded, that is the unwind, in the kernel. The thread
itself takes a fault for each page that it writes to, in user mode.

A clock that ticks inside the unwind is its cost as well. But what the tick's
interrupt does is none of its doing, and is a sample with the stack of the entry
that it interrupted: each tick is one expiry of a timer, which is a tracepoint.
The stack spells the number that the system call has as its argument.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

import livetest

LOOPS = 200
PAGES = 40
TAILS = 3
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SIZE (1 << 20)
static char *stack;
void drop(void)
{
	char here;
	char *from = (char *)(((unsigned long)&here + 8191) & -4096UL);
	syscall(SYS_madvise, from, stack + SIZE - from, MADV_DONTNEED);
	__asm__ volatile("");
}
void down(int n)
{
	volatile char pad[4096 - 64];
	pad[0] = 1;
	if (n > 1) down(n - 1); else drop();
	__asm__ volatile("");
}
void *thread(void *arg)
{
	for (int i = 0; i < LOOPS; i++)
		down(PAGES);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t t;
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, SIZE)) return 3;
	stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_attr_init(&attr);
	if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, SIZE) ||
	    pthread_create(&t, &attr, thread, NULL) || pthread_join(t, NULL))
		return 4;
	return 0;
}
"""


def in_thread(samples, event):
    return [s for s in samples if s["event"] == event and
            "down" in livetest.user_path(s)]


def in_unwind(sample):
    """In what the task work calls: programs have no names there."""
    frames = [f.get("sym", "") for f in livetest.kernel_frames(sample)]
    at = frames.index("bpf_task_work_callback") \
        if "bpf_task_work_callback" in frames else 0
    return at and not frames[at - 1]


def dropping(bench):
    return bench.compile(SOURCE, "drop", "-pthread", "-DLOOPS=%d" % LOOPS,
                         "-DPAGES=%d" % PAGES, "-fno-optimize-sibling-calls")


def is_in_memory(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout
    return kind.strip() in ("tmpfs", "ramfs")


def faults(bench):
    if is_in_memory("/var/tmp"):
        bench.skip("faults of the unwind", "/var/tmp is in memory, where one "
                   "fault maps many pages")
        return
    exe = dropping(bench)
    folder = tempfile.mkdtemp(dir="/var/tmp")
    command = ["--", exe, os.path.join(folder, "stack")]
    recording = bench.record("-m", "64M", "-e",
                             "page-faults,raw_syscalls:sys_enter,"
                             "sched:sched_switch,cpu-clock/freq=999/", "-c",
                             "1", *command)
    shutil.rmtree(folder)
    samples, summary = recording.samples(), recording.summary
    calls = [s for s in in_thread(samples, "raw_syscalls:sys_enter")
             if "drop" in livetest.user_path(s)]
    left = in_thread(samples, "page-faults")
    bench.note("own %(own)d, faulted %(faulted)d, unwinds %(unwinds)d" %
               summary + ", %d calls, %d faults" % (len(calls), len(left)))
    bench.test("each call's stack is whole, out of pages that were dropped",
               len(calls) == LOOPS and all(
                   s["end"] == "outermost" and
                   livetest.user_path(s).count("down") == PAGES
                   for s in calls),
               collections.Counter(s["end"] for s in calls))
    bench.test("the unwind faulted them in, which is seam's own cost",
               summary["own"] >= summary["faulted"] >= 2 * LOOPS, summary)
    # The kernel has faults of its own there: a restartable sequence's.
    inside = [s for s in samples if s["event"] == "page-faults" and any(
        f.get("sym", "").startswith("bpf_") for f in s["frames"])]
    bench.test("no fault of the unwind is a sample of the thread, all others "
               "are", not inside and len(left) >= LOOPS * PAGES * 0.9,
               "%d of %d" % (len(inside), len(left)))
    waits = [s for s in samples if s["event"] == "sched:sched_switch" and
             in_unwind(s) and any(f.get("sym") == "io_schedule"
                                  for f in s["frames"])]
    bench.test("nor is where the unwind sleeps, for a page", not waits,
               "\n".join(map(livetest.show, waits[:3])))
    bench.test("every event of the target is a sample, or seam's own",
               summary["watched"] == summary["samples"] + summary["own"],
               summary)
    # An unwind is for a sample; or it is an exec's or an exit's, for events that
    # may come yet: of one exec and two threads here.
    stacks = {s["cookie"] for s in samples if s.get("cookie")}
    lost = summary["lost"]["samples"]
    bench.test("none of them asks for another unwind",
               len(stacks) <= summary["unwinds"] <=
               len(stacks) + TAILS + lost, "%d stacks, %s" % (
                   len(stacks), summary))


CALLS, BITS = 8000, 30
SPELLER = r"""
#include <sys/syscall.h>
#define STAY() __asm__ volatile("" ::: "memory")
__attribute__((noipa)) void leaf(unsigned n)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret)
			 : "0"((long)SYS_getppid), "D"((long)n)
			 : "rcx", "r11", "memory");
	STAY();
}
""" + livetest.SPELL + r"""
int main(void)
{
	for (unsigned i = 0; i < CALLS; i++)
		spell(i * 2654435761u >> (32 - BITS), BITS);
	return 0;
}
"""


def speller(bench):
    return bench.compile(SPELLER, "speller", "-DCALLS=%d" % CALLS,
                         "-DBITS=%d" % BITS, "-fno-optimize-sibling-calls")


def programs(bench):
    dropping(bench)
    speller(bench)


def amid(bench):
    exe = speller(bench)
    # Room for all that there is, however late it is read.
    recording = bench.record(
        "-e", "raw_syscalls:sys_enter,timer:hrtimer_expire_entry/period=1/,"
        "cpu-clock/freq=%d/" % min(19999, 40000 // bench.args.slower), "-m",
        "64M", "--", exe)
    samples, summary = recording.samples(), recording.summary
    calls = {s["cookie"]: s for s in samples if s.get("cookie") and
             s["event"] == "raw_syscalls:sys_enter"}
    expiries = [s for s in samples
                if s["event"] == "timer:hrtimer_expire_entry"]
    inside = [s for s in expiries if in_unwind(s)]
    bench.note("%d calls, %d expiries, %d of them in the unwind, %d own, "
               "%d again" % (len(calls), len(expiries), len(inside),
                             summary["own"], summary["again"]))
    bench.test("interrupts of the unwind are samples",
               len(inside) > max(5, len(expiries) / 5 / bench.args.slower),
               "%d of %d" % (len(inside), len(expiries)))
    shared = [s for s in inside if s.get("cookie") in calls]
    bad = [s for s in inside if s["end"] != "outermost"] + [
        s for s in shared if livetest.user_frames(s) !=
        livetest.user_frames(calls[s["cookie"]])]
    # The others' entries began with a tick.
    bench.test("each has a whole stack, and with its cookie the one of the "
               "call that is unwound", not bad and
               len(shared) > 0.8 * len(inside), "%d, %d of %d\n" % (
                   len(bad), len(shared), len(inside)) +
               "\n".join(map(livetest.show, bad[:3])))
    spelled = [s for s in calls.values() if len(
        [f for f in livetest.user_path(s) if f.startswith("bit")]) == BITS]
    bench.test("no call has lost its own", len(spelled) == CALLS and
               not summary["lost"]["samples"] and not summary["end"]["lost"],
               "%d of %d, %s" % (len(spelled), CALLS, summary))
    ticks = [s for s in samples if s["event"] == "cpu-clock" and in_unwind(s)]
    # Some tick before the unwind has said that it runs, amid a look-up: one of
    # 28 to 36 on one machine, more where that look-up takes longer.
    bench.test("the clock that ticked there is none: its ticks are own",
               len(ticks) < 0.15 * summary["own"] and
               summary["own"] > len(inside) / 2,
               "%d ticks, %d own" % (len(ticks), summary["own"]))
    bench.test("every event is a sample, or seam's own",
               summary["watched"] == summary["samples"] + summary["own"],
               summary)


def preempted(bench):
    """By what runs on the same processor and does not sleep."""
    exe = speller(bench)
    cpu = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    bench.start([*cpu, "sh", "-c", "while :; do :; done"])
    recording = bench.record("-e", "raw_syscalls:sys_enter,sched:sched_switch",
                             "-c", "1", "--", *cpu, exe)
    switches = [s for s in recording.samples()
                if s["event"] == "sched:sched_switch"]
    what = "a task preempted in its unwind has that sample, with its stack"
    if not any(f.get("sym", "").startswith("preempt_schedule")
               for s in switches for f in s["frames"]):
        bench.skip(what, "this kernel preempts no task in the kernel")
        return
    # A guest's taskset, which it was before, may have no tables.
    switches = [s for s in filter(in_unwind, switches)
                if s["comm"] == "speller"]
    bad = [s for s in switches if s["end"] != "outermost"]
    bench.test(what, switches and not bad, "%d of %d\n" % (
        len(bad), len(switches)) + "\n".join(map(livetest.show, bad[:3])) +
               "\n" + recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(faults, amid, preempted, programs=programs,
                           of="deferred"))
