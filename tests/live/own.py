#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what the unwind itself causes is seam's cost, and no sample.

A thread on a stack of file pages goes 40 pages deep and lets all of them be
dropped. Whoever reads its stack then has to fault them in, some at a time:
where system calls are recorded, that is the unwind, in the kernel. The thread
itself takes a fault for each page that it writes to, in user mode.
"""

import collections
import os
import shutil
import sys
import tempfile

import livetest

LOOPS = 200
PAGES = 40
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


def faults(bench):
    exe = bench.compile(SOURCE, "drop", "-pthread", "-DLOOPS=%d" % LOOPS,
                        "-DPAGES=%d" % PAGES, "-fno-optimize-sibling-calls")
    # On a disk: of a file in memory one fault maps many pages.
    folder = tempfile.mkdtemp(dir="/var/tmp")
    command = ["--", exe, os.path.join(folder, "stack")]
    recording = bench.record("-e", "page-faults,raw_syscalls:sys_enter,"
                             "cpu-clock/freq=999/", "-c", "1", *command)
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
    bench.test("every event of the target is a sample, or seam's own",
               summary["watched"] == summary["samples"] + summary["own"],
               summary)
    bench.test("none of them asks for another unwind",
               summary["unwinds"] <= summary["samples"], summary)


if __name__ == "__main__":
    sys.exit(livetest.main(faults))
