#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the engine immediate takes each sample's stack at its event;
what is not resident, and registers that it cannot believe, are said.

Stacks are those that the programs have, of the call at the sample's time
(spelling.py), also in system calls. A page of the stack that is not in memory
ends it with `unreadable`, and what came before it is right. All is counted.
"""

import collections
import json
import os
import re
import subprocess
import sys

import faults
import livetest
import rights
import spelling
from dump import engine_of

IMMEDIATE = ["--engine", "immediate"]
CLOCK = ["-e", "cpu-clock", "-F", "4999"]


# Signals all the time: the kernel writes registers at each, and back.
SIGNALS = r"""
#include <signal.h>
#include <time.h>
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
__attribute__((noipa)) static void handler(int n) { sink += n; }
__attribute__((noipa)) void inner(void) { raise(SIGUSR1); sink++; }
__attribute__((noipa)) void outer(void) { inner(); sink++; }
int main(void)
{
	signal(SIGUSR1, handler);
	long end = cpu_ms() + 1000;
	while (cpu_ms() < end)
		for (int i = 0; i < 100; i++) outer();
	return 0;
}
"""
SIGNAL_PATH = re.compile(
    r"^_start __libc_start_\S+( __libc_start_\S+)? main"
    r"( outer( inner( .*raise.*| \S*pthread_kill\S*.*| __restore_rt.*)?)?"
    r"| \S*signal.*| cpu_ms)?$")
# What replaces them, and calls nothing while some are written.
WRITERS = ("x64_setup_rt_frame", "restore_sigcontext", "__x64_sys_rt_sigreturn")


def add_up(bench, what, recording, samples):
    summary = recording.summary
    ends = {code: n for code, n in summary["end"].items() if n}
    found = dict(collections.Counter(s["end"] for s in samples))
    kept = ("samples", "excluded", "own")
    bench.test(what + ": the counts add up, in the summary and in the file",
               summary["wanted"] + ends.get("no-user", 0) ==
               sum(ends.values()) == len(samples) and found == ends and
               summary["watched"] == sum(summary[k] for k in kept) +
               summary["lost"]["samples"],
               "%s %s %s" % (found, ends, summary))


def both_halves(bench):
    exe = rights.program(bench)
    recording = bench.record(*IMMEDIATE, *CLOCK, "--", exe, "1")
    samples = recording.samples()
    add_up(bench, "a command", recording, samples)
    bench.test("it is named, in the summary and in the file",
               recording.summary["engine"] == "immediate" and
               "engine immediate" in recording.log and
               engine_of(bench, recording) == "immediate", recording.log)
    wrong = [s for s in samples if s["end"] == "outermost" and
             not livetest.user_path(s)[0].startswith(("_start", "_dl"))]
    whole = [s for s in samples if s["end"] == "outermost" and
             rights.PATH.match(" ".join(livetest.user_path(s)))]
    bench.test("9 of 10 stacks are whole, and begin where the program does",
               len(whole) >= 0.9 * len(samples) > 50 and not wrong,
               "%d of %d: %s%s" % (len(whole), len(samples), recording.log,
                                   "\n".join(map(livetest.show, wrong[:5]))))
    both = [s for s in whole if livetest.kernel_frames(s) and
            "pread" in " ".join(livetest.user_path(s))]
    bench.test("system calls have both halves", both, recording.log)
    unsure = [s for s in samples if s["end"] == "unsure"]
    bench.note("%d of %d are unsure" % (len(unsure), len(samples)))
    bench.test("one that is unsure came in the kernel, and has no frame of "
               "the program", all(livetest.kernel_frames(s) and
                                  not livetest.user_frames(s) for s in unsure),
               "\n".join(map(livetest.show, unsure[:5])))


def programs(bench):
    bench.compile(rights.SOURCE, "reads")
    bench.compile(SIGNALS, "signals")
    bench.compile(faults.PAGED_OUT, "out-immediate")
    spelling.build(bench, "spell", 3, 40)


def signals(bench):
    """Where the kernel writes the registers, no stack is made of them."""
    exe = bench.compile(SIGNALS, "signals")
    written = []
    for i in range(10): # a second each, until some came there
        recording = bench.record(*IMMEDIATE, *CLOCK, "--", exe)
        samples = recording.samples()
        add_up(bench, "signals", recording, samples)
        written += [s for s in samples if livetest.kernel_frames(s) and
                    livetest.kernel_frames(s)[0].get("sym") in WRITERS]
        wrong = [s for s in samples if s["end"] == "outermost" and
                 "main" in livetest.user_path(s) and
                 not SIGNAL_PATH.match(" ".join(livetest.user_path(s)))]
        bench.test("signals: stacks are the program's", not wrong,
                   "\n".join(map(livetest.show, wrong[:5])))
        if len(written) > 20:
            break
    bad = [s for s in written if s["end"] != "unsure" or
           livetest.user_frames(s)]
    bench.test("of %d samples where the kernel writes registers none is "
               "believed" % len(written), written and not bad,
               "\n".join(map(livetest.show, bad[:5])))


def not_resident(bench):
    exe = bench.compile(faults.PAGED_OUT, "out-immediate")
    said = bench.path("said")
    with open(said, "w") as f:
        recording = bench.record(*IMMEDIATE, *CLOCK, "--", exe,
                                 bench.path("stack"), stdout=f)
    if not bench.test("a stack in a file: recorded", recording.status == 0,
                      recording.log):
        return
    rounds, out = map(int, open(said).read().split())
    every = recording.samples()
    samples = [s for s in every if livetest.user_path(s)[-1:] == ["burn"]]
    add_up(bench, "a stack in a file", recording, every)
    if out < rounds:
        bench.skip("pages that are out", "%d left in %d rounds" % (out, rounds))
        return
    ends = [s for s in samples if s["end"] == "unreadable"]
    bench.test("pages that are out are not brought in: %d of %d stacks end "
               "there" % (len(ends), len(samples)),
               ends and recording.summary["faulted"] == 0 and
               recording.summary["end"]["unreadable"] >= len(ends),
               recording.summary)
    bad = [s for s in samples if livetest.user_path(s) !=
           faults.PATH[-len(livetest.user_path(s)):] or
           s["end"] not in ("outermost", "unreadable") or
           (s["end"] == "outermost") != (livetest.user_path(s) == faults.PATH)]
    bench.test("what came before is the program's", samples and not bad,
               "\n".join(map(livetest.show, bad[:5])))


def hidden(bench, user):
    """Without the kernel's addresses it cannot tell what to believe."""
    recording = user.record(*IMMEDIATE, *rights.CLOCK, "--", "true")
    if recording.status == 0:
        bench.skip("without CAP_SYSLOG", "its addresses are shown here")
        return
    lines = recording.log.splitlines()
    bench.test("without CAP_SYSLOG: one line that says why",
               recording.status == 1 and len(lines) == 1 and
               ("/proc/kallsyms" in lines[0] or "paranoid" in lines[0]) and
               not os.path.exists(recording.data),
               "status %d: %s" % (recording.status, recording.log))


def doctors(bench):
    """What doctor says is what a recording then can."""
    user = rights.User(bench, "bpf", "perfmon")
    said = subprocess.run([bench.seam, "doctor", "--json"],
                            stdout=subprocess.PIPE, encoding="utf-8").stdout
    engine = next(e for e in json.loads(said)["engines"]
                  if e["name"] == "immediate")
    recording = bench.record(*IMMEDIATE, *CLOCK, "--", "true", name="doctor")
    with open("/proc/sys/kernel/kptr_restrict") as f:
        if f.read().strip() == "2":
            bench.skip("the engine immediate", "kernel.kptr_restrict is 2")
            return
    # These tests run where deferral works, which wants more of the kernel.
    if not bench.test("it works, and doctor says so",
                      engine["state"] == "yes" and recording.status == 0,
                      "%s, %s" % (engine, recording.log)):
        return
    both_halves(bench)
    spelling.own_stacks(bench, "immediate", 0.9, add_up, "-F", "4999")
    signals(bench)
    not_resident(bench)
    hidden(bench, user)


if __name__ == "__main__":
    sys.exit(livetest.main(doctors, programs=programs, of="immediate"))
