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
often, and both known paths must be among them. Of a program that makes system
calls the kernel's half must be there as well, frame by frame. A viewer that is
not there is skipped, with the reason.
"""

import argparse
import collections
import fnmatch
import json
import os
import re
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


def rounded(found):
    return collections.Counter({k: round(v) for k, v in found.items()})


def known(stacks):
    """{names from main to leaf: how often} of (names from the root, times)."""
    found = collections.Counter()
    for names, times in stacks:
        if names and names[-1] == "leaf" and "main" in names:
            found[tuple(names[names.index("main"):])] += times
    return rounded(found)


ENTRY = "entry_SYSCALL_64_after_hwframe"
CALLS = ("main", *["down"] * DEPTH, "randoms")


def crossing(stacks):
    """{the program's functions, and the kernel's from its entry on: how often},
    of what is in the call. Names of libc's differ among viewers, and seam's own
    code in the kernel, on the way out of it, has none."""
    found = collections.Counter()
    for names, times in stacks:
        names = [name.removesuffix("_[k]") for name in names]
        if ENTRY in names and "randoms" in names and any(
                name.endswith("sys_getrandom") for name in names):
            at = names.index(ENTRY)
            found[tuple(n for n in names[:at] if n in CALLS) +
                  tuple(names[at:])] += times
    return rounded(found)


def by_address(stacks):
    """The same of who has no names of the kernel's functions, or others: how
    many they are."""
    found = collections.Counter()
    for names, times in stacks:
        kernel = [n for n in names if n == ENTRY or
                  re.match("0xffff[0-9a-f]{12}$", n)]
        if ENTRY in names:
            kernel = names[names.index(ENTRY):]
        if kernel and "randoms" in names:
            found[tuple(n for n in names if n in CALLS) +
                  (str(len(kernel)),)] += times
    return rounded(found)


# Of programs: its arguments, what is compared of the stacks, and whether what
# had to be recorded was.
PROGRAMS = {
    "recurse": (["1", str(DEPTH)], known,
                lambda want: all(want[path] for path in KNOWN)),
    "syscalls": (["1", str(DEPTH)], crossing,
                 lambda want: sum(n for path, n in want.items() if
                                  path[:len(CALLS) + 1] == (*CALLS, ENTRY))
                 > 50),
}
# hotspot's takes the function before for a thunk.
NAMELESS = ("samply import", "hotspot's reader")


def recorded(seam, data, of):
    """The same, by seam itself."""
    out = subprocess.run([seam, "script", "--no-inline", "--format", "json",
                          "-i", data], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return of(([f.get("sym", "") for f in reversed(sample["frames"])], 1)
              for sample in map(json.loads, out.splitlines()))


def record(seam, recorder, prog, argv, folder):
    """recorder: None: there is none."""
    if not recorder:
        raise Missing("no perf")
    data = os.path.join(folder, "perf.data")
    # A sample each millisecond: what weighs them by time counts them too.
    subprocess.run([*recorder, "-q", "-e", "cpu-clock", "-c", "1000000",
                    "-o", data, "--", prog, *argv], check=True)
    merged = os.path.join(folder, "merged.data")
    subprocess.run([seam, "inject", "-i", data, "-o", merged], check=True,
                   stderr=subprocess.DEVNULL)
    return data, merged


def export(seam, data, folder, name):
    path = os.path.join(folder, "out." + name)
    subprocess.run([seam, "export", "--to", name, "--no-inline", "-i", data,
                    "-o", path], check=True, stderr=subprocess.DEVNULL)
    return path


def one(args, program, data, merged, folder, viewer):
    """None, or what is wrong."""
    form, read = VIEWERS[viewer]
    _, of, is_recorded = PROGRAMS[program]
    path = export(args.seam, data, folder, form) if form else merged
    if not is_recorded(recorded(args.seam, data, of)):
        return "not recorded: %s" % recorded(args.seam, data, of)
    if viewer in NAMELESS and of == crossing:
        of = by_address
    want, got = recorded(args.seam, data, of), of(read(path, folder))
    if viewer == BY_TIME:
        often = [p for p, n in want.items() if n > 100]
        wrong = [p for p in got if p not in want] + [
            p for p in often if not want[p] / 2 < got[p] < want[p] * 2]
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


def all_of(args, kind, recorder, program, viewers, folder):
    """Yields None or what is wrong, for each."""
    made = None
    for viewer in viewers:
        wrong = skipped = None
        try:
            made = made or record(args.seam, recorder, os.path.join(
                args.progs, program + "-gcc-O2"), PROGRAMS[program][0], folder)
            wrong = one(args, program, *made, folder, viewer)
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
        for program in PROGRAMS:
            with tempfile.TemporaryDirectory(prefix="viewers-") as folder:
                results += all_of(args, "%s%s, " % (kind, program), recorder,
                                  program, viewers, folder)
    print("1..%d" % len(results))
    return 1 if any(results) else 0


sys.exit(main())
