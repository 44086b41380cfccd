#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tasks that begin and end all the time, under numbers that are
used again at once: every stack is whole, and of the task that it is said to
be of.
"""

import collections
import os
import subprocess
import sys
import time

import livetest
import spelling

OFTEN = ["-e", "cpu-clock", "-F", "20000", "-e", "raw_syscalls:sys_enter"]


def whole(bench, name, recording, samples):
    """All of them, or the stack was counted as lost."""
    lost = recording.summary["lost"]
    ends = collections.Counter(s["end"] for s in samples)
    bench.note("%s: %s; lost %s" % (name, dict(ends), {
        k: n for k, n in lost.items() if n}))
    short = [s for s in samples if s["end"] not in ("outermost",
                                                    *bench.may_end)]
    counted = sum(lost[k] for k in ("stacks", "copies", "elements",
                                    "scratch"))
    bench.test(name + ": every stack is whole, or its loss was counted",
               ends["outermost"] > 0.9 * (len(samples) - ends["lost"]) > 0 and
               len({s.get("cookie") for s in short}) <= counted,
               "%s\n%s" % (ends, "\n".join(map(livetest.show, short[:5]))))


def threads(bench):
    program, log = spelling.build(bench, "threads", 6, 1), bench.path("log")
    recording = bench.record(*OFTEN, "--", program, log, "1")
    if not bench.test("threads: recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return
    samples = recording.samples()
    whole(bench, "threads", recording, samples)
    spelling.hold(bench, "threads", samples, log)


# Children that live some 100 us, of three kinds: each has functions of its own.
# The last is killed in the middle of its work.
CHILDREN = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
static volatile int go_on = 1;
#define NOIPA __attribute__((noipa))
NOIPA void spin(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
NOIPA void of_fork(void) { spin(60000); getppid(); _exit(0); }
NOIPA void of_vfork(void) { spin(60000); getppid(); _exit(0); }
NOIPA void of_killed(void) { for (;;) { spin(2000); getppid(); } }
NOIPA void one_fork(void)
{
	pid_t pid = fork();
	if (!pid) of_fork();
	waitpid(pid, NULL, 0); STAY();
}
NOIPA void one_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) of_vfork();
	waitpid(pid, NULL, 0); STAY();
}
NOIPA void one_killed(void)
{
	pid_t pid = fork();
	if (!pid) of_killed();
	spin(100000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0); STAY();
}
int main(int argc, char **argv)
{
	time_t end = time(NULL) + 2;
	while (time(NULL) < end) { one_fork(); one_vfork(); one_killed(); }
	return argc > 9;
}
"""
KINDS = ("fork", "vfork", "killed")


def programs(bench):
    spelling.build(bench, "threads", 6, 1)
    bench.compile(CHILDREN, "children")
    many(bench)
    bits32(bench)


def children(bench):
    recording = bench.record(*OFTEN, "--", bench.compile(CHILDREN, "children"))
    if not bench.test("children: recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return
    samples = [s for s in recording.samples() if s["comm"] == "children"]
    whole(bench, "children", recording, samples)
    kinds, wrong = collections.Counter(), []
    for sample in samples:
        path = livetest.user_path(sample)
        kind = [k for k in KINDS if "of_" + k in path]
        kinds.update(kind)
        # main calls one_KIND, and that the child of this kind.
        if len(kind) > 1 or kind and (
                "main" not in path or path[path.index("main") + 1] !=
                "one_" + kind[0] or path.index("of_" + kind[0]) <
                path.index("one_" + kind[0])):
            wrong.append(sample)
        # A parent is in no child, and the other way round.
        elif bool(kind) and sample["pid"] == recording_pid(samples):
            if kind != ["vfork"]:
                wrong.append(sample)
    bench.note(dict(kinds))
    bench.test("children: each has its own stack", not wrong and
               min(kinds[k] for k in KINDS) > 10, "%s\n%s" % (
                   kinds, "\n".join(map(livetest.show, wrong[:5]))))


def recording_pid(samples):
    """The first process: all others are its children."""
    return samples[0]["pid"]


def many(bench):
    return bench.compile(livetest.VFORKS, "many", "-DCHILDREN=60000")


def maps_of(pid):
    """The BPF maps of a process: (key, value, entries) -> bytes in use."""
    found = {}
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                info = dict(line.split(":", 1) for line in f if ":" in line)
        except FileNotFoundError: # closed meanwhile
            continue
        if "map_type" in info and int(info["map_type"]) == 1:
            found[tuple(int(info[k]) for k in (
                "key_size", "value_size", "max_entries"))] = int(
                    info["memlock"])
    return found


def memory(bench):
    """What a task takes ends with it."""
    program = bench.start([many(bench)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "-p",
                              str(program.pid)).ready()
    before = maps_of(recorder.process.pid)
    program.stdin.write(b"\n")
    program.stdin.flush()
    done = program.stdout.readline()
    # What is freed goes a grace period later.
    for _ in range(100):
        after = maps_of(recorder.process.pid)
        if grown(before, after, STATES) < 100:
            break
        time.sleep(0.1)
    program.stdin.close()
    program.wait()
    recording = recorder.wait()
    bench.test("60,000 processes: recorded", recording.status == 0 and
               done == b"done\n" and recording.summary["unwinds"] > 50000,
               recording.log)
    numbers = grown(before, after, NUMBERS)
    bench.note("60,000 processes: %d states and %d numbers more" % (
        grown(before, after, STATES), numbers))
    bench.test("60,000 processes: leave no state in the kernel",
               after and grown(before, after, STATES) < 100, "%s, then %s" % (
                   before, after))
    # Beside other recordings some hundred stayed, until their numbers came
    # again: the program that takes them out was not always run.
    bench.test("60,000 processes: their numbers do not add up",
               numbers < 32768, numbers)


# Of tasks: by address, a kilobyte or so; and by number, when they started.
STATES, NUMBERS = range(256, 1 << 20), range(8, 9)


def grown(before, after, values):
    """How many elements more there are, in maps with values of that size."""
    return sum((after[m] - before[m]) // (m[0] + m[1]) for m in after
               if m[1] in values)


# The 32-bit entry.
BITS32 = """
.globl _start
_start:	call	spin
	hlt
spin:	movl	$100000, %esi
1:	movl	$20, %eax
	int	$0x80
	decl	%esi
	jnz	1b
	movl	$1, %eax
	xorl	%ebx, %ebx
	int	$0x80
"""


def bits32(bench):
    return bench.compile(BITS32, "bits32", "-m32", "-nostdlib", "-static",
                         "-no-pie", "-Wl,--build-id=none",
                         language="assembler")


def machine_code(bench):
    try:
        program = bits32(bench)
        subprocess.run([program], check=True)
    except (OSError, subprocess.CalledProcessError):
        bench.skip("32-bit", "such programs cannot be made or run here")
    else:
        recording = bench.record("-e", "cpu-clock", "-F", "4999", "--",
                                 program)
        samples = [s for s in recording.samples() if s["comm"] == "bits32"]
        ends = collections.Counter(s["end"] for s in samples)
        # _start and what it calls, and nothing behind them; within the exec
        # of it the name is its, and the stack what it is not any more.
        wrong = [s for s in samples if s["end"] != "exec" and any(
            not 0x8048000 <= int(f["ip"], 16) < 0xffffe000
            for f in livetest.user_frames(s))]
        bench.test("32-bit: every sample says why, none has a stack of "
                   "anything else", recording.status == 0 and
                   len(samples) > 50 and not wrong and None not in ends,
                   "%s\n%s" % (ends, "\n".join(
                       map(livetest.show, wrong[:5]))))
        bench.note("32-bit: %s" % dict(ends))


if __name__ == "__main__":
    sys.exit(livetest.main(
        threads, children, memory, machine_code, programs=programs, only={
            "tracepoints take BPF": ("deferred immediate", (threads,
                                                            children)),
            "deferral alone keeps a state for each task":
                ("deferred", (memory,))}))
