#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Gives another tracer's events the user stacks that seam took beside it.

    seam record --stacks-only -e raw_syscalls:sys_enter -o stacks.data -a &
    trace-cmd record -C mono -e raw_syscalls:sys_enter sleep 1; kill %1; wait
    trace-cmd report -t | examples/join-stacks.py --from trace-cmd stacks.data

    seam record --stacks-only -e raw_syscalls:sys_enter -o stacks.data -a &
    bpftrace -e 'tracepoint:raw_syscalls:sys_enter
                 { printf("%llu %d %d\\n", nsecs, tid, args->id); }' >events
    kill %1; wait                   # once Ctrl-C has ended bpftrace
    examples/join-stacks.py --from bpftrace stacks.data <events

    lttng add-context -k -t tid     # of user space: -u -t vtid
    babeltrace2 --clock-cycles TRACE |
        examples/join-stacks.py --from lttng stacks.data

A recording can be read when it has ended, which wait waits for. Both must be
asked for the same events, and stamp them by CLOCK_MONOTONIC. An event is of the
stay in the kernel whose stack it is given if its thread is the same, and its time
between the first request of the stack and the unwind.

LTTng's tracepoints in programs are passed in user mode, where nobody asks for a
stack. So seam is to ask on the way there, at a uprobe on the function that such a
tracepoint PROVIDER:NAME calls:

    seam record --stacks-only -p PID -o stacks.data \\
        -e uprobe:PROGRAM:lttng_ust__event_probe__PROVIDER___NAME

There an event has the last stack of its thread that was asked for before it, if
no other event has that, and not long before. LTTng knows threads by the numbers
that they have in their own PID namespace; seam, by those of the machine.
"""

import argparse
import bisect
import collections
import json
import re
import subprocess
import sys

# How a tool prints a thread and a time, and what of these is a second.
FORMATS = {
    # comm-123 [000] 12.000000345: event: ...
    "trace-cmd": (r"^.*?-(?P<tid>\d+)\s+\[\d+\]\s+(?:[^\s\d]\S*\s+)?"
                  r"(?P<time>\d+\.\d+):", 1),
    # 12000000345 123 ...
    "bpftrace": (r"^(?P<time>\d+)\s+(?P<tid>\d+)\b", 10 ** 9),
    # [00012000000345] (+0001) host event: { cpu_id = 0 }, { vtid = 123 }, ...
    "lttng": (r"^\[(?P<time>\d+)\].*?[{ ](?P<user>v?)tid = (?P<tid>\d+)",
              10 ** 9),
}


class Stay:
    """One stay of a thread in the kernel: its times, and its stack."""

    def __init__(self):
        self.first_ns = self.last_ns = 0
        self.frames = []
        self.end = None
        self.is_given = False


def read_stays(seam, recording):
    """By thread, in order of time: (times of first requests, stays)."""
    script = subprocess.Popen(
        [seam, "script", "-i", recording, "--format", "json", "--no-inline"],
        stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    threads = collections.defaultdict(dict)
    for line in script.stdout:
        sample = json.loads(line)
        if "cookie" not in sample:
            continue
        stay = threads[sample["tid"]].setdefault(sample["cookie"], Stay())
        first_ns = sample["time_ns"]
        stay.first_ns = min(stay.first_ns or first_ns, first_ns)
        stay.last_ns = max(sample.get("stack_ns", first_ns), stay.last_ns)
        stay.end = sample.get("end")
        stay.frames = [f for f in sample["frames"] if not f["kernel"]]
    if script.wait():
        sys.exit("join-stacks.py: %s script failed" % seam)
    for tid, stays in threads.items():
        stays = sorted(stays.values(), key=lambda stay: stay.first_ns)
        threads[tid] = [stay.first_ns for stay in stays], stays
    return threads


def stay_at(threads, tid, time_ns, before_ns):
    """Of two tracers at one event, the other may come first, but not by more
    than before_ns."""
    firsts, stays = threads.get(tid, ((), ()))
    i = bisect.bisect_right(firsts, time_ns)
    if i and time_ns <= stays[i - 1].last_ns:
        return stays[i - 1]
    if i < len(stays) and firsts[i] - time_ns <= before_ns:
        return stays[i]
    return None


def stay_before(threads, tid, time_ns, after_ns):
    """Of an event in user mode that a uprobe comes before."""
    firsts, stays = threads.get(tid, ((), ()))
    i = bisect.bisect_right(firsts, time_ns)
    if not i or stays[i - 1].is_given or time_ns - firsts[i - 1] > after_ns:
        return None
    stays[i - 1].is_given = True
    return stays[i - 1]


def nanoseconds(text, second):
    """Without floating point, which has not as many digits."""
    whole, _, part = text.partition(".")
    return (int(whole) * 10 ** 9 + int(part.ljust(9, "0")[:9])) // second


def show(stay):
    for frame in stay.frames:
        print("\t%18s %s%s" % (frame["ip"], frame.get("sym", "[unknown]"),
                               "" if frame["reliable"] else " ?"))
    if stay.end != "outermost":
        print("\t%18s [%s]" % ("", stay.end))


def main():
    parser = argparse.ArgumentParser(
        description="Prints the events of another tracer, read from standard "
        "input, each with its user stack.")
    parser.add_argument("recording", help="of seam record --stacks-only")
    parser.add_argument("--from", dest="tool", choices=sorted(FORMATS),
                        required=True, help="the tool that printed the events")
    parser.add_argument("--before", type=int, default=50, metavar="US",
                        help="by how much seam's request may come after the "
                        "event that it is of (%(default)s)")
    parser.add_argument("--after", type=int, default=10000, metavar="US",
                        help="by how much an event in user mode may come "
                        "after the request (%(default)s)")
    parser.add_argument("--seam", default="seam", help="the command")
    args = parser.parse_args()
    pattern, second = FORMATS[args.tool]
    threads = read_stays(args.seam, args.recording)
    count = collections.Counter()
    for line in sys.stdin:
        sys.stdout.write(line)
        event = re.match(pattern, line)
        if not event:
            count["lines without a thread and a time"] += 1
            continue
        at = int(event["tid"]), nanoseconds(event["time"], second)
        if event.groupdict().get("user"):
            stay = stay_before(threads, *at, args.after * 1000)
        else:
            stay = stay_at(threads, *at, args.before * 1000)
        count["events with a stack" if stay else
              "events of which no stack was asked for"] += 1
        if stay:
            show(stay)
    print("join-stacks.py: " + ", ".join(
        "%d %s" % (n, what) for what, n in count.items()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.stderr.close()
