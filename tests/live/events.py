#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: events of one recording share each entry's unwind, and each
shows what it asked for: so many frames, the kernel's half, the user's, or
both.

A program calls itself 20 times, then asks the kernel for its folder, again
and again: its paths are known. With :u no address of the kernel is anywhere
in the file, though most interrupts land there.
"""

import collections
import os
import re
import struct
import subprocess
import sys

import leaks
import livetest

SOURCE = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
void spin(void) { for (int i = 0; i < 20000; i++) sink += i; }
void ask(void)
{
	char buf[4096];
	for (int i = 0; i < 200; i++)
		syscall(SYS_getcwd, buf, sizeof(buf));
	__asm__ volatile("");
}
void again(int n)
{
	if (n) {
		again(n - 1);
	} else {
		spin();
		ask();
	}
	__asm__ volatile("");
}
int main(void)
{
	while (cpu_ms() < %d)
		again(20);
}
"""
DEPTH = 21  # calls of again
WHOLE = re.compile(
    r"_start __libc_start_main(_impl)? __libc_start_call_main main")


def program(bench, ms=400):
    return bench.compile(SOURCE % ms, "again-%d" % ms,
                         "-fno-optimize-sibling-calls")


def programs(bench):
    for ms in 150, 400, 800:
        program(bench, ms)
    bench.compile(WRITER, "writer")


def by_event(samples):
    found = collections.defaultdict(list)
    for sample in samples:
        found[sample["event"]].append(sample)
    return found


def ips(frames):
    return [f["ip"] for f in frames]


def adds_up(bench, what, recording, samples):
    """Each end code as often in the summary as in the file."""
    ends = {c: n for c, n in recording.summary["end"].items() if n}
    found = collections.Counter(s["end"] for s in samples)
    bench.test(what + ": each end code as often in the file",
               dict(found) == ends, "%s, summary %s\n%s" % (
                   dict(found), ends, recording.log))
    # Payloads are of every hit on the machine, so others' can push ours out;
    # that these are counted payload.py sees to.
    bench.timely(what + ": nothing is lost",
                 not any(n for place, n in recording.summary["lost"].items()
                         if place != "payloads"), recording.log)


def depths(bench):
    """The entry's first event wants less of the stack than its second."""
    recording = bench.record(
        "-e", "raw_syscalls:sys_enter/max-stack=3/,"
        "raw_syscalls:sys_exit,cpu-clock/max-stack=9,name=nine/", "-F", "4999",
        # As many calls as a fast machine can make in this time.
        "-m", "64M", "--max-stack", "30", "--", program(bench, 150))
    samples = recording.samples()
    adds_up(bench, "depths", recording, samples)
    events = by_event(samples)
    inside = [s for s in events["raw_syscalls:sys_enter"]
              if "again" in livetest.user_path(s)]
    bench.test("max-stack=3: so many frames, and no more are wanted",
               len(inside) > 1000 and all(
                   len(livetest.user_frames(s)) == 3 and
                   s["end"] == "max-stack" for s in inside),
               "\n".join(map(livetest.show, inside[:3])))
    deep = [s for s in events["raw_syscalls:sys_exit"]
            if "again" in livetest.user_path(s)]
    short = [s for s in deep if s["end"] != "outermost" or
             livetest.user_path(s).count("again") != DEPTH or
             not WHOLE.match(" ".join(livetest.user_path(s)))]
    bench.test("the entry's second event, which wants more, has it all",
               len(deep) > 1000 and not short,
               "%d of %d\n" % (len(short), len(deep)) +
               "\n".join(map(livetest.show, short[:3])))
    whole = {s["cookie"]: ips(s["frames"][-len(livetest.user_frames(s)):])
             for s in deep}
    shared = [s for s in inside if s["cookie"] in whole]
    bench.test("and shares the unwind with the first, frame by frame",
               len(shared) > 0.95 * len(inside) and all(
                   ips(livetest.user_frames(s)[::-1]) ==
                   whole[s["cookie"]][:3] for s in shared),
               "%d of %d" % (len(shared), len(inside)))
    nine = events["nine"]
    bench.test("name= names an event, and its limit is its own",
               nine and max(len(livetest.user_frames(s)) for s in nine) == 9,
               collections.Counter(len(livetest.user_frames(s))
                                   for s in nine))


def finds(bench, recording, known):
    """The search, of copies of a recording that has no address: with one at
    each kind of place, and with what only looks like one."""
    # Not of a BPF program's code, say, which is looked for in fields alone.
    word = struct.pack("<Q", max(filter(known.is_likely, known.addresses)))
    at = recording.samples[0][0]
    payload = max((to - at, at) for at, to in recording.payloads)[1]
    for name, place, kinds in [
            ("a sample's ip", at + 16, {"words", "anywhere"}),
            ("a field of a payload", payload + 8,
             {"fields", "payloads", "anywhere"}),
            ("any byte of a payload", payload + 9, {"payloads", "anywhere"}),
            ("any byte of the file", len(recording.data) - 9, {"anywhere"})]:
        found = recording.changed((place, word)).all(known)
        bench.test("the search finds an address at " + name,
                   kinds <= {k for k, v in found.items() if v}, found)
    found = recording.changed(*(
        (at + leaks.TID + 4, bytes.fromhex("6a320000 ddffff01"))
        for at, _ in recording.samples)).all(known)
    bench.test("the search takes no thread and time for one",
               not any(found.values()), found)


def cookies(samples):
    return {int(s["cookie"], 16) for s in samples if s.get("cookie")}


def user(bench):
    exe = program(bench)
    plain = bench.record("-e", "cpu-clock,kmem:kmalloc", "-F", "4999", "-z",
                         "0", "--", exe)
    payloads = not plain.summary["no_payload"]
    known = leaks.Known(leaks.read(plain.data))
    again = bench.record("-e", "cpu-clock,kmem:kmalloc", "-F", "4999", "-z",
                         "0", "--", exe)
    found = leaks.read(again.data).all(known)
    for kind, words in found.items():
        if kind in ("fields", "payloads") and not payloads:
            bench.skip("without :u there are addresses: " + kind,
                       "this kernel gives no payload")
            continue
        bench.test("without :u there are addresses: " + kind, words)
    bench.test("without :u none is taken from payloads",
               not again.summary["payload_addresses"], again.log)
    recording = bench.record("-e", "cpu-clock:u,raw_syscalls:sys_enter/period="
                             "1000/u,page-faults/period=1/u,kmem:kmalloc:u",
                             "-F", "4999", "-z", "0", "--", exe)
    samples = recording.samples()
    adds_up(bench, ":u", recording, samples)
    told = leaks.read(recording.data)
    found = told.all(known, cookies(samples))
    for kind, words in found.items():
        bench.test(":u: no address of the kernel is in the file: " + kind,
                   not words, "\n".join(map(hex, words[:20])))
    if not any(found.values()) and payloads:
        finds(bench, told, known)
    bench.test(":u: what went is counted", not payloads or
               recording.summary["payload_addresses"] > 10,
               recording.summary["payload_addresses"])
    bench.test(":u: nor in any sample",
               not any(livetest.kernel_frames(s) for s in samples))
    events = by_event(samples)
    bench.test("each event has samples", len(events) == 4, list(events))
    clock = events["cpu-clock:u"]
    # All that is neither in user code's own loop is the kernel's time.
    inside = [s for s in clock if s["frames"] and
              s["frames"][0].get("sym") == "syscall"]
    bench.test(":u: a tick in the kernel has the user's ip there as its leaf",
               len(inside) > len(clock) / 5 and all(
                   s["end"] in ("outermost", *bench.may_end) and
                   livetest.user_path(s)[-2:] == ["ask", "syscall"]
                   for s in inside),
               "%d of %d\n" % (len(inside), len(clock)) +
               "\n".join(map(livetest.show, inside[:3])))


def every_engine(bench):
    """Alone, by each engine that there is."""
    exe = program(bench, 150)
    engines = [bench.args.engine] if bench.args.engine else [
        "deferred", "immediate", "dump", "native"]
    for engine in engines:
        options = ("--engine", engine, "-F", "4999", "-z", "0")
        plain = bench.record(*options, "-e", "cpu-clock", "--", exe)
        what = "%s: cpu-clock:u alone: no address of the kernel" % engine
        if plain.status:
            bench.skip(what, plain.log.splitlines()[0])
            continue
        known = leaks.Known(leaks.read(plain.data))
        recording = bench.record(*options, "-e", "cpu-clock:u", "--", exe)
        samples = recording.samples()
        found = leaks.read(recording.data).all(
            known, cookies(samples))
        bench.test(what + ", where there are some without :u",
                   len(samples) > 50 and len(known.addresses) > 5 and
                   not any(found.values()), "%d samples, %d known, %s" % (
                       len(samples), len(known.addresses), found))


def together(bench):
    """Of two events alike one has :u."""
    recording = bench.record("-e", "cpu-clock,cpu-clock:u", "-F", "1999",
                             "--", program(bench))
    adds_up(bench, "two clocks", recording, recording.samples())
    summary = recording.summary
    bench.test("two clocks: as many samples as ticks, to the last one",
               summary["watched"] == summary["samples"] + summary["own"] +
               summary["excluded"] and abs(
                   summary["expected_watched"] - summary["withheld_watched"] -
                   summary["watched"]) <= 2,
               summary)
    recording = bench.record("-e", "raw_syscalls:sys_enter,raw_syscalls:"
                             "sys_enter:u", "--", program(bench, 150))
    events = by_event(recording.samples())
    plain = {s["cookie"]: s for s in events["raw_syscalls:sys_enter"]}
    both = [s for s in events["raw_syscalls:sys_enter:u"]
            if s["cookie"] in plain]
    bench.test("one stack for both, of which :u has the user's half",
               len(both) > 1000 and all(
                   ips(livetest.user_frames(plain[s["cookie"]])) ==
                   ips(livetest.user_frames(s)) and
                   livetest.kernel_frames(plain[s["cookie"]]) and
                   not livetest.kernel_frames(s) for s in both),
               "%d of %d" % (len(both), len(plain)))


def halves(bench):
    recording = bench.record(
        "-e", "cpu-clock:k,cpu-clock/kernel-callchains,name=half/,"
        "cpu-clock/user-callchains,name=other/,cpu-clock/call-graph=no,"
        "name=none/,sched:sched_switch/user-callchains/", "-F", "1999", "--",
        program(bench))
    samples = recording.samples()
    adds_up(bench, "halves", recording, samples)
    events = by_event(samples)
    kernel = events["cpu-clock:k"]
    bench.test(":k: what happens in the kernel, with both halves",
               kernel and all(livetest.kernel_frames(s) and
                              livetest.user_frames(s) for s in kernel),
               "\n".join(map(livetest.show, kernel[:3])))
    half = events["half"]
    bench.test("kernel-callchains: the kernel's half, or the ip alone",
               half and all(s["end"] == "no-user" and "cookie" not in s and
                            (livetest.kernel_frames(s) or
                             len(s["frames"]) == 1) for s in half) and
               any(livetest.kernel_frames(s) for s in half),
               "\n".join(map(livetest.show, half[:3])))
    other = events["other"]
    bench.test("user-callchains: the user's half",
               other and all(s["end"] == "outermost" and
                             not livetest.kernel_frames(s) for s in other),
               "\n".join(map(livetest.show, other[:3])))
    bench.test("call-graph=no: one address",
               events["none"] and all(len(s["frames"]) == 1 and
                                      s["end"] == "no-user"
                                      for s in events["none"]),
               "\n".join(map(livetest.show, events["none"][:3])))
    bench.test("a mode that :k excludes is counted",
               recording.summary["excluded"] > 0 and
               " in the mode that it excludes" in recording.log,
               recording.log)


# A pipe holds less than is written: the write sleeps until it is read, faults
# in what it reads, and takes as long as some ticks.
WRITES = 8
WRITER = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define SIZE (8 << 20)
static char bytes[1 << 16];
void writes(int fd)
{
	char *fresh = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, SIZE, MADV_NOHUGEPAGE);
	if (write(fd, fresh, SIZE) != SIZE) abort();
	munmap(fresh, SIZE);
}
int main(void)
{
	int fds[2];
	if (pipe(fds)) return 1;
	if (!fork()) {
		close(fds[1]);
		while (read(fds[0], bytes, sizeof(bytes)) > 0);
		_exit(0);
	}
	close(fds[0]);
	for (int i = 0; i < %d; i++) writes(fds[1]);
	close(fds[1]);
	return wait(NULL) < 0;
}
""" % WRITES


def one_entry(bench):
    exe = bench.compile(WRITER, "writer")
    recording = bench.record(
        "-e", "raw_syscalls:sys_enter/period=1/,page-faults/period=1/,"
        "sched:sched_switch/period=1/,cpu-clock/freq=9999/", "--", exe)
    samples = recording.samples()
    adds_up(bench, "one entry", recording, samples)
    entries = collections.defaultdict(list)
    for s in samples:
        if "cookie" in s and livetest.user_path(s)[-2:] in (
                ["writes", "write"], ["writes", "__write"],
                ["writes", "__GI___libc_write"]):
            entries[s["cookie"]].append(s)
    whole = [e for e in entries.values()
             if len({s["event"] for s in e}) == 4]
    bench.test("a system call's tracepoint, faults, sleeps and ticks share one "
               "unwind", len(whole) == WRITES, "%d, of %s" % (
                   len(whole), [sorted({s["event"] for s in e})
                                for e in entries.values()][:5]))
    other = [e for e in whole if len({tuple(ips(livetest.user_frames(s)))
                                      for s in e}) != 1 or
             any(s["end"] != "outermost" for s in e)]
    bench.test("and have one stack, which is whole", whole and not other,
               "%d of %d" % (len(other), len(whole)))


def one_hit(bench):
    """So do two uprobes of one place, and what else comes at their hit."""
    exe = bench.compile(WRITER, "writer")
    place = "uprobe:%s:writes" % exe
    recording = bench.record(
        "-e", "%s/name=first/,%s/name=second/,page-faults/period=1/,"
        "raw_syscalls:sys_enter/period=1/,cpu-clock/freq=9999/" % (
            place, place), "--", exe)
    samples = recording.samples()
    adds_up(bench, "one hit", recording, samples)
    hits = collections.defaultdict(list)
    for s in samples:
        hits[s.get("cookie")].append(s)
    hits = [e for cookie, e in hits.items() if cookie and
            any(s["event"] == "first" for s in e)]
    both = [e for e in hits if {"first", "second"} <=
            {s["event"] for s in e}]
    bench.test("two uprobes of one place share one unwind at each hit",
               len(both) == len(hits) == WRITES, "%d of %d, %s" % (
                   len(both), len(hits), recording.log))
    wrong = [e for e in both if any(
        s["end"] != "outermost" or livetest.user_path(s)[-1:] != ["writes"] or
        s["event"] == "raw_syscalls:sys_enter" or
        ips(livetest.user_frames(s)) != ips(livetest.user_frames(e[0]))
        for s in e)]
    bench.test("a hit's stack is whole, all that came has it, and the system "
               "call behind it another", both and not wrong,
               "\n".join(livetest.show(s) for s in sum(wrong, [])[:4]))


def task_clock(bench):
    """What perf falls back to in virtual machines, by its own name."""
    # Room for all that there is, however late it is read.
    recording = bench.record("-e", "task-clock", "-F", "999", "-m", "16M",
                             "--", program(bench, 800))
    samples = recording.samples()
    adds_up(bench, "task-clock", recording, samples)
    # The kernel's own unwinder knows frame pointers, which there are none of.
    whole = [s for s in samples if bench.engine == "native" or (
        s["end"] == "outermost" and
        livetest.user_path(s).count("again") == DEPTH)]
    bench.test("task-clock: the program's time, by whole stacks",
               set(by_event(samples)) == {"task-clock"} and
               len(whole) > 0.7 * len(samples) > 0.7 * 400,
               "%d of %d samples of 800 ms" % (len(whole), len(samples)))
    summary = recording.summary
    # Where a copy takes longer than a tick, the kernel leaves ticks out.
    spare = 0.05 * summary["expected"] if (
        bench.args.slower > 1 and bench.engine == "dump") else 2
    bench.test("task-clock: none of its ticks is missing", abs(
        summary["expected"] - summary["withheld"] -
        summary["events"]) <= spare, recording.log)


def perf_reads(bench):
    """Of each event, perf says what its own recording would."""
    if not os.path.exists("/usr/bin/perf"):
        bench.skip("perf reads the same of the events", "no perf")
        return
    recording = bench.record(
        "-e", "cpu-clock:u,page-faults/max-stack=5/k,"
        "cs/kernel-callchains/,faults/user-callchains/", "--", "true")
    told = subprocess.run(["perf", "evlist", "-v", "-i", recording.data],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8").stdout
    lines = [line for line in told.splitlines() if ": type: 1," in line]
    wanted = [
        {"exclude_kernel: 1", "exclude_hv: 1"},
        {"exclude_user: 1", "exclude_hv: 1", "sample_max_stack: 5"},
        {"exclude_callchain_user: 1"},
        {"exclude_callchain_kernel: 1"},
    ]
    terms = "exclude_|sample_max_stack"
    got = [{t.strip() for t in line.split(",") if re.search(terms, t)}
           for line in lines[:len(wanted)]]
    bench.test("perf reads the same of the events", got == wanted, told)


def bad(bench):
    for event, status, reason in [
            ("cpu-clock:x", 1, "no modifier"),
            ("cpu-clock:pppp", 1, "no modifier"),
            ("cpu-clock:p", 1, "events of the hardware"),
            ("cpu-clock/max-stack=8185/", 1, "up to 8184"),
            ("cpu-clock/call-graph=dwarf/", 1, "its own way"),
            ("cpu-clock/kernel-callchains/u", 1, "exclude each other"),
            ("cpu-clock,,page-faults", 2, "want an event"),
            (",".join(["cs"] * 17), 2, "16 events are the most"),
            ("clock", 1, "no event that seam knows")]:
        recording = bench.record("-e", event, "--", "true", name="bad.data")
        bench.test("-e %s is refused, and why" % event[:40],
                   recording.status == status and reason in recording.log and
                   not os.path.exists(recording.data), recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(
        depths, user, every_engine, together, halves, one_entry, one_hit,
        task_clock, perf_reads, bad,
        programs=programs,
        only={
            "deferral alone shares a stack among events":
                ("deferred", (depths, together, one_entry, one_hit)),
            "tracepoints and halves of their own take BPF":
                ("deferred immediate", (user, perf_reads)),
            "where registers are half written, the event has no stack":
                ("deferred", (halves,))}))
