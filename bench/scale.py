#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""seam record at scale: 10,000 threads, 1,000 processes started a second, 2,000
mapped libraries, a minute each.

What was lost, by name; the recorder's memory, and how it grew in the second half
of the time; what its BPF maps take in the kernel; what a stack cost in the first
and in the last quarter. Root, and bpftool for the cost.

Judged: sums add up, memory is within what is said below and grows no more, a
stack costs what it did, within its spread, and as many processes are started as
were asked for, or nearly as many as without a recorder. What is not so ends the
run with status 1; so does what nobody can tell, but in runs that are too short.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "live"))
import livetest  # noqa: E402
LIBRARY = """
static volatile unsigned sink;
__attribute__((noinline)) static void scale_leaf(unsigned n)
{ for (unsigned i = 0; i < n; i++) sink += i; }
void scale_outer(unsigned n) { scale_leaf(n); __asm__ volatile(""); }
"""
# What the recorder may take: in all; in a minute more, of its own, in the second
# half; and in the kernel, maps and tables, of which tables have a budget.
MOST_RSS = 200 << 20
MOST_GROWTH = 4 << 20
# Before that caches and rings fill.
JUDGED_AFTER_S = 30
MOST_MAPS = 512 << 20
MOST_TABLES = 512 << 20 # the default of --table-memory
# What any two halves of one minute differ by on a machine that others use.
SPREAD = 0.15
# However much its stacks differ among themselves.
MOST_SPREAD = 0.3
# A minute tells all.
TOLD_AFTER_S = 60
# Of the processes a second that were asked for, for the first and the last; and
# of those that the machine starts when nobody records: its clock ticks and its
# stacks are the machine's work, too.
ALL_ASKED = 0.99
MOST_OF_ALONE = 0.7
ALONE_S = 10
# Short processes: _exit is all of it, so that the starting is what takes time.
TINY = """
void _start(void)
{
	__asm__(".cfi_undefined rip");
	__asm__ volatile("syscall" :: "a"(231L), "D"(0L) : "rcx", "r11", "memory");
}
"""


def compile_to(folder, name, *arguments, text=None):
    out = os.path.join(folder, name)
    subprocess.run(["cc", "-O1", "-fomit-frame-pointer", *arguments, "-o", out],
                   input=text, encoding="utf-8", check=True)
    return out


def make_libraries(folder, n):
    """Libraries that differ in their build-ids, as ever so many files do."""
    base = compile_to(folder, "base.so", "-shared", "-fPIC",
                      "-Wl,--build-id=0x" + "5ea3" * 10, "-x", "c", "-",
                      text=LIBRARY)
    with open(base, "rb") as f:
        image = f.read()
    at = image.index(bytes.fromhex("5ea3" * 10))
    for i in range(n):
        with open(os.path.join(folder, "lib%d.so" % i), "wb") as f:
            f.write(image[:at] + i.to_bytes(20, "big") + image[at + 20:])


def indices(enum_prefix):
    """name -> number, of wire.h's counts."""
    with open(os.path.join(HERE, "..", "core", "wire.h")) as f:
        names = re.findall(r"^\t(%s\w+)(?: = 0)?,? */?\*?" % enum_prefix,
                           f.read(), re.M)
    return {name: i for i, name in enumerate(names)}


def fdinfos(pid):
    try:
        for fd in os.listdir("/proc/%d/fdinfo" % pid):
            try:
                with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                    yield dict(line.split(":", 1) for line in f if ":" in line)
            except OSError:
                pass
    except OSError:
        pass


class Watch:
    """What a recorder takes, second by second."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.rows = []
        self.counts_map = None
        self.index = indices("SEAM_COUNT_")

    def rss(self):
        """Now, at most, and of what is now its own alone: rings, tables and
        files that it has mapped are the rest."""
        with open("/proc/%d/status" % self.pid) as f:
            found = dict(line.split(":", 1) for line in f)
        return [int(found[name].split()[0]) << 10
                for name in ("VmRSS", "VmHWM", "RssAnon")]

    def maps(self):
        """id -> (type, bytes in the kernel)"""
        return {int(i["map_id"]): (int(i["map_type"]), int(i["memlock"]))
                for i in fdinfos(self.pid) if "map_id" in i}

    def find_counts(self, maps):
        for number in maps:
            shown = subprocess.run(["bpftool", "-j", "map", "show", "id",
                                    str(number)], stdout=subprocess.PIPE)
            if shown.returncode == 0 and \
                    json.loads(shown.stdout).get("name") == "cpu_states":
                return number
        return None

    def cost(self, maps):
        """Unwinds so far, and the nanoseconds that they took; None: nobody
        can tell."""
        if not shutil.which("bpftool"):
            return None
        if self.counts_map is None:
            self.counts_map = self.find_counts(maps)
        if self.counts_map is None:
            return None
        done = subprocess.run(["bpftool", "-j", "map", "dump", "id",
                               str(self.counts_map)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        if done.returncode:
            return None
        counts = [cpu["value"]["counts"] for cpu in json.loads(done.stdout)[0][
            "formatted"]["values"]]
        return tuple(sum(of_cpu[self.index["SEAM_COUNT_" + name]]
                         for of_cpu in counts)
                     for name in ("UNWINDS", "COPIES", "UNWIND_NS", "FRAMES"))

    def step(self, since):
        try:
            rss, most, own = self.rss()
        except (OSError, KeyError):
            return  # it has just ended
        maps = self.maps()
        self.rows.append((time.monotonic() - since, rss, most,
                          sum(size for _, size in maps.values()),
                          self.cost(maps), own))

    def until(self, program):
        since = time.monotonic()
        while program.poll() is None and self.process.poll() is None:
            self.step(since)
            time.sleep(1)


def slope(points):
    """Of a line through them, by least squares."""
    if len(points) < 3:
        return None
    x0 = sum(x for x, _ in points) / len(points)
    y0 = sum(y for _, y in points) / len(points)
    below = sum((x - x0) ** 2 for x, _ in points)
    return sum((x - x0) * (y - y0) for x, y in points) / below


def cost_between(first, last):
    """ns a stack that BPF made, and a frame."""
    if first is None or last is None:
        return None
    stacks = last[0] - first[0] - (last[1] - first[1])
    frames = last[3] - first[3]
    if stacks <= 0 or frames <= 0:
        return None
    return (last[2] - first[2]) / stacks, (last[2] - first[2]) / frames


def costs_of(rows):
    """ns a stack, from row to row."""
    found = [cost_between(a[4], b[4]) for a, b in zip(rows, rows[1:])]
    return sorted(cost[0] for cost in found if cost)


def is_flat(rows, quarter):
    """What a stack takes in the last quarter is nothing else than what it takes
    in the first: their middles differ by less than what each spreads, or what
    is nothing. None: nobody can tell."""
    first, last = costs_of(rows[:quarter + 1]), costs_of(rows[-1 - quarter:])
    if not first or not last:
        return None
    middle, other = (c[len(c) // 2] for c in (first, last))
    spread = max(c[3 * len(c) // 4] - c[len(c) // 4] for c in (first, last))
    return other - middle <= max(min(spread, MOST_SPREAD * middle),
                                 SPREAD * middle)


def rates_of(said):
    """Processes a second that there were, and were asked for; None: it was no
    load of processes."""
    found = re.search(r"([0-9.]+) a second of ([0-9.]+) asked for", said)
    return found and (float(found[1]), float(found[2]))


def is_fast(said, alone):
    """alone: what such a load says that nobody records; None: it was not run,
    as it is not where the machine starts what is asked for."""
    rate, asked = rates_of(said)
    if rate >= ALL_ASKED * asked:
        return True
    return alone and rate >= MOST_OF_ALONE * rates_of(alone)[0]


def is_good(verdicts, seconds):
    """verdicts: what -> whether it holds, None: nobody can tell."""
    return all(verdicts.values()) if seconds >= TOLD_AFTER_S else \
        False not in verdicts.values()


def mib(n):
    return "unknown" if n is None else "%.1f MiB" % (n / (1 << 20))


def report(name, said, alone, seconds, watch, summary):
    rows, quarter = watch.rows, max(1, len(watch.rows) // 4)
    half = rows[len(rows) // 2:]
    growth = [slope([(row[0], row[column]) for row in half])
              for column in (1, 5)]
    ends = {code: n for code, n in summary["end"].items() if n}
    lost = {place: n for place, n in summary["lost"].items() if n}
    wanted = summary["wanted"]
    print("## %s\n" % name)
    print("* load: %s; recorded for %.0f s" % (said, rows[-1][0]))
    if alone:
        print("* when nobody recorded: %s" % alone)
    print("* samples %d, of which wanted %d: %s" % (
        summary["samples"], wanted, ends))
    print("* whole %.2f %%; the sum of the end codes %s" % (
        100 * ends.get("outermost", 0) / max(1, wanted),
        "is wanted" if sum(n for c, n in ends.items() if c != "no-user") ==
        wanted else "IS NOT WANTED"))
    print("* lost: %s" % (lost or "nothing"))
    known = summary["samples"] + summary["own"] + summary["excluded"] + \
        summary["lost"]["samples"]
    print("* the events fired %d times in its tasks, of which are known: %d" % (
        summary["watched"], known))
    print("* recorder: at most %s, of its own %s; in the second half it grew "
          "by %s a minute, of its own by %s" % (
              mib(rows[-1][2]), mib(max(r[5] for r in rows)),
              *(mib(None if g is None else g * 60) for g in growth)))
    print("* files kept to unwind copies: %d, at most %s of them" % (
        summary["images"], mib(summary["image_bytes_max"])))
    print("* kernel: maps %s, at most %s, and tables at most %s" % (
        mib(rows[-1][3]), mib(max(r[3] for r in rows)),
        mib(summary["table_bytes_max"])))
    costs = [cost_between(rows[0][4], rows[quarter][4]),
             cost_between(rows[-1 - quarter][4], rows[-1][4])]
    if None in costs:
        print("* cost: unknown (bpftool, or no stacks)")
    else:
        print("* a stack: %.0f ns in the first quarter, %.0f in the last; "
              "a frame %.0f and %.0f" % (costs[0][0], costs[1][0],
                                         costs[0][1], costs[1][1]))
    verdicts = {
        "each sample that was wanted has an end": sum(
            n for c, n in ends.items() if c != "no-user") == wanted,
        # Those that are just being counted.
        "each event is known": abs(summary["watched"] - known) <= 2,
        "the recorder takes %s at most" % mib(MOST_RSS):
            rows[-1][2] <= MOST_RSS,
        "of its own it grows no more": None
            if growth[1] is None or rows[-1][0] < JUDGED_AFTER_S
            else growth[1] * 60 <= MOST_GROWTH,
        "maps are within %s, tables within %s" % (
            mib(MOST_MAPS), mib(MOST_TABLES)):
            max(r[3] for r in rows) <= MOST_MAPS and
            summary["table_bytes_max"] <= MOST_TABLES,
        "a stack costs in the end what it did": is_flat(rows, quarter)}
    if rates_of(said):
        verdicts["as many processes as asked for, or %.0f %% of those without "
                 "a recorder" % (100 * MOST_OF_ALONE)] = is_fast(said, alone)
    for what, holds in verdicts.items():
        print("* %s: %s" % ({True: "holds", False: "DOES NOT HOLD",
                             None: "unknown"}[holds], what))
    print()
    sys.stdout.flush()
    return is_good(verdicts, seconds)


def run_alone(command):
    """What a load says that nobody records. For a shorter time: its seconds
    are behind what it is to do so often a second."""
    command = list(command)
    command[3] = str(min(float(command[3]), ALONE_S))
    done = subprocess.run(command, input="\n", stdout=subprocess.PIPE,
                          encoding="utf-8")
    return None if done.returncode else done.stdout.strip()


def measure(args, name, command):
    data = os.path.join(args.folder, name + ".data")
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(args.folder, "cache"))
    with open(data + ".log", "w") as log:
        program = subprocess.Popen(command, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, encoding="utf-8")
        recorder = subprocess.Popen(
            [args.seam, "record", "-o", data, "--json-summary",
             data + ".json", "-e", "cpu-clock", "-F", str(args.freq), "-p",
             str(program.pid)], stderr=log, env=env)
        while recorder.poll() is None and not livetest.polls(recorder.pid):
            time.sleep(0.05)
        program.stdin.write("\n")
        program.stdin.flush()
        watch = Watch(recorder)
        watch.until(program)
    said = program.communicate()[0].strip()
    recorder.terminate() # if it has not seen the end
    if recorder.wait() or program.returncode:
        with open(data + ".log") as log:
            print("%s: seam ended with %d, the load with %s\n%s" % (
                name, recorder.returncode, program.returncode, log.read()))
        return False
    with open(data + ".json") as f:
        summary = json.load(f)
    os.unlink(data)
    rates = rates_of(said)
    slow = rates and rates[0] < ALL_ASKED * rates[1]
    return report(name, said, run_alone(command) if slow else None,
                  args.seconds, watch, summary)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seam", default="build/seam")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--freq", type=int, default=4999)
    parser.add_argument("--threads", type=int, default=10000)
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--libraries", type=int, default=2000)
    parser.add_argument("--only", help="threads, processes or libraries")
    args = parser.parse_args()
    if os.geteuid():
        print("scale: recording with BPF needs root")
        return 77
    args.folder = tempfile.mkdtemp(prefix="seam-scale-")
    try:
        loads = compile_to(args.folder, "loads",
                           os.path.join(HERE, "scale-loads.c"), "-pthread",
                           "-ldl")
        tiny = compile_to(args.folder, "tiny", "-nostdlib", "-static", "-x",
                          "c", "-", text=TINY)
        make_libraries(args.folder, args.libraries)
        every = {
            "threads": ["threads", args.threads],
            "processes": ["processes", args.processes],
            "libraries": ["libraries", args.folder, args.libraries]}
        good = True
        for name, (kind, *rest) in every.items():
            if args.only in (None, name):
                last = [tiny] if kind == "processes" else []
                good &= measure(args, name, list(map(str, [
                    loads, kind, *rest, args.seconds, *last])))
        return not good
    finally:
        shutil.rmtree(args.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
