#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the whole machine is recorded while processes exec each other,
are forked and vforked, and threads begin and end, thousands a second. The
account is exact, every stack is whole or counted, and each is one that its own
program can have: none of another task's, none joined across an exec.
"""

import collections
import os
import struct
import subprocess
import sys
import time

import account
import livetest

SECONDS = 2
EVENTS = ["-a", "-e", "cpu-clock/freq=1999/",
          "-e", "context-switches/period=3/"]

# Two programs that exec each other, each with functions of its own, and all at
# other places: so a stack of the other one is no path. Without arguments they
# are done at once.
EXEC = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define SPIN NAME(spin_, WHICH)
#define GO NAME(go_, WHICH)
#define MAIN NAME(main_, WHICH)
#ifdef PAD
__attribute__((noipa)) void pad(void) { __asm__ volatile(".skip 5000, 0x90"); }
#endif
__attribute__((noipa)) void SPIN(void)
{
	for (unsigned i = 0; i < 20000; i++) sink += i;
}
__attribute__((noipa)) void GO(char **argv)
{
	char number[24];
	SPIN();
	if (!argv[1]) exit(0);
	char *args[] = {argv[1], argv[0], argv[2], number, NULL};
	if (time(NULL) >= atol(argv[2])) {
		printf("%s\n", argv[3]); exit(0);
	}
	snprintf(number, sizeof(number), "%ld", atol(argv[3]) + 1);
	execv(argv[1], args);
	exit(1);
}
__attribute__((noipa)) void MAIN(char **argv)
{
#ifdef PAD
	if (!argv[0]) pad();
#endif
	GO(argv); STAY();
}
int main(int argc, char **argv)
{
	MAIN(argv); STAY();
	return argc > 1;
}
"""

# Children that are forked or vforked, and end, or become one of the two.
SPAWN = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
#define NOIPA __attribute__((noipa))
static volatile unsigned long sink;
static char *program;
static int ends;
NOIPA void spin(void) { for (unsigned i = 0; i < 10000; i++) sink += i; }
NOIPA void go_on(void)
{
	spin();
	if (ends) _exit(0);
	execl(program, program, (char *)0);
	_exit(1);
}
NOIPA void of_fork(void) { go_on(); STAY(); }
NOIPA void of_vfork(void) { go_on(); STAY(); }
NOIPA void one_fork(void)
{
	pid_t pid = fork();
	int status;
	if (!pid) of_fork();
	if (waitpid(pid, &status, 0) != pid || status) exit(2);
	STAY();
}
NOIPA void one_vfork(void)
{
	pid_t pid = vfork();
	int status;
	if (!pid) of_vfork();
	if (waitpid(pid, &status, 0) != pid || status) exit(3);
	STAY();
}
int main(int argc, char **argv)
{
	long n = 0, until = atol(argv[1]);
	for (; time(NULL) < until; n++) {
		program = argv[2 + n % 2];
		ends = n % 3 == 0;
		if (n & 4) one_vfork(); else one_fork();
	}
	printf("%ld\n", n);
	return argc > 9;
}
"""

# Threads that end at once, each through a function of its parity.
CLONE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define STAY() __asm__ volatile("" ::: "memory")
#define NOIPA __attribute__((noipa))
#define AT_ONCE 20
static volatile unsigned long sink;
NOIPA void spin(void) { for (unsigned i = 0; i < 10000; i++) sink += i; }
NOIPA void odd(void) { spin(); STAY(); }
NOIPA void even(void) { spin(); STAY(); }
static void *run_odd(void *arg) { odd(); STAY(); return arg; }
static void *run_even(void *arg) { even(); STAY(); return arg; }
NOIPA void burst(void)
{
	pthread_t t[AT_ONCE];
	for (int i = 0; i < AT_ONCE; i++)
		if (pthread_create(&t[i], NULL, i & 1 ? run_odd : run_even, NULL))
			exit(1);
	for (int i = 0; i < AT_ONCE; i++) pthread_join(t[i], NULL);
	STAY();
}
int main(int argc, char **argv)
{
	long n = 0, until = atol(argv[1]);
	for (; time(NULL) < until; n += AT_ONCE) burst();
	printf("%ld\n", n);
	return argc > 9;
}
"""


def names(path, wanted):
    return [n for n in path if n in wanted]


# What each program's stacks are the beginnings of: of one exec alone, of the
# parent or a child with how it came into being, of the first thread or one of
# the two kinds of others.
STORMS = {
    "storm-a": [["main", "main_a", "go_a", "spin_a"]],
    "storm-b": [["main", "main_b", "go_b", "spin_b"]],
    "storm-spawn": [["main", "one_" + how, "of_" + how, "go_on", "spin"]
                    for how in ("fork", "vfork")],
    "storm-clone": [["main", "burst"]] + [
        ["run_" + which, which, "spin"] for which in ("odd", "even")],
}
OURS = {name for ways in STORMS.values() for way in ways for name in way}


def is_execve(frame):
    return frame.get("sym", "").split("@")[0] in (
        "execve", "__execve", "__GI___execve")


def is_of(sample, ways):
    """Nothing of another's, and nothing left out; of a stack that is not
    whole, of what there is. An exec's stack is its caller's to the end, when
    the task has its new name."""
    path = livetest.user_path(sample)
    got = names(path, OURS)
    if path and is_execve(livetest.user_frames(sample)[-1]):
        ways = [way for some in STORMS.values() for way in some]
    if sample["end"] == "outermost":
        return bool(path) and any(got == way[:len(got)] for way in ways)
    return any(got == way[i:i + len(got)]
               for way in ways for i in range(len(way)))


def build(bench):
    static = ("-static", "-no-pie", "-fno-pie")
    bench.compile(EXEC, "storm-a", *static, "-DWHICH=a")
    bench.compile(EXEC, "storm-b", *static, "-DWHICH=b", "-DPAD")
    bench.compile(SPAWN, "storm-spawn")
    bench.compile(CLONE, "storm-clone", "-pthread")


def run(bench):
    """All at once until a time. Return: how many there were of each."""
    a, b = bench.path("storm-a"), bench.path("storm-b")
    until = str(int(time.time()) + 1 + SECONDS)
    commands = [("execs", [a, b, until, "0"]), ("execs", [b, a, until, "0"]),
                ("children", [bench.path("storm-spawn"), until, a, b]),
                ("threads", [bench.path("storm-clone"), until])]
    processes = [(what, bench.start(command, stdout=subprocess.PIPE))
                 for what, command in commands]
    count = collections.Counter()
    for what, process in processes:
        out, _ = process.communicate()
        count[what] += int(out) if process.returncode == 0 else -1 << 30
    return count


def storms(bench):
    build(bench)
    for program in STORMS: # so that their tables are on disk
        bench.record("-e", "cpu-clock", "--", bench.path(program), "0",
                     bench.path("storm-a"), bench.path("storm-b"))
    recorder = bench.recorder(*EVENTS).ready()
    count = run(bench)
    recording = recorder.interrupt()
    if not bench.test("recorded", recording.summary and
                      min(count.values()) > 0, "%s\n%s" % (
                          count, recording.log)):
        return
    bench.note("%s in %d s" % (dict(count), SECONDS))
    samples = recording.samples()
    # Of others' tasks some may sleep in their unwind.
    others = sum(name.isdigit() for name in os.listdir("/proc"))
    account.exact(bench, "all", recording, samples, others)
    lost = recording.summary["lost"]
    may = sum(lost[k] for k in ("stacks", "copies", "elements", "scratch"))
    for comm in STORMS:
        judge(bench, comm, [s for s in samples if s.get("comm") == comm], may,
              lost["sideband"])


def is_cut(syms):
    """The kernel's own unwinder ended before the kernel's entry."""
    return syms and syms[-1] and not syms[-1].startswith(("entry_", "asm_", "ret_from_"))


def may_be_copy(sample, is_stale):
    """Of copies: within an exec the registers are the old program's and the
    stack is the new one's; of a task that exits perf has neither. is_stale:
    what was mapped may not be known."""
    syms = [f.get("sym", "") for f in livetest.kernel_frames(sample)]
    return sample["end"] in ("bad-cfa", "no-table", "no-user") and (
        is_stale or is_cut(syms) or
        any("exec" in sym or "exit" in sym for sym in syms))


def code_of(exe):
    """Of a file that is where it says: (address, bytes) of what can run."""
    with open(exe, "rb") as f:
        data = f.read()
    at, = struct.unpack_from("<Q", data, 32)
    size, n = struct.unpack_from("<HH", data, 54)
    heads = [struct.unpack_from("<IIQQQQ", data, at + i * size)
             for i in range(n)]
    return [(addr, data[off:off + length])
            for kind, flags, off, addr, _, length in heads
            if kind == 1 and flags & 1]


def entry_of(exe):
    """Where a program begins, of a file that is where it says."""
    with open(exe, "rb") as f:
        return struct.unpack_from("<Q", f.read(32), 24)[0]


# Stacks that are not there, and keep the one frame that is known; of those that
# are lost it may not be.
ALONE = ("exited", "regs-differ", "lost")


def is_leaf_of(sample, code, entries):
    """The one frame is where this program entered the kernel: of an exit that
    is behind its call. code: of a static program; None: of another, where it
    has a name by what that process had mapped. entries: of what is exec'd."""
    frames = livetest.user_frames(sample)
    if not frames:
        return sample["end"] == "lost"
    if len(frames) > 1:
        return False
    ip = int(frames[0]["ip"], 16)
    # An event late in an exec finds the registers of the program that comes.
    if sample["end"] == "lost" and ip in entries:
        return True
    # Of the vDSO, and of who execs another.
    if code is None or ip >> 40 or is_execve(frames[0]):
        return "sym" in frames[0]
    return any(addr <= ip < addr + len(text) and
               (sample["end"] != "exited" or
                text[:ip - addr].endswith(b"\x0f\x05"))
               for addr, text in code)


def judge_leaves(bench, comm, mine):
    static = comm in ("storm-a", "storm-b")
    code = code_of(bench.path(comm)) if static else None
    entries = {entry_of(bench.path("storm-" + which)) for which in "ab"}
    alone = [s for s in mine if s["end"] in ALONE]
    bad = [s for s in alone if not is_leaf_of(s, code, entries)]
    bench.note("%s: %d with one frame" % (comm, len(alone)))
    bench.test(comm + ": what is known alone is this program's", not bad,
               "%d of %d\n%s" % (len(bad), len(alone), "\n".join(
                   map(livetest.show, bad[:5]))))


def ways_of(comm, is_stale):
    """Where copies' records of execs are lost, and counted, names are of
    before."""
    if is_stale and comm in ("storm-a", "storm-b"):
        return STORMS["storm-a"] + STORMS["storm-b"]
    return STORMS[comm]


def judge(bench, comm, mine, may, is_stale):
    ends = collections.Counter(s["end"] for s in mine)
    bench.note("%s: %s" % (comm, dict(ends)))
    # A task has no memory any more in the rest of its exit.
    short = [s for s in mine if s["end"] not in
             ("outermost", "exited", *bench.may_end) and not (
                 bench.engine == "dump" and may_be_copy(s, is_stale))]
    bench.test(comm + ": every stack is whole, or its loss was counted",
               (ends["outermost"] > 50 or may) and
               len({s.get("cookie") for s in short}) <= may,
               "%s\n%s" % (ends, "\n".join(map(livetest.show, short[:5]))))
    judge_leaves(bench, comm, mine)
    wrong = [s for s in mine if not is_of(s, ways_of(
        comm, is_stale and bench.engine == "dump"))]
    bench.test(comm + ": every stack is one that this program can have",
               not wrong, "%d\n%s" % (len(wrong), "\n".join(
                   map(livetest.show, wrong[:5]))))


if __name__ == "__main__":
    sys.exit(livetest.main(storms, programs=build, only={
        "without frame pointers these programs have no stacks":
            ("deferred immediate dump", (storms,))}))
