#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a recorder that is killed at any moment, and one whose disk is
full, leave a recording that is whole up to its last flush, which is no older
than is promised: nothing of it is damaged, and its stacks are the program's.
Amid its work, with copies of stacks too, and perf, where it is, has the same
addresses in each sample; as it starts, when what was there before stays, or is
beside it; as it ends, and as it merges stacks into samples then.
"""

import collections
import functools
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

import livetest
import perfscript

AT_ONCE = 4 # recorders of one program
LONGEST_S = 1.5
FLUSH_NS = 500000000 # what one that dies loses, at most; see DESIGN.md
READ_NS = 100000000 # how often a recorder looks at all, when nothing wakes it
AWAITED_NS = 200000000 # how long a stack may take to be written
OLD = b"what was there before"


def report(bench, path):
    done = subprocess.run([bench.seam, "report", "--json", "-i", path],
                          env=bench.env, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, done.stderr
    return json.loads(done.stdout), done.stderr


def samples_of(bench, path):
    done = subprocess.run([bench.seam, "script", "--format", "json",
                           "--no-inline", "-i", path], env=bench.env,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    return list(map(json.loads, done.stdout.splitlines()))


def paths(samples):
    """How many user stacks are SPIN's from their leaf to main; of how many
    that did not say themselves that they are not whole."""
    found = [livetest.user_path(sample)[::-1] for sample in samples
             if sample.get("end") == "outermost"]
    found = [path for path in found if set(path) & set(livetest.SPIN_PATH)]
    return sum(map(livetest.is_spin, found)), len(found)


@functools.lru_cache(maxsize=None)
def newer_perf():
    return livetest.newer_perf()


def as_perf(sample):
    """Its addresses. Where its stack did not come any more, perf shows the
    cookie for an address; and nothing where none was given, of which we show
    where the task left user space."""
    ips = [int(f["ip"], 16) for f in sample["frames"]]
    kernel = len(livetest.kernel_frames(sample))
    if "stack_ns" in sample:
        return ips
    if "cookie" in sample:
        return ips[:kernel] + [int(sample["cookie"], 16)]
    if sample.get("end") == "lost" and 0 < kernel == len(ips) - 1:
        return ips[:kernel]
    return ips


def other_stacks(samples, bench, path):
    """How the addresses that perf has of each sample are others; None: they
    are the same, or no perf is here."""
    if not newer_perf():
        return None
    ours = {(s["tid"], s["time_ns"] // 1000): as_perf(s) for s in samples}
    theirs = perfscript.addresses(bench, newer_perf(), path)
    differ = [key for key in ours.keys() | theirs.keys()
              if ours.get(key) != theirs.get(key)]
    return differ and "%d of %d samples differ from perf's: %s" % (
        len(differ), len(ours), [(key, ours.get(key), theirs.get(key))
                                 for key in differ[:3]])


def lost_stacks(samples):
    """Too many samples without a whole stack, None: only such as may be: a
    stack is written behind its sample, so the last ones' may be missing."""
    if not samples:
        return None
    last = max(s["time_ns"] for s in samples)
    old = [s["end"] for s in samples if s["time_ns"] < last - AWAITED_NS and
           s.get("end", "no-user") != "no-user"]
    short = [end for end in old if end != "outermost"]
    return "%d of %d samples have no whole stack: %s" % (
        len(short), len(old), collections.Counter(short)) \
        if len(short) > 2 + len(old) / 20 else None


def wrong(bench, path):
    """What is wrong with the recording that a recorder left, and how many
    samples there are."""
    told, complaint = report(bench, path)
    if told is None:
        return complaint, 0
    if told["damaged"] or told["malformed_records"]:
        return complaint, 0
    samples = samples_of(bench, path) if told["samples"] else []
    good, n = paths(samples)
    if good != n:
        return "%d of %d stacks are not the program's" % (n - good, n), 0
    short = lost_stacks(samples)
    if short:
        return short, 0
    return other_stacks(samples, bench, path) if samples else None, \
        told["samples"]


def recorder_of(bench, target, i, *options):
    """A recorder, the i-th, that compresses or does not."""
    return bench.recorder("-F", "999", "-z", str(i % 2), "-p",
                          str(target.pid), *options,
                          name="killed%d.data" % i)


def waited_ns(pid):
    """How long a process's first thread, which does the work, has waited for a
    CPU."""
    return int(read("/proc/%d/schedstat" % pid).split()[1])


class Life:
    """Of a recorder: what its recording must have once it is killed. Who has
    waited for a CPU, it or the program, may be late by as much."""

    def __init__(self, recorder, target):
        self.process, self.target = recorder.process, target
        self.looks = [] # (when, how long both have waited until then)
        self.look()

    def look(self):
        if self.process.returncode is None:
            # In this order: what is waited in between makes it stricter.
            now = time.monotonic_ns()
            self.looks.append((now, waited_ns(self.process.pid) +
                               waited_ns(self.target.pid)))

    def kill(self):
        self.look()
        self.killed_ns = time.monotonic_ns()
        self.process.kill()

    def late_ns(self, last_ns):
        """How much older than is promised a last sample is, or if there is
        none, the beginning."""
        before = [waited for when, waited in self.looks if when <= last_ns]
        waited = self.looks[-1][1] - (before or [self.looks[0][1]])[-1]
        return self.killed_ns - last_ns - waited - FLUSH_NS - READ_NS

    def begin_late_ns(self):
        return self.late_ns(self.looks[0][0])


def times_of(bench, path):
    done = subprocess.run([bench.seam, "script", "--format", "json",
                           "--no-inline", "-i", path], env=bench.env,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    return [json.loads(line)["time_ns"] for line in done.stdout.splitlines()]


def wait_until(moment, lives):
    while True:
        for life in lives:
            life.look()
        left = moment - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, 0.05))


def kill_some(bench, target, numbers, options):
    """Return: what is wrong with each recording, which are later than is
    promised, samples in all, and how many had to have some."""
    running, result, behind, samples, due = [], [], [], 0, 0
    for i in numbers:
        recorder = recorder_of(bench, target, i, *options)
        running.append((random.uniform(0, LONGEST_S), recorder))
    lives = {recorder: Life(recorder.ready(), target)
             for _, recorder in running}
    begin = time.monotonic()
    for moment, recorder in sorted(running, key=lambda both: both[0]):
        wait_until(begin + moment, lives.values())
        life = lives[recorder]
        life.kill()
        recording = recorder.wait()
        why, n = wrong(bench, recording.data)
        late = life.late_ns(max(times_of(bench, recording.data))) if n else \
            life.begin_late_ns()
        samples += n
        due += life.begin_late_ns() > 0
        if why:
            result.append("after %.6f s: %s" % (moment, why))
        elif late > 0:
            behind.append("after %.6f s: %d samples, but the last is %.3f s "
                          "older than may be" % (moment, n, late / 1e9))
        os.unlink(recording.data)
    return result, behind, samples, due


def spin(bench):
    return bench.start([bench.compile(livetest.SPIN, "spin"), "100000000"])


def amid(bench, title, *options):
    n = int(bench.args.moments)
    target = spin(bench)
    problems, behind, samples, due = [], [], 0, 0
    for first in range(0, n, AT_ONCE):
        some, late, more, had_to = kill_some(
            bench, target, range(first, min(first + AT_ONCE, n)), options)
        problems += some
        behind += late
        samples += more
        due += had_to
    target.kill()
    bench.note("%d samples were kept; %d recordings had to have some" % (
        samples, due))
    bench.test("%s at %d moments" % (title, n), not problems and samples,
               "\n".join(problems) or "no sample was kept")
    bench.timely("%s: no more of the end is missing than is promised" % title,
                 not behind, "\n".join(behind))


def moments(bench):
    amid(bench, "killed")


def dumps(bench):
    amid(bench, "killed while it copies stacks", "--engine", "dump")


def read(path):
    with open(path, "rb") as data:
        return data.read()


def left(bench, path):
    """What is wrong with what there is where a recorder was killed as it
    started, and what there is."""
    before = path + ".old" if os.path.exists(path + ".old") else path
    if not os.path.exists(before) or read(before) != OLD:
        return "what was there before is lost", None
    if before == path:
        return None, "what was there before"
    if not os.path.exists(path):
        return None, "nothing new"
    if not os.path.getsize(path):
        return None, "an empty file"
    return wrong(bench, path)[0], "a recording"


def time_to_record(bench, target, i):
    began = time.monotonic()
    recorder = recorder_of(bench, target, i).ready()
    took = time.monotonic() - began
    os.unlink(recorder.interrupt().data)
    return took


def starts(bench):
    n, target = int(bench.args.moments), spin(bench)
    longest = max(time_to_record(bench, target, i) for i in (0, 1))
    problems, found = [], collections.Counter()
    for i in range(n):
        path = bench.path("killed%d.data" % i)
        with open(path, "wb") as data:
            data.write(OLD)
        # The file comes just before it records.
        moment = random.uniform(0, 1.5 * longest)
        recorder = recorder_of(bench, target, i)
        time.sleep(moment)
        recorder.process.kill()
        recorder.wait()
        why, what = left(bench, path)
        found[what] += 1
        if why:
            problems.append("after %.6f s: %s" % (moment, why))
        for name in glob.glob(path + "*"):
            os.unlink(name)
    target.kill()
    bench.note("it records after %.3f s; found: %s" % (longest, dict(found)))
    bench.test("killed at %d moments of its start" % n, not problems,
               "\n".join(problems))


def end_of(bench, target, i, options, moment):
    """A recording that is ended, and killed when a moment has passed if it is
    not None; and how long it took from its end on."""
    recorder = recorder_of(bench, target, i, *options).ready()
    livetest.burn(0.2, target.pid)
    recorder.process.terminate()
    began = time.monotonic()
    if moment is not None:
        time.sleep(moment)
        recorder.process.kill()
    recorder.process.wait()
    took = time.monotonic() - began
    # Of who was killed the summary may be half there.
    if recorder.process.returncode and os.path.exists(recorder.json):
        os.unlink(recorder.json)
    return recorder.wait(), took


def finishes(bench, title, *options):
    n, target = int(bench.args.moments), spin(bench)
    longest = max(end_of(bench, target, i, options, None)[1] for i in (0, 1))
    problems, killed, samples = [], 0, 0
    for i in range(n):
        moment = random.uniform(0, longest)
        recording, _ = end_of(bench, target, i, options, moment)
        why, more = wrong(bench, recording.data)
        killed += recording.status == -signal.SIGKILL
        samples += more
        if why:
            problems.append("after %.6f s: %s" % (moment, why))
        for name in glob.glob(recording.data + "*"):
            os.unlink(name)
    target.kill()
    bench.note("it ends in %.3f s; %d were killed before; %d samples were kept"
               % (longest, killed, samples))
    bench.test("%s at %d moments" % (title, n),
               not problems and killed and samples,
               "\n".join(problems) or "none was killed in time")


def ends(bench):
    finishes(bench, "killed while it ends")


def merges(bench):
    finishes(bench, "killed while it ends and merges", "--merge")


def full_disk(bench):
    # Small buffers: what is written at once is but a part of that disk.
    folder = bench.path("small")
    os.mkdir(folder)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m",
                              "seam-test", folder], encoding="utf-8",
                             stderr=subprocess.PIPE)
    if mounted.returncode:
        bench.skip("a full disk", mounted.stderr.strip())
        return
    try:
        target = bench.start([bench.compile(livetest.SPIN, "spin"),
                              "100000000"])
        with open(bench.path("log"), "w+", encoding="utf-8") as log:
            status = bench.start(
                [bench.seam, "record", "-F", "4999", "-z", "0", "-m", "16",
                 "-o", os.path.join(folder, "perf.data"), "-p", str(target.pid)],
                env=bench.env, stderr=log).wait()
            log.seek(0)
            text = log.read()
        target.kill()
        bench.test("a full disk ends the recording, and it says so",
                   status == 1 and "No space left on device; what was "
                   "recorded before is kept; make room" in text, text)
        why, n = wrong(bench, os.path.join(folder, "perf.data"))
        bench.test("what was recorded before is whole", not why and n,
                   why or "it has no sample")
    finally:
        subprocess.run(["umount", folder], check=True)


sys.exit(livetest.main(moments, dumps, starts, ends, merges, full_disk,
                       options=[("--moments", "200")]))
