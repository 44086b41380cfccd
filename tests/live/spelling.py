# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A program whose stacks spell which call they are of, and who checks it.

A recursion goes through two functions, one for each bit of a number that no
other call has. What the number was at a sample's time is in a log that the
program writes itself, and in the arguments of its system calls. Its threads
end after a few calls, and the next gets the tid of one that ended, where a
program may choose that.
"""

import bisect
import collections
import struct
import subprocess

import livetest

BITS = 16
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")

struct call { uint64_t from_ns, to_ns, tid, number; };
static struct call *log_;
static volatile unsigned long next, sink;
static int zero, last_pid, seconds;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
__attribute__((noipa)) void leaf(unsigned n)
{
	char buf[512];
	for (int i = 0; i < 3; i++) {
		if (pread(zero, buf, sizeof(buf), n) < 0) exit(1);
		for (unsigned j = 0; j < 4000; j++) sink += j ^ n;
	}
}
""" + livetest.SPELL + r"""static void *run(void *arg)
{
	long tid = syscall(SYS_gettid);
	for (int i = 0; i < CALLS; i++) {
		unsigned n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
		uint64_t from = now();
		if (n >= MOST) break;
		spell(n, BITS);
		log_[n] = (struct call){from, now(), tid, n};
	}
	return arg;
}
/* One thread after the other, under few tids. */
static void *lane(void *arg)
{
	uint64_t end = now() + seconds * 1000000000ULL;
	char base[16];
	/* The kernel takes none above its highest, which is 32,768 or more. */
	snprintf(base, sizeof(base), "%d", getpid() % 30000 + 350);
	while (now() < end && next < MOST) {
		pthread_t t;
		if (last_pid >= 0 && pwrite(last_pid, base, strlen(base), 0) < 0)
			exit(2);
		if (pthread_create(&t, NULL, run, NULL)) exit(3);
		pthread_join(t, NULL);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[LANES];
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t size = sizeof(*log_) << BITS;
	seconds = atoi(argv[2]);
	zero = open("/dev/zero", O_RDONLY);
	last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
	if (argc > 3) {
		getchar();
		leaf(0);
		puts("");
		fflush(stdout);
		getchar();
	}
	if (fd < 0 || zero < 0 || ftruncate(fd, size)) return 1;
	log_ = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log_ == MAP_FAILED) return 1;
	for (int i = 0; i < LANES; i++) pthread_create(&t[i], NULL, lane, NULL);
	for (int i = 0; i < LANES; i++) pthread_join(t[i], NULL);
	return argc > 9;
}
"""


def calls_of(path):
    """tid -> (begins, calls), both in order of time."""
    by_tid = collections.defaultdict(list)
    with open(path, "rb") as f:
        for from_ns, to_ns, tid, number in struct.iter_unpack(
                "4Q", f.read()):
            if tid:
                by_tid[tid].append((from_ns, to_ns, number))
    for calls in by_tid.values():
        calls.sort()
    return by_tid


def number_at(by_tid, sample):
    """Which call the thread was in; None: between two."""
    calls = by_tid.get(sample["tid"], [])
    i = bisect.bisect(calls, (sample["time_ns"], 1 << 63, 0)) - 1
    if i < 0 or sample["time_ns"] > calls[i][1]:
        return None
    return calls[i][2]


def bits_of(path):
    """The bits that functions spell, root first: all of them at the leaf."""
    return "".join(name[3] for name in path if name in ("bit0", "bit1"))


def spelled(sample):
    return bits_of(livetest.user_path(sample))


def judge(by_tid, samples):
    """(samples whose stack is another call's, whole ones that spell all)."""
    wrong, full = [], 0
    for sample in samples:
        bits, number = spelled(sample), number_at(by_tid, sample)
        want = "" if number is None else format(number, "0%db" % BITS)
        # Without its outer frames a stack may begin anywhere.
        if not (want.startswith(bits) if sample["end"] == "outermost"
                else bits in want):
            wrong.append(sample)
        full += len(bits) == BITS
    return wrong, full


def build(bench, name, lanes, calls, most=1 << BITS):
    """A program with so many threads at once, that live so many calls; it
    ends with its time, or when it has made the most calls."""
    bench.compile(SOURCE, name, "-pthread", "-DBITS=%d" % BITS,
                  "-DLANES=%d" % lanes, "-DCALLS=%d" % calls,
                  "-DMOST=%d" % most)
    return bench.path(name)


def hold(bench, name, samples, log):
    """No sample has another call's stack."""
    by_tid = calls_of(log)
    wrong, full = judge(by_tid, samples)
    times = sorted(len(calls) for calls in by_tid.values())
    bench.note("%s: %d calls, %d tids, up to %d calls each; %d of %d stacks "
               "spell all" % (name, sum(times), len(times), times[-1], full,
                              len(samples)))
    bench.test(name + ": no sample has another entry's stack",
               not wrong and full > 10, "%d wrong, %d full\n" % (
                   len(wrong), full) + "\n".join(
                       "%s %s" % (number_at(by_tid, s), livetest.show(s))
                       for s in wrong[:5]))


def record(bench, exe, log, *options):
    """All that its threads do; what it has mapped is there before, and so are
    the tables: where a recorder takes longer to make them than the program
    runs, no stack would be whole."""
    program = bench.start([exe, log, "1", "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0)
    recorder = bench.recorder(*options, "-p", str(program.pid)).ready()
    program.stdin.write(b"\n")
    program.stdout.readline()
    recorder.settle()
    program.stdin.close()
    program.wait()
    return recorder.wait()


def own_stacks(bench, engine, least_whole, add_up, *options):
    """No sample has the stack of another call, threads and reused tids."""
    log = bench.path("spell-%s.log" % engine)
    exe = build(bench, "spell-" + engine, 3, 40)
    recording = record(bench, exe, log, "--engine", engine, "-e", "cpu-clock",
                       *options)
    samples = recording.samples()
    add_up(bench, "spelled", recording, samples)
    hold(bench, "spelled", samples, log)
    whole = sum(s["end"] == "outermost" for s in samples)
    bench.test("spelled: %.0f %% of the stacks are whole" %
               (100 * least_whole), whole >= least_whole * len(samples),
               recording.log)
