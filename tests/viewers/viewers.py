#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: viewers that people use read what seam export and seam inject
write, with the stacks that were recorded.

    viewers.py --seam build/seam --progs build/tests/progs [--match 'perf *']

A program of known paths is recorded, by seam, and by perf with copies of its
stacks. Each viewer reads the file in its way,
and what it then has is asked for: by its own export, its command line, or, of
speedscope, by what it saves from within a browser. Its stacks that end in the
program's leaf, from main on, must be those that seam script prints, each as
often, and both known paths must be among them. A viewer that is not there is
skipped, with the reason.
"""

import argparse
import collections
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import files
import firefox
import samply
import speedscope
from missing import Missing, newer_perf

DEPTH = 12
KNOWN = [("main", "run") + ("down",) * DEPTH + ("leaf",),
         ("main", "run") + ("ping", "pong") * (DEPTH // 2) + ("leaf",)]

# Name: format of export, or None for what inject wrote; what reads it.
VIEWERS = {
    "speedscope in chromium": ("speedscope", speedscope.stacks),
    "speedscope, of chrome": ("chrome", speedscope.stacks),
    "the Firefox Profiler's reader": ("firefox", firefox.stacks),
    "Google's pprof": ("pprof", files.pprof),
    "hotspot's reader": (None, files.hotspot),
    "samply import": (None, samply.stacks),
    "perf script stackcollapse": (None, files.stackcollapse),
    "perf script flamegraph": (None, files.flamegraph),
    "perf script gecko": (None, files.gecko),
    "the Firefox Profiler's reader, of perf's gecko":
        (None, lambda path, folder: firefox.stacks(
            files.gecko_file(path, folder), folder)),
}


# It shows how long a stack was there, until the next sample, and none of the
# last; whatever the weights are.
BY_TIME = "speedscope, of chrome"


def known(stacks):
    """{names from main to leaf: how often} of (names from the root, times)."""
    found = collections.Counter()
    for names, times in stacks:
        if names and names[-1] == "leaf" and "main" in names:
            found[tuple(names[names.index("main"):])] += times
    return collections.Counter({k: round(v) for k, v in found.items()})


def recorded(seam, data):
    """The same, by seam itself."""
    out = subprocess.run([seam, "script", "--no-inline", "--format", "json",
                          "-i", data], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return known(([f.get("sym", "") for f in reversed(sample["frames"])], 1)
                 for sample in map(json.loads, out.splitlines()))


def record(seam, recorder, prog, folder):
    """recorder: None: there is none."""
    if not recorder:
        raise Missing("no perf")
    data = os.path.join(folder, "perf.data")
    # A sample each millisecond: what weighs them by time counts them too.
    subprocess.run([*recorder, "-q", "-e", "cpu-clock", "-c", "1000000",
                    "-o", data, "--", prog, "1", str(DEPTH)], check=True)
    merged = os.path.join(folder, "merged.data")
    subprocess.run([seam, "inject", "-i", data, "-o", merged], check=True,
                   stderr=subprocess.DEVNULL)
    return data, merged


def export(seam, data, folder, name):
    path = os.path.join(folder, "out." + name)
    subprocess.run([seam, "export", "--to", name, "--no-inline", "-i", data,
                    "-o", path], check=True, stderr=subprocess.DEVNULL)
    return path


def one(args, data, merged, folder, viewer):
    """None, or what is wrong."""
    form, read = VIEWERS[viewer]
    path = export(args.seam, data, folder, form) if form else merged
    want, got = recorded(args.seam, data), known(read(path, folder))
    for path in KNOWN:
        if not want[path]:
            return "not recorded: " + ";".join(path)
    if viewer == BY_TIME:
        wrong = [p for p in got if p not in want] + [
            p for p in KNOWN if not want[p] / 2 < got[p] < want[p] * 2]
        return "\n".join("%s: recorded %d times, shown %d" % (
            ";".join(p), want[p], got[p]) for p in wrong) or None
    if want != got:
        return "\n".join("%s: recorded %d times, shown %d" % (
            ";".join(p), want[p], got[p]) for p in sorted(set(want) | set(got))
            if want[p] != got[p])
    return None


def said(name, wrong, skipped=None):
    """At once; the plan comes last, so that no line has a number."""
    print("%sok - %s%s" % ("not " if wrong else "", name,
                           " # SKIP %s" % skipped if skipped else ""))
    if wrong:
        print("# " + wrong.replace("\n", "\n# "))
    sys.stdout.flush()


def all_of(args, kind, recorder, viewers, folder):
    """Yields None or what is wrong, for each."""
    made = None
    for viewer in viewers:
        wrong = skipped = None
        try:
            made = made or record(args.seam, recorder, os.path.join(
                args.progs, "recurse-gcc-O2"), folder)
            wrong = one(args, *made, folder, viewer)
        except Missing as why:
            skipped = why
        except (OSError, ValueError, KeyError, AssertionError,
                subprocess.SubprocessError):
            wrong = traceback.format_exc()
        said(kind + viewer, wrong, skipped)
        yield wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seam", required=True)
    parser.add_argument("--progs", required=True)
    parser.add_argument("--match", default="*")
    args = parser.parse_args()
    if os.geteuid():
        print("recording with BPF needs root")
        return 77
    perf = newer_perf() or shutil.which("perf")
    recorders = {"": [args.seam, "record"],
                 "stack copies: ": perf and [perf, "record", "--call-graph",
                                             "dwarf"]}
    viewers = [v for v in VIEWERS if fnmatch.fnmatch(v, args.match)]
    results = []
    for kind, recorder in recorders.items():
        with tempfile.TemporaryDirectory(prefix="viewers-") as folder:
            results += all_of(args, kind, recorder, viewers, folder)
    print("1..%d" % len(results))
    return 1 if any(results) else 0


sys.exit(main())
