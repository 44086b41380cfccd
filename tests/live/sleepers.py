#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: threads that still sleep when the recording ends get the whole
stack they sleep with, and none is woken for it.

Their samples are the context switches into that sleep, so nothing but a look
from outside can give the user half. Sleeps of all kinds: a time, a pipe that
stays empty, a lock, and a child.
"""

import os
import subprocess
import sys
import time

import livetest

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")

static int empty[2], go[2], deep = 30;
static char got;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double slept;
static int failed;
static long switches;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
void nap(void)
{
	struct timespec t = {10, 0};
	struct rusage before, after;
	double from = now();
	getrusage(RUSAGE_THREAD, &before);
	failed = nanosleep(&t, NULL);
	getrusage(RUSAGE_THREAD, &after);
	slept = now() - from;
	switches = after.ru_nvcsw - before.ru_nvcsw;
}
void wait_read(void) { char c; if (read(empty[0], &c, 1) < 0) exit(3); STAY(); }
void wait_lock(void) { pthread_mutex_lock(&lock); STAY(); }
void wait_child(void) { wait(NULL); STAY(); }
void down(int n, void (*last)(void))
{
	volatile char pad[1000];
	pad[0] = 1;
	if (n > 1) down(n - 1, last); else last();
	STAY();
}
/* Saves all it can, and 48 bytes a frame lie over pages' ends now this way, now
 * that: of one in 170 a page ends between the return address and rbp. */
__attribute__((noipa)) void across(int n)
{
	if (n > 1) across(n - 1); else if (read(empty[0], &got, 1) < 0) exit(3);
	__asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "memory");
}
void wait_across(void) { across(ACROSS); STAY(); }
void *thread(void *arg)
{
	char c;
	if (read(go[0], &c, 1) != 1) exit(4);
	if (arg == wait_across) wait_across(); else down(deep, arg);
	return NULL;
}
int main(void)
{
	void (*all[])(void) = {nap, wait_read, wait_lock, wait_child,
			       wait_across};
	pthread_t t[5];

	if (pipe(empty) || pipe(go)) return 1;
	pthread_mutex_lock(&lock);
	if (!fork()) { pause(); _exit(0); }
	for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, thread, all[i]);
	puts("ready"); fflush(stdout);
	getchar();
	for (int i = 0; i < 100; i++) usleep(2000); /* tables come */
	puts("rested"); fflush(stdout);
	if (write(go[1], "12345", 5) != 5) return 2;
	pthread_join(t[0], NULL);
	printf("%f %d %ld\n", slept, failed, switches); fflush(stdout);
	kill(0, 9);
}
"""
CALLS = {"nap": "nanosleep", "wait_read": "read", "wait_lock": "lock",
         "wait_child": "wait", "wait_across": "read"}
DEEP = 30
ACROSS = 180


def switches(pid):
    """tid -> voluntary context switches."""
    return {int(tid): livetest.naps(pid, tid)
            for tid in os.listdir("/proc/%d/task" % pid)}


def await_rest(process):
    """Until main, which says when it has napped, and all its threads have
    slept where they are for a while."""
    process.stdout.readline()
    before, now = None, switches(process.pid)
    while process.poll() is None and now != before:
        time.sleep(0.5)
        before, now = now, switches(process.pid)


def program(bench):
    return bench.compile(SOURCE, "sleepers", "-pthread",
                         "-DACROSS=%d" % ACROSS)


def sleepers(bench):
    exe = program(bench)
    process = bench.start([exe], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    recorder = bench.recorder("-p", str(process.pid), "-e",
                              "context-switches", "-c", "1").ready()
    process.stdin.write(b"\n")
    process.stdin.flush()
    await_rest(process)
    before = switches(process.pid)
    recording = recorder.interrupt()
    after = switches(process.pid)
    slept, failed, times = process.stdout.readline().split()
    bench.test("recorded", recording.status == 0 and recording.summary,
               recording.log)
    bench.test("no thread was woken", before == after and len(before) == 6,
               "%s, then %s" % (before, after))
    # How late it ran again is the machine's.
    bench.test("a sleep of 10 s was one, to its end", float(slept) > 9.999 and
               (int(failed), int(times)) == (0, 1),
               "%s s, returned %s, %s switches" % (slept, failed, times))
    last = {}
    for sample in recording.samples():
        if sample["pid"] == process.pid:
            last[sample["tid"]] = sample
    found = {}
    for tid, sample in last.items():
        path = livetest.user_path(sample)
        name = next((n for n in path if n in CALLS), "main")
        found[name] = (sample, path)
    for name, call in CALLS.items():
        sample, path = found.get(name, (None, []))
        way = ["down"] * DEEP + [name]
        if name == "wait_across":
            way = [name] + ["across"] * ACROSS
        bench.test("%s: whole, with the kernel's half" % name,
                   sample and sample["end"] == "outermost" and
                   path[1:3 + len(way)] == ["start_thread", "thread"] + way and
                   call in path[-1] and
                   any("schedule" in f.get("sym", "")
                       for f in livetest.kernel_frames(sample)),
                   sample and livetest.show(sample))
    sample, path = found.get("main", (None, []))
    bench.test("main waits for its threads, whole", sample and
               sample["end"] == "outermost" and "main" in path,
               sample and livetest.show(sample))
    bench.test("nothing is pending", recording.summary["end"]["pending"] == 0,
               recording.summary["end"])
    # The library's tables came in time, or nothing was read from outside.
    bench.test("the stacks were read in place", recording.summary["frames"] >
               ACROSS + len(CALLS) * DEEP - DEEP, recording.summary)
    bench.note(recording.summary["end"])


if __name__ == "__main__":
    sys.exit(livetest.main(sleepers, programs=program, of="deferred"))
