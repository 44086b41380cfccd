#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: another tool's BPF programs ask for the stacks of tasks that are
not the current one (seam_request_task): who wakes a thread gets the stack that
this sleeps in, whole, and who leaves the CPU that of the thread which gets it.
Requests are answered or counted. Where the thread itself asks in the same stay
in the kernel, by the same tool or in a recording, cookie and unwind are one. A
thread that spins in user space on another CPU is interrupted for it. One that
still sleeps at the end of the session has its stack read from outside.

Who is right: a program that spells a number on the stack that it sleeps in,
another each time. The tool is tests/asks/wakes.
"""

import collections
import re
import signal
import subprocess
import sys
import time

import livetest
import requests

BITS, ROUNDS = 8, 200
# Two processes; the tool is told of the first.
SOURCE = r"""
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static int fds[2], begun[2];
static volatile unsigned long sink;
static inline __attribute__((always_inline))
void call(long nr, long a, const void *b, long c)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b),
			 "d"(c) : "rcx", "r11", "memory");
}
__attribute__((noipa)) void leaf(unsigned n)
{
	char byte;
	call(SYS_read, fds[0], &byte, 1);
	STAY();
}
""" + livetest.SPELL + r"""
__attribute__((noipa)) void spin(void)
{
	for (unsigned long i = 0; i < 1000000000UL; i++) sink++;
	STAY();
}
/* The byte before is read, and it waits for another. */
static int sleeps(const char *stat)
{
	FILE *f = fopen(stat, "r");
	char state = 0;
	int left = 1, n = f ? fscanf(f, "%*d %*s %c", &state) : 0;

	if (f) fclose(f);
	if (n != 1 || state == 'Z') return -1;
	return state == 'S' && !ioctl(fds[0], FIONREAD, &left) && !left;
}
static void wakes(int n)
{
	const struct timespec t = {0, 1000000};
	char stat[64];
	int is;

	snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)getppid());
	for (int i = 0; i < n; i++) {
		do nanosleep(&t, NULL); while (!(is = sleeps(stat)));
		if (is < 0 || write(fds[1], "x", 1) != 1) return;
	}
}
int main(int argc, char **argv)
{
	int spins = argc > 1;
	char byte;

	if (pipe(fds) || pipe(begun)) return 1;
	if (fork()) {
		if (getchar() < 0 || write(begun[1], "x", 1) != 1) return 1;
		if (spins) spin();
		for (int i = 0; !spins && i < ROUNDS; i++) spell(i, BITS);
		return 0;
	}
	if (spins) {
		/* Until its parent is gone. */
		for (pid_t up = getppid(); getppid() == up; usleep(1000));
		return 0;
	}
	/* It is asleep each time. */
	if (read(begun[0], &byte, 1) != 1) return 1;
	usleep(10000);
	wakes(ROUNDS);
	return 0;
}
"""
COUNT = requests.COUNT


def compiled(bench):
    return bench.compile(SOURCE, "woken", "-no-pie", "-DBITS=%d" % BITS,
                         "-DROUNDS=%d" % ROUNDS)


def tool_of(bench):
    return bench.args.since if requests.wants_one_name(bench) \
        else bench.args.wakes


class Run:
    """The program under the tool, and a recording. Its .awake and .asleep:
    (tid, cookie) in order; .stacks: by cookie, [(end, names leaf first,
    addresses)]."""

    def __init__(self, bench, mode, record=(), spins=False, waits=None):
        exe = compiled(bench)
        names = requests.Names(exe)
        program = bench.start([exe, *["spin"] * spins],
                              stdin=subprocess.PIPE)
        self.recording = None
        recorder = bench.recorder("-p", str(program.pid), *record).ready() \
            if record else None
        child = []
        while not child:
            child = open("/proc/%d/task/%d/children" % (
                program.pid, program.pid)).read().split()
        tracer = bench.start([tool_of(bench), str(program.pid), mode, *child],
                             stdout=open(bench.path("out"), "w"),
                             stderr=open(bench.path("err"), "w"),
                             env=bench.env)
        while tracer.poll() is None and "ready" not in open(
                bench.path("err")).read():
            time.sleep(0.01)
        if waits:
            waits(program, tracer)
        program.stdin.write(b"\n")
        program.stdin.close()
        program.wait()
        if recorder:
            self.recording = recorder.interrupt()
        self.status = tracer.wait()
        self.said = open(bench.path("err")).read()
        self.awake, self.asleep = [], []
        self.stacks = collections.defaultdict(list)
        self.unseen = None
        for line in open(bench.path("out")):
            words = line.split()
            if words[0] in ("awake", "asleep"):
                getattr(self, words[0]).append(words[2])
            elif words[0] == "stack":
                ips = [int(ip, 16) for ip in words[3:]]
                self.stacks[words[1]].append(
                    (words[2], [names.name(ip + (not i)) for i, ip in
                                enumerate(ips)], ips))
            elif words[0] == "unseen":
                self.unseen = int(words[1])
        found = COUNT.search(self.said)
        self.counts = [int(n) for n in found.groups()] if found else None

    def check(self, bench, what):
        """What holds for all."""
        bench.note("%s: %d awake, %d asleep, %d stacks; %s" % (
            what, len(self.awake), len(self.asleep), len(self.stacks),
            self.said))
        if not bench.test(what + ": the tool traced",
                          self.status == 0 and self.counts, self.said):
            return False
        asked, filtered, none, *_, untold = self.counts
        told = self.awake + self.asleep
        bench.test(what + ": every request was seen, and answered or counted",
                   not self.unseen and asked - filtered >= len(told) -
                   told.count("0") and asked == len(told) and
                   told.count("0") == filtered + none, self.counts)
        had = set(told) - {"0"}
        bench.test(what + ": each cookie has one stack, or is counted",
                   had and len(had) == len(had & self.stacks.keys()) + untold
                   and all(len(self.stacks[c]) == 1 for c in had if
                           c in self.stacks),
                   [(c, self.stacks.get(c)) for c in had if
                    len(self.stacks.get(c, [])) != 1][:5])
        return True

    def spelled(self, cookies):
        """The numbers on whole stacks, of those that sleep in leaf."""
        return [requests.spelled(names) for c in cookies
                for end, names, _ in self.stacks.get(c, [])
                if end == "outermost" and names[0] == "leaf"]


NUMBERS = [format(n, "0%db" % BITS) for n in range(ROUNDS)]


def check_spelled(bench, what, spelled):
    bench.test(what + ": each is the stack that the thread slept in",
               set(spelled) <= set(NUMBERS) and
               list(dict.fromkeys(spelled)) == sorted(set(spelled)),
               spelled[:20])
    bench.test(what + ": nearly all are there, and whole",
               len(set(spelled)) >= 0.9 * ROUNDS,
               "%d of %d" % (len(set(spelled)), ROUNDS))


def wakeup(bench):
    run = Run(bench, "wakeup")
    if run.check(bench, "wakeup"):
        check_spelled(bench, "wakeup", run.spelled(run.awake))


def following(bench):
    """Who gets the CPU next."""
    run = Run(bench, "next")
    if run.check(bench, "next"):
        check_spelled(bench, "next", run.spelled(run.awake))


def both(bench):
    """The thread asks as it goes to sleep, and who wakes it finds that."""
    run = Run(bench, "both")
    if not run.check(bench, "both"):
        return
    check_spelled(bench, "both", run.spelled(run.awake))
    one = set(run.awake) & set(run.asleep) - {"0"}
    bench.test("both: one cookie for who sleeps and who wakes it",
               len(one) >= 0.9 * ROUNDS, "%d of %d" % (len(one), ROUNDS))
    unwinds = run.counts[3] + run.counts[4]
    bench.test("both: and one unwind", unwinds == len(run.stacks),
               "%d unwinds, %d stacks" % (unwinds, len(run.stacks)))


def recorded(bench):
    """A recording asks in the thread itself, when it has been woken."""
    run = Run(bench, "wakeup", record=(
        "-e", "raw_syscalls:sys_exit", "-c", "1", "--max-stack", "127"))
    if not run.check(bench, "recorded"):
        return
    check_spelled(bench, "recorded", run.spelled(run.awake))
    theirs = {s["cookie"]: [int(f["ip"], 16) for f in s["frames"]
                            if not f.get("kernel")]
              for s in run.recording.samples()
              if s.get("cookie") and s["end"] not in ("lost", "pending")}
    have = {c for c in run.awake if c in theirs and c in run.stacks}
    bench.test("recorded: nearly all have one cookie in both",
               len(have) >= 0.9 * ROUNDS, "%d of %d" % (len(have), ROUNDS))
    wrong = [c for c in have if run.stacks[c][0][2] != theirs[c]]
    bench.test("recorded: and one stack", have and not wrong, wrong[:5])


def kick(bench):
    """The thread is in user space, and is interrupted there."""
    run = Run(bench, "kick", spins=True)
    if not run.check(bench, "kick"):
        return
    found = [s for c in set(run.awake) for s in run.stacks.get(c, [])]
    inside = [s for s in found if s[1] and s[1][0] == "spin"]
    bench.test("kick: stacks of where it is interrupted",
               len(inside) >= len(found) / 2 and len(inside) > 10,
               collections.Counter(s[1][0] for s in found if s[1]))


def asleep(bench):
    """The session ends while the thread that was asked for sleeps."""
    def waits(program, tracer):
        # It kicks each time that the child wakes.
        child = livetest.command_of(program.pid)
        begun = livetest.naps(child)
        while livetest.naps(child) < begun + 10:
            time.sleep(0.01)
        tracer.send_signal(signal.SIGINT)
        tracer.wait()

    run = Run(bench, "kick", spins=True, waits=waits)
    if not run.check(bench, "asleep"):
        return
    found = [s for c in set(run.awake) for s in run.stacks.get(c, [])]
    bench.test("asleep: it is read from outside, whole",
               found and all(re.match("outermost", s[0]) and "main" in s[1]
                             for s in found), found[:3])


if __name__ == "__main__":
    sys.exit(livetest.main(
        wakeup, following, both, recorded, kick, asleep, programs=compiled,
        of="deferred", tools=(
            ("--wakes", "build/tests/asks/wakes"),
            ("--since", "build/tests/asks/wakes-since"))))
