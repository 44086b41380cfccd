#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: another tool's BPF program asks for stacks (seam/seam.bpf.h):
each slow call has its own whole stack, under its cookie, and what is asked is
delivered or counted.

Who is right: a program whose slow calls spell a number on the stack that they
also have as an argument, at known addresses. The tool is examples/slow-calls.c.
"""

import bisect
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
__attribute__((noipa)) void leaf(unsigned n)
{
	struct timespec t = {0, 5000000};
	call(SYS_nanosleep, &t, n);
	for (int i = 0; i < 20; i++) call(SYS_getppid, NULL, n);
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
CALL = re.compile(r"(\d+): call (\d+) \((\S+), (\S+), (\S+)\) took (\S+) ms")
COUNT = re.compile(r"(\d+) slow calls, (\d+) not seen: (\d+) asked, "
                   r"(\d+) without a stack to come, (\d+) whose stack")


def functions(exe):
    """Of the program: (addresses, names), in order."""
    out = subprocess.run(["nm", "--defined-only", "-n", exe],
                         stdout=subprocess.PIPE, encoding="utf-8",
                         check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    rows = [(int(row[0], 16), row[2]) for row in rows if row[1] in "tT"]
    return [a for a, _ in rows], [n for _, n in rows]


def calls_of(text, exe):
    """(number of the call, its third argument, names, end) of each."""
    addresses, names = functions(exe)
    top = addresses[-1] + 4096
    calls = []
    for line in text.splitlines():
        found = CALL.match(line)
        if found:
            calls.append([int(found.group(2)), int(found.group(5), 16), [],
                          ""])
        elif line.startswith("\t0x"):
            ip = int(line, 16)
            at = bisect.bisect(addresses, ip - 1) - 1
            calls[-1][2].append(names[at] if 0 <= at and ip < top else "?")
        elif line.startswith("\t"):
            calls[-1][3] = line.strip()
    return calls


def trace(bench, tool, exe):
    """Runs the program under the tool. Return: its output, and what it says."""
    program = bench.start([exe], stdin=subprocess.PIPE)
    tracer = bench.start([tool, str(program.pid), "2"],
                         stdout=open(bench.path("out"), "w"),
                         stderr=open(bench.path("err"), "w"), env=bench.env)
    while tracer.poll() is None and "ready" not in open(
            bench.path("err")).read():
        time.sleep(0.01)
    program.stdin.write(b"\n")
    program.stdin.close()
    program.wait()
    status = tracer.wait()
    with open(bench.path("out")) as out, open(bench.path("err")) as err:
        return status, out.read(), err.read()


def slow_calls(bench):
    exe = bench.compile(SOURCE, "slow", "-pthread", "-no-pie",
                        "-DBITS=%d" % BITS, "-DTHREADS=%d" % THREADS,
                        "-DCALLS=%d" % CALLS)
    status, out, said = trace(bench, bench.args.tool, exe)
    bench.note(said)
    count = COUNT.search(said)
    if not bench.test("the tool traced", status == 0 and count, said):
        return
    slow, unseen, asked, none, lost = map(int, count.groups())
    calls = calls_of(out, exe)
    sleeps = [c for c in calls if c[0] == SLEEP]
    bench.test("every request is delivered or counted",
               asked == slow + unseen and slow == len(calls) + none + lost,
               said)
    bench.test("every slow call asked",
               len(sleeps) + none + lost + unseen >= THREADS * CALLS,
               "%d sleeps\n%s" % (len(sleeps), said))
    bits = ["".join(name[3] for name in reversed(names)
                    if name in ("bit0", "bit1")) for _, _, names, _ in sleeps]
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
    sys.exit(livetest.main(slow_calls, options=(
        ("--tool", "build/examples/example-slow-calls"),)))
