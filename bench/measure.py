# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the measurements share: running, timing, statistics, the table."""

import argparse
import ctypes
import glob
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import time

FREQ = 999
LOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "..", "tests", "loads")


class Row:
    """One line of the table: ours beside the peer's."""

    def __init__(self, what, unit, ours, peer=None, peer_name="", aim=""):
        self.what = what
        self.unit = unit
        self.ours = ours
        self.peer = peer
        self.peer_name = peer_name
        self.aim = aim

    def cells(self):
        ratio = ""
        if self.peer is not None:
            below = median(self.peer)
            ratio = "%.3g" % (median(self.ours) / below) if below else "-"
        return [self.what, spread(self.ours, self.unit),
                spread(self.peer, self.unit) if self.peer is not None else "",
                self.peer_name, ratio, self.aim]


HEAD = ["measured", "seam", "peer", "peer is", "ratio", "aim"]


def median(values):
    return statistics.median(values) if values else 0


def number(x, unit):
    if unit == "s":
        return "%.3f" % x
    return "%s" % format(round(x), ",d") if abs(x) >= 100 else "%.3g" % x


def spread(values, unit):
    """Median, and the quartiles as the spread: noise is one-sided here."""
    if len(values) < 4:
        return "%s %s" % (number(median(values), unit), unit)
    low, _, high = statistics.quantiles(values, n=4)
    return "%s %s (%s to %s)" % (number(median(values), unit), unit,
                                 number(low, unit), number(high, unit))


def reader_options(doc, rounds):
    """The options of what reads one recording, by ours and by perf."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("build")
    parser.add_argument("--perf", default=shutil.which("perf"))
    parser.add_argument("--input", help="a recording, else one is made")
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def print_table(rows):
    print("| %s |" % " | ".join(HEAD))
    print("|%s" % ("---|" * len(HEAD)))
    for row in rows:
        print("| %s |" % " | ".join(row.cells()))


def interleave(rounds, *works):
    """Calls each of works in turn, rounds times: A B A B ..., so that what
    else the machine does falls on all. Lists of results, one a work."""
    results = [[] for _ in works]
    for _ in range(rounds):
        for work, result in zip(works, results):
            result.append(work())
    return results


class Run:
    """What a command used, it and all its children."""

    def __init__(self, cpu, wall, output):
        self.cpu = cpu
        self.wall = wall
        self.output = output


class Machine:
    """Where all is run: the builds, the peer, a folder and its caches."""

    def __init__(self, build, perf, folder, pairs=()):
        self.build = os.path.abspath(build)
        self.seam = os.path.join(self.build, "seam")
        self.perf = perf
        self.folder = folder
        self.pairs = pairs
        self.loads = {}
        self.env = dict(os.environ, HOME=folder, LC_ALL="C",
                        XDG_CACHE_HOME=os.path.join(folder, "cache"))
        os.makedirs(self.env["XDG_CACHE_HOME"])

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name):
        return os.path.join(self.build, "bench", name)

    def run(self, command):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        done = subprocess.run(command, env=self.env, encoding="utf-8",
                              errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        wall = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError("%s: status %d: %s" % (
                " ".join(command), done.returncode, done.stderr))
        return Run(after.ru_utime - before.ru_utime +
                   after.ru_stime - before.ru_stime, wall, done.stderr)

    def load(self, name):
        """The command of tests/loads/NAME.sh; None if it cannot be had."""
        if name not in self.loads:
            self.loads[name] = self.prepare(name)
        return self.loads[name]

    def prepare(self, name):
        folder = self.path(name)
        script = ["sh", os.path.join(LOADS, name + ".sh")]
        env = dict(self.env, PROGS=os.path.join(self.build, "tests/progs"))
        os.mkdir(folder)
        if subprocess.run(script + ["prepare", folder], env=env).returncode:
            return None
        out = subprocess.run(script + ["command", folder], env=env,
                             stdout=subprocess.PIPE, check=True).stdout
        return [arg.decode() for arg in out.split(b"\0")[:-1]]

    def seam_command(self, command, *options):
        return [self.seam, "record", "-F", str(FREQ), "-o",
                self.path("seam.data"), "--json-summary",
                self.path("seam.json"), *options, "--", *command]

    def seam_record(self, command, *options):
        """(Run, summary)"""
        run = self.run(self.seam_command(command, *options))
        with open(self.path("seam.json")) as f:
            return run, json.load(f)

    def perf_record(self, command, *options):
        """(Run, samples, bytes)"""
        data = self.path("perf.data")
        run = self.run([self.perf, "record", "-e", "cpu-clock", "-F",
                        str(FREQ), "-o", data, *options, "--", *command])
        said = re.search(r"\((\d+) samples\)", run.output)
        return run, int(said.group(1)) if said else 0, os.path.getsize(data)

    def fp_walk(self, command):
        done = self.run([self.tool("fp-walk"), str(FREQ), *command])
        return json.loads(done.output.splitlines()[-1])


class BpfStats:
    """The kernel times BPF programs while this is open."""

    BPF = 321
    ENABLE_STATS = 32

    def __enter__(self):
        attr = (ctypes.c_uint32 * 32)()
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(
            self.BPF, self.ENABLE_STATS, attr, ctypes.sizeof(attr))
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "BPF_ENABLE_STATS")
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def program_stats(pid, prog_type):
    """(run_time_ns, run_cnt) of the process's program of a type, or None."""
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            with open(path) as f:
                info = dict(re.findall(r"^(\w+):\s*(\S+)$", f.read(), re.M))
        except OSError:
            continue
        if info.get("prog_type") == str(prog_type):
            return int(info["run_time_ns"]), int(info["run_cnt"])
    return None
