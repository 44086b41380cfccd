#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a recorder that is killed at any moment, and one whose disk is
full, leave a recording that is whole up to its last flush: nothing of it is
damaged, and its stacks are the program's.
"""

import json
import os
import random
import subprocess
import sys
import time

import livetest

AT_ONCE = 4 # recorders of one program
LONGEST_S = 1.5 # a flush comes twice a second


def report(bench, path):
    done = subprocess.run([bench.seam, "report", "--json", "-i", path],
                          env=bench.env, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, done.stderr
    return json.loads(done.stdout), done.stderr


def paths(bench, path):
    """How many user stacks are SPIN's from their leaf to main; of how many
    that did not say themselves that they are not whole."""
    done = subprocess.run([bench.seam, "script", "--format", "json",
                           "--no-inline", "-i", path], env=bench.env,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    found = [livetest.user_path(sample)[::-1] for sample in
             map(json.loads, done.stdout.splitlines())
             if sample["end"] == "outermost"]
    found = [path for path in found if set(path) & set(livetest.SPIN_PATH)]
    return sum(map(livetest.is_spin, found)), len(found)


def wrong(bench, path):
    """What is wrong with the recording that a recorder left, and how many
    samples there are."""
    told, complaint = report(bench, path)
    if told is None:
        return complaint, 0
    if told["damaged"] or told["malformed_records"]:
        return complaint, 0
    good, n = paths(bench, path) if told["samples"] else (0, 0)
    if good != n:
        return "%d of %d stacks are not the program's" % (n - good, n), 0
    return None, told["samples"]


def kill_some(bench, target, numbers):
    """Return: what is wrong with each recording, and samples in all."""
    running, result, samples = [], [], 0
    for i in numbers:
        recorder = bench.recorder("-F", "999", "-z", str(i % 2), "-p",
                                  str(target.pid), name="killed%d.data" % i)
        running.append((random.uniform(0, LONGEST_S), recorder))
    for _, recorder in running:
        recorder.ready()
    begin = time.monotonic()
    for moment, recorder in sorted(running, key=lambda both: both[0]):
        time.sleep(max(0, begin + moment - time.monotonic()))
        recorder.process.kill()
        recording = recorder.wait()
        why, n = wrong(bench, recording.data)
        samples += n
        if why:
            result.append("after %.6f s: %s" % (moment, why))
        os.unlink(recording.data)
    return result, samples


def moments(bench):
    n = int(bench.args.moments)
    target = bench.start([bench.compile(livetest.SPIN, "spin"), "100000000"])
    problems, samples = [], 0
    for first in range(0, n, AT_ONCE):
        some, more = kill_some(bench, target,
                               range(first, min(first + AT_ONCE, n)))
        problems += some
        samples += more
    target.kill()
    bench.note("%d samples were kept" % samples)
    bench.test("killed at %d moments" % n, not problems and samples,
               "\n".join(problems) or "no sample was kept")


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


sys.exit(livetest.main(moments, full_disk, options=[("--moments", "200")]))
