#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a program inside BPF's own system calls is sampled as well.

The kernel leaves an event's BPF program out while bpf() works on a map on
that CPU; the tick's sample is then taken at its timer.
"""

import sys

import livetest

SOURCE = r"""
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
""" + livetest.CPU_MS + r"""
static int map;

static void hammer(unsigned command)
{
	char value[64] = {0};
	union bpf_attr attr;

	for (unsigned key = 0; key < 500; key++) {
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (unsigned)map;
		attr.key = (unsigned long)&key;
		attr.value = (unsigned long)value;
		syscall(SYS_bpf, command, &attr, sizeof(attr));
	}
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_HASH;
	attr.key_size = 4;
	attr.value_size = 64;
	attr.max_entries = 500;
	map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	while (map >= 0 && cpu_ms() < 2000) {
		hammer(BPF_MAP_UPDATE_ELEM);
		hammer(BPF_MAP_DELETE_ELEM);
	}
	return map < 0;
}
"""
MOST_GAP = 0.001


def names(frames):
    return [frame.get("sym", "?") for frame in frames]


def program(bench):
    return bench.compile(SOURCE, "hammer")


def blocked(bench):
    recording = bench.record("-e", "cpu-clock", "-F", "1999", "--",
                             program(bench))
    if not bench.test("recorded", recording.status == 0, recording.log):
        return
    summary, samples = recording.summary, recording.samples()
    came = summary["watched"] + summary["withheld_watched"]
    bench.note("%(watched)d of %(expected_watched)d, withheld "
               "%(withheld_watched)d, blocked %(blocked)d" % summary)
    bench.test("ticks met BPF at work", summary["blocked"] > 0, summary)
    bench.test("no tick is missing",
               abs(summary["expected_watched"] - came) <=
               summary["expected_watched"] * MOST_GAP, summary)
    # This is the function that keeps other BPF off its CPU.
    inside = [s for s in samples if "bpf_map_update_value" in
              names(livetest.kernel_frames(s))]
    bench.test("samples lie in the map's update", inside,
               "none of %d samples" % len(samples))
    bad = [s for s in inside if "hrtimer_interrupt" in
           names(livetest.kernel_frames(s))]
    bench.test("their kernel stacks begin at what was interrupted", not bad,
               "\n".join(map(livetest.show, bad[:3])))
    bad = [s for s in inside if s["end"] != "outermost" or
           not {"main", "hammer"} <= set(livetest.user_path(s))]
    bench.test("their user stacks are whole", not bad,
               "\n".join(map(livetest.show, bad[:3])))


if __name__ == "__main__":
    sys.exit(livetest.main(blocked, programs=program, only={
        "no other runs BPF at the event": ("deferred immediate", (blocked,))}))
