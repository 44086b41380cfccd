#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: of a recording that `perf record --call-graph dwarf` makes here
and now, every stack that script calls whole is the program's known path, and
nearly all are; and where perf's own script comes to main it finds the same
functions on the way, frame by frame.
"""

import os
import shutil
import sys

import livetest
from perfscript import differing, known, ours, perf, theirs


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
