#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: seam inject leaves the same stacks. seam script prints of the
merged recording what it prints of the recording, and merging again changes
nothing; so too in the other byte order (swap.py) and from folders (split.py).
Unmerged it has records of user stacks again, the same text, and merged anew
the same bytes.
perf 7.3.4 ($SEAM_PERF) and this machine's perf, which knows nothing of
deferral, find the same frames.

usage: merged.py SEAM FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from split import split
from swap import swap

# In execve, before the new program is mapped: its stack's address came behind
# that, with the record; the merged sample has no file for it.
IN_EXEC = {"big-syscall": 1, "cpu-fp": 2, "lost-m1-pf": 1, "per-thread": 1,
           "pipe": 1, "two-events": 1, "zstd": 1}
NO_FILE = "([unknown])"


def run(*command):
    env = dict(os.environ, DEBUGINFOD_URLS="")
    return subprocess.run(command, capture_output=True, text=True,
                          errors="replace", env=env)


def usable(perf):
    return perf if perf and not run(perf, "--version").returncode else None


def inject(seam, path, out, *options):
    done = run(seam, "inject", *options, "-i", path, "-o", out)
    if done.returncode:
        raise ValueError(done.stderr)


def script(seam, path):
    done = run(seam, "script", "--no-inline", "-i", path)
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout.splitlines()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def without_file(line):
    return line[:line.rindex("(")] + NO_FILE if "(" in line else line


def differing(before, after):
    """How many frames have lost their file; None: another difference."""
    if len(before) != len(after):
        return None
    other = [(a, b) for a, b in zip(before, after) if a != b]
    if any(without_file(a) != b for a, b in other):
        return None
    return len(other)


def merged(seam, path, tmp, lost_files):
    """Problems with one recording; leaves its merged form in tmp/merged."""
    once, twice = os.path.join(tmp, "merged"), os.path.join(tmp, "twice")
    inject(seam, path, once)
    n = differing(script(seam, path), script(seam, once))
    if n is None or n > lost_files:
        yield f"another text; {n} frames without file"
    inject(seam, once, twice)
    if read(once) != read(twice):
        yield "merging again changes it"
    yield from unmerged(seam, once, tmp)


def unmerged(seam, once, tmp):
    apart, twice = os.path.join(tmp, "apart"), os.path.join(tmp, "twice")
    inject(seam, once, apart, "--unmerge")
    counts = json.loads(run(seam, "report", "--json", "-i", apart).stdout)
    wanted = json.loads(run(seam, "report", "--json", "-i", once).stdout)
    if counts["user_half"]["joined"] != wanted["wanted"] or counts["end"] != wanted["end"]:
        yield f"unmerged it has other counts: {counts}"
    if script(seam, apart) != script(seam, once):
        yield "unmerged it has another text"
    inject(seam, apart, twice)
    if read(once) != read(twice):
        yield "merging the unmerged changes it"


def frames(perf, path):
    """[[address...]...] of all samples, in perf's order, and all heads."""
    done = run(perf, "script", "--no-inline", "-F", "comm,tid,event,ip,sym",
               "--max-stack", "4096", "-i", path)
    if done.returncode:
        raise ValueError(done.stderr)
    heads, stacks = [], []
    for line in done.stdout.splitlines():
        if not line.strip():
            continue
        address = re.match(r"\s+([0-9a-f]+) ", line)
        if address:
            stacks[-1].append(int(address[1], 16))
        else:
            heads.append(line.split())
            stacks.append([])
    return sorted(zip(heads, stacks))


def offsets(samples):
    """perf before 6.5 prints addresses in files: pages are the same."""
    return sorted((head, [ip if ip >> 63 else ip & 0xfff for ip in stack])
                  for head, stack in samples)


def new_stacks(before, after):
    """Samples of the merged recording that perf joined otherwise."""
    known = {str(sample) for sample in before}
    return [sample for sample in after if str(sample) not in known]


def perf_agrees(perf, path, once, unjoined):
    before, after = frames(perf, path), frames(perf, once)
    if len(before) != len(after):
        yield f"{len(after)} samples, not {len(before)}"
    if len(new_stacks(before, after)) > unjoined:
        yield f"other stacks: {new_stacks(before, after)[:3]}"


def old_agrees(old, seam, once):
    """What an old perf finds is what seam finds: as many samples, as many
    frames of the same places in their pages."""
    wanted, stack = [], None
    for line in script(seam, once):
        if not line:
            continue
        if line[0] != "\t":
            stack = []
            wanted.append(stack)
        elif not line.endswith("([seam])"):
            ip = int(line.split()[0], 16)
            stack.append(ip if ip >> 63 else ip & 0xfff)
    got = [stack for _, stack in offsets(frames(old, once))]
    if sorted(got) != sorted(wanted):
        missing = [s for s in wanted if s not in got]
        yield f"{len(got)} of {len(wanted)} samples; not found: {missing[:2]}"


def variants(folder, name, tmp):
    """(what, path) of one recording in all forms that can be made of it."""
    path = os.path.join(folder, name + ".data")
    yield "", path
    other = os.path.join(tmp, "big-endian")
    with open(other, "wb") as f:
        f.write(swap(read(path)))
    yield ", big-endian", other
    if name not in ("pipe", "per-thread"):
        for what, whole in ((", a folder", read(path)),
                            (", a big-endian folder", read(other))):
            split(whole, os.path.join(tmp, what[2:]))
            yield what, os.path.join(tmp, what[2:])


# No sample waits for a stack: it is copied as it is.
NOT_DEFERRED = ["nodefer-sys", "zstd-6.1"]
# Samples whose stack came before them, which perf does not join.
LATE = {"two-events": 1}
MISSING = {"lost-m1-pf": 1, "pending": 1}


def check(seam, folder, name, perfs, results):
    new, old = perfs
    with tempfile.TemporaryDirectory() as tmp:
        once = os.path.join(tmp, "merged")
        for what, path in variants(folder, name, tmp):
            problems = list(merged(seam, path, tmp, IN_EXEC.get(name, 0)))
            results.append((name + what, problems))
            if "big-endian" in what:
                continue
            if new and not what:
                results.append((f"{name}, perf 7.3.4", list(perf_agrees(
                    new, path, once,
                    LATE.get(name, 0) + MISSING.get(name, 0)))))
                apart = os.path.join(tmp, "apart")
                results.append((f"{name}, unmerged, perf 7.3.4", list(
                    perf_agrees(new, once, apart, 0))))
            if old:
                results.append((f"{name}{what}, this machine's perf",
                                list(old_agrees(old, seam, once))))


def main():
    seam, folder = sys.argv[1:]
    names = sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".data"))
    perfs = usable(os.environ.get("SEAM_PERF")), usable(shutil.which("perf"))
    results = []
    for name in names:
        if name in NOT_DEFERRED:
            continue
        check(seam, folder, name, perfs, results)
    for i, (what, problems) in enumerate(results):
        print(f"{'not ' if problems else ''}ok {i + 1} - {what}")
        for problem in problems[:20]:
            print("#", problem[:2000])
    n = len(results)
    for what, perf in zip(("perf 7.3.4", "this machine's perf"), perfs):
        if not perf:
            n += 1
            print(f"ok {n} - {what} # SKIP it does not run here")
    print(f"1..{n}")
    sys.exit(1 if not names or any(p for _, p in results) else 0)


main()
