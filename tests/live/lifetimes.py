#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tasks that begin and end all the time, under numbers that are
used again at once: every stack is whole, and of the task that it is said to
be of.
"""

import collections
import sys

import livetest
import spelling

OFTEN = ["-e", "cpu-clock", "-F", "20000", "-e", "raw_syscalls:sys_enter"]


def whole(bench, name, recording, samples):
    """All of them, or the stack was counted as lost."""
    lost = recording.summary["lost"]
    ends = collections.Counter(s["end"] for s in samples)
    bench.note("%s: %s; lost %s" % (name, dict(ends), {
        k: n for k, n in lost.items() if n}))
    short = [s for s in samples if s["end"] != "outermost"]
    counted = sum(lost[k] for k in ("stacks", "copies", "elements",
                                    "scratch"))
    bench.test(name + ": every stack is whole, or its loss was counted",
               samples and len({s.get("cookie") for s in short}) <= counted,
               "%s\n%s" % (ends, "\n".join(map(livetest.show, short[:5]))))


def threads(bench):
    program, log = spelling.build(bench, "threads", 6, 1), bench.path("log")
    recording = bench.record(*OFTEN, "--", program, log, "1")
    if not bench.test("threads: recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return
    samples = recording.samples()
    whole(bench, "threads", recording, samples)
    spelling.hold(bench, "threads", samples, log)


if __name__ == "__main__":
    sys.exit(livetest.main(threads))
