#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Show that gdb, too, goes wrong at each listed instruction.

    confirm-known-bad.py --progs build/tests/progs [--match '*-O2']

For every entry of tests/progs/known-bad-cfi.txt and every program it names:
stop at each of its instructions and hold gdb's stack against the program's
paths. An entry at which gdb is always right excuses too much: not ok.
"""

import argparse
import collections
import fnmatch
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "progs")
LIST = os.path.join(SOURCES, "known-bad-cfi.txt")


def load(name):
    path = os.path.join(HERE, name)
    spec = importlib.util.spec_from_file_location("check_paths", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = load("check-paths.py")


def file_of(exe, where):
    """The program itself, or the shared object of that short name."""
    if not where or where.startswith("("):
        return exe
    for line in check.output("ldd", exe):
        path = re.search(r"=> (/\S+)", line)
        if path and re.fullmatch(where, check.short_dso(path[1])):
            return os.path.realpath(path[1])
    return None


def places_of(exe, entry):
    """path@address of each instruction that the entry means for exe."""
    where = entry["function"].rpartition("!")[0]
    path = file_of(exe, where)
    if not path:
        return []
    bad = check.KnownBad(None, exe)
    bad.entries = [entry]
    start = check.code_of(path).start
    return sorted({"%s@%#x" % (path, start[symbol] + off)
                   for symbol, off in bad.in_file(path, short_name(exe, path))
                   if symbol in start})


def short_name(exe, path):
    return "" if path == exe else check.short_dso(path)


def stops(exe, places):
    """gdb's stacks at the first stops at these places, in seam's JSON."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
        subprocess.run(
            ["gdb", "-nx", "-batch", "-x", os.path.join(HERE, "gdb-step.py"),
             "--args", exe, "0.2"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=None,
            env=dict(os.environ, PLACES=" ".join(places), OUT=out.name,
                     STEPS=str(20 * len(places)), LD_BIND_NOW="1"))
        return [json.loads(line) for line in out]


def without_cfi(exe, places):
    """That no row of .eh_frame speaks of these is readelf's word already. Who
    calls start-up code is no path of the program's, but has a name."""
    counts = collections.Counter()
    for raw in stops(exe, places):
        leaf, frames = raw["frames"][0], raw["frames"]
        right = len(frames) > 2 and all(f.get("sym") for f in frames)
        counts["%s+%#x" % (leaf.get("sym"), leaf.get("off", 0)), right] += 1
    return counts


def confirm(exe, entry, places):
    """Counts of right and wrong stacks at each place."""
    if entry["instruction"] == "no-cfi":
        return without_cfi(exe, places)
    name = os.path.basename(exe).split("-")[0]
    expect = check.pathgrammar.Expectation(
        os.path.join(SOURCES, name + ".expect"), {})
    args = argparse.Namespace(exe=exe, known_bad=None)
    checker = check.Checker(args, expect)
    counts = collections.Counter()
    for raw in stops(exe, places):
        frames = tuple(checker.frame(f) for f in reversed(raw["frames"]))
        kind = checker.judge(raw["end"], frames)[0]
        right = kind in ("full", "on the way", "start or end")
        leaf = raw["frames"][0]
        counts["%s+%#x" % (leaf.get("sym"), leaf.get("off", 0)), right] += 1
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--progs", required=True)
    parser.add_argument("--match", default="*")
    args = parser.parse_args()
    number, good = 0, True
    for entry in check.known_bad_entries(LIST):
        wrong = 0
        for variant in sorted(os.listdir(args.progs)):
            if not any(fnmatch.fnmatch(variant, glob)
                       for glob in entry["programs"].split()) or \
                    not fnmatch.fnmatch(variant, args.match) or \
                    "." in variant:
                continue
            exe = os.path.realpath(os.path.join(args.progs, variant))
            if entry["instruction"] == "no-cfi" and wrong:
                break   # the same start-up code again and again
            places = places_of(exe, entry)
            counts = confirm(exe, entry, places) if places else {}
            wrong += sum(n for (_, right), n in counts.items() if not right)
            for (place, right), n in sorted(counts.items()):
                print("# %s: %s: %d %s" % (
                    variant, place, n, "right" if right else "wrong"))
        number += 1
        good &= wrong > 0
        print("%sok %d - gdb is wrong too: %s, %s" % (
            "" if wrong else "not ", number, entry["function"],
            entry["instruction"]))
    print("1..%d" % number)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
