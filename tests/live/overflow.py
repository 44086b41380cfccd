#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: who counts events in a thread has every overflow's signal and
the exact count while seam samples the same thread, by the same event and by
a fast clock: seam's own programs take no overflow away from others.
"""

import sys

import livetest


def recorded(bench, what, *options):
    """The program is the library's own test, which counts."""
    said = bench.path("said")
    with open(said, "w") as out:
        recording = bench.record(*options, "--", bench.args.counts, stdout=out)
    bench.test(what + ": recorded", recording.summary and
               recording.summary["samples"] > 1000, recording.log)
    with open(said) as out:
        bench.test(what + ": no overflow is missed", recording.status == 0,
                   out.read() + recording.log)


def same_event(bench):
    recorded(bench, "each page fault", "-e", "page-faults", "-c", "1")


def clock(bench):
    recorded(bench, "a clock at 20 kHz", "-e", "cpu-clock", "-F", "20000")


if __name__ == "__main__":
    sys.exit(livetest.main(
        same_event, clock, programs=lambda bench: None,
        tools=(("--counts", "build/tests/unit/test-overflow"),), only={
            "a full ring keeps fewer samples beside copies, perf's own too":
                ("deferred immediate", (same_event,))}))
