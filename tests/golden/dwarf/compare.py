#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: stacks that seam unwinds of perf's own copies are those that
perf unwinds, frame by frame, and not one less complete. A copy that is too
small says how far it reached, and what size would have done. The program is
found by its build-id alone; without it stacks end with that as the reason. Of
a recording that is cut and has lost the build-ids no stack is whole, whatever
file there is at the program's path, unless the user trusts all. Of a machine
of the other byte order the samples are the same as far as the kernel walked
them, and their copies are told not to be unwound.

usage: compare.py SEAM FOLDER
"""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "deferred"))
from swap import swap # noqa: E402

BUILD_ID = "72cf64c34ff714a18ce99f683f479df6243f1035"
DOWN = 12  # down's frames below main_
results = []


def test(what, good, why=""):
    results.append(bool(good))
    print("%sok %d - %s" % ("" if good else "not ", len(results), what))
    if not good:
        for line in str(why).splitlines()[:20]:
            print("#   " + line[:500])


def parse(text):
    """Each sample's [(ip, symbol, file)...], and what is in place of one."""
    samples = []
    for line in text.splitlines():
        if line and not line.startswith("\t"):
            samples.append([])
        elif line:
            samples[-1].append(re.match(
                r"\t *([0-9a-f]+) (.*) \((.*)\)$", line).groups())
    return samples


def is_same(ours, theirs):
    """perf shows a caller's address one lower, in the call."""
    a, b = int(ours[0], 16), int(theirs[0], 16)
    return a - b in (0, 1) and ours[2] == theirs[2]


class Tree:
    """A home with, or without, perf's cache of files by build-id."""

    def __init__(self, seam, folder, tmp, has_program):
        self.seam, self.folder = seam, folder
        self.env = dict(os.environ, HOME=tmp,
                        XDG_CACHE_HOME=os.path.join(tmp, "cache"))
        self.env.pop("DEBUGINFOD_CACHE_PATH", None)
        if has_program:
            at = os.path.join(tmp, ".debug", ".build-id", BUILD_ID[:2],
                              BUILD_ID[2:])
            os.makedirs(at)
            with gzip.open(os.path.join(folder, "chain.gz")) as f, \
                    open(os.path.join(at, "elf"), "wb") as to:
                shutil.copyfileobj(f, to)

    def run(self, *command, name):
        return subprocess.run(
            [self.seam, *command, "-i",
             os.path.join(self.folder, name + ".data")], env=self.env,
            check=True, capture_output=True, text=True)

    def counts(self, name):
        return json.loads(self.run("report", "--json", name=name).stdout)


def frames(tree, name):
    run = tree.run("script", "--no-inline", name=name)
    ours = parse(run.stdout)
    with gzip.open(os.path.join(tree.folder, name + ".script.gz"), "rt") as f:
        theirs = parse(f.read())
    bad = []
    for a, b in zip(ours, theirs):
        if a and a[-1][2].startswith("[seam]"):
            a = a[:-1]
        if len(a) < len(b) or not all(map(is_same, a, b)):
            bad.append("perf %s seam %s" % (b, a))
    test("%s: perf's frames in %d samples" % (name, len(theirs)),
         len(ours) == len(theirs) > 5 and not bad, "\n".join(bad))
    return run


def whole(tree, name):
    frames(tree, name)
    counts = tree.counts(name)
    test(name + ": all are whole but those of exec",
         counts["end"]["outermost"] >= counts["wanted"] - 2 and
         counts["copies"]["too_small"] == 0, counts)


def cut(tree):
    run = frames(tree, "cut")
    counts = tree.counts("cut")
    copies = counts["copies"]
    depths = [int(d) for d in re.findall(
        r"\[unreadable\] \(\[seam\]:(\d+)\)", run.stdout)]
    test("cut: unreadable, and at which depth",
         len(depths) == counts["end"]["unreadable"] >= copies["too_small"] > 5
         and max(depths) <= 1024, depths)
    test("cut: a size that would have held more is offered",
         copies["size"] > 1024 and
         "--call-graph dwarf,%d" % copies["size"] in run.stderr, run.stderr)


def heads_and_frames(text):
    """[(head, [(ip, file)...])...], without what says why a stack ends."""
    heads = [line for line in text.splitlines() if line[:1].strip()]
    return list(zip(heads, [[f[::2] for f in frames if f[2][:6] != "[seam]"]
                            for frames in parse(text)]))


def other_order(tree, name):
    with open(os.path.join(tree.folder, name + ".data"), "rb") as f, \
            tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, name + ".data"), "wb") as to:
            to.write(swap(f.read()))
        there = Tree(tree.seam, tmp, tmp, False)
        run = there.run("script", "--no-inline", name=name)
        counts = there.counts(name)
    wanted = heads_and_frames(
        tree.run("script", "--no-inline", name=name).stdout)
    found = heads_and_frames(run.stdout)
    bad = ["%s: %s for %s" % (b[0], b[1], a) for a, b in zip(wanted, found)
           if a[0] != b[0] or a[1][:len(b[1])] != b[1]]
    test(name + ", big-endian: its samples, as far as the kernel walked them",
         len(wanted) == len(found) and not bad and
         any(frames for _, frames in found), "\n".join(bad))
    copies = counts["copies"]
    test(name + ", big-endian: no copy is unwound, and all are told",
         copies["foreign"] == counts["wanted"] > 5 and not copies["unwound"] and
         not counts["malformed_records"] and not counts["damaged"] and
         "%d stack copies are of another machine" % copies["foreign"] in
         run.stderr, (counts, run.stderr))


def absent(tree):
    run = tree.run("script", name="whole")
    counts = tree.counts("whole")
    test("without the file stacks end with no-table, and say in which",
         counts["end"]["no-table"] > 5 and counts["end"]["outermost"] == 0 and
         re.search(r"\d+ stacks end in \S+/chain: there is no such file",
                   run.stderr), run.stderr)


def lost(tree):
    """What is at the program's path is the program, but who is to know?"""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as tmp, \
            open(os.path.join(tree.folder, "whole.data"), "rb") as f:
        data = f.read()
        program = os.path.join(tmp, "c")
        with gzip.open(os.path.join(tree.folder, "chain.gz")) as of, \
                open(program, "wb") as to:
            shutil.copyfileobj(of, to)
        old = b"/tmp/known/chain\0"
        at, size = struct.unpack_from("<QQ", data, 40)
        data = data.replace(old, program.encode().ljust(len(old), b"\0"))
        for end in (at + size, at + size - 10):
            with open(os.path.join(tmp, "lost.data"), "wb") as to:
                to.write(data[:end])
            here = Tree(tree.seam, tmp, os.path.join(tmp, "home%d" % end),
                        False)
            run = here.run("script", name="lost")
            counts = here.counts("lost")
            test("lost build-ids: no stack is whole, and why",
                 counts["end"]["outermost"] == 0 and
                 counts["end"]["no-table"] > 5 and
                 re.search(r"stacks end in %s: the recording's build-ids are "
                           "lost" % program, run.stderr) and
                 "names are those of what is at their paths" in run.stderr,
                 (counts, run.stderr))
            here.env["SEAM_TRUST"] = "all"
            counts = here.counts("lost")
            test("lost build-ids: but the user may believe it",
                 counts["end"]["outermost"] > 5, counts)


def main():
    seam, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        tree = Tree(seam, folder, tmp, True)
        whole(tree, "whole")
        whole(tree, "pipe")
        cut(tree)
        for name in ("whole", "pipe", "cut"):
            other_order(tree, name)
    with tempfile.TemporaryDirectory() as tmp:
        absent(Tree(seam, folder, tmp, False))
        lost(Tree(seam, folder, tmp, False))
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
