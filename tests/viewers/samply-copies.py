#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: of recordings of perf record --call-graph dwarf, our stacks are
those of samply's import or more complete, sample by sample, frame by frame.

    samply-copies.py --seam build/seam [--data RECORDING]...

python3, git and cc1plus are recorded by perf, or recordings given. Samples are
matched by thread and time; frames are an address in a file each, of the kernel
and of code without a file the address itself. Each difference has a name, and is
counted under it; one without fails. A stack of ours may
    go on where samply's ends,
    have frames between that samply's leaves out,
    know a file that samply's does not, by the last of its mappings,
    leave samply's where that goes on in no mapped code, or
    have no frame where the kernel copied nothing, and samply reads on.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import samply
from missing import Missing, newer_perf

NEAR_NS = 2000
PAGE = 4096
WORK = {
    "python3": ["/usr/bin/python3", "-c", """
import json, re
def f(n):
    return 1 if n < 2 else f(n - 1) + f(n - 2)
for i in range(3):
    f(22)
    json.loads(json.dumps(list(range(100000))))
    re.findall(r"(\\d+)", "123 " * 50000)
"""],
    "git": ["sh", "-c", "for i in 1 2 3; do git -C '%s' log -p -n 100; "
            "git -C '%s' status; done >/dev/null" % (
                (os.path.dirname(os.path.abspath(__file__)),) * 2)],
    "cc1plus": ["sh", "-c", "echo '#include <regex>\nstd::regex r(\"a+\");' "
                "| g++ -O1 -S -o - -x c++ - >/dev/null"],
}
TOOLS = {"git": "git", "cc1plus": "g++"}


def record(perf, name, folder):
    data = os.path.join(folder, name + ".data")
    subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "2499",
                    "--call-graph", "dwarf", "-o", data, *WORK[name]],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return data


def is_code(frame):
    """Not what seam says of the end of a stack."""
    return frame.get("dso") != "[seam]"


def our_frames(script, exported):
    """script has addresses, and the export those in files."""
    real = [f for f in script if is_code(f) and not f["inlined"]]
    assert len(exported) >= len(real), (script, exported)
    for frame, (lib, address, _) in zip(real, exported):
        if frame["kernel"] or lib is None or address < 0:
            yield samply.NO_FILE, int(frame["ip"], 16)
        else:
            yield lib, address


def ours(seam, data, folder):
    """{tid: [(ns, frames, end, bytes of the copy that were read)]}"""
    out = os.path.join(folder, "seam.json")
    for options in (["script", "--format", "json"],
                    ["export", "--to", "firefox", "-o", out]):
        done = subprocess.run([seam, *options, "--no-inline", "-i", data],
                              check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        if options[0] == "script":
            lines = [json.loads(line) for line in done.stdout.splitlines()]
    with open(out, encoding="utf-8") as text:
        profile = json.load(text)
    exported = collections.defaultdict(list)
    for tid, time, frames in samply.samples(profile):
        exported[tid].append((time, named(profile, frames)))
    for stacks in exported.values():
        stacks.sort(key=lambda stack: stack[0])
        stacks.reverse()
    found = collections.defaultdict(list)
    for line in sorted(lines, key=lambda line: line["time_ns"]):
        _, frames = exported[line["tid"]].pop()
        found[line["tid"]].append((
            line["time_ns"], list(our_frames(line["frames"], frames)),
            line["end"], line.get("copy_depth", 0)))
    assert not any(exported.values()), "the export has more samples"
    return found


def named(profile, frames):
    return [(None if lib is None else profile["libs"][lib]["path"], address,
             name) for lib, address, name in frames]


def theirs(data, folder):
    with open(samply.imported(data, folder), encoding="utf-8") as text:
        profile = json.load(text)
    found = collections.defaultdict(list)
    for tid, time, frames in samply.samples(profile):
        found[tid].append((round(time * 1e6), [
            (lib, address) if lib is not None
            else (samply.NO_FILE, int(name, 16))
            for lib, address, name in named(profile, frames)]))
    for stacks in found.values():
        stacks.sort(key=lambda stack: stack[0])
    return found


def same(a, b):
    """samply has of callers the address before the one to return to; of code
    whose file it does not know, as in execve, pages are the same."""
    if b[0] == samply.NO_FILE != a[0]:
        return (a[1] - b[1]) % PAGE in (0, 1)
    return a[0] == b[0] and a[1] - b[1] in (0, 1)


def common(a, b):
    n = 0
    while n < min(len(a), len(b)) and same(a[n], b[n]):
        n += 1
    return n


def has_all(a, b):
    """Whether all of b are in a, in their order."""
    left = iter(a)
    return all(any(same(x, y) for x in left) for y in b)


def difference(a, b, end, depth):
    """Its name, or None: a stack of ours, and samply's."""
    n = common(a, b)
    if n == len(b) and any(x[0] != y[0] for x, y in zip(a, b)):
        return "samply's lacks a file"
    if n == len(a) == len(b):
        return "the same"
    if n == len(b):
        return "ours goes on"
    if has_all(a, b):
        return "samply's leaves frames out"
    if all(lib == samply.NO_FILE for lib, _ in b[n:]):
        return "samply's goes on in no mapped code"
    if n == len(a) and end == "unreadable" and not depth:
        return "samply's goes on in what was not copied"
    return None


def compare(seam, data, folder):
    """Counts by name, and the first that have none; None: not the same
    samples."""
    a, b = ours(seam, data, folder), theirs(data, folder)
    zero = (min(stacks[0][0] for stacks in a.values()) -
            min(stacks[0][0] for stacks in b.values()))
    counts, bad = collections.Counter(), []
    for tid in sorted(set(a) | set(b)):
        if len(a[tid]) != len(b[tid]):
            bad.append("%d: %d samples, and samply's %d" % (
                tid, len(a[tid]), len(b[tid])))
        for (ns, mine, end, depth), (at, other) in zip(a[tid], b[tid]):
            name = difference(mine, other, end, depth)
            if abs(ns - zero - at) > NEAR_NS:
                name = None
            counts[name or "unexplained"] += 1
            if not name:
                bad.append("%d at %d, %d: %s\n%s\nsamply: %s" % (
                    tid, ns, ns - zero - at, end, mine, other))
    return counts, bad


def check(seam, what, data, folder):
    counts, bad = compare(seam, data, folder)
    good = not bad and counts["the same"]
    print("%sok - %s" % ("" if good else "not ", what))
    for name, n in counts.most_common():
        print("# %d: %s" % (n, name))
    for text in bad[:5]:
        print("# " + text[:3000].replace("\n", "\n# "))
    sys.stdout.flush()
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seam", required=True)
    parser.add_argument("--data", action="append", default=[])
    args = parser.parse_args()
    perf = newer_perf() or shutil.which("perf")
    try:
        samply.tool()
    except Missing as why:
        print(why)
        return 77
    if not args.data and (os.geteuid() or not perf):
        print("recording needs root and a perf")
        return 77
    for name, program in TOOLS.items():
        if not shutil.which(program):
            del WORK[name]
    with tempfile.TemporaryDirectory(prefix="samply-") as folder:
        todo = args.data or [record(perf, name, folder) for name in WORK]
        results = [check(args.seam, os.path.basename(data), data, folder)
                   for data in todo]
    print("1..%d" % len(results))
    return 0 if all(results) else 1


sys.exit(main())
