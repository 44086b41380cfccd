#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: another tool's BPF program asks for stacks (seam/seam.bpf.h):
each slow call has its own whole stack, under its cookie, and what is asked is
delivered or counted. Also beside a recording of the same calls, with which it
shares cookies and unwinds, and which has the same stacks.

Who is right: a program whose slow calls spell a number on the stack that they
also have as an argument, at known addresses, and none twice. The tools are
examples/slow-calls.c and examples/latency.c.
"""

import bisect
import ctypes
import os
import re
import subprocess
import sys
import time

import livetest

BITS, THREADS, CALLS = 8, 2, 100
SLEEP = 35  # nanosleep
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")

static inline __attribute__((always_inline))
void call(long nr, const void *arg, unsigned n)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret)
			 : "0"(nr), "D"(arg), "S"(0L), "d"((long)n)
			 : "rcx", "r11", "memory");
}
/* One of these may be slow as well: who has the CPU is the machine's choice. */
__attribute__((noipa)) void quick(unsigned n)
{
	for (int i = 0; i < 20; i++) call(SYS_getppid, NULL, n);
	STAY();
}
__attribute__((noipa)) void leaf(unsigned n)
{
	struct timespec t = {0, 5000000};
	call(SYS_nanosleep, &t, n);
	quick(n);
	STAY();
}
""" + livetest.SPELL + r"""static unsigned next;
static void *run(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		spell(__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) %
		      (1 << BITS), BITS);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	if (getchar() < 0) return 1;
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
	return argc > 9;
}
"""
CALL = re.compile(r"(\d+): call (\d+) \((\S+), (\S+), (\S+)\) took (\S+) ms, "
                  r"cookie (\S+)")
COUNT = re.compile(r"(\d+) requests: (\d+) of others' tasks, (\d+) without a "
                   r"stack to come; (\d+) unwinds, (\d+) stacks by others; "
                   r"lost: (\d+) stacks, (\d+) copies, (\d+) untold")


class Names:
    """Of the functions of a program that lies where it was linked."""

    def __init__(self, exe):
        out = subprocess.run(["nm", "--defined-only", "-n", exe],
                             stdout=subprocess.PIPE, encoding="utf-8",
                             check=True).stdout
        rows = [line.split() for line in out.splitlines()]
        rows = [(int(row[0], 16), row[2]) for row in rows if row[1] in "tT"]
        self.addresses = [address for address, _ in rows]
        self.names = [name for _, name in rows]

    def name(self, ip):
        at = bisect.bisect(self.addresses, ip - 1) - 1
        return self.names[at] if 0 <= at and ip < self.addresses[-1] + 4096 \
            else "?"


SLOW = re.compile(r"(\d+): (\d+\.\d+) ms$")


def slow_of(text, exe):
    """(ms, names, end) of each call that the short tool prints."""
    names = Names(exe)
    calls = []
    for line in text.splitlines():
        found = SLOW.match(line)
        if found:
            calls.append([float(found.group(2)), [], ""])
        elif line.startswith("\t0x"):
            calls[-1][1].append(names.name(int(line, 16)))
        else:
            calls[-1][2] = line.strip()
    return calls


def calls_of(text, exe):
    """(number of the call, its third argument, names, end, cookie, ips)"""
    names = Names(exe)
    calls = []
    for line in text.splitlines():
        found = CALL.match(line)
        if found:
            calls.append([int(found.group(2)), int(found.group(5), 16), [],
                          "", found.group(7), []])
        elif line.startswith("\t0x"):
            ip = int(line, 16)
            calls[-1][2].append(names.name(ip))
            calls[-1][5].append(ip)
        elif line.startswith("\t"):
            calls[-1][3] = line.strip()
    return calls


def wants_one_name(bench):
    """On Linux 7.2 libbpf before 1.3 takes no object with both of the names
    that the kernel has had for what defers work."""
    libbpf = ctypes.CDLL("libbpf.so.1")
    said = subprocess.run([bench.seam, "doctor"], stdout=subprocess.PIPE,
                          encoding="utf-8", env=bench.env).stdout
    names = [line.split()[2] for line in said.splitlines()
             if line.split()[:2] == ["yes", "task-work"]]
    return names == ["bpf_task_work_schedule_resume"] and (
        libbpf.libbpf_major_version(), libbpf.libbpf_minor_version()) < (1, 3)


def tool_of(bench):
    return bench.args.since_tool if wants_one_name(bench) else bench.args.tool


def short_tool_of(bench):
    return bench.args.since_short_tool if wants_one_name(bench) \
        else bench.args.short_tool


def trace(bench, tool, exe, *record):
    """Runs the program under the tool, and a recording. Return: the tool's
    status and output, what it says, and the recording."""
    program = bench.start([exe], stdin=subprocess.PIPE)
    tracer = bench.start([tool, str(program.pid), "2"],
                         stdout=open(bench.path("out"), "w"),
                         stderr=open(bench.path("err"), "w"), env=bench.env)
    while tracer.poll() is None and "ready" not in open(
            bench.path("err")).read():
        time.sleep(0.01)
    recorder = bench.recorder("-p", str(program.pid), *record).ready() \
        if record else None
    program.stdin.write(b"\n")
    program.stdin.close()
    program.wait()
    recording = recorder.interrupt() if recorder else None
    status = tracer.wait()
    with open(bench.path("out")) as out, open(bench.path("err")) as err:
        return status, out.read(), err.read(), recording


def compiled(bench):
    return bench.compile(SOURCE, "slow", "-pthread", "-no-pie",
                         "-DBITS=%d" % BITS, "-DTHREADS=%d" % THREADS,
                         "-DCALLS=%d" % CALLS)


def shared(bench):
    """The tool and a recording of the same calls: the stack of a call that
    both have is one, under one cookie."""
    exe = compiled(bench)
    status, out, said, recording = trace(
        bench, tool_of(bench), exe, "-e", "raw_syscalls:sys_enter", "-c",
        "1", "--max-stack", "127")
    bench.note(said)
    count = COUNT.search(said)
    if not bench.test("both traced", status == 0 and count and
                      recording.summary, said + recording.log):
        return
    summary = recording.summary
    asked = {c[4]: c[5] for c in calls_of(out, exe)}
    recorded = {s["cookie"]: [int(f["ip"], 16) for f in s["frames"]
                              if not f.get("kernel")]
                for s in recording.samples()
                if s.get("cookie") and s["end"] not in ("lost", "pending")}
    both = asked.keys() & recorded.keys()
    bench.note("%d stacks asked for, %d recorded, %d of both" % (
        len(asked), len(recorded), len(both)))
    bench.test("nearly all calls have one cookie in both",
               len(both) >= 0.9 * THREADS * CALLS, said + recording.log)
    wrong = [c for c in both if asked[c] != recorded[c]]
    bench.test("and one stack", both and not wrong, "\n".join(
        "%s: %s and %s" % (c, asked[c], recorded[c]) for c in wrong[:5]))
    # Not for a sample of the file, or twice for what both have.
    more = summary["unused"] + summary["again"] + summary["end"]["lost"]
    unwinds = int(count.group(4)) + summary["unwinds"] - more
    by_others = int(count.group(5)) + summary["by_others"]
    bench.note("%d unwinds, and %d more; %d stacks by others" % (
        unwinds, more, by_others))
    bench.test("of one unwind", by_others >= 0.9 * len(both) and
               unwinds < len(asked) + len(recorded) - len(both) // 2,
               "%d unwinds, %d stacks by others" % (unwinds, by_others))


def spelled(names):
    """The number on a stack, a bit a frame."""
    return "".join(name[3] for name in reversed(names)
                   if name in ("bit0", "bit1"))


def short_tool(bench):
    """It asks for nothing but slow calls, and each has its own stack."""
    exe = compiled(bench)
    status, out, said, _ = trace(bench, short_tool_of(bench), exe)
    bench.note(said)
    count = COUNT.search(said)
    if not bench.test("the short tool traced", status == 0 and count, said):
        return
    asked, filtered, none, *_, untold = map(int, count.groups())
    calls = slow_of(out, exe)
    bench.test("it has a stack or a count for each request",
               asked == len(calls) + filtered + none + untold, said)
    fast = [c for c in calls if c[0] <= 2]
    bench.test("none of a fast call", calls and not fast, fast[:5])
    whole = [spelled(names) for _, names, end in calls
             if end == "outermost" and names[0] == "leaf"]
    numbers = [format(n, "0%db" % BITS) for n in range(THREADS * CALLS)]
    bench.note("%d calls, %d whole in leaf" % (len(calls), len(whole)))
    bench.test("no sleep's stack is another's", len(set(whole)) == len(whole)
               and set(whole) <= set(numbers), sorted(whole))
    bench.test("and nearly all are there", len(whole) >= 0.9 * len(numbers),
               "%d of %d" % (len(whole), len(numbers)))


# Where clients meet is open to others, in a file system of its own.
ALONE = """#!/bin/sh
exec unshare -m --propagation private sh -c '
	mount -t bpf -o mode=0700 bpf /sys/fs/bpf &&
	mkdir -m 0755 /sys/fs/bpf/seam && exec "$0" "$@"' %s "$@"
"""


def alone(bench):
    """A tool that can share with nobody traces all the same, and says why."""
    wrapped = bench.path("alone.sh")
    with open(wrapped, "w") as script:
        script.write(ALONE % os.path.abspath(short_tool_of(bench)))
    os.chmod(wrapped, 0o755)
    status, out, said, _ = trace(bench, wrapped, compiled(bench))
    lines = [line for line in said.splitlines()
             if "shares no stacks with other tools: /sys/fs/bpf/seam" in line]
    bench.test("a tool that is alone traces, and says why in a line",
               status == 0 and "ms" in out and len(lines) == 1, said)


def no_such_process(bench):
    """What is wrong is said, and the status says that something was."""
    for tool in tool_of(bench), short_tool_of(bench):
        done = subprocess.run([tool, str(2 ** 22 - 1), "2"], env=bench.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8")
        bench.test("a process that is not there is an error",
                   done.returncode == 1 and "4194303" in done.stderr and
                   not done.stdout, done.stderr)


def refused(bench):
    """What the kernel does not take of a tool is said with its reason, and what
    to do."""
    if wants_one_name(bench):
        bench.skip("what is refused", "this libbpf takes no object at all here")
        return
    for what, reasons in (
            ("load", ("loading its BPF programs failed (Permission denied); "
                      "'seam doctor' says", "not_checked", "map_value_or_null")),
            ("attach", ("attaching its BPF programs failed (No such file or "
                        "directory); 'seam doctor' says", "nowhere"))):
        done = subprocess.run([bench.args.refused, what], env=bench.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8")
        bench.test("what cannot be %sed is said, with the reason" % what,
                   done.returncode == 1 and not done.stdout and
                   done.stderr.startswith("refused: ") and
                   "ready" not in done.stderr and
                   all(words in done.stderr for words in reasons), done.stderr)


def slow_calls(bench):
    exe = compiled(bench)
    status, out, said, _ = trace(bench, tool_of(bench), exe)
    bench.note(said)
    count = COUNT.search(said)
    if not bench.test("the tool traced", status == 0 and count, said):
        return
    asked, filtered, none, _, _, stacks, copies, untold = map(int,
                                                              count.groups())
    calls = calls_of(out, exe)
    sleeps = [c for c in calls if c[0] == SLEEP]
    bench.test("every request is delivered or counted",
               asked == len(calls) + filtered + none + untold and
               len(calls) == len({c[4] for c in calls}) and
               stacks + copies == untold + sum(c[3] == "lost" for c in calls),
               said)
    bench.test("every slow call asked",
               len(sleeps) + none + untold >= THREADS * CALLS,
               "%d sleeps\n%s" % (len(sleeps), said))
    bits = [spelled(names) for _, _, names, *_ in sleeps]
    wrong = [(c, b) for c, b in zip(sleeps, bits)
             if c[2][0] != "leaf" or not format(c[1], "0%db" % BITS).endswith(b)
             or c[3] == "outermost" and len(b) != BITS]
    bench.test("each stack is the call's own", sleeps and not wrong,
               "\n".join(map(str, wrong[:5])))
    whole = sum(c[3] == "outermost" for c in sleeps)
    bench.test("and nearly all are whole", whole >= 0.9 * len(sleeps) and
               len(sleeps) >= 0.9 * THREADS * CALLS,
               "%d of %d" % (whole, len(sleeps)))


if __name__ == "__main__":
    sys.exit(livetest.main(
        slow_calls, short_tool, alone, no_such_process, refused, shared,
        programs=compiled, of="deferred", tools=(
            ("--tool", "build/examples/example-slow-calls"),
            ("--short-tool", "build/examples/example-latency"),
            ("--since-tool", "build/tests/since/since-slow-calls"),
            ("--since-short-tool", "build/tests/since/since-latency"),
            ("--refused", "build/tests/asks/refused"))))
