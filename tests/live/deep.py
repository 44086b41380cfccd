#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: without --max-stack nothing limits a stack but the record of
64 KiB: 8,184 frames of it are there, and a deeper one says that it is cut.
"""

import sys

import livetest

SOURCE = r"""
#include <stdlib.h>
#include <time.h>
#define STAY() __asm__ volatile("" ::: "memory")
""" + livetest.CPU_MS + r"""
void burn(void)
{
	long end = cpu_ms() + 1000;
	while (cpu_ms() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}
void down(int n)
{
	if (n > 1) down(n - 1); else burn();
	STAY();
}
int main(int argc, char **argv) { down(argc > 1 ? atoi(argv[1]) : 1); return 0; }
"""

MOST = 8184


def programs(bench):
    bench.compile(SOURCE, "deep")


def depths(bench, what, calls, judge, *options, event="cpu-clock"):
    recording = bench.record("-e", event, "-F", "199", *options, "--",
                             bench.compile(SOURCE, "deep"), str(calls))
    if not bench.test(what + ": recorded", recording.status == 0,
                      recording.log):
        return
    # A copy, where a table was missing yet, has no room for them; and a tick may
    # come on the way down or up.
    deep = [s for s in recording.samples() if
            s["end"] in ("outermost", "max-stack") and
            "burn" in livetest.user_path(s) and
            livetest.user_path(s).count("down") > 1000]
    bad = [s for s in deep if not judge(s, livetest.user_path(s))]
    bench.note("%s: %d stacks" % (what, len(deep)))
    bench.test(what + ": so deep is each", len(deep) > 20 and not bad,
               "%d, of %d with %s" % (
                   len(bad), len(deep), [(s["end"], len(
                       livetest.user_path(s))) for s in bad[:5]]))


def whole(bench):
    depths(bench, "6,000 calls", 6000, lambda s, path: (
        s["end"] == "outermost" and path.count("down") == 6000))


def cut(bench):
    depths(bench, "9,000 calls", 9000, lambda s, path: (
        s["end"] == "max-stack" and len(path) == MOST and
        path[0] == "down"))


def unlimited(bench):
    """0 is no limit, of all events and of one."""
    depths(bench, "--max-stack 0", 6000, lambda s, path: (
        s["end"] == "outermost" and path.count("down") == 6000),
        "--max-stack", "0")


def unlimited_event(bench):
    depths(bench, "/max-stack=0/", 6000, lambda s, path: (
        s["end"] == "outermost" and path.count("down") == 6000),
        "--max-stack", "100", event="cpu-clock/max-stack=0/")


def asked(bench):
    depths(bench, "as many as are asked for", 9000, lambda s, path: (
        s["end"] == "max-stack" and len(path) == 5000),
        "--max-stack", "5000")


if __name__ == "__main__":
    TESTS = (whole, cut, unlimited, unlimited_event, asked)
    sys.exit(livetest.main(*TESTS, programs=programs, only={
        "the kernel's side has no other limit":
            ("deferred immediate", TESTS)}))
