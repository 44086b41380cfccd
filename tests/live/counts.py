#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the closing summary adds up, and is what the file says.

Recorded: a shell that starts short processes (exec and exit), page faults
beside the clock, the whole machine (idle and kernel threads have no user
half), and stacks cut short by --max-stack.
"""

import collections
import os
import re
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
                if summary["withheld"] else "\n") in printed and
               not summary["event_why"], printed)
    printed_as_json(bench, name, recording)


# The printed summary's lines, in their order; None: may be missing, or repeated.
LINES = [
    (r"(?P<samples>\d+) samples of \S.*; the event fired (?P<events>\d+) times, "
     r"expected (?P<expected>\d+|unknown)(, of which the kernel withheld "
     r"(?P<withheld>\d+))?(; \d+ in the mode that it excludes)?", True),
    (r"of these, in the tasks recorded: (?P<watched>\d+) times, expected "
     r"(?P<expected_watched>\d+|unknown)(, of which the kernel withheld "
     r"(?P<withheld_watched>\d+))?", None),
    (r"user stacks: (?P<wanted>\d+) wanted(, (?P<whole>\d+) complete "
     r"\((?P<share>[0-9.]+)%\)(?P<ends>(, \d+ [a-z-]+)*))?"
     r"(; (?P<no_user>\d+) samples want none)?", True),
    (r"(?P<unwinds>\d+) unwinds, (?P<stacks>\d+) served samples: "
     r"(?P<each>[0-9.]+) each, (?P<most>\d+) at most; (?P<copies>\d+) by the "
     r"library from [0-9.]+ MiB of copies", True),
    (r"(?P<again>\d+) of the unwinds again, .*", None),
    (r"shared with (no )?other recording.*", None),
    (r"\d+ sections of code made at run time.*", None),
    (r"lost:(?P<lost>.*)", True),
    (r"refused: .*", None),
    (r"engine (?P<engine>[a-z]+)( \(.*\))?(, (?P<ns>\d+) ns a frame)?, [0-9.]+ "
     r"frames a stack; \d+ tables, [0-9.]+ MiB(, \d+ taken out for the "
     r"budget)?", True),
    (r"wrote [0-9.]+ MiB to \S+", True),
]


def in_order(log):
    """What each line says, by name, or a line that is not where it belongs."""
    found, at = {}, 0
    for line in log.splitlines():
        text = line.removeprefix("seam: ")
        while at < len(LINES):
            match = re.fullmatch(LINES[at][0], text)
            if match or LINES[at][1]:
                break
            at += 1
        if at == len(LINES) or not match or text == line:
            return None, line
        found.update(match.groupdict())
        at += bool(LINES[at][1])
    return (found, None) if at == len(LINES) else (None, "it ends early")


def said_in_tasks(found, summary):
    """How often the event fired in the tasks recorded, beside how often it
    must have, as the JSON has it; nothing where the machine has no others."""
    pairs = [("watched", "events"), ("expected_watched", "expected"),
             ("withheld_watched", "withheld")]
    if "watched" not in found:
        return [summary[mine] == summary[all_] for mine, all_ in pairs]
    expected = summary["expected_watched"]
    return [int(found["watched"]) == summary["watched"],
            found["expected_watched"] == (
                "unknown" if expected is None else str(expected)),
            int(found["withheld_watched"] or 0) ==
            summary["withheld_watched"],
            any(summary[mine] != summary[all_] for mine, all_ in pairs)]


def printed_as_json(bench, name, recording):
    """Samples; stacks wanted, whole and with each other end; unwinds, and what
    they served; the lost, by place; the engine and its time for a frame."""
    summary = recording.summary
    found, wrong = in_order(recording.log)
    if not bench.test(name + ": the summary's lines are in order", found,
                      "%s\n%s" % (wrong, recording.log)):
        return
    numbers = {key: int(found[key] or 0) for key in (
        "samples", "events", "withheld", "wanted", "unwinds", "stacks", "most",
        "copies")}
    bench.test(name + ": their numbers are the JSON's", numbers == {
        key: summary[{"most": "served_most"}.get(key, key)]
        for key in numbers}, "%s\n%s" % (numbers, recording.log))
    bench.test(name + ": what fired in its tasks is said beside it",
               all(said_in_tasks(found, summary)), recording.log)
    ends = {code: n for code, n in summary["end"].items()
            if n and code not in ("outermost", "no-user")}
    told = {code: int(n) for n, code in re.findall(
        r", (\d+) ([a-z-]+)", found["ends"] or "")}
    whole, wanted = summary["end"]["outermost"], summary["wanted"]
    bench.test(name + ": whole stacks, their share, and each other end",
               told == ends and int(found["no_user"] or 0) ==
               summary["end"]["no-user"] and (
                   found["whole"] is None if not wanted else
                   int(found["whole"]) == whole and
                   abs(float(found["share"]) - 100 * whole / wanted) < 0.01),
               recording.log)
    lost = sorted(n for n in summary["lost"].values() if n)
    bench.test(name + ": what was lost, by place", sorted(
        map(int, re.findall(r"(?:^|, )(\d+) ", found["lost"].strip()))) ==
               lost and bool(lost) == (found["lost"] != " nothing"),
               recording.log)
    ns = summary["ns_per_frame"]
    bench.test(name + ": samples of an unwind, and ns a frame",
               abs(float(found["each"]) - summary["served_per_unwind"]) <=
               0.006 and found["engine"] == summary["engine"] and
               (found["ns"] is None if not ns else
                abs(int(found["ns"]) - ns) <= 0.51), recording.log)


def nothing(bench):
    """A share of nothing is no praise."""
    recording = bench.record("-e", "page-faults", "-c", "1000000", "--", "true")
    bench.test("of nothing nothing is whole",
               "seam: user stacks: 0 wanted\n" in recording.log and
               recording.summary["wanted"] == 0, recording.log)
    printed_as_json(bench, "nothing", recording)


def usual(bench):
    """Without -e, what was chosen and why."""
    recording = bench.record("-F", "999", "--", "bash", "-c", SHELL)
    why = recording.summary["event_why"]
    bench.test("no event was asked for: which it is, and why", (
        recording.summary["event"] == "cpu-clock" and why and
        " samples of cpu-clock (%s); " % why in recording.log) or (
            recording.summary["event"] == "cycles" and not why and
            " samples of cycles;" in recording.log), recording.log)
    printed_as_json(bench, "no event was asked for", recording)


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
    # The recorder may be held between the one and the other.
    bench.timely("tracepoints end with the other events",
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
    sys.exit(livetest.main(shell, nothing, usual, two_events, machine,
                           short))
