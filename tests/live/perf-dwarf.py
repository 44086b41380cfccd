#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: of a recording that `perf record --call-graph dwarf` makes here
and now, every stack that script calls whole is the program's known path, and
nearly all are; and where perf's own script comes to main it finds the same
functions on the way, frame by frame.
"""

import json
import os
import shutil
import subprocess
import sys

import livetest


def perf(bench, *command):
    return subprocess.run(command, env=dict(bench.env, LC_ALL="C",
                                            DEBUGINFOD_URLS=""),
                          encoding="utf-8", errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def ours(bench, data):
    """{(tid, us): (functions, leaf first, and the end code)}"""
    done = perf(bench, bench.seam, "script", "--format", "json",
                "--no-inline", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    result = {}
    for sample in map(json.loads, done.stdout.splitlines()):
        result[sample["tid"], sample["time_ns"] // 1000] = (
            livetest.user_path(sample)[::-1], sample["end"])
    return result


def theirs(bench, tool, data):
    """The same without an end; what is in the kernel is left out."""
    done = perf(bench, tool, "script", "--no-inline", "-F",
                "tid,time,ip,sym", "--max-stack", "4096", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    result = {}
    for block in done.stdout.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if not lines:
            continue
        tid, time = lines[0].split()[:2]
        seconds, micros = time.rstrip(":").split(".")
        user = [line.split() for line in lines[1:]]
        user = [words for words in user if not int(words[0], 16) >> 63]
        result[int(tid), int(seconds) * 1000000 + int(micros)] = [
            words[1].split("@")[0].split("+")[0] for words in user]
    return result


def known(stacks):
    """Samples of the program's own functions: right ones, such as say that
    they are not whole, and wrong ones."""
    good, short, bad = 0, 0, []
    for names, end in stacks.values():
        if not set(names) & set(livetest.SPIN_PATH):
            continue
        if end != "outermost":
            short += 1
        elif livetest.is_spin(names):
            good += 1
        else:
            bad.append(names)
    return good, short, bad[:3]


def differing(mine, other):
    """Stacks that perf has whole and that differ; how many were compared."""
    n, bad = 0, []
    for key, names in other.items():
        if "main" not in names or key not in mine:
            continue
        n += 1
        own, way = mine[key][0], names[:names.index("main") + 1]
        if way != own[:len(way)]:
            bad.append((key, names, own))
    return n, bad


def compare(bench, tool, title):
    data = bench.path("dwarf.data")
    program = bench.compile(livetest.SPIN, "spin")
    done = perf(bench, tool, "record", "-e", "cpu-clock", "-F", "499",
                "--call-graph", "dwarf,8192", "-o", data, "--", program,
                "500")
    if not os.path.exists(data):
        bench.skip(title, "it does not record here: " +
                   done.stderr.strip().replace("\n", " ")[:200])
        return
    mine = ours(bench, data)
    good, short, bad = known(mine)
    bench.test("%s: every stack has the known path" % title,
               good and not bad and short <= 0.1 * good,
               "%d are right, %d not whole; wrong: %s" % (good, short, bad))
    compared, bad = differing(mine, theirs(bench, tool, data))
    bench.test("%s: the same frames as perf's script" % title,
               compared and len(bad) <= 0.05 * compared,
               "%d compared; other: %s" % (compared, bad[:3]))
    os.unlink(data)


def this_perf(bench):
    tool = shutil.which("perf")
    if not tool:
        bench.skip("this machine's perf", "it is not installed")
        return
    compare(bench, tool, "this machine's perf")


def newer_perf(bench):
    tool = livetest.newer_perf()
    if not tool:
        bench.skip("perf 7.3.4", "it was not fetched: make peers")
        return
    compare(bench, tool, "perf 7.3.4")


sys.exit(livetest.main(this_perf, newer_perf))
