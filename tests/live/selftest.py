#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the checkers of this folder find what they are there to find.

    selftest.py BUILD/tests/progs

Made-up stacks and summaries, right and wrong in one respect each. Needs one
built program (recurse) for its call sites, and no rights.
"""

import argparse
import contextlib
import glob
import importlib.util
import io
import os
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "progs")


def load(name):
    spec = importlib.util.spec_from_file_location(
        name[:-3].replace("-", "_"), os.path.join(HERE, name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = load("check-paths.py")
loads = load("loads.py")
livetest = load("livetest.py")
stalls = load("stalls.py")
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
results = []


def test(what, good):
    results.append(good)
    print("%sok %d - %s" % ("" if good else "not ", len(results), what))


class Stacks:
    """Stacks of the program recurse, depth 4, made from its call sites."""

    def __init__(self, exe):
        self.exe = exe
        code = check.code_of(exe)
        self.site = {}
        for addr, target in code.after_call.items():
            owner = max((start, name) for name, start in code.start.items()
                        if start < addr)
            self.site.setdefault((owner[1], target[0]), addr - owner[0])

    def frame(self, name, callee):
        if name.startswith("__libc") or name == "exit":
            return {"ip": "0x1", "sym": name, "off": 1, "dso": LIBC}
        off = self.site.get((name, callee), 1)
        return {"ip": "0x2", "sym": name, "off": off, "dso": self.exe}

    def verdict(self, *path, end="outermost", known_bad=None):
        """Root first; START is put before."""
        names = ("_start", "__libc_start_main_impl",
                 "__libc_start_call_main") + path
        frames = [self.frame(name, callee) for name, callee in
                  zip(names, names[1:] + (None,))]
        # _start calls through the GOT; its own site is indirect.
        frames[0]["off"] = self.site.get(("_start", None), 1)
        expect = check.pathgrammar.Expectation(
            os.path.join(SOURCES, "recurse.expect"), {"DEPTH": "4"})
        checker = check.Checker(argparse.Namespace(
            exe=self.exe, known_bad=known_bad), expect)
        checker.sample({"end": end, "tid": 1, "frames": frames[::-1]})
        kinds = set(checker.count) - {"samples", "wanted"}
        return kinds.pop() if len(kinds) == 1 else repr(kinds)


def paths(stacks):
    down = ("main", "run") + ("down",) * 4
    for what, want, path in (
            ("a whole path", "full", down + ("leaf",)),
            ("a path on its way", "on the way", down),
            ("one frame of a recursion missing", "wrong path",
             ("main", "run") + ("down",) * 3 + ("leaf",)),
            ("one too many", "wrong path", down + ("down", "leaf")),
            ("the caller of the leaf missing", "wrong path",
             ("main", "run", "leaf")),
            ("main missing", "wrong path", down[1:] + ("leaf",)),
            ("a frame of another path between", "wrong path",
             ("main", "run", "ping", "down", "leaf")),
            ("an unknown function", "wrong path", down + ("leaf", "other")),
            ("nothing of ours: not in main", "start or end", ("exit",))):
        got = stacks.verdict(*path)
        test("%s is %s%s" % (what, want,
                             "" if got == want else ", not " + got),
             got == want)
    test("a stack that ends early is not whole", stacks.verdict(
        *down, "leaf", end="no-rule") == "not whole")
    stacks.site["run", "down"] += 1
    test("a return address beside the call is found",
         stacks.verdict(*down, "leaf") == "wrong call site")
    stacks.site["run", "down"] = stacks.site["run", "ping"]
    test("a return address behind another call is found",
         stacks.verdict(*down, "leaf") == "wrong call site")


def summary(idle=0, **changes):
    base = {"samples": 6000, "events": 9000, "expected": 9003, "own": 5,
            "watched": 6005, "expected_watched": 6008, "lost": {"samples": 0},
            "withheld": 0, "withheld_watched": 0,
            "wanted": 5990, "unwinds": 5000, "engine": "deferred",
            "end": {"outermost": 5988, "no-table": 2, "no-user": 10}}
    base.update(changes)
    return list(loads.faults(base, 4999, idle))


def summaries():
    test("a good summary is good", summary() == [])
    test("too few samples are found",
         summary(wanted=4999, end={"outermost": 4999}) != [])
    test("0.2 % not whole are found",
         summary(end={"outermost": 5978, "no-rule": 12}) != [])
    test("0.2 % missing samples are found", summary(expected=9018) != [])
    test("0.2 % missing samples of the program are found",
         summary(expected_watched=6017) != [])
    test("samples that the kernel withheld are not missing", summary(
        expected_watched=6019, withheld_watched=12, expected=9018,
        withheld=14) == [])
    test("0.4 % withheld are found", summary(
        expected_watched=6030, withheld_watched=24) != [])
    test("0.4 % of others withheld are found",
         summary(expected=9039, withheld=36) != [])
    test("others are withheld while CPUs are idle", summary(
        expected=9239, withheld=236, idle=0.05) == [] and summary(
            expected=9539, withheld=536, idle=0.05) != [])
    test("samples said to be withheld that came are found",
         summary(withheld=20) != [] and summary(withheld_watched=12) != [])
    test("an unknown count is found", summary(expected=None) != [])
    test("samples that are nowhere are found", summary(samples=5999) != [])
    test("0.2 % lost samples are found", summary(
        samples=5988, lost={"samples": 12}) != [])
    test("samples without an end code are found",
         summary(end={"outermost": 5988}) != [])


def runs(stood, *judgements):
    """How often a function is run whose machine stands still for so long, and
    which makes these judgements; and what its one test comes to."""
    count = [0]

    def function(bench):
        count[0] += 1
        for judge in judgements:
            judge(bench, count[0])

    class Watch:
        def worst(self):
            return stood

    with tempfile.TemporaryDirectory() as folder, \
            contextlib.redirect_stdout(io.StringIO()):
        bench = livetest.Bench(argparse.Namespace(seam="seam", engine=None),
                               folder)
        livetest.run_one(bench, function, Watch())
    return count[0], bench.results


def has_stood(watch):
    """Whether it says so, once it has begun, where all of it stands still."""
    for pid in watch.pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    for pid in watch.pids:
        os.kill(pid, signal.SIGCONT)
    return any(watch.worst() > 0.2 for _ in range(10))


def tries():
    def late(bench, count):
        bench.timely("the third time", count == 3)

    def wrong(bench, count):
        bench.test("never", False)

    test("what comes too late is tried again where the machine stood still",
         runs(0.1, late) == (3, [True]))
    test("and nowhere else", runs(0, late) == (1, [False]))
    test("nor for ever", runs(0.1, lambda bench, count: bench.timely(
        "never", False)) == (livetest.TRIES, [False]))
    test("what is wrong is not tried again", runs(0.1, late, wrong) == (
        1, [False, False]))
    watch = stalls.Watch()
    test("a process that was not woken says so",
         any(has_stood(watch) for _ in range(20)))
    watch.end()


def main():
    built = sorted(glob.glob(os.path.join(sys.argv[1], "recurse-*-O2")))
    if built:
        paths(Stacks(os.path.realpath(built[0])))
    else:
        test("recurse is built", False)
    summaries()
    tries()
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
