#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: BPF programs of every tracing type ask for stacks, all of one
object: perf_event, tracepoint, raw_tp, tp_btf, fentry, fexit, uprobe, one that may
sleep, uretprobe and kprobe, and one in interrupts. Each has the known path of its own, and no request is without an
answer or a count. They find the stacks themselves too. Of each cookie that they
were given it is told what became of the stack. What another build takes stacks
with is refused.

The tool is tests/asks. What it is attached to does not come in one stay in the
kernel, so that each program opens entries.
"""

import collections
import signal
import subprocess
import sys
import time

import clients
import livetest
import requests

ROUNDS = 200
MANY_ROUNDS = 1000 # whose stacks have room, but not their losses
SPINS = 2000000 # in each, for its share of a clock's events
PATH = ["main", "outer", "middle", "inner", "leaf"]
TYPES = ["perf_event", "tracepoint", "raw_tp", "tp_btf", "fentry", "fexit",
         "uprobe", "uretprobe", "uprobe.s", "kprobe"]
# Its leaf, where it is not in leaf() itself.
LEAVES = {"uprobe": ["probed"], "uprobe.s": ["slept"]}
SOURCE = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
static inline __attribute__((always_inline))
void call(long nr, long a, const void *b)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
}
__attribute__((noipa)) void probed(void) { STAY(); }
__attribute__((noipa)) void slept(void) { STAY(); }
__attribute__((noipa)) void returned(void) { STAY(); }
__attribute__((noipa)) void leaf(void)
{
	struct timespec t = {0, 100000};
	for (int i = 0; i < SPINS; i++)
		sink++;
	call(SYS_prctl, 15, "known"); /* PR_SET_NAME */
	call(SYS_getppid, 0, 0);
	call(SYS_nanosleep, (long)&t, 0);
	call(SYS_getpgid, 0, 0);
	call(SYS_getsid, 0, 0);
	call(SYS_getuid, 0, 0);
	probed();
	slept();
	returned();
	STAY();
}
__attribute__((noipa)) void inner(void) { leaf(); STAY(); }
__attribute__((noipa)) void middle(void) { inner(); STAY(); }
__attribute__((noipa)) void outer(void) { middle(); STAY(); }
int main(void)
{
	if (getchar() < 0) return 1;
	for (int i = 0; i < ROUNDS; i++) outer();
	return 0;
}
"""

# Execs the next of the four that its arguments name in turn, on one CPU, where
# the kernel has an address space lie where the last but one lay. Of two such
# programs the second's code lies elsewhere, and one of other code has nothing
# that a tool asks in.
CHAIN = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
#ifdef PAD
__attribute__((noipa)) void pad(void) { __asm__ volatile(".skip 16, 0x90"); }
#endif
__attribute__((noipa)) void probed(void) { STAY(); }
__attribute__((noipa)) void slept(void) { STAY(); }
__attribute__((noipa)) void returned(void) { STAY(); }
__attribute__((noipa)) void leaf(void)
{
	long ret;
#ifndef SILENT
	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_getppid)
			 : "rcx", "r11", "memory");
#endif
	STAY();
}
__attribute__((noipa)) void inner(void) { leaf(); STAY(); }
__attribute__((noipa)) void middle(void) { inner(); STAY(); }
__attribute__((noipa)) void outer(void) { middle(); STAY(); }
int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	cpu_set_t one;
	char left[24];
	char *next[] = {argv[2], left, argv[3], argv[4], argv[5], argv[2],
			NULL};

#ifdef PAD
	if (!argv[0]) pad();
#endif
	if (n == EXECS) {
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		if (sched_setaffinity(0, sizeof(one), &one) || getchar() < 0)
			return 1;
	}
	outer();
	if (n > EXECS - 8) usleep(200000); /* until its file has a table */
	if (!n) return 0;
	snprintf(left, sizeof(left), "%ld", n - 1);
	execv(next[0], next);
	return 2;
}
"""
EXECS = 800
# libbpf looks there for a tracepoint's number.
TRACEFS = """[ -e /sys/kernel/tracing/events ] ||
	mount -t tracefs nodev /sys/kernel/tracing
exec "$@" """


def tool(bench):
    return bench.args.since if requests.wants_one_name(bench) \
        else bench.args.asks


def trace(bench, exe, *room, record=(), args=()):
    """Return: the tool's status and lines, and what it says."""
    program = bench.start([exe, *args], stdin=subprocess.PIPE)
    out, err = bench.path("out"), bench.path("err")
    recorder = bench.recorder("-p", str(program.pid), *record).ready() \
        if record else None
    tracer = bench.start(["unshare", "-m", "sh", "-c", TRACEFS, "sh",
                          tool(bench), str(program.pid), *room],
                         stdout=open(out, "w"), stderr=open(err, "w"),
                         env=bench.env)
    while tracer.poll() is None and "ready" not in open(out).read():
        time.sleep(0.01)
    program.stdin.write(b"\n")
    program.stdin.close()
    program.wait()
    status = tracer.wait()
    if recorder:
        recorder.interrupt()
    with open(out) as o, open(err) as e:
        return status, [line.split() for line in o], e.read()


def names_of(namer, ips):
    """Root first. The leaf is no return address."""
    return [namer.name(ip) for ip in reversed(ips[1:])] + \
        [namer.name(ips[0] + 1)]


def numbers(words):
    return [int(word) for word in words if word.isdigit()]


def parse(lines, exe):
    """Return: cookies by type, stacks by cookie (end, names root first), what
    is missing here, and the counts."""
    namer = requests.Names(exe)
    asks, stacks, missing, counts = collections.defaultdict(list), {}, {}, None
    for words in lines:
        if words[0] == "ask":
            asks[words[1]].append(words[3])
        elif words[0] == "stack":
            stacks.setdefault(words[1], []).append(
                (words[2], names_of(namer, [int(ip, 16)
                                            for ip in words[3:]])))
        elif words[0] == "none":
            missing[words[1].rstrip(":")] = " ".join(words[2:])
        elif words[0] == "counts":
            counts = numbers(words)
    return asks, stacks, missing, counts


def fits(names, leaf):
    if "main" not in names:
        return False
    path = names[names.index("main"):]
    return path in (PATH, PATH + leaf)


def check_type(bench, kind, cookies, stacks):
    had = [c for c in cookies if c != "0"]
    bench.test("%s: each cookie has a stack" % kind,
               len(had) >= ROUNDS / 4 and all(c in stacks for c in had),
               "%d requests, %d cookies, %d stacks" % (
                   len(cookies), len(had), sum(c in stacks for c in had)))
    found = [(c, *stacks[c][0]) for c in had if c in stacks]
    leaf = LEAVES.get(kind, [])
    # These may come before and behind what the path is known of, too.
    if kind in ("perf_event", "tp_btf", "irq"):
        found = [f for f in found if f[2][-1] == "leaf"]
    wrong = [f for f in found if not fits(f[2], leaf)]
    bench.test("%s: each stack is the known path" % kind,
               len(found) >= ROUNDS / 4 and not wrong,
               "\n".join(map(str, wrong[:5])) or "%d stacks" % len(found))
    whole = sum(f[1] == "outermost" for f in found)
    bench.test("%s: and whole" % kind, whole == len(found),
               collections.Counter(f[1] for f in found))


def compiled(bench, rounds=ROUNDS):
    return bench.compile(SOURCE, "known-%d" % rounds, "-no-pie",
                         "-DROUNDS=%d" % rounds,
                         "-DSPINS=%d" % (SPINS // bench.args.slower))


def chain(bench):
    """Programs that exec each other."""
    static = ("-static", "-no-pie", "-fno-pie", "-DEXECS=%d" % EXECS)
    return [bench.compile(CHAIN, name, *static, *more) for name, more in (
        ("chain-a", ()), ("chain-b", ("-DPAD",)), ("chain-c", ("-DSILENT",)))]


def programs(bench):
    for rounds in ROUNDS, ROUNDS // 4, MANY_ROUNDS:
        compiled(bench, rounds)
    chain(bench)


def types(bench):
    exe = compiled(bench)
    status, lines, said = trace(bench, exe)
    asks, stacks, missing, counts = parse(lines, exe)
    bench.note("%s; %s" % ({k: len(v) for k, v in asks.items()}, counts))
    if not bench.test("one object with all of them is loaded, and traces",
                      status == 0 and counts, said):
        return
    total, filtered, none, seen, unseen, *_ = counts
    every = [c for cookies in asks.values() for c in cookies]
    bench.test("every request was seen, and answered or counted",
               total - filtered == seen == len(every) and not unseen and
               every.count("0") == none, counts)
    bench.test("no cookie has two stacks",
               all(len(s) == 1 for s in stacks.values()))
    for kind in TYPES:
        if kind in missing:
            bench.skip("%s: asks" % kind,
                       "this kernel has none: " + missing[kind])
        else:
            check_type(bench, kind, asks[kind], stacks)


def irq(bench):
    """A program in the interrupts of timers, wherever they meet the task."""
    exe = compiled(bench)
    status, lines, said = trace(bench, exe, "0", "0", "irq")
    asks, stacks, _, counts = parse(lines, exe)
    bench.note("irq: %s" % counts)
    if not bench.test("a program in interrupts is loaded, and traces",
                      status == 0 and counts, said):
        return
    total, filtered, none, seen, unseen, *_ = counts
    bench.test("irq: every request was seen, and answered or counted",
               total - filtered == seen == len(asks["irq"]) and not unseen and
               asks["irq"].count("0") == none, counts)
    check_type(bench, "irq", asks["irq"], stacks)


def check_found(bench, what, lines, rounds):
    """What programs find in BPF is what comes to on_stack. Return: counts."""
    stacks = {words[1]: words[2:] for words in lines if words[0] == "stack"}
    found = [words[1:] for words in lines if words[0] == "found"]
    counts = numbers(lines[-1])
    bench.note("%s: %d found, %s" % (what, len(found), counts))
    wrong = []
    for cookie, end, n, *ips in found:
        other = stacks.get(cookie, ["none"])
        # Of a copy the leaf, until there is a table.
        whole = [end, *ips] == other[:17] and int(n) == len(other) - 1
        copied = end == "no-table" and ips == other[1:2]
        if not whole and not copied:
            wrong.append((cookie, end, n, ips, other))
    bench.test(what + ": what programs find is what the tool gets",
               len(found) >= rounds and not wrong,
               "\n".join(map(str, wrong[:5])) or len(found))
    whole = sum(end == "outermost" for _, end, *_ in found)
    bench.test(what + ": and many whole, from when there are tables on",
               whole >= rounds / 4, "%d of %d" % (whole, len(found)))
    return counts


def kept(bench):
    """Programs find stacks in a map of the tool's, by their cookies."""
    exe = compiled(bench, MANY_ROUNDS)
    status, lines, said = trace(bench, exe)
    if not bench.test("the tool traces", status == 0, said):
        return
    counts = check_found(bench, "alone", lines, MANY_ROUNDS)
    bench.test("alone: all were kept", not counts[7], counts)
    # The first in each entry, so that it unwinds.
    status, lines, said = trace(bench, exe, record=(
        "-e", "task:task_rename,raw_syscalls:sys_enter", "-c", "1"))
    if not bench.test("the tool traces beside a recording", status == 0, said):
        return
    counts = check_found(bench, "beside a recording", lines, MANY_ROUNDS)
    bench.test("beside a recording: also what that unwound",
               counts[5] > MANY_ROUNDS / 2, counts)
    status, lines, said = trace(bench, compiled(bench), "64")
    if not bench.test("the tool traces with little room", status == 0, said):
        return
    counts = numbers(lines[-1])
    stacks = sum(words[0] == "stack" for words in lines)
    bench.test("little room: what is not kept is counted, and none is lost",
               counts[7] == stacks - 64 > 0, "%d %s" % (stacks, counts))


def unread(bench, rounds):
    """The tool's buffer is a page, and it does not read while the program runs.
    Return: its status and lines."""
    exe = compiled(bench, rounds)
    program = bench.start([exe], stdin=subprocess.PIPE)
    out, err = bench.path("out"), bench.path("err")
    tracer = bench.start([tool(bench), str(program.pid), "0", "1"],
                         stdout=open(out, "w"), stderr=open(err, "w"),
                         env=bench.env)
    while tracer.poll() is None and "ready" not in open(out).read():
        time.sleep(0.01)
    tracer.send_signal(signal.SIGSTOP)
    program.stdin.write(b"\n")
    program.stdin.close()
    program.wait()
    tracer.send_signal(signal.SIGCONT)
    status = tracer.wait()
    with open(out) as lines, open(err) as said:
        return exe, status, [line.split() for line in lines], said.read()


def check_lost(bench, what, rounds):
    """Return: how many losses were told, and how many not."""
    exe, status, lines, said = unread(bench, rounds)
    if not bench.test(what + ": the tool traces without reading", status == 0,
                      said):
        return 0, 0
    asks, stacks, _, counts = parse(lines, exe)
    every = [c for cookies in asks.values() for c in cookies]
    had = set(every) - {"0"}
    ends = collections.Counter(s[0] for c in had for s in stacks.get(c, []))
    n_lost, untold = counts[8:10]
    bench.note("%s: %d requests, %d cookies, %s, %s" % (
        what, len(every), len(had), dict(ends), counts))
    bench.test(what + ": every request was seen, and answered or counted",
               counts[0] - counts[1] == counts[3] == len(every) and
               not counts[4] and every.count("0") == counts[2], counts)
    bench.test(what + ": each cookie's stack is told, or that it is lost, or "
               "counted as untold",
               had and len(had) == len(had & stacks.keys()) + untold and
               n_lost == ends["lost"] + untold,
               "%d of %d" % (len(had & stacks.keys()), len(had)))
    bench.test(what + ": and once, and none that nobody asked for",
               all(len(s) == 1 for s in stacks.values()) and
               not stacks.keys() - had,
               [(c, s) for c, s in stacks.items()
                if len(s) > 1 or c not in had][:3])
    leaves = [names for end, names in sum(stacks.values(), [])
              if end == "lost"]
    bench.test(what + ": of what is lost the leaf is known",
               leaves and all(len(names) == 1 for names in leaves), leaves[:3])
    return ends["lost"], untold


def lost(bench):
    """Of each cookie that its programs were given the tool is told what became
    of the stack, though its buffer was full; and where there was no room for
    that either, how often."""
    # Losses that there is room for, on a machine that is slow as well.
    told, untold = check_lost(bench, "lost", ROUNDS // 4)
    bench.test("lost: all is told", told and not untold, "%d told, %d not" % (
        told, untold))
    told, untold = check_lost(bench, "lost, many", MANY_ROUNDS)
    bench.test("lost, many: some is told, and some not", told and untold,
               "%d told, %d not" % (told, untold))


def another_build(bench):
    """Linked to what another build of this version takes stacks with."""
    done = subprocess.run([bench.args.other, str(bench.start(
        ["sleep", "60"]).pid)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", env=bench.env)
    bench.test("another build's object is refused, in one line",
               done.returncode == 1 and done.stderr.count("\n") == 1 and
               "of another build of seam" in done.stderr, done.stderr)


def execs(bench):
    """What was mapped at an address is none of what another program has there,
    though nothing else tells its address space from one before: no stack is
    taken at execs, where only tools ask."""
    a, b, c = chain(bench)
    status, lines, said = trace(bench, a, "0", "0", "raw_tp",
                                args=(str(EXECS), c, b, c, a))
    if not bench.test("execs: the tool traces", status == 0, said):
        return
    # What programs find, as the kernel took it: no rules of the other's.
    ends = collections.Counter(w[2] for w in lines if w[0] == "found")
    bench.test("execs: from when there are tables on, by its own",
               ends["outermost"] >= EXECS / 4, ends)
    namers = requests.Names(a), requests.Names(b)
    paths, wrong = collections.Counter(), []
    for words in lines:
        if words[0] != "stack":
            continue
        ips = [int(ip, 16) for ip in words[3:]]
        found = [names_of(namer, ips) for namer in namers]
        good = [which for which, names in zip("ab", found)
                if fits(names, []) and words[2] == "outermost"]
        paths.update(good)
        if len(good) != 1:
            wrong.append(words[2:] + found)
    bench.test("execs: each stack is of the program that it is taken in",
               not wrong and min(paths["a"], paths["b"]) >= EXECS / 8,
               "%s\n%s" % (paths, "\n".join(map(str, wrong[:5]))))


if __name__ == "__main__":
    clients.private_tracefs()
    sys.exit(livetest.main(
        types, irq, kept, lost, execs, another_build, programs=programs,
        of="deferred", tools=(
            ("--asks", "build/tests/asks/asks"),
            ("--since", "build/tests/asks/asks-since"),
            ("--other", "build/tests/asks/asks-other"))))
