#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the closing summary adds up, and is what the file says.

Recorded: a shell that starts short processes (exec and exit), page faults
beside the clock, the whole machine (idle and kernel threads have no user
half), and stacks cut short by --max-stack.
"""

import collections
import os
import sys

import livetest

SHELL = "for ((i = 0; i < 400; i++)); do /bin/true; done"


def hold(bench, name, recording, *wanted_codes, told=True, gap=0.01):
    """The rules that every summary and its file keep. told: the events'
    own counts say how many samples there must be."""
    if not bench.test(name + ": recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return
    summary, samples = recording.summary, recording.samples()
    ends = {code: n for code, n in summary["end"].items() if n}
    found = collections.Counter(s.get("end") for s in samples)
    bench.note("%s: %d samples, %s" % (name, summary["samples"], ends))
    bench.test(name + ": as many samples in the file as in the summary",
               len(samples) == summary["samples"] > 0,
               "%d in the file, %d in the summary" % (
                   len(samples), summary["samples"]))
    bench.test(name + ": wanted is the sum of the end codes but no-user",
               summary["wanted"] == sum(
                   n for code, n in ends.items() if code != "no-user"),
               "wanted %d, ends %s" % (summary["wanted"], ends))
    bench.test(name + ": wanted and no-user are all samples",
               summary["wanted"] + ends.get("no-user", 0) ==
               summary["samples"], summary)
    bench.test(name + ": each end code as often in the file",
               dict(found) == ends, "file %s, summary %s" % (
                   dict(found), ends))
    bench.test(name + ": has " + " and ".join(wanted_codes),
               all(found[code] for code in wanted_codes), dict(found))
    served = collections.Counter(s["cookie"] for s in samples if
                                 s.get("cookie") and
                                 s["end"] not in ("lost", "pending"))
    bench.test(name + ": the most samples of one stack are served_most",
               max(served.values()) == summary["served_most"],
               "%d, not %d" % (max(served.values()), summary["served_most"]))
    bench.test(name + ": as many stacks as cookies",
               len(served) == summary["stacks"],
               "%d cookies, %d stacks" % (len(served), summary["stacks"]))
    bench.test(name + (": the event's own count agrees" if told else
                       ": a count that cannot be told is not"),
               abs(summary["expected"] - summary["withheld"] -
                   summary["events"]) <=
               max(1, summary["expected"] * gap) if told else
               summary["expected"] is None,
               "events %(events)d, withheld %(withheld)d, expected "
               "%(expected)s" % summary)
    printed = recording.log
    bench.test(name + ": the printed summary says the same",
               "%d samples of" % summary["samples"] in printed and
               "%d wanted, %d complete" % (
                   summary["wanted"], ends.get("outermost", 0)) in printed and
               "expected %s" % (
                   summary["expected"] if told else "unknown") +
               (", of which the kernel withheld %(withheld)d\n" % summary
                if summary["withheld"] else "\n") in printed,
               printed)


def shell(bench):
    hold(bench, "short processes", bench.record(
        "-e", "cpu-clock", "-F", "4999", "--", "bash", "-c", SHELL),
        "outermost", gap=0.001)
    hold(bench, "the whole machine's clocks", bench.record(
        "-a", "-e", "cpu-clock", "-F", "999", "--", "bash", "-c", SHELL),
        "outermost", gap=0.001)


def two_events(bench):
    hold(bench, "two events by frequency", bench.record(
        "-e", "cpu-clock", "-e", "page-faults", "-F", "1999", "--",
        "bash", "-c", SHELL), "outermost", told=False)
    # Not switches: those of idle tasks are counted, but may make no event.
    hold(bench, "two events by count", bench.record(
        "-e", "minor-faults", "-e", "page-faults", "-c", "7", "--",
        "bash", "-c", SHELL), "outermost")


def by_two_counts(samples):
    """How often tasks but the idle ones left a CPU, as the event has it and as
    the tracepoint has, while both were on. Of an idle task's switches the
    kernel may make no event."""
    event = [s for s in samples if s["event"] == "context-switches"]
    first = min(s["time_ns"] for s in event)
    last = max(s["time_ns"] for s in event)
    point = [s for s in samples if s["event"] != "context-switches" and
             first <= s["time_ns"] <= last]
    return [sum(s["tid"] != 0 for s in found) for found in (event, point)]


def machine(bench):
    # Switches, since idle and kernel threads may have no time of their own.
    recording = bench.record(
        "-a", "-e", "context-switches", "-e", "sched:sched_switch", "-c", "1",
        "--", "bash", "-c", SHELL)
    samples = recording.samples()
    hold(bench, "the whole machine", recording, "outermost", "no-user",
         told=False)
    event, point = by_two_counts(samples)
    bench.test("the event has the tracepoint's switches, but an edge's",
               point > 100 and abs(event - point) <= 2 * os.cpu_count(),
               "%d of %d" % (event, point))
    bench.test("the summary names both events", recording.summary[
        "event_names"] == ["context-switches", "sched:sched_switch"] and
        " samples of context-switches and sched:sched_switch" in
        recording.log, recording.log)
    last = max(s["time_ns"] for s in samples if
               s["event"] == "context-switches")
    late = sum(s["time_ns"] > last for s in samples)
    bench.note("%d samples after the last context switch" % late)
    bench.test("tracepoints end with the other events",
               late <= len(samples) // 100,
               "%d of %d come after" % (late, len(samples)))
    kernel = [s for s in samples if s["end"] == "no-user"]
    bench.test("idle and kernel threads have no user half",
               any(s["tid"] for s in kernel) and not any(livetest.user_frames(s) for s in kernel) and
               all(s["end"] == "no-user" for s in samples if not s["tid"]),
               "\n".join(map(livetest.show, kernel[:5])))


def short(bench):
    recording = bench.record(
        "-e", "cpu-clock", "-F", "4999", "--max-stack", "4", "--", "bash",
        "-c", "for ((i = 0; i < 60000; i++)); do x=$((x + i)); done")
    hold(bench, "at most 4 frames", recording, "max-stack")
    deep = [s for s in recording.samples()
            if len(livetest.user_frames(s)) > 4]
    bench.test("no stack has more than --max-stack", not deep,
               "\n".join(map(livetest.show, deep[:3])))


if __name__ == "__main__":
    sys.exit(livetest.main(shell, two_events, machine, short))
