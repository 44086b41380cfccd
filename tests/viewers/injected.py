#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the scripts that come with Debian's perf, which knows nothing of
deferral, show of what seam inject wrote as many samples as were recorded, each
with all its frames. So do they, samply's import, which reads no pipe's
recordings, and hotspot's reader, which has its own mind of frames, of what was a
pipe's recording.

    injected.py SEAM FOLDER

FOLDER: recordings of the kernel's own deferral, beside others. Nothing is
recorded, and their programs are not here: frames have no names, but each stack
its depth. Without perf, samply or hotspot these tests are skipped.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

import files
import samply
from missing import Missing

NAMES = ["user-only", "sig", "cpu-fp", "cpu-nofp", "pending", "two-events"]
PIPES = ["pipe", "../dwarf/pipe"] + [
    "../versions/%s-%s" % (version, kind) for version in ("6.1", "6.12", "7.2")
    for kind in ("pipe", "zpipe")]
# What reads it, and how many names it puts above a stack: the command's, and
# one of all.
SCRIPTS = [(files.stackcollapse, 1), (files.flamegraph, 2)]


def imported(path, folder):
    with open(samply.imported(path, folder), encoding="utf-8") as text:
        profile = json.load(text)
    for _, _, frames in samply.samples(profile):
        yield frames, 1


def without_frames(path, folder):
    for _, times in files.hotspot(path, folder):
        yield [], times


OTHERS = [(imported, 0), (without_frames, 0)]
CALLED = {imported: "samply import", without_frames: "hotspot's reader"}


def recorded(seam, path):
    """{how many frames: how many samples}. What seam says of a stack's end is
    none."""
    out = subprocess.run([seam, "script", "--no-inline", "--format", "json",
                          "-i", path], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return collections.Counter(
        sum(frame.get("dso") != "[seam]" for frame in json.loads(line)["frames"])
        for line in out.splitlines())


def shown(read, above, path, folder):
    found = collections.Counter()
    for names, times in read(path, folder):
        found[len(names) - above] += times
    return +found


def main():
    seam, golden = sys.argv[1:]
    failed, n = 0, 0
    with tempfile.TemporaryDirectory(prefix="injected-") as folder:
        for name in NAMES + PIPES:
            path = os.path.join(golden, name + ".data")
            merged = os.path.join(folder, "merged")
            subprocess.run([seam, "inject", "-i", path, "-o", merged],
                           check=True, stderr=subprocess.DEVNULL)
            stacks = recorded(seam, path)
            for read, above in SCRIPTS + OTHERS * (name in PIPES):
                n += 1
                what = "%s, %s" % (name, CALLED.get(
                    read, "perf script " + read.__name__))
                want = stacks
                if read is without_frames:
                    want = collections.Counter({0: sum(stacks.values())})
                try:
                    got = shown(read, above, merged, folder)
                except Missing as why:
                    print("ok %d - %s # SKIP %s" % (n, what, why))
                    continue
                failed += got != want
                print("%sok %d - %s" % ("" if got == want else "not ", n, what))
                if got != want:
                    print("# recorded %s\n# shown %s" % (want - got, got - want))
    print("1..%d" % n)
    return 1 if failed else 0


sys.exit(main())
