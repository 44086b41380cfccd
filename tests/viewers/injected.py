#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the scripts that come with Debian's perf, which knows nothing of
deferral, show of what seam inject wrote as many samples as were recorded, each
with all its frames.

    injected.py SEAM FOLDER

FOLDER: recordings of the kernel's own deferral. Nothing is recorded, and their
programs are not here: frames have no names, but each stack its depth. Without
perf the tests are skipped.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

import files
from missing import Missing

NAMES = ["user-only", "sig", "cpu-fp", "cpu-nofp", "pending", "two-events"]
# What reads it, and how many names it puts above a stack: the command's, and
# one of all.
SCRIPTS = [(files.stackcollapse, 1), (files.flamegraph, 2)]


def recorded(seam, path):
    """{how many frames: how many samples}."""
    out = subprocess.run([seam, "script", "--no-inline", "--format", "json",
                          "-i", path], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return collections.Counter(len(json.loads(line)["frames"])
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
        for name in NAMES:
            path = os.path.join(golden, name + ".data")
            merged = os.path.join(folder, name)
            subprocess.run([seam, "inject", "-i", path, "-o", merged],
                           check=True, stderr=subprocess.DEVNULL)
            want = recorded(seam, path)
            for read, above in SCRIPTS:
                n += 1
                what = "%s, perf script %s" % (name, read.__name__)
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
