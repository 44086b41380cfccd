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
LINKER = "/lib64/ld-linux-x86-64.so.2"
DOWN = ("main", "run") + ("down",) * 4
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
        if name.startswith("_dl"):
            return {"ip": "0x1", "sym": name, "off": 1, "dso": LINKER}
        off = self.site.get((name, callee), 1)
        return {"ip": "0x2", "sym": name, "off": off, "dso": self.exe}

    def frames(self, *path):
        """Leaf first; the path is root first, and START is put before."""
        names = ("_start", "__libc_start_main_impl",
                 "__libc_start_call_main") + path
        frames = [self.frame(name, callee) for name, callee in
                  zip(names, names[1:] + (None,))]
        # _start calls through the GOT; its own site is indirect.
        frames[0]["off"] = self.site.get(("_start", None), 1)
        return frames[::-1]

    def checker(self):
        expect = check.pathgrammar.Expectation(
            os.path.join(SOURCES, "recurse.expect"), {"DEPTH": "4"})
        return check.Checker(argparse.Namespace(
            exe=self.exe, known_bad=None), expect)

    def verdict(self, *path, end="outermost"):
        checker = self.checker()
        checker.sample({"end": end, "tid": 1, "frames": self.frames(*path)})
        kinds = set(checker.count) - {"samples", "wanted"}
        return kinds.pop() if len(kinds) == 1 else repr(kinds)


def paths(stacks):
    for what, want, path in (
            ("a whole path", "full", DOWN + ("leaf",)),
            ("a path on its way", "on the way", DOWN),
            ("one frame of a recursion missing", "wrong path",
             ("main", "run") + ("down",) * 3 + ("leaf",)),
            ("one too many", "wrong path", DOWN + ("down", "leaf")),
            ("the caller of the leaf missing", "wrong path",
             ("main", "run", "leaf")),
            ("main missing", "wrong path", DOWN[1:] + ("leaf",)),
            ("a frame of another path between", "wrong path",
             ("main", "run", "ping", "down", "leaf")),
            ("an unknown function", "wrong path", DOWN + ("leaf", "other")),
            ("nothing of ours: not in main", "start or end", ("exit",))):
        got = stacks.verdict(*path)
        test("%s is %s%s" % (what, want,
                             "" if got == want else ", not " + got),
             got == want)
    test("a stack that ends early is not whole", stacks.verdict(
        *DOWN, "leaf", end="no-rule") == "not whole")
    stacks.site["run", "down"] += 1
    test("a return address beside the call is found",
         stacks.verdict(*DOWN, "leaf") == "wrong call site")
    stacks.site["run", "down"] = stacks.site["run", "ping"]
    test("a return address behind another call is found",
         stacks.verdict(*DOWN, "leaf") == "wrong call site")


def stubs(stacks):
    """The stub of a PLT jumps: what it leads to has another caller."""
    def has_called(*path):
        checker = stacks.checker()
        return checker.has_called([checker.frame(f) for f in
                                   stacks.frames(*path)[::-1]])

    test("a stub that has called is found", stacks.verdict(
        "main", "strlen@plt", "_dl_fixup") == "wrong path")
    test("not one that is the leaf, nor what it leads to",
         "wrong path" not in [stacks.verdict("main", name)
                              for name in ("strlen@plt", "_dl_fixup")])
    test("nor one that a signal interrupted",
         not has_called("main", "strlen@plt", "__restore_rt", "handler"))


PING = ("main", "run") + ("ping", "pong") * 2
KINDS = ((DOWN + ("leaf",), 485), (PING + ("leaf",), 485), (DOWN, 27),
         (("exit",), 3))


def recording(stacks, cut, share, user_mode):
    """What a recording comes to of whose whole stacks this share is cut, and
    what is said of it."""
    checker, n, cuts = stacks.checker(), 0, 0
    checker.events = {} if user_mode else None
    for path, times in KINDS:
        frames = stacks.frames(*path)
        for _ in range(times):
            n += 1
            if checker.events is not None:
                checker.events[n, 1] = (int(frames[0]["ip"], 16), True)
            is_cut = path[-1] == "leaf" and cuts < n * share
            cuts += is_cut
            checker.sample({
                "end": "outermost", "tid": 1, "time_ns": n,
                "frames": cut(frames) if is_cut else frames})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = check.report(checker, argparse.Namespace(
            min=100, name="made up", no_coverage=False, no_shares=False,
            slow_start=None, data=user_mode, no_kernel=False, show=1))
    return status, said.getvalue()


def without_own(frames):
    return [f for f in frames if f["dso"] == LIBC or f["sym"] == "_start"]


def cut_stacks(stacks):
    """Right stacks, each of them, but not what the program did."""
    def innermost(frames):
        # One cookie's stack is many samples': no ip is like another.
        return [dict(f, ip="0x3") for f in frames[3:]]

    def outcome(*args):
        status, said = recording(stacks, *args)
        failed = [line.partition(": ")[2] for line in said.splitlines()
                  if line.startswith("not ok")]
        return failed if status else None

    shares = ["as many stacks are of each kind as may be"]
    leaf = ["the leaf in user mode is the event's own ip"]
    for user_mode in (False, True):
        test("an honest recording is good, %s" % (
            "in user mode" if user_mode else "in the kernel"),
            outcome(innermost, 0, user_mode) is None)
    for what, cut in (("the program's frames cut out", without_own),
                      ("the innermost three cut off", innermost)):
        for share in (0.9, 0.3):
            got = outcome(cut, share, False)
            test("%d %% of stacks with %s are found" % (100 * share, what),
                 got == shares)
        test("one stack in user mode with %s is found" % what,
             outcome(cut, 0.001, True) == leaf)


def counts(**changes):
    base = {"samples": 6000, "events": 9000, "expected": 9003, "own": 5,
            "watched": 6005, "expected_watched": 6008, "lost": {"samples": 0},
            "withheld": 0, "withheld_watched": 0,
            "wanted": 5990, "unwinds": 5000, "unwind_ns": 10000000,
            "engine": "deferred",
            "end": {"outermost": 5988, "no-table": 2, "no-user": 10}}
    base.update(changes)
    return base


def summary(idle=0, **changes):
    return list(loads.faults(counts(**changes), 4999, idle))


def said(**changes):
    return list(loads.explained(counts(**changes)))


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
    test("a gap is said where only what was withheld explains it",
         said(expected=9003, withheld=0) == said(expected=9009, withheld=6) ==
         [] and said(expected=9012, withheld=14) != [] and
         said(expected_watched=6019, withheld_watched=12) != [])
    test("another engine is found", summary(engine="immediate") != [])
    # 10 ms of unwinds are 50 ticks.
    test("too many ticks in unwinds are found",
         summary(own=90, samples=5915, wanted=5915, end={
             "outermost": 5915}) == [] and
         summary(own=100, samples=5905, wanted=5905, end={
             "outermost": 5905}) != [])
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


def losses():
    """Of a load: which are tried again."""
    few = {"samples": 0, "stacks": 4, "copies": 8}
    end = {"outermost": 5978, "lost": 12}
    wrong = summary(end=end, lost=few)
    test("what was lost is found", len(wrong) == 1)
    test("and is late", loads.is_late(counts(end=end, lost=few), wrong))
    test("but not beside something else", not loads.is_late(
        counts(end=end, lost=few), wrong + ["the engine is dump"]))
    test("nor where more is missing", not loads.is_late(
        counts(end=end, lost=dict(few, copies=0)), wrong))
    test("nor what was not recorded", not loads.is_late(None, ["status 1"]))


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
        stubs(Stacks(os.path.realpath(built[0])))
        cut_stacks(Stacks(os.path.realpath(built[0])))
    else:
        test("recurse is built", False)
    summaries()
    losses()
    tries()
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
