#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the page of the old vsyscalls. Nothing runs there: its call is
a page fault, at which the kernel does what was asked and returns to the
caller. Every event on the way has the whole stack.
"""

import sys

import account
import livetest

SOURCE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#define STAY() __asm__ volatile("" ::: "memory")
""" + livetest.CPU_MS + r"""
typedef long (*call_fn)(void *, void *, void *);
#define PAGE 0xffffffffff600000
__attribute__((noipa)) void ask_day(void)
{
	struct timeval tv;
	((call_fn)PAGE)(&tv, NULL, NULL); STAY();
}
__attribute__((noipa)) void ask_time(void)
{
	time_t t;
	((call_fn)(PAGE + 0x400))(&t, NULL, NULL); STAY();
}
__attribute__((noipa)) void ask_cpu(void)
{
	unsigned cpu, node;
	((call_fn)(PAGE + 0x800))(&cpu, &node, NULL); STAY();
}
int main(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[256];
	int is_there = 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "ffffffffff600000", 16)) is_there = 1;
	if (!is_there) return 77;
	while (cpu_ms() < 700)
		for (int i = 0; i < 100; i++) { ask_day(); ask_time(); ask_cpu(); }
	return 0;
}
"""
PLACES = {"ask_day": 0xffffffffff600000, "ask_time": 0xffffffffff600400,
          "ask_cpu": 0xffffffffff600800}


def is_inside(frame):
    return int(frame["ip"], 16) >> 12 == 0xffffffffff600


def is_half_way(sample):
    """In the return itself, of which dump has the registers of just then."""
    return sample["end"] in ("no-table", "unsure") and any(
        f.get("sym") == "emulate_vsyscall"
        for f in livetest.kernel_frames(sample))


def hold(bench, name, recording):
    samples = recording.samples()
    account.exact(bench, name, recording, samples)
    mine = [s for s in samples if s["comm"] == "vsyscall"]
    if name == "dump": # of the rest not every stack is whole
        mine = [s for s in mine if any(map(is_inside, s["frames"])) and
                not is_half_way(s)]
    inside = {ask: 0 for ask in PLACES}
    wrong = [s for s in mine if s["end"] != "outermost"]
    for sample in mine:
        path, frames = livetest.user_path(sample), livetest.user_frames(sample)
        at = [i for i, f in enumerate(frames) if is_inside(f)]
        asks = [i for i, n in enumerate(path) if n in PLACES]
        # What asks is called by main, and the page by it, at its place.
        if asks and (len(asks) > 1 or path[asks[0] - 1] != "main") or \
                at and (at != [len(path) - 1] or asks != [at[0] - 1] or
                        int(frames[-1]["ip"], 16) != PLACES[path[-2]]):
            wrong.append(sample)
        elif at:
            inside[path[-2]] += 1
    bench.note("%s: in the page %s" % (name, inside))
    bench.test(name + ": every stack is whole, through who asks",
               not wrong and mine,
               "\n".join(map(livetest.show, wrong[:5])))
    bench.test(name + ": samples of all three calls",
               min(inside.values()) > 50, inside)


def programs(bench):
    return bench.compile(SOURCE, "vsyscall")


def vsyscall(bench):
    program = programs(bench)
    for name, engine in ("deferred", []), ("dump", ["--engine", "dump"]):
        recording = bench.record("-e", "page-faults", "-F", "4999", "-e",
                                 "cpu-clock", *engine, "--", program)
        if recording.status == 77:
            bench.skip(name, "this kernel has no such page")
        elif bench.test(name + ": recorded", recording.status == 0 and
                        recording.summary, recording.log):
            hold(bench, name, recording)


if __name__ == "__main__":
    sys.exit(livetest.main(vsyscall, programs=programs, of="deferred"))
