#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: --off-cpu says where each task slept, and for how long.

A program measures its own naps while another of its threads waits for a pipe
that stays empty, past the end of the recording, and two more run all the time,
more than there are processors, so that they are preempted, which is no sleep.
"""

import collections
import os
import re
import signal
import subprocess
import sys
import time

import livetest

NAPS = 20
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
static int empty[2];
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}
void nap(void)
{
	struct timespec t = {0, 20000000};
	nanosleep(&t, NULL);
	STAY();
}
void wait_read(void) { char c; if (read(empty[0], &c, 1) < 0) exit(3); STAY(); }
void *reader(void *arg) { wait_read(); return arg; }
void *spin(void *arg) { for (;;) sink++; return arg; }
int main(void)
{
	pthread_t t;
	char c;
	long slept = 0;
	if (pipe(empty) || read(0, &c, 1) != 1) return 4;
	pthread_create(&t, NULL, reader, NULL);
	for (long i = sysconf(_SC_NPROCESSORS_ONLN); i >= 0; i--)
		pthread_create(&t, NULL, spin, NULL);
	for (int i = 0; i < NAPS; i++) {
		long from = now();
		nap();
		slept += now() - from;
	}
	printf("%ld\n", slept);
	fflush(stdout);
	for (;;)
		sink++;
}
"""


LONG = """
#include <time.h>
void longnap(void)
{
	struct timespec t = {0, 100000000};
	nanosleep(&t, NULL);
	__asm__ volatile("" ::: "memory");
}
int main(void) { longnap(); return 0; }
"""


# Three sleep before anybody looks: one is woken meanwhile, by main, and sleeps
# once more elsewhere.
BEFORE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static int first[2], never[2];
static char c;
__attribute__((noipa)) void get(int fd) { if (read(fd, &c, 1) < 0) _exit(3); STAY(); }
void woken(void) { get(first[0]); STAY(); }
void after(void) { get(never[0]); STAY(); }
void stuck(void) { get(never[0]); STAY(); }
void *one(void *arg) { woken(); after(); return arg; }
void *two(void *arg) { stuck(); return arg; }
int main(void)
{
	pthread_t t;
	if (pipe(first) || pipe(never)) return 4;
	pthread_create(&t, NULL, one, NULL);
	pthread_create(&t, NULL, two, NULL);
	puts("ready");
	fflush(stdout);
	get(0);
	if (write(first[1], "x", 1) != 1) return 5;
	pthread_join(t, NULL);
	return 0;
}
"""


def program(bench):
    bench.compile(LONG, "longnap")
    bench.compile(BEFORE, "before", "-pthread",
                  "-fno-optimize-sibling-calls")
    return bench.compile(SOURCE, "naps", "-pthread", "-DNAPS=%d" % NAPS)


def sleepers(samples, name):
    return [s for s in samples if name in livetest.user_path(s)]


def times(bench, *options):
    target = bench.start([program(bench)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorder = bench.recorder("--off-cpu", "-e", "cpu-clock", "-F", "199",
                              "-p", str(target.pid), *options).ready()
    began = time.monotonic()
    target.stdin.write(b"x")
    target.stdin.flush()
    slept = int(target.stdout.readline())
    passed = time.monotonic() - began
    recording = recorder.interrupt(signal.SIGTERM)
    least, most = passed, time.monotonic() - began
    target.kill()
    target.wait()
    everything = recording.samples()
    samples = [s for s in everything if s["event"] == "offcpu-time"]
    naps = sleepers(samples, "nap")
    told = sum(s["period"] for s in naps)
    bench.test("a sample for each nap, whole, with the kernel's part",
               len(naps) == NAPS and all(
                   s["end"] == "outermost" and
                   "nanosleep" in " ".join(f.get("sym", "") for f in
                                           livetest.kernel_frames(s))
                   for s in naps), "%d\n" % len(naps) +
               "\n".join(map(livetest.show, naps[:3])))
    bench.test("their times are what the program measured around them",
               NAPS * 20e6 <= told <= slept and slept - told < 0.5 * slept,
               "%d ns told, %d measured" % (told, slept))
    waits = sleepers(samples, "wait_read")
    bench.test("who sleeps at the end has slept until then, with a whole "
               "stack", len(waits) == 1 and waits[0]["end"] == "outermost" and
               0.8 * least <= waits[0]["period"] / 1e9 <= most,
               "%s, %.3f to %.3f s\n" % ([s["period"] for s in waits], least,
                                         most) +
               "\n".join(map(livetest.show, waits)))
    spins = [s for s in samples if livetest.user_path(s)[-1:] == ["spin"]]
    bench.test("to be preempted is not to sleep", not spins and
               sleepers(everything, "spin"),
               "\n".join(map(livetest.show, spins[:3])))
    ends = {c: n for c, n in recording.summary["end"].items() if n}
    found = collections.Counter(s["end"] for s in everything)
    bench.test("each end code as often in the file, and nothing lost",
               recording.status == 0 and dict(found) == ends and
               not any(recording.summary["lost"].values()), recording.log)
    report(bench, recording, naps)


def report(bench, recording, naps):
    printed = subprocess.run(
        [bench.seam, "report", "-i", recording.data, "--event",
         "offcpu-time"], stdout=subprocess.PIPE, encoding="utf-8",
        env=bench.env).stdout
    want = "%.3f" % (sum(s["period"] for s in naps) / 1e6)
    line = re.search(r"^.* nap$", printed, re.MULTILINE)
    bench.test("report says how many ms", line and want in line.group() and
               "Total ms" in printed, "%s not in\n%s" % (want, printed))


def in_read(sample):
    kernel = [f.get("sym", "") for f in livetest.kernel_frames(sample)]
    return sample["end"] == "outermost" and "vfs_read" in kernel


def await_sleep(target):
    """Until all of its threads sleep."""
    while any(livetest.state(target.pid, tid) != "S"
              for tid in os.listdir("/proc/%d/task" % target.pid)):
        time.sleep(0.01)


def start_before(bench):
    program(bench)
    return bench.start([bench.path("before")], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE)


def before(bench, *options):
    target = start_before(bench)
    target.stdout.readline()
    await_sleep(target)
    early = time.monotonic()
    recorder = bench.recorder("-e", "offcpu-time", "-p", str(target.pid),
                              *options).ready()
    time.sleep(0.3)
    target.stdin.write(b"x")
    target.stdin.flush()
    time.sleep(0.3)
    recording = recorder.interrupt()
    ended = time.monotonic()
    target.kill()
    target.wait()
    samples = recording.samples()
    found = {name: sleepers(samples, name)
             for name in ("main", "woken", "after", "stuck")}
    shown = recording.log + "\n".join(map(livetest.show, samples))
    bench.test("who slept before has that sleep, whole, with both halves",
               all(found.values()) and all(
                   in_read(found[name][0])
                   for name in ("main", "woken", "stuck")), shown)
    bench.test("once each, and once more where it slept again",
               [len(found[name]) for name in ("woken", "after", "stuck")] ==
               [1, 1, 1], shown)
    times = {name: found[name][0]["period"] / 1e9 if found[name] else 0
             for name in found}
    bench.test("for as long as it was recorded, or till it was woken",
               0.6 <= times["stuck"] <= ended - early and
               0.3 <= times["woken"] <= times["stuck"] - 0.3 and
               0.3 <= times["after"], str(times))
    bench.test("none is lost, and each is counted", recording.status == 0 and
               recording.summary["samples"] == len(samples) and
               recording.summary["end"]["outermost"] == len(samples) and
               not any(recording.summary["lost"].values()), recording.log)
    bench.test("nobody else's", {s["pid"] for s in samples} == {target.pid},
               {s["pid"] for s in samples})


def joined(bench):
    """Another recording has asked for the stacks of those sleeps."""
    target = start_before(bench)
    other = bench.recorder("-e", "context-switches/period=1/", "-p",
                           str(target.pid), name="other.data").ready()
    target.stdout.readline()
    target.stdin.write(b"x")
    target.stdin.flush()
    time.sleep(0.3)
    await_sleep(target)
    recorder = bench.recorder("-e", "offcpu-time", "-p",
                              str(target.pid)).ready()
    samples = recorder.interrupt().samples()
    others = other.interrupt().samples()
    target.kill()
    target.wait()
    last = {s["tid"]: s["cookie"] for s in others}
    reads = sleepers(samples, "get")
    # One of them may have slept when that began.
    both = [s for s in samples if s["tid"] in last]
    bench.test("who slept before has the cookie and the stack that another "
               "recording has asked for", len(samples) == 3 and
               len(reads) == 2 and all(map(in_read, reads)) and
               all(s["end"] == "outermost" for s in samples) and
               len(both) >= 2 and
               all(s["cookie"] == last[s["tid"]] for s in both),
               "%s\n%s" % (last, "\n".join(map(livetest.show, samples))))


def at_once(bench):
    """The same by stacks that are there before the sleep's sample is."""
    if not bench.args.engine:
        times(bench, "--engine", "immediate")
        before(bench, "--engine", "immediate")


def machine(bench):
    """Beside a tracepoint that counts the same."""
    long = bench.compile(LONG, "longnap")
    recording = bench.record("-a", "-e", "offcpu-time:u,sched:sched_switch",
                             "--", "sh", "-c", "for i in 1 2 3 4 5; do "
                             "sleep 0.01; done; %s 0.1" % long)
    samples = recording.samples()
    slept = [s for s in samples if s["event"] == "offcpu-time:u"]
    bench.test("-a, :u: the sleeps of every task, without the kernel's half",
               len({s["pid"] for s in slept}) > 2 and not any(
                   livetest.kernel_frames(s) for s in slept) and
               recording.summary["expected"] is not None, recording.log)
    naps = [s for s in slept if s["comm"] == "longnap" and
            s["period"] > 99e6]
    bench.test("who napped 0.1 s slept so long", len(naps) == 1 and
               naps[0]["period"] < 10e9 and
               "longnap" in livetest.user_path(naps[0]),
               "\n".join(map(livetest.show, naps)))


def bad(bench):
    for options, status, reason in [
            (["-e", "offcpu-time", "--off-cpu"], 1, "recorded once"),
            (["-e", "offcpu-time/period=7/"], 1, "takes every sleep"),
            (["--off-cpu=5"], 2, "off-cpu")]:
        recording = bench.record(*options, "--", "true", name="bad.data")
        bench.test(" ".join(options) + " is refused, and why",
                   recording.status == status and reason in recording.log and
                   not os.path.exists(recording.data), recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(times, before, joined, at_once, machine, bad, programs=program, only={
        "how long a sleep was, BPF counts":
            ("deferred immediate", (times, before, joined, at_once, machine,
                                    bad)),
        "at once, each client takes its own": ("deferred", (joined,))}))
