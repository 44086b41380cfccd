#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Record the real programs of tests/loads and hold each to the bar.

    loads.py --seam build/seam --progs build/tests/progs \\
        [--match 'xz*'] [--freq 4999]

Each load is recorded twice, with an empty table cache and with the one that
the first recording filled. Per load and recording, never pooled: at least
5,000 samples that want a user half, 99.9 % of them whole, those that were
lost among them, and at most 0.1 % between the events that the kernel's own
count expects and those that came, of the program as of the whole machine.
Where it is more, what the kernel says it withheld, which is no event that could
have come, may explain it, and then that is printed. It is bounded by itself: of
the program's ticks 0.3 % at most; of all others 0.3 %, and as many more as the
CPUs were idle by their own accounts, since a kernel may hide the ticks of an
idle task.

Ticks in the unwind itself are no samples. They are as many as the time that it
says it took has, or few.

Where the machine stood still (stalls.py) and nothing else is wrong than that so
many were lost, which nobody could have read, it is recorded again.
"""

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

import stalls

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "loads")
LEAST_WANTED, LEAST_WHOLE, MOST_GAP = 5000, 0.999, 0.001
MOST_WITHHELD = 0.003
ENGINE = "deferred"
TRIES = 3
# bash's short processes have 0.7 times the ticks of that time, 165 of 11,060,
# busy or not.
OWN_TIMES, OWN_FEW = 1.5, 20
# The accounts are by the ticks that there are: one was 0.5 % short.
IDLE_TIMES = 1.02


def idle_s():
    """Seconds that all CPUs have been idle."""
    with open("/proc/stat") as f:
        words = f.readline().split()
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")


# Of the program alone, and of all that ran.
COUNTS = (("expected_watched", "watched", "withheld_watched"),
          ("expected", "events", "withheld"))


def most_own(summary, freq):
    return OWN_TIMES * (summary["unwind_ns"] or 0) / 1e9 * freq + OWN_FEW


def is_gap(expected, came):
    return abs(expected - came) > expected * MOST_GAP


def gap(summary, whose, seen, kept):
    """What is wrong between the events that came and those expected."""
    came, expected, withheld = summary[seen], summary[whose], summary[kept]
    if expected is None:
        yield "nothing says how many samples were to be expected"
        return
    # It may explain what is missing, and it must not explain more.
    if is_gap(expected, came + withheld):
        yield "%s: %d events and %d withheld where %d were expected" % (
            seen, came, withheld, expected)
    elif seen == "watched" and withheld > expected * MOST_WITHHELD:
        yield "%d of %d events of the program withheld" % (withheld, expected)


def explained(summary):
    """Where a gap is none only by what was withheld, as sentences."""
    for whose, seen, kept in COUNTS:
        came, expected = summary[seen], summary[whose]
        if expected is not None and is_gap(expected, came):
            yield "%s: %d events where %d were expected, for %d were " \
                "withheld" % (seen, came, expected, summary[kept])


def faults(summary, freq, idle=0):
    """What is wrong with a recording's summary, as sentences. idle: seconds of
    all CPUs."""
    wanted, end = summary["wanted"], summary["end"]
    lost = summary["lost"]["samples"]
    if summary["engine"] != ENGINE:
        yield "the engine is %s" % summary["engine"]
    if summary["own"] > most_own(summary, freq):
        yield "%d events in unwinds, which took %s ns" % (
            summary["own"], summary["unwind_ns"])
    whole = end.get("outermost", 0)
    if wanted < LEAST_WANTED:
        yield "only %d wanted samples at %d Hz" % (wanted, freq)
    # What the event program saw and the file has not is not whole either.
    if whole < (wanted + lost) * LEAST_WHOLE:
        yield "%.3f %% whole" % (100 * whole / max(wanted + lost, 1))
    if whole > wanted:
        yield "more whole stacks than wanted ones"
    given = summary["samples"] + summary["own"] + lost
    if given != summary["watched"]:
        yield "%d events of the program, but %d samples" % (
            summary["watched"], given)
    for whose, seen, kept in COUNTS:
        yield from gap(summary, whose, seen, kept)
    others = summary["withheld"] - summary["withheld_watched"]
    most = (summary["expected"] or 0) * MOST_WITHHELD + \
        IDLE_TIMES * idle * freq
    if others > most:
        yield "%d events of others withheld, where CPUs were idle for %.2f s" \
            % (others, idle)
    reasons = sum(n for code, n in end.items() if code != "no-user")
    if reasons != wanted:
        yield "%d wanted, but %d end codes" % (wanted, reasons)


def describe(summary, freq):
    others = " ".join("%s=%d" % item for item in
                      sorted(summary["end"].items()) if item[1])
    lost = " ".join("%s=%d" % item for item in
                    sorted(summary.get("lost", {}).items()) if item[1])
    whole = summary["end"].get("outermost", 0)
    return "samples %d and %d in unwinds (%.1f by their time), expected %s, withheld %d; " \
        "machine: %d events, expected %s, withheld %d; " \
        "wanted %d, whole %.4f %%, unwinds %d, " \
        "served %s, engine %s, ns per frame %s; %s; lost: %s" % (
            summary["samples"], summary["own"], summary["unwind_ns"] / 1e9 *
            freq, summary["expected_watched"],
            summary["withheld_watched"], summary["events"],
            summary["expected"], summary["withheld"], summary["wanted"],
            100 * whole / max(summary["wanted"], 1), summary["unwinds"],
            summary.get("served_per_unwind", "?"), summary["engine"],
            summary.get("ns_per_frame", "?"), others, lost or "none")


class Load:
    def __init__(self, args, name, folder):
        self.args = args
        self.name = name
        self.folder = folder
        self.env = dict(os.environ, XDG_CACHE_HOME=os.path.join(
            folder, "cache"), PROGS=os.path.realpath(args.progs))
        self.empty_cache()
        os.mkdir(os.path.join(folder, "input"))

    def empty_cache(self):
        cache = self.env["XDG_CACHE_HOME"]
        shutil.rmtree(cache, ignore_errors=True)
        os.mkdir(cache)

    def script(self, verb):
        return subprocess.run(
            ["sh", os.path.join(SOURCES, self.name + ".sh"), verb,
             os.path.join(self.folder, "input")], env=self.env,
            stdout=subprocess.PIPE)

    def record(self, command):
        """(summary or None, complaints)"""
        out = os.path.join(self.folder, "summary.json")
        log = os.path.join(self.folder, "log")
        if os.path.exists(out):
            os.unlink(out)
        idle = idle_s()
        with open(log, "w") as err:
            status = subprocess.run(
                [self.args.seam, "record", "-o",
                 os.path.join(self.folder, "perf.data"), "-e", "cpu-clock",
                 "-F", str(self.args.freq), "--json-summary", out, "--"] +
                command, env=self.env, stdout=subprocess.DEVNULL,
                stderr=err).returncode
        if status or not os.path.exists(out):
            tail = open(log, errors="replace").read()[-800:]
            return None, ["status %d: %s" % (status, tail)]
        summary = json.load(open(out))
        return summary, list(faults(summary, self.args.freq,
                                    idle_s() - idle))


def is_late(summary, wrong):
    """Whether all that is wrong is that some were lost."""
    if not summary or len(wrong) != 1 or not wrong[0].endswith("% whole"):
        return False
    lost = summary["lost"]
    return summary["end"]["outermost"] + lost["stacks"] + lost["copies"] + \
        lost["samples"] >= (summary["wanted"] + lost["samples"]) * LEAST_WHOLE


def record(load, command, is_cold):
    """(summary or None, complaints)"""
    watch = stalls.Watch()
    for left in reversed(range(TRIES)):
        if is_cold:
            load.empty_cache()
        summary, wrong = load.record(command)
        stood = watch.worst()
        if not (left and stood and is_late(summary, wrong)):
            break
        print("# %s; this machine stood still for %.0f ms: once more" % (
            wrong[0], stood * 1000))
    watch.end()
    return summary, wrong


def run(args, name, number):
    """Prints two TAP lines; returns whether both are good."""
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        load = Load(args, name, folder)
        prepared = load.script("prepare")
        if prepared.returncode == 77:
            reason = prepared.stdout.decode().strip()
            for i in (0, 1):
                print("ok %d - %s # SKIP %s" % (number + i, name, reason))
            return True
        command = load.script("command").stdout.decode().split("\0")[:-1]
        ready = prepared.returncode == 0 and command != []
        good = ready
        for i, cache in enumerate(("cold", "warm")):
            summary, wrong = record(load, command, cache == "cold") \
                if ready else (None, ["its input could not be made"])
            print("%sok %d - %s, %s cache" % (
                "not " if wrong else "", number + i, name, cache))
            for line in "\n".join(wrong).splitlines():
                print("#   " + line)
            if summary:
                print("# " + describe(summary, args.freq))
                for line in explained(summary):
                    print("# " + line)
            sys.stdout.flush()
            good &= not wrong
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seam", default="build/seam")
    parser.add_argument("--progs", required=True)
    parser.add_argument("--match", default="*")
    parser.add_argument("--freq", type=int, default=4999)
    parser.add_argument("--no-root-needed", action="store_true",
                        help="for the self-test")
    args = parser.parse_args()
    if os.geteuid() != 0 and not args.no_root_needed:
        print("1..0 # SKIP recording with BPF needs root here")
        return 0
    names = sorted(entry[:-3] for entry in os.listdir(SOURCES)
                   if entry.endswith(".sh") and entry != "lib.sh" and
                   fnmatch.fnmatch(entry[:-3], args.match))
    good = True
    for index, name in enumerate(names):
        good &= run(args, name, 2 * index + 1)
    print("1..%d" % (2 * len(names)))
    return 0 if good and names else 1


if __name__ == "__main__":
    sys.exit(main())
