#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What each further recording of the same program costs, where recordings share
their unwinds and where each unwinds for itself.

The program of known depth names itself again and again, an event that every
recording has, in stays in the kernel that they all see. Those that unwind for
themselves differ in --stack-copy, of which none is taken here. Root.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "live"))
import livetest  # noqa: E402

# Waits for a line, and prints its CPU time in ns. Bursts, so that caches are
# as in a program that is sampled often, and rests, so that the recorders, who
# have its CPUs, can keep up.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#define KEEP __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" ::: "memory")
#define BURST 16
KEEP static void leaf(int events)
{
	const struct timespec rest = {.tv_nsec = 1000000};

	for (int i = 0; i < events; i++) {
		prctl(PR_SET_NAME, "clients");
		if (i % BURST == BURST - 1)
			nanosleep(&rest, NULL);
	}
}
KEEP static void down(int calls, int events)
{
	if (calls > 1)
		down(calls - 1, events);
	else
		leaf(events);
	STAY();
}
static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(int argc, char **argv)
{
	long long began;

	if (argc < 3 || getchar() == EOF)
		return 1;
	began = cpu_ns();
	down(atoi(argv[1]), atoi(argv[2]));
	printf("%lld\n", cpu_ns() - began);
	return 0;
}
"""
CLIENTS = (1, 2, 4)
EVENT = ["-e", "task:task_rename", "-c", "1"]
COPY, COPY_STEP = 8192, 256


def process_cpu_ns(pid):
    """Of all its threads: what clock_getcpuclockid gives, which Python lacks."""
    return time.clock_gettime_ns(~pid << 3 | 2)


class Recorder:
    """One of the recordings, from when it is ready on."""

    def __init__(self, machine, pid, i, shares):
        self.data = machine.path("clients-%d.data" % i)
        self.json = self.data + ".json"
        for path in (self.data, self.json):
            if os.path.exists(path):
                os.unlink(path)
        copy = COPY if shares else COPY + i * COPY_STEP
        self.process = subprocess.Popen(
            [machine.seam, "record", "-p", str(pid), *EVENT, "--stack-copy",
             str(copy), "-o", self.data, "--json-summary", self.json],
            env=machine.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (os.path.exists(self.data) and
                   livetest.polls(self.process.pid)):
            if self.process.poll() is not None:
                raise RuntimeError("seam record: status %d" %
                                   self.process.returncode)
            time.sleep(0.01)
        self.ready_ns = process_cpu_ns(self.process.pid)

    def end(self):
        """(CPU time in ns, summary)"""
        # By itself, as the program did; a signal could come behind its end.
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            raise RuntimeError("seam record: status %d" %
                               self.process.returncode)
        with open(self.json) as f:
            summary = json.load(f)
        used_ns = (usage.ru_utime + usage.ru_stime) * 1e9
        return used_ns - self.ready_ns, summary


def check(summaries, shares):
    """That what was measured is what the row says."""
    for i, summary in enumerate(summaries):
        if summary["alone"]:
            raise RuntimeError("nothing is shared: " + summary["alone"])
        if summary["clients"] != (i if shares else 0):
            raise RuntimeError("%d other recordings are at work" %
                               summary["clients"])


def run(machine, args, program, n, shares):
    """Of one event: the program's ns, the recorders' ns, unwinds, and samples
    without a stack."""
    target = subprocess.Popen([program, str(args.depth), str(args.events)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorders = []
    try:
        for i in range(n):
            recorders.append(Recorder(machine, target.pid, i, shares))
        out, _ = target.communicate(b"\n")
        ended = [recorder.end() for recorder in recorders]
    finally:
        for process in [target] + [r.process for r in recorders]:
            if process.returncode is None:
                process.kill()
                process.wait()
    summaries = [summary for _, summary in ended]
    check(summaries, shares)
    return (int(out) / args.events, sum(ns for ns, _ in ended) / args.events,
            sum(s["unwinds"] for s in summaries) / args.events,
            sum(s["end"].get("lost", 0) for s in summaries) / args.events)


def rows(machine, args, program):
    most = args.recordings[-1]
    works = [(n, shares) for n in args.recordings for shares in (True, False)]
    # The first finds no tables yet.
    run(machine, args, program, 1, True)
    results = dict(zip(works, measure.interleave(args.rounds, *(
        lambda n=n, shares=shares: run(machine, args, program, n, shares)
        for n, shares in works))))
    bare = measure.median([run(machine, args, program, 0, True)[0]
                           for _ in range(args.rounds)])
    print("%d events a run, %d frames; not recorded, an event is %.0f ns\n" %
          (args.events, args.depth, bare))

    def row(what, unit, ours, theirs, aim=""):
        return measure.Row(what, unit, ours, theirs, "each for itself", aim)

    for n in args.recordings:
        of = [list(zip(*results[n, shares])) for shares in (True, False)]
        yield row("the program, an event, %d recordings" % n, "ns",
                  *([ns - bare for ns in x[0]] for x in of))
        yield row("the recorders, an event, %d recordings" % n, "ns",
                  *(list(x[1]) for x in of))
        yield row("unwinds, an event, %d recordings" % n, "",
                  *(list(x[2]) for x in of))
        yield row("without a stack, an event, %d recordings" % n, "",
                  *(list(x[3]) for x in of))
    # What a recording costs where others are: its own program at the event and
    # its sample, and the stack that it is sent, which it reads. Of these
    # request_rows has what asking takes.
    if most > args.recordings[0]:
        more = most - args.recordings[0]
        for at, who in enumerate(("program", "recorders")):
            yield row("the %s, an event, each further recording" % who, "ns",
                      *([(b[at] - a[at]) / more for a, b in zip(
                          results[args.recordings[0], shares],
                          results[most, shares])]
                        for shares in (True, False)))


def asked(machine, args, n):
    """Of one event, the n-th program's: ns of the program that asks, of the
    empty one, and of the whole task; and of the two the median call."""
    tool = os.path.join(machine.build, "bench", "request-cost")
    out = subprocess.run([tool, str(args.events), str(n)], check=True,
                         env=machine.env, stdout=subprocess.PIPE,
                         encoding="utf-8").stdout
    requests, by_others = map(int, out.split()[3:5])
    if requests < args.events or (n > 1 and 2 * by_others < requests):
        raise RuntimeError("no %d programs asked for one stack: %s" % (n, out))
    return tuple(map(float, out.split()[:3] + out.split()[6:8]))


def request_rows(machine, args):
    """What asking itself costs at the event: the first schedules the unwind,
    the others join. By the kernel's own statistics of BPF programs, which are
    means, with all that interrupts a call, and by the median call; of lent
    programs that ask and do nothing else."""
    results = dict(zip(CLIENTS, measure.interleave(args.rounds, *(
        lambda n=n: asked(machine, args, n) for n in CLIENTS))))
    for what, at, base in (("", 0, 1), (", median call", 3, 4)):
        costs = {n: [r[at] - r[base] for r in results[n]] for n in CLIENTS}
        for n in CLIENTS[1:]:
            yield measure.Row("a request that joins, of %d%s" % (n, what),
                              "ns", costs[n], costs[1],
                              "the one that schedules", "<= 200 ns")
    # The callback of a task work is in no program's statistics: it is what
    # the task takes beyond its programs.
    few, most = CLIENTS[1], CLIENTS[-1]
    yield measure.Row(
        "the stack to one further ring", "ns",
        [(b[2] - a[2]) / (most - few) - b[0] - b[1]
         for a, b in zip(results[few], results[most])])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--events", type=int, default=20000)
    parser.add_argument("--depth", type=int, default=40)
    parser.add_argument("--recordings", default="1,2,4,8",
                        help="how many at once; 16 share at most")
    parser.add_argument("--no-recordings", action="store_true",
                        help="only what asking costs at the event")
    parser.add_argument("--at-most", type=float,
                        help="fail where a request that joins costs more than "
                        "this part of the one that schedules")
    args = parser.parse_args()
    if os.geteuid():
        print("clients: recording with BPF needs root")
        return 77
    args.recordings = sorted(int(n) for n in args.recordings.split(","))
    with tempfile.TemporaryDirectory(prefix="seam-bench.") as folder:
        machine = measure.Machine(args.build, None, folder)
        program = machine.path("clients")
        subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-x", "c", "-",
                        "-o", program], input=SOURCE, encoding="utf-8",
                       check=True)
        if not args.no_recordings:
            measure.print_table(list(rows(machine, args, program)))
        asking = list(request_rows(machine, args))
        measure.print_table(asking)
    dear = [row.what for row in asking if args.at_most and row.peer and
            measure.median(row.ours) > args.at_most * measure.median(row.peer)]
    for what in dear:
        print("%s: costs more than %g of that" % (what, args.at_most))
    return 1 if dear else 0


if __name__ == "__main__":
    sys.exit(main())
