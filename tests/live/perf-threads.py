#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the folder that `perf record --threads` writes here and now, a
file for each CPU, compressed or not, is read as perf reads it: the same
samples, with copies of stacks the known path, and with the kernel's own
deferral, whose records may lie in another CPU's file, the same addresses.
"""

import os
import shutil
import sys

import livetest
from perfscript import (addresses, differing, known, our_addresses, ours, perf,
                        theirs)

CPUS = sorted(os.sched_getaffinity(0))
KIND = {False: "plain", True: "compressed"}
COMPRESSED = (81, 83)
SAMPLE = 9


def record(bench, tool, graph, zstd):
    """A folder, of programs on the first and the last CPU; or None, and why."""
    program = bench.path("spin")
    if not os.path.exists(program):
        bench.compile(livetest.SPIN, "spin", "-fno-omit-frame-pointer")
    data = bench.path("threads-" + KIND[zstd] + graph[:2])
    done = perf(bench, tool, "record", "--threads", *["-z"] * zstd,
                "-e", "cpu-clock", "-F", "499", "--call-graph", graph,
                "-o", data, "--", "sh", "-c",
                "taskset -c %d %s 400 & taskset -c %d %s 400; wait" %
                (CPUS[0], program, CPUS[-1], program))
    if os.path.isdir(data):
        return data, ""
    return None, done.stderr.strip().replace("\n", " ")[:200]


def types(path):
    """Of a file of the folder that has records alone."""
    with open(path, "rb") as f:
        data = f.read()
    at, found = 0, []
    while at < len(data):
        found.append(int.from_bytes(data[at:at + 4], "little"))
        at += int.from_bytes(data[at + 6:at + 8], "little")
    return found


def files_with(data, *kinds):
    """How many of its files have records of these types."""
    return sum(bool(set(kinds) & set(types(os.path.join(data, name))))
               for name in os.listdir(data) if name.startswith("data."))


def copies(bench, tool, zstd):
    title = "copies of stacks, " + KIND[zstd]
    data, why = record(bench, tool, "dwarf,8192", zstd)
    if not data:
        bench.skip(title, "it does not record here: " + why)
        return
    bench.test(title + ": they lie in a file for each CPU",
               files_with(data, *(COMPRESSED if zstd else [SAMPLE])) >=
               min(len(CPUS), 2),
               os.listdir(data))
    mine, other = ours(bench, data), theirs(bench, tool, data)
    bench.test(title + ": the same samples", set(mine) == set(other),
               "%d and %d" % (len(mine), len(other)))
    good, short, bad = known(mine)
    bench.test(title + ": every stack has the known path",
               good > 100 and not bad and short <= 0.1 * good,
               "%d are right, %d not whole; wrong: %s" % (good, short, bad))
    compared, bad = differing(mine, other)
    bench.test(title + ": the same frames as perf's script",
               compared and len(bad) <= 0.05 * compared,
               "%d compared; other: %s" % (compared, bad[:3]))
    shutil.rmtree(data)


def is_cookie(ip):
    """No address: a counter above, a CPU's number below."""
    return ip >> 32 and ip & 0xffffffff <= os.cpu_count()


def same(mine, other):
    """perf leaves a sample that comes behind its record with the cookie."""
    return mine == other or (other and is_cookie(other[-1]) and
                             mine[:len(other) - 1] == other[:-1] and
                             not is_cookie(mine[-1]))


def deferred(bench, tool, zstd):
    title = "the kernel's deferral, " + KIND[zstd]
    data, why = record(bench, tool, "fp,defer", zstd)
    if not data:
        bench.skip(title, "it does not record here: " + why)
        return
    mine, said = our_addresses(bench, data)
    other = addresses(bench, tool, data)
    bench.test(title + ": the same samples", set(mine) == set(other),
               "%d and %d" % (len(mine), len(other)))
    bad = [(key, mine[key], other[key]) for key in mine
           if key in other and not same(mine[key], other[key])]
    bench.test(title + ": the same addresses", len(mine) > 100 and not bad,
               bad[:3])
    bench.test(title + ": nothing is damaged", "offset" not in said, said)
    shutil.rmtree(data)


def each(check):
    def run(bench):
        tool = livetest.newer_perf()
        if not tool:
            bench.skip("perf 7.3.4", "it was not fetched: make peers")
            return
        for zstd in (False, True):
            check(bench, tool, zstd)
    run.__name__ = check.__name__
    return run


sys.exit(livetest.main(each(copies), each(deferred)))
