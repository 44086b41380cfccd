#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: uprobes of a function, and of its return, have the user's whole
stack at that very instruction, as often as the program called it.

A program without frame pointers calls a function a known number of times, from
two threads, and one of libc's besides.
"""

import collections
import os
import subprocess
import sys
import time

import livetest

CALLS = 300
SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
int probed(int n) { STAY(); return n + 1; }
int middle(int n) { int m = probed(n); STAY(); return m; }
void *work(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		middle(i);
	return arg;
}
int main(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, work, NULL)) return 3;
	work(NULL);
	if (pthread_join(t, NULL)) return 4;
	return getppid() <= 0;
}
"""


def program(bench):
    return bench.compile(SOURCE, "calls", "-pthread", "-DCALLS=%d" % CALLS)


def address(exe, name):
    """Of a function, as nm has it."""
    for line in subprocess.run(["nm", exe], stdout=subprocess.PIPE,
                               encoding="utf-8").stdout.splitlines():
        if line.split()[-1] == name:
            return int(line.split()[0], 16)
    raise KeyError(name)


def hits(bench):
    exe = program(bench)
    entry, back = "uprobe:%s:probed" % exe, "uretprobe:%s:probed" % exe
    recording = bench.record("-e", entry + ",cpu-clock", "--", exe)
    at = [s for s in recording.samples() if s["event"] == entry]
    bench.test("uprobe: a sample for each call, of both threads",
               recording.status == 0 and len(at) == 2 * CALLS and
               len({s["tid"] for s in at}) == 2, recording.log)
    bad = [s for s in at if s["end"] != "outermost" or
           livetest.user_path(s)[-3:] != ["work", "middle", "probed"] or
           s["frames"][0].get("off", 0) != 0]
    bench.test("uprobe: whole, and at the function's first instruction",
               not bad, "%d\n" % len(bad) +
               "\n".join(map(livetest.show, bad[:3])))
    recording = bench.record("-e", back, "--", exe)
    returned, summary = recording.samples(), recording.summary
    bad = [s for s in returned if s["end"] != "outermost" or
           livetest.user_path(s)[-2:] != ["work", "middle"]]
    bench.test("uretprobe: likewise, where the function returns to",
               len(returned) == 2 * CALLS and not bad,
               "%d of %d\n" % (len(bad), len(returned)) +
               "\n".join(map(livetest.show, bad[:3])))
    bench.test("they are expected, and none is lost",
               summary["expected"] is not None and
               summary["events"] >= 2 * CALLS and
               not any(summary["lost"].values()), recording.log)


# Two returns that are caught on the same stack, and one that a tail call
# shares; leaf runs for long, probed for the probes' sake only.
NESTED = r"""
#include <stdio.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
volatile unsigned sink;
int quick(int n) { STAY(); return n + 1; }
void leaf(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; STAY(); }
void tail(unsigned n) { STAY(); leaf(n); }
void inner(unsigned n) { tail(n); STAY(); }
void outer(unsigned n) { inner(n); STAY(); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 4000 || argc > 1; i++) {
		outer(800);
		for (int k = 0; k < 3; k++)
			quick(k);
	}
	return 0;
}
"""
PATHS = ["", " outer", " outer inner", " outer inner tail",
         " outer inner leaf", " quick"]


def hold_paths(bench, what, recording):
    """The clock's samples of NESTED are whole, and their paths possible."""
    samples = [s for s in recording.samples() if s["event"] == "cpu-clock" and
               s["comm"] == "nested"]
    paths = {}
    for s in samples:
        path = " ".join(livetest.user_path(s))
        if " main" in path:
            paths.setdefault(path.partition(" main")[2], []).append(s)
    bad = [s for s in samples if s["end"] != "outermost"]
    bad += [s for path in paths if path not in PATHS for s in paths[path]]
    bench.note({path: len(found) for path, found in paths.items()})
    bench.test(what, len(samples) > 300 and not bad and
               {" outer inner leaf", " quick"} <= set(paths),
               "%d of %d\n" % (len(bad), len(samples)) +
               "\n".join(map(livetest.show, bad[:9])) + recording.log)


def programs(bench):
    program(bench)
    nested(bench)
    for size in NOP:
        nops_program(bench, size)


def nested(bench):
    return bench.compile(NESTED, "nested", "-foptimize-sibling-calls")


def clocks(bench):
    """A clock's samples under probes: callers' addresses on the stack are
    the kernel's page, and so is the ip where a probed instruction or a
    return is under way."""
    exe = nested(bench)
    probes = ["uretprobe:%s:%s/period=1000000/" % (exe, name) for name in
              ("outer", "inner", "tail", "leaf", "quick")]
    probes += ["uprobe:%s:%s/period=1000000/" % (exe, name) for name in
               ("leaf", "quick")]
    options = ["-e", ",".join(probes), "-e", "cpu-clock/freq=4999/"]
    running = bench.start([exe, "on"])
    recording = bench.record(*options, "-p", str(running.pid), "--duration",
                             "1.5", name="running.data")
    running.kill()
    hold_paths(bench, "a clock beside them, from when on they are there: "
               "whole, through caught returns and at probed instructions",
               recording)
    bench.test("first by copies, as there is no table yet",
               recording.summary["copies"] > 0, recording.log)
    hold_paths(bench, "and with tables from the start",
               bench.record(*options, "--", exe))


# A probe at a nop of five bytes becomes a call, of a page of the kernel's
# (Linux 6.18; of ten, from 7.2 on), where half of the program's time goes then. (A child that is
# forked then has no such page, and dies of its first call.)
NOPS = r"""
#define STAY() __asm__ volatile("" ::: "memory")
void probed(void);
__asm__(".globl probed\n.type probed,@function\nprobed: .cfi_startproc\n"
	".byte " NOP "\nmov $2000, %eax\n1: dec %eax\njnz 1b\n"
	"ret\n.cfi_endproc\n.size probed, . - probed");
void inner(void) { probed(); STAY(); }
void outer(void) { inner(); STAY(); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 40000 || argc > 1; i++)
		outer();
	return 0;
}
"""
NOPS_PATHS = ["", " outer", " outer inner", " outer inner probed"]


NOP = {5: "0x0f, 0x1f, 0x44, 0, 0",
       10: "0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0"}


def nops_program(bench, size):
    return bench.compile(NOPS, "nops%d" % size, "-DNOP=\"%s\"" % NOP[size])


def is_start(frame):
    """Of a program, or of what loads it."""
    return frame.get("sym", "") == "_start" or "/ld-linux" in frame.get(
        "dso", "")


def hold_nops(bench, what, recording, is_there=False):
    samples = [s for s in recording.samples() if s["event"] == "cpu-clock" and
               s["comm"].startswith("nops") and s["pid"]]
    bad, there = [], 0
    # A dump may be of a moment in which the kernel moves the registers.
    fine = ("outermost", "unsure")[:1 + (
        recording.summary["engine"] == "dump")]
    for s in samples:
        frames = livetest.user_frames(s)
        path = " ".join(livetest.user_path(s))
        in_page = [f for f in frames
                   if f.get("dso", "").startswith("[uprobes-trampo")]
        there += bool(in_page)
        tail = path.partition(" main")[2]
        if s["end"] not in fine or in_page not in ([], frames[-1:]):
            bad.append(s)
        elif s["end"] != "outermost":
            continue
        elif not is_start(frames[0]):
            bad.append(s)
        elif " main" in path and tail.replace(" ?", "") not in NOPS_PATHS:
            bad.append(s)
        elif in_page and not tail.startswith(NOPS_PATHS[-1]):
            bad.append(s)
    bench.note("%d of %d in the kernel's page" % (there, len(samples)))
    bench.test(what, len(samples) > 100 and not bad and there >= is_there,
               "%d of %d\n" % (len(bad), len(samples)) +
               "\n".join(map(livetest.show, bad[:9])) + recording.log)


def nops(bench):
    for size in NOP:
        exe = nops_program(bench, size)
        probe = "uprobe:%s:probed/call-graph=no/" % exe
        what = "a nop of %d bytes that became a call" % size
        recording = bench.record("-e", probe, "-e", "cpu-clock/freq=4999/",
                                 "--", exe)
        if recording.status == 1 and "cannot be probed" in recording.log:
            bench.skip(what, "this kernel does not probe it: " + recording.log)
            continue
        hold_nops(bench, what + ": whole from where that leads", recording)
        running = bench.start([exe, "on"])
        other = bench.start([bench.seam, "record", "-e", probe, "-o",
                             bench.path("other.data"), "-p",
                             str(running.pid)])
        time.sleep(1)
        for how in ([], ["--engine", "dump"]):
            recording = bench.record(
                *how, "-e", "cpu-clock/freq=4999/", "-p", str(running.pid),
                "--duration", "1", name="others.data")
            with open("/proc/%d/maps" % running.pid) as maps:
                is_there = "[uprobes-trampoline]" in maps.read()
            hold_nops(bench, what + ", another's" + " ".join([""] + how),
                      recording, is_there)
        other.terminate()
        other.wait()
        running.kill()


def places(bench):
    exe = program(bench)
    start = address(exe, "middle")
    recording = bench.record(
        "-e", "uprobe:%s:middle+0,uprobe:%s:0x%x/period=10,name=ten/u,"
        "uprobe:/lib/x86_64-linux-gnu/libc.so.6:getppid/max-stack=1/" % (
            exe, exe, start), "--", exe)
    samples = recording.samples()
    by = {}
    for s in samples:
        by.setdefault(s["event"], []).append(s)
    plain = by.get("uprobe:%s:middle+0" % exe, [])
    # One entry, the breakpoint's, whose stack is whose it is that asks first.
    by_cookie = {s["cookie"]: s for s in plain if s.get("cookie")}
    also = [s for s in by.get("ten", []) if s.get("cookie") in by_cookie]
    bad = [s for s in also if livetest.user_frames(s) != livetest.user_frames(
        by_cookie[s["cookie"]])]
    bench.test("both of a hit share one cookie, and its frames",
               len(by_cookie) == 2 * CALLS and not bad and
               len(also) == len(by.get("ten", [])) > 0,
               "%d of %d, %d differ; %d cookies of %d hits: %s\n%s" % (
                   len(also), len(by.get("ten", [])), len(bad),
                   len(by_cookie), len(plain),
                   collections.Counter(s["end"] for s in plain),
                   recording.log))
    bench.test("SYMBOL+OFFSET, and an address: the same place",
               len(plain) == 2 * CALLS and {
                   s["frames"][0]["ip"] for s in plain} ==
               {s["frames"][0]["ip"] for s in by.get("ten", [])},
               recording.log)
    bench.test("period: each CPU's every tenth",
               2 * CALLS // 10 - os.cpu_count() <= len(by.get("ten", [])) <=
               2 * CALLS // 10 and all(s["period"] == 10 for s in by["ten"]),
               len(by.get("ten", [])))
    libc = [s for e, found in by.items() if "libc" in e for s in found
            if s["comm"] == "calls"]
    bench.test("a library's exported function, once, one frame deep",
               len(libc) == 1 and libc[0]["end"] == "max-stack" and
               len(libc[0]["frames"]) == 1, libc)


def bad(bench):
    exe = program(bench)
    with open(bench.path("text"), "w") as f:
        f.write("no program\n")
    for event, reason in [
            ("uprobe:/no/such/file:main", "No such file"),
            ("uprobe:%s:main" % bench.path("text"), "no ELF file"),
            ("uprobe:%s:nothing" % exe, "has no function 'nothing'"),
            ("uprobe:%s" % exe, "want uprobe:FILE:FUNCTION"),
            ("uprobe:%s:" % exe, "want uprobe:FILE:FUNCTION"),
            ("uprobe::main", "want uprobe:FILE:FUNCTION"),
            ("uprobe:%s:middle+9999" % exe, "ends before its byte 9999"),
            ("uprobe:%s:middle+x" % exe, "want a number of bytes"),
            ("uprobe:%s:0xffffffff0000" % exe, "no address of"),
            ("uretprobe:%s:middle+1" % exe, "without an offset")]:
        recording = bench.record("-e", event, "--", "true", name="bad.data")
        bench.test(event.replace(exe, "EXE").replace(
            bench.path("text"), "TEXT") + " is refused, and why",
                   recording.status == 1 and reason in recording.log and
                   not os.path.exists(recording.data), recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(
        hits, clocks, nops, places, bad, programs=programs, only={
            "probes take BPF": ("deferred immediate", (hits, bad)),
            "where a probe is under way the registers are unsure at the event":
                ("deferred", (clocks, nops, places))}))
