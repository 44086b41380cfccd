#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: clients by <seam/tracer.h>, several in one process: who overlaps
has the same cookies and one unwind; who wants all has every stack of the
others, also beside samples of its own that want none; who wants none has none;
another order is another unwind; each cookie that was told has its stack told,
with the registers where that was asked, also if it is lost; and who is removed
may come again.

Who is right: a program whose every call is from one known path.
"""

import collections
import contextlib
import itertools
import os
import re
import subprocess
import sys
import threading

import livetest
from clients import SOURCE, private

SECONDS = "2"
LISTENERS = ("all", "all-and-events")
KINDS = (*LISTENERS, "order", "none", "shallow", "deep")


class Told:
    def __init__(self, text):
        self.samples = collections.defaultdict(dict)
        self.stacks = collections.defaultdict(dict)
        self.ends = collections.defaultdict(collections.Counter)
        self.engines, self.counts = {}, {}
        for line in text.splitlines():
            kind, what, *rest = line.split(" ")
            if what == "sample":
                self.samples[kind][rest[0]] = int(rest[1], 16)
                self.ends[kind][rest[2]] += 1
            elif what == "stack":
                self.stacks[kind][rest[0]] = (
                    rest[1], int(rest[2], 16), int(rest[3], 16), rest[4:])
            elif what == "engine":
                self.engines[kind] = rest
            elif what == "counts":
                self.counts[kind] = dict(zip(
                    ("unwinds", "by_others", "lost", "samples"),
                    map(int, rest)))


def each(bench, told, kind):
    samples, stacks = told.samples[kind], told.stacks[kind]
    bench.test(kind + ": each cookie that was told has its stack told",
               samples and not samples.keys() - stacks.keys(),
               "%d of %d not" % (len(samples.keys() - stacks.keys()),
                                 len(samples)))
    ends = collections.Counter(s[0] for s in stacks.values())
    bench.note("%s: %d samples' cookies, %s, %s" % (
        kind, len(samples), dict(ends), told.counts[kind]))


def apart(bench, told):
    for kind in ("none", "all-and-events"):
        ends = told.ends[kind]
        bench.test(kind + ": has samples, and none wants a stack",
                   ends["no-user"] and set(ends) == {"no-user"} and
                   set(told.samples[kind]) == {"0"}, ends)
    bench.test("none: has no stack", not told.stacks["none"],
               told.stacks["none"])
    bench.test("all: has no samples", not told.samples["all"])
    bench.test("order: its unwinds are its own",
               told.counts["order"]["by_others"] == 0 and
               told.counts["order"]["unwinds"] >= len(told.samples["order"]),
               told.counts["order"])


def together(bench, told):
    deep, shallow = told.stacks["deep"], told.stacks["shallow"]
    both = deep.keys() & told.samples["deep"].keys() & \
        told.samples["shallow"].keys() & shallow.keys()
    bench.test("deep and shallow share cookies",
               len(both) >= 0.5 * len(told.samples["deep"]) and both,
               "%d of %d" % (len(both), len(told.samples["deep"])))
    wrong = [c for c in both if "lost" not in (deep[c][0], shallow[c][0]) and
             deep[c][3][:2] != shallow[c][3][:2]]
    bench.test("and stacks", not wrong,
               [(deep[c], shallow[c]) for c in wrong[:3]])
    unwinds = sum(told.counts[kind]["unwinds"] for kind in ("deep", "shallow"))
    bench.test("of one unwind", unwinds <= 1.2 * len(
        shallow.keys() | deep.keys()) and sum(
            told.counts[kind]["by_others"] for kind in ("deep", "shallow")),
               "%d unwinds of %d entries" % (unwinds, len(
                   shallow.keys() | deep.keys())))


def listener(bench, told, name):
    heard = told.stacks[name]
    lost = told.counts[name]["lost"]
    for kind in ("deep", "shallow"):
        said = {c: s for c, s in told.stacks[kind].items() if s[0] != "lost"}
        missed = said.keys() - heard.keys()
        bench.test("%s: has every stack of %s" % (name, kind),
                   said and len(missed) <= lost,
                   "%d of %d not; %d lost" % (len(missed), len(said), lost))
        # Of a copy each has as much as it wants.
        wrong = [c for c in said.keys() & heard.keys()
                 if said[c][3] != heard[c][3][:len(said[c][3])]]
        bench.test(name + ": and the same", not wrong, "%d: %s" % (
            len(wrong), [(c, said[c], heard[c]) for c in wrong[:3]]))
    bench.test(name + ": none of another order's",
               not heard.keys() & (told.stacks["order"].keys() - told.stacks[
                   "deep"].keys() - told.stacks["shallow"].keys()))


def registers(bench, told):
    stacks = [(c, s) for c, s in told.stacks["deep"].items()
              if s[0] != "lost" and s[3]]
    wrong = [s for c, s in stacks if s[1] != int(s[3][0], 16) or not s[2]]
    bench.test("deep: the registers are the leaf's", stacks and not wrong,
               wrong[:3])
    wrong = [(c, s) for c, s in stacks if c in told.samples["deep"] and
             told.samples["deep"][c] != s[1]]
    bench.test("deep: and samples say where it left user space", not wrong,
               wrong[:3])
    given = [s for s in told.stacks["shallow"].values() if s[1]]
    bench.test("shallow: has none, not having asked", not given, given[:3])


def tracers(bench):
    exe = bench.compile(SOURCE, "known")
    target = bench.start([exe])
    with open(bench.path("out"), "w") as out, \
            open(bench.path("err"), "w") as err:
        status = bench.start([bench.args.tool, str(target.pid), SECONDS,
                              *KINDS], stdout=out, stderr=err,
                             env=bench.env).wait()
    target.kill()
    target.wait()
    with open(bench.path("out")) as out, open(bench.path("err")) as err:
        told = Told(out.read())
        said = err.read()
    if not bench.test("%d sessions in one process" % len(KINDS), status == 0 and
                      told.counts.keys() == set(KINDS), said):
        return
    bench.test("all are deferred, and share with others",
               all(e == ["deferred", "shares"]
                   for e in told.engines.values()), told.engines)
    for kind in ("deep", "shallow", "order"):
        each(bench, told, kind)
    apart(bench, told)
    together(bench, told)
    for name in LISTENERS:
        listener(bench, told, name)
    registers(bench, told)


def polls(bench):
    """Waits without a time limit of its own: for ever, if nothing wakes it."""
    target = bench.start([bench.compile(SOURCE, "known")])
    done = subprocess.run([bench.args.tool, str(target.pid), "0", "polls"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", env=bench.env, check=False)
    target.kill()
    target.wait()
    last = done.stdout.splitlines()[-1:]
    bench.test("its descriptor is readable when much waits, again and again; a "
               "run ends when its time is over, and when the program has ended",
               done.returncode == 0 and last == ["polls 3 0 1"],
               "%s %s" % (last, done.stderr))
    bench.test("and what it did was told",
               done.stdout.count("polls stack") > 3, done.stdout[:500])


def itself(bench):
    """Who traces his own process is not woken by his own calls, nor by those of
    his other threads: to read them makes the next."""
    done = subprocess.run([bench.args.tool, "0", "0", "itself"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", env=bench.env, check=False)
    told = re.search(r"^itself (\d+) of (\d+), (\d+)$", done.stdout, re.M)
    if not bench.test("a process traces itself", done.returncode == 0 and told,
                      done.stderr):
        return
    woken, readings, calls = map(int, told.groups())
    bench.note("woken for %d of %d readings, %d calls" % (woken, readings,
                                                          calls))
    bench.test("its threads' calls are seen", calls > 10 * readings, calls)
    # A file whose table is asked for late may be.
    bench.test("and wake it not", woken <= readings / 10, woken)


# A line has it make as many events of as many entries, half of them without a
# stack; whatever is at 8, nobody may have mapped.
ROUNDS = 100
UNREADABLE = r"""
#include <stdio.h>
static void event(unsigned long stack)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "test %0, %0\n\t"
			 "cmovnz %0, %%rsp\n\t"
			 "mov $157, %%eax\n\t" /* prctl(PR_SET_NAME) */
			 "mov $15, %%edi\n\t"
			 "syscall\n\t"
			 "mov %%rbx, %%rsp"
			 : : "r"(stack), "S"("known")
			 : "rax", "rbx", "rcx", "rdi", "r11", "memory");
}
int main(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < ROUNDS; i++)
			event(i % 2 ? 8 : 0);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""


def say(process):
    """Has a process go on by a line. Return: what it said, until it waits."""
    process.stdin.write("go\n")
    process.stdin.flush()
    return hear(process)


def hear(process):
    said = []
    for line in process.stdout:
        said.append(line)
        if line in ("done\n", "loses read\n"):
            break
    return "".join(said)


def losses(bench, engine, wanted):
    """There is no room for most, until it is read."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
             "encoding": "utf-8", "env": bench.env}
    target = bench.start([bench.compile(UNREADABLE, "unreadable",
                                        "-DROUNDS=%d" % ROUNDS)], **pipes)
    tool = bench.start([bench.args.tool, str(target.pid), "0", "loses", engine],
                       **pipes)
    said, ends = hear(tool), collections.Counter()
    while tool.poll() is None and not wanted <= ends.keys():
        say(target)
        said += say(tool)
        ends = collections.Counter(s[0] for s in
                                   Told(said).stacks["loses"].values())
    tool.stdin.close()
    said += tool.stdout.read()
    told = Told(said).stacks["loses"]
    ends = collections.Counter(s[0] for s in told.values())
    bench.note("%s: %s" % (engine, dict(ends)))
    bench.test("%s: reads, is full, and what it has not is told" % engine,
               tool.wait() == 0 and wanted <= ends.keys(), said[-500:])
    for end in ends:
        wrong = [s for s in told.values() if s[0] == end and not
                 (s[3] and s[1] == int(s[3][0], 16) and s[2])]
        bench.test("%s: each that is %s has leaf and registers" % (engine, end),
                   not wrong, "%d of %d: %s" % (len(wrong), ends[end],
                                                wrong[:3]))
    target.kill()
    target.wait()


def lost(bench):
    losses(bench, "deferred", {"lost", "outermost", "unreadable"})
    losses(bench, "immediate", {"lost", "outermost", "unreadable"})


def lost_of_others(bench):
    """Who wants all is told of each of the others', and has no room for most."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
             "encoding": "utf-8", "env": bench.env}
    target = bench.start([bench.compile(SOURCE, "known")])
    words = [bench.args.tool, str(target.pid)]
    listener = bench.start([*words, "0", "loses-all"], **pipes)
    said = hear(listener)
    deep = bench.start([*words, SECONDS, "deep"], **pipes).communicate()[0]
    said += say(listener)
    listener.stdin.close()
    said += listener.stdout.read()
    target.kill()
    target.wait()
    asked, told = Told(deep).stacks["deep"], Told(said).stacks["loses-all"]
    lost, untold = map(int, re.search(r"loses counts (\d+) (\d+)",
                                      said).groups())
    ends = collections.Counter(told[c][0] for c in asked.keys() & told.keys())
    bench.note("others': %d asked for, %s; %d lost, %d untold" % (
        len(asked), dict(ends), lost, untold))
    bench.test("others': what is lost is told, or counted",
               listener.wait() == 0 and ends["lost"] and ends["outermost"] and
               len(asked.keys() - told.keys()) == untold, said[-500:])
    bench.test("others': and no more is", lost == ends["lost"] + untold,
               (lost, untold, ends))


EXECS = """
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	usleep(10000);
	execv("/proc/self/exe", argv);
	return 1;
}
"""


def execs(bench):
    """At this event the registers are the new program's, the stack is not."""
    kinds = "execs", "user-execs"
    target = bench.start([bench.compile(EXECS, "execs")])
    done = subprocess.run([bench.args.tool, str(target.pid), SECONDS, *kinds],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", env=bench.env, check=False)
    target.kill()
    target.wait()
    told = Told(done.stdout)
    for kind in kinds:
        samples, stacks = told.samples[kind], told.stacks[kind]
        both = samples.keys() & {c for c, s in stacks.items() if s[3]}
        bench.note("%d samples, %d with their stack" % (len(samples),
                                                        len(both)))
        bench.test(kind + ": have samples, and stacks",
                   done.returncode == 0 and len(both) > 3, done.stderr)
        wrong = [("%x" % samples[c], stacks[c]) for c in both
                 if samples[c] != int(stacks[c][3][0], 16)]
        bench.test(kind + ": say where that program left user space",
                   both and not wrong, wrong[:3])


SAID = re.compile(r"(\w+): (\d+) samples: (\d+) joined, (\d+) of them whole, "
                  r"(\d+) lost; (\d+) want none, (\d+) dropped")


@contextlib.contextmanager
def bouncing(pid):
    """Has a task go from CPU to CPU."""
    cpus, over = sorted(os.sched_getaffinity(0)), threading.Event()

    def bounce():
        for cpu in itertools.cycle(cpus):
            if over.wait(0.002):
                return
            os.sched_setaffinity(pid, {cpu})

    thread = threading.Thread(target=bounce)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def example(bench):
    """examples/profile.c, of a program that spends its time in one leaf, on
    all CPUs in turns: their counts of cookies are close together."""
    exe = bench.compile(SOURCE, "known", "-no-pie")
    target = bench.start([exe])
    with bouncing(target.pid):
        done = subprocess.run([bench.args.example, str(target.pid), "2"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", env=bench.env, check=False)
    target.kill()
    target.wait()
    said = SAID.match(done.stderr)
    bench.note(done.stderr)
    if not bench.test("the example profiles", done.returncode == 0 and said,
                      done.stderr):
        return
    samples, joined, whole, lost, none, dropped = map(int, said.groups()[1:])
    bench.test("every sample is joined, or counted",
               samples and samples == joined + none + dropped, done.stderr)
    bench.timely("there is room for those that wait", joined and
                 dropped <= 0.01 * samples, done.stderr)
    bench.timely("and nearly all are whole",
                 whole >= 0.9 * (joined - lost) and
                 said.group(1) == "deferred", done.stderr)
    symbols = sorted((int(line.split()[0], 16), line.split()[2])
                     for line in subprocess.run(
                         ["nm", "--defined-only", exe], encoding="utf-8",
                         stdout=subprocess.PIPE, check=True)
                     .stdout.splitlines())
    at = [name for _, name in symbols].index("leaf")
    start, end = symbols[at][0], symbols[at + 1][0]
    leaves = collections.Counter()
    for line in done.stdout.splitlines():
        n, _, *ips = line.split("\t")
        leaves[bool(ips) and start <= int(ips[0], 16) < end] += int(n)
    bench.test("in the leaf that it spends its time in",
               leaves and leaves[True] >= 0.8 * sum(leaves.values()), leaves)


if __name__ == "__main__":
    private()
    sys.exit(livetest.main(tracers, example, polls, execs, itself, lost,
                           lost_of_others,
                           options=(
        ("--tool", "build/tests/live/tracer"),
        ("--example", "build/examples/example-profile"))))
