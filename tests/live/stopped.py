#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tasks that a tracer or a cgroup's freezer holds when the
recording ends, in user code or in a system call: the sample of the way into
the stop has its whole stack, nothing waits, and the task then goes on as if
nobody had looked. A debugger's own doings, registers exchanged for a call of
its own, breakpoints in the code and signals that it passes on, change no
sample's stack.
"""

import os
import subprocess
import sys
import time

import account
import livetest

DEEP = 30
# Says which stage it is in and checks all it does, so that its status tells.
TARGET = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile int go_on = 1;
static volatile unsigned long sink, calls;
/* Begins by a push, in whose place a breakpoint comes. */
__attribute__((noipa)) void beat(void) { __asm__ volatile("" ::: "rbx"); }
__attribute__((noipa)) void spin(void)
{
	unsigned long a = 1, b = 2, c = 3, d = 4;
	while (go_on) {
		a += b; b ^= a + 1; c += a * b; d ^= c;
		if (a + b != (a | b) + (a & b) || d - c + c != d) exit(9);
		sink = d;
		beat();
	}
}
__attribute__((noipa)) void wait_read(void)
{
	char c;
	if (read(0, &c, 1) != 1) exit(8);
	STAY();
}
__attribute__((noipa)) void down(int n, void (*last)(void))
{
	volatile unsigned long pad[20];
	for (int i = 0; i < 20; i++) pad[i] = n * 100 + i;
	if (n > 1) down(n - 1, last); else last();
	for (int i = 0; i < 20; i++) if (pad[i] != n * 100UL + i) exit(7);
	STAY();
}
__attribute__((noipa)) void other(void) { calls++; }
__attribute__((noipa)) void trap(void) { __asm__ volatile("nop; int3"); }
int main(int argc, char **argv)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	printf("%lx %lx %lx %lx\n", (long)&go_on, (long)other,
	       (long)trap + 1, (long)beat); /* as if trap had called */
	fflush(stdout);
	down(DEEP, argv[1][0] == 's' ? spin : wait_read);
	printf("%lu\n", calls);
	return argc > 9;
}
"""
# Stops the task as it is told by a letter a line, and answers what it did.
TRACER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#define ASK(...) do { if (ptrace(__VA_ARGS__) < 0) { perror(#__VA_ARGS__); \
	exit(1); } } while (0)
static int pid;
static void stopped(void)
{
	int status;
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) exit(2);
}
/* As debuggers do: the function returns to a breakpoint. */
static void call(unsigned long function, unsigned long back)
{
	struct user_regs_struct regs, mine;
	ASK(PTRACE_GETREGS, pid, 0, &regs);
	mine = regs;
	mine.rsp = ((regs.rsp - 512) & ~15UL) - 8;
	mine.rip = function;
	mine.orig_rax = -1;
	ASK(PTRACE_POKEDATA, pid, mine.rsp, back);
	ASK(PTRACE_POKEDATA, pid, mine.rsp + 8, 0); /* nobody called */
	ASK(PTRACE_SETREGS, pid, 0, &mine);
	ASK(PTRACE_CONT, pid, 0, 0);
	stopped();
	ASK(PTRACE_SETREGS, pid, 0, &regs);
}
/* Sets a breakpoint, runs into it, and takes it away. */
static void hit(unsigned long at)
{
	struct user_regs_struct regs;
	long word = ptrace(PTRACE_PEEKDATA, pid, at, 0);
	ASK(PTRACE_POKEDATA, pid, at, (word & ~0xffL) | 0xcc);
	ASK(PTRACE_CONT, pid, 0, 0);
	stopped();
	ASK(PTRACE_POKEDATA, pid, at, word);
	ASK(PTRACE_GETREGS, pid, 0, &regs);
	if (--regs.rip != at) exit(3);
	ASK(PTRACE_SETREGS, pid, 0, &regs);
}
int main(int argc, char **argv)
{
	unsigned long go_on, function, back, beat;
	char line[64];
	if (argc < 6) return 1;
	pid = atoi(argv[1]);
	go_on = strtoul(argv[2], NULL, 16);
	function = strtoul(argv[3], NULL, 16);
	back = strtoul(argv[4], NULL, 16);
	beat = strtoul(argv[5], NULL, 16);
	ASK(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD);
	while (fgets(line, sizeof(line), stdin)) {
		switch (line[0]) {
		case 'i': ASK(PTRACE_INTERRUPT, pid, 0, 0); stopped(); break;
		case 's': ASK(PTRACE_SYSCALL, pid, 0, 0); stopped(); break;
		case 'c': ASK(PTRACE_CONT, pid, 0, 0); break;
		case 'f': call(function, back); break;
		case 'b': hit(beat); break;
		case 'e': ASK(PTRACE_POKEDATA, pid, go_on, 0); break;
		case 'd': ASK(PTRACE_DETACH, pid, 0, 0); break;
		}
		printf("%c\n", line[0]); fflush(stdout);
	}
	return 0;
}
"""
KINDS = {"spin": "s", "wait_read": "r"}
EVENTS = ["-e", "context-switches/period=1/", "-e", "cpu-clock/freq=999/"]


class Target:
    """The program in one of its two ends, and who holds it."""

    def __init__(self, bench, kind):
        self.bench, self.kind = bench, kind
        self.process = bench.start([bench.path("target"), KINDS[kind]],
                                   stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.places = self.process.stdout.readline().split()
        self.tracer = None
        if kind == "wait_read":
            self.until_in("read")

    def until_in(self, call):
        """Until it sleeps in the call; the tracer's stops come on top."""
        number = {"read": "0"}[call]
        while self.where() != number:
            time.sleep(0.01)

    def where(self):
        with open("/proc/%d/syscall" % self.pid) as f:
            return f.read().split()[0]

    def trace(self):
        self.tracer = self.bench.start(
            [self.bench.path("tracer"), str(self.pid), *self.places],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, letters):
        for letter in letters:
            self.tracer.stdin.write(letter.encode() + b"\n")
            self.tracer.stdin.flush()
            if self.tracer.stdout.readline().decode().strip() != letter:
                raise RuntimeError("the tracer ended at " + letter)

    def finish(self):
        """Return: its status and how often `other` was called in it."""
        if self.kind == "spin":
            if not self.tracer:
                self.trace()
                self.tell("i")
            self.tell("ed")
        out, _ = self.process.communicate(b"x")
        return self.process.returncode, int(out or -1)


def is_path(kind, sample):
    """main, its calls, and what they end in: no more, no less. Or what the
    tracer has it call, on a stack that ends there."""
    path = livetest.user_path(sample)
    if path in (["trap"], ["trap", "other"]):
        return True
    if kind == "spin" and path[-1:] == ["beat"]:
        path.pop()
    want = ["main"] + ["down"] * DEEP + [kind]
    rest = path[path.index("main"):] if "main" in path else []
    if kind == "wait_read" and len(rest) > len(want):
        want.append(next((n for n in rest[-1:] if "read" in n), None))
    return rest == want


def is_told(sample):
    """In what a tracer called, before its table has come: a copy would reach
    up to where the task's registers are again when it is made."""
    return sample["end"] == "regs-differ" and \
        livetest.user_path(sample) == ["trap"]


def is_stop(sample, stops):
    return any(f.get("sym", "").split(".")[0] in stops
               for f in livetest.kernel_frames(sample))


def judge(bench, name, target, recording, stops):
    """All is whole, and the last sample of the task is its way into the
    stop. Return: the task's samples."""
    samples = recording.samples()
    account.exact(bench, name, recording, samples)
    mine = [s for s in samples if s["pid"] == target.pid]
    wrong = [s for s in mine if not is_told(s) and
             (s["end"] != "outermost" or not is_path(target.kind, s))]
    bench.test(name + ": every stack is whole, of the path that is known",
               mine and not wrong, "%d samples\n%s" % (
                   len(mine), "\n".join(map(livetest.show, wrong[:5]))))
    # Not of what the tracer had it call afterwards.
    first = next((s for s in mine if is_stop(s, stops)), None)
    bench.test(name + ": the first stop has the stack of what was stopped",
               first and target.kind in livetest.user_path(first),
               first and livetest.show(first))
    last = mine[-1] if mine else None
    bench.test(name + ": the last sample is the way into the stop",
               last and is_stop(last, stops), last and livetest.show(last))
    return mine


def goes_on(bench, name, target, calls):
    done = target.finish()
    bench.test(name + ": the program goes on", done == (0, calls),
               "status %d, %d calls" % done)


def held(bench, kind, letters, name, calls=0):
    """The tracer stops the task while it is recorded; the recorder ends, and
    then the tracer lets it go. Return: the task's samples."""
    target, mine = Target(bench, kind), []
    target.trace()
    recorder = bench.recorder(*EVENTS, "-p", str(target.pid)).ready()
    target.tell(letters)
    recording = recorder.interrupt()
    if bench.test(name + ": recorded", recording.summary, recording.log):
        mine = judge(bench, name, target, recording, ["ptrace_stop"])
    if kind == "wait_read":
        target.tell("d")
    goes_on(bench, name, target, calls)
    return mine


def held_and_holder(bench):
    bench.compile(TARGET, "target", "-DDEEP=%d" % DEEP)
    bench.compile(TRACER, "tracer")


def signalled(bench):
    return bench.compile(SIGNALLED, "signalled")


def passing(bench):
    return bench.compile(PASSER, "passer")


def programs(bench):
    for compiled in held_and_holder, signalled, passing:
        compiled(bench)


def traced(bench):
    held_and_holder(bench)
    held(bench, "spin", "i", "in user code")
    held(bench, "wait_read", "i", "in a system call")
    # The call begins again, and is stopped where it does.
    held(bench, "wait_read", "is", "at a call's begin")
    held(bench, "spin", "ifcif", "with calls of the tracer's", 2)
    held(bench, "wait_read", "iff", "with such in a system call", 2)
    hits = [s for s in held(bench, "spin", "i" + 9 * "b" + "ci",
                            "at breakpoints")
            if is_stop(s, ["ptrace_stop"]) and
            livetest.user_path(s)[-1] == "beat"]
    bench.test("at breakpoints: a sample of each stop", len(hits) >= 9,
               len(hits))


# Its handlers run on its own stack, or on another one.
SIGNALLED = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
__attribute__((noipa)) void inner(void)
{
	for (int i = 0; i < 20000; i++) sink += i;
}
__attribute__((noipa)) void handler(int n) { inner(); STAY(); }
static void arm(int us)
{
	struct itimerval often = {{0, us}, {0, us}};
	setitimer(ITIMER_REAL, &often, NULL);
}
__attribute__((noipa)) void work(int ms)
{
	arm(1000);
	while (cpu_ms() < ms)
		for (int i = 0; i < 20000; i++) sink += i;
	arm(0);
}
__attribute__((noipa)) void middle(int ms) { work(ms); STAY(); }
int main(int argc, char **argv)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	char c;
	if (argc > 1) act.sa_flags |= SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &act, NULL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (read(0, &c, 1) != 1) return 1;
	middle(100); /* all tables are asked for */
	puts(""); fflush(stdout);
	if (read(0, &c, 1) != 1) return 1;
	middle(900);
	return argc > 9;
}
"""
PASSER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
int main(int argc, char **argv)
{
	int pid = atoi(argv[1]), status;
	if (ptrace(PTRACE_SEIZE, pid, 0, 0)) return 1;
	puts(""); fflush(stdout);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		if (ptrace(PTRACE_CONT, pid, 0,
			   status >> 16 ? 0 : WSTOPSIG(status)))
			return 2;
	return status;
}
"""


def is_signalled_path(sample):
    """Nothing left out of what the program does, in a handler or not; of a
    stack that is not whole, of what there is."""
    names = ["main", "middle", "work", "handler", "inner"]
    path = livetest.user_path(sample)
    got = [n for n in path if n in names]
    # A signal may come as the program ends, when main has returned.
    is_part = sample["end"] != "outermost" or "exit" in path
    begin = names.index(got[0]) if got and is_part else 0
    return got == names[begin:begin + len(got)] and (
        got[-2:] != ["work", "handler"] or "__restore_rt" in path)


def passed_on(bench):
    """Each signal stops the task, and its tracer then lets it come."""
    program, tracer = signalled(bench), passing(bench)
    for name, more in ("signals", []), ("signals on another stack", ["alt"]):
        target = bench.start([program, *more], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
        passer = bench.start([tracer, str(target.pid)],
                             stdout=subprocess.PIPE)
        passer.stdout.readline()
        recorder = bench.recorder("-e", "context-switches/period=1/", "-e",
                                  "cpu-clock/freq=9999/", "-p",
                                  str(target.pid)).ready()
        # Without tables stacks are copied, and a handler's ends at its own
        # stack's end.
        target.stdin.write(b"x")
        target.stdout.readline()
        recorder.settle()
        begun = time.monotonic_ns()
        target.communicate(b"x")
        passer.wait()
        recording = recorder.wait()
        if not bench.test(name + ": recorded", recording.summary and
                          target.returncode == 0, recording.log):
            continue
        samples = recording.samples()
        account.exact(bench, name, recording, samples)
        mine = [s for s in samples if s["pid"] == target.pid]
        wrong = [s for s in mine if not is_signalled_path(s)]
        mine = [s for s in mine if s["time_ns"] > begun]
        bench.test(name + ": no stack is wrong", not wrong, "%d\n%s" % (
            len(wrong), "\n".join(map(livetest.show, wrong[:5]))))
        stops = [s for s in mine if is_stop(s, ["ptrace_stop"])]
        short = [s for s in mine if s["end"] != "outermost"]
        bench.test(name + ": nearly all are whole, those of the stops too",
                   len(stops) > 50 and len(short) <= 0.01 * len(mine),
                   "%d stops, %d of %d\n%s" % (
                       len(stops), len(short), len(mine), "\n".join(
                           map(livetest.show, short[:5]))))


class Freezer:
    """A cgroup of one of the two kinds, or OSError."""

    def __init__(self, kind):
        self.kind = kind
        self.folder = os.path.join(self.mount(), "seam-test-%d" % os.getpid())
        os.mkdir(self.folder)

    def mount(self):
        with open("/proc/mounts") as f:
            for line in f:
                _, where, kind, options = line.split()[:4]
                if kind == self.kind and (
                        kind == "cgroup2" or "freezer" in options.split(",")):
                    return where
        raise OSError("no %s with a freezer is mounted" % self.kind)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return f.read()

    def freeze(self):
        if self.kind == "cgroup":
            self.write("freezer.state", "FROZEN")
        else:
            self.write("cgroup.freeze", "1")
        while not self.is_frozen():
            time.sleep(0.01)

    def is_frozen(self):
        if self.kind == "cgroup":
            return self.read("freezer.state") == "FROZEN\n"
        return "frozen 1" in self.read("cgroup.events")

    def thaw(self):
        if self.kind == "cgroup":
            self.write("freezer.state", "THAWED")
        else:
            self.write("cgroup.freeze", "0")

    def remove(self):
        """What has ended leaves it some time later."""
        while True:
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.01)


def frozen_in(bench, kind, freezer):
    name = "frozen by %s, %s" % (freezer.kind, kind)
    target = Target(bench, kind)
    freezer.write("cgroup.procs", str(target.pid))
    recorder = bench.recorder(*EVENTS, "-p", str(target.pid)).ready()
    freezer.freeze()
    recording = recorder.interrupt()
    freezer.thaw()
    if bench.test(name + ": recorded", recording.summary, recording.log):
        judge(bench, name, target, recording,
              ["__refrigerator", "do_freezer_trap", "get_signal"])
    goes_on(bench, name, target, 0)


def frozen(bench):
    held_and_holder(bench)
    for kind in "cgroup", "cgroup2":
        try:
            freezer = Freezer(kind)
        except OSError as err:
            bench.skip("frozen by " + kind, str(err))
            continue
        try:
            for where in KINDS:
                frozen_in(bench, where, freezer)
        finally:
            freezer.thaw()
            bench.end()
            freezer.remove()


if __name__ == "__main__":
    sys.exit(livetest.main(traced, passed_on, frozen, programs=programs,
                           of="deferred"))
