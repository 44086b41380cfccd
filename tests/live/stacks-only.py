#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: --stacks-only records each stack once, with the times between
which it holds, and another tracer's events find theirs by those.

Who is right: the program of spelling.py, whose stacks spell a number that its
system calls have as an argument; bpftrace tells that of each call.
"""

import collections
import os
import shutil
import subprocess
import sys

import livetest
import spelling

JOIN = os.path.join(livetest.HERE, "..", "..", "examples", "join-stacks.py")
# pread's place in the file.
TRACE = """tracepoint:raw_syscalls:sys_enter / pid == %d && args->id == 17 /
{ printf("%%llu %%d %%lu\\n", nsecs, tid, args->args[3]); }"""
# It wants tracefs there, which is nobody else's to see.
MOUNT = """mount -t tracefs nodev /sys/kernel/tracing
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs nodev /sys/kernel/debug
exec bpftrace -e "$1" """


def alone(bench):
    spelling.build(bench, "spell", 2, 40)
    recording = bench.record(
        "--stacks-only", "-F", "2000", "-e", "raw_syscalls:sys_enter,"
        "raw_syscalls:sys_exit,cpu-clock", "--", bench.path("spell"),
        bench.path("log"), "1")
    if not bench.test("recorded", recording.status == 0 and recording.summary,
                      recording.log):
        return
    summary, samples = recording.summary, recording.samples()
    stays = collections.defaultdict(list)
    for sample in samples:
        stays[sample.get("cookie")].append(sample)
    none = stays.pop(None, [])
    bench.note("%d samples, %d stays, %d without, %d left out" % (
        len(samples), len(stays), len(none), summary["left_out"]))
    bench.test("the kernel's half and payloads are not there",
               len(stays) > 1000 and not any(
                   livetest.kernel_frames(s) or "payload" in s
                   for s in samples))
    # One that interrupts another comes first, and both are there.
    several = [v for v in stays.values() if len(v) > 1]
    bench.test("a stack has one sample, but for interrupted ones",
               len(several) < len(stays) / 10 and
               all(len(v) == 2 and v[1]["event"] == "cpu-clock"
                   for v in several),
               "\n".join(livetest.show(s) for v in several[:3] for s in v))
    early = [s for v in stays.values() for s in v
             if s["end"] != "lost" and s["stack_ns"] <= s["time_ns"]]
    bench.test("each stack is taken after it was asked for", not early,
               "\n".join(map(livetest.show, early[:3])))
    bench.test("what is left out is counted",
               summary["left_out"] > 1000 and
               summary["samples"] == len(samples) and
               summary["samples"] + summary["left_out"] ==
               sum(summary["end"].values()) and
               "%d more left out" % summary["left_out"] in recording.log,
               recording.log)
    wrong = [s for s in none if s["end"] in ("outermost", "no-user")]
    bench.test("without a stack are those alone that want one", not wrong,
               "\n".join(map(livetest.show, wrong[:3])))


def refused(bench):
    recording = bench.record("--stacks-only", "-e",
                             "cpu-clock/kernel-callchains/", "--", "true")
    bench.test("an event without user stacks is refused",
               recording.status != 0 and "user stacks" in recording.log,
               recording.log)
    recording = bench.record("--stacks-only", "--engine", "dump", "--", "true")
    bench.test("and an engine that has a stack for each event",
               recording.status != 0 and "engine deferred" in recording.log,
               recording.log)


def joined(bench, text, recording):
    """Events, their stacks (functions, root first) or None, and what the
    example says of them all."""
    done = subprocess.run(
        [JOIN, "--from", "bpftrace", "--seam", bench.seam, recording.data],
        input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", env=bench.env)
    events = []
    for line in done.stdout.splitlines():
        if line.startswith("\t"):
            events[-1][1].insert(0, line.split()[1])
        elif line.split() and line.split()[0].isdigit():
            events.append((int(line.split()[2]), []))
    return events, done.stderr


def bpftrace(bench):
    if not shutil.which("bpftrace"):
        bench.skip("bpftrace's events find their stacks",
                   "there is no bpftrace")
        return
    spelling.build(bench, "spell", 2, 40)
    program = bench.start([bench.path("spell"), bench.path("log"), "2",
                           "wait"], stdin=subprocess.PIPE)
    recorder = bench.recorder("--stacks-only", "-e", "raw_syscalls:sys_enter",
                              "-p", str(program.pid)).ready()
    tracer = bench.start(["unshare", "-m", "sh", "-c", MOUNT, "sh",
                          TRACE % program.pid],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, encoding="utf-8")
    first = tracer.stdout.readline()
    program.stdin.close()
    program.wait()
    recording = recorder.wait()
    tracer.terminate()
    text, said = tracer.communicate()
    if not first.startswith("Attaching") or not text.strip():
        bench.skip("bpftrace's events find their stacks",
                   "bpftrace does not trace here: " + said.strip()[:200])
        return
    events, count = joined(bench, text, recording)
    bench.note(count)
    spelt = [(number, spelling.bits_of(path)) for number, path in events]
    whole = [(n, bits) for n, bits in spelt if len(bits) == spelling.BITS]
    wrong = [(n, bits) for n, bits in whole if int(bits, 2) != n]
    bench.test("a stack is of the call that bpftrace tells of",
               len(whole) > 100 and not wrong,
               "%d of %d wrong: %s" % (len(wrong), len(whole), wrong[:5]))
    bench.test("nearly every event has its stack",
               len(whole) > len(events) * 0.9,
               "%d of %d\n%s%s" % (len(whole), len(events), count,
                                   recording.log))


if __name__ == "__main__":
    sys.exit(livetest.main(alone, refused, bpftrace))
