#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Measures seam beside perf and the kernel's own frame-pointer walk.

    bench.py --build build --perf PERF [--rounds 11] [--only stack,event]

Each group of commands is run in turn, A B C A B C ..., and medians are
compared. Nothing passes or fails: README.md says what each figure is and
what is aimed at.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

from measure import (BpfStats, FREQ, Machine, Row, interleave, median,
                     print_table, program_stats)

FRAMES = (5, 40, 120)
DEPTHS = (4, 40, 400, 2000)
LOADS = ("python3", "cc1plus")
DWARF = ("--call-graph", "dwarf,8192")
SECONDS = "0.7"
PERF_EVENT = 7  # BPF_PROG_TYPE_PERF_EVENT


def per_stack(summary):
    """(ns, frames) of one user stack that the kernel side unwound."""
    stacks = max(summary["unwinds"] - summary["copies"], 1)
    return summary["unwind_ns"] / stacks, summary["frames"] / stacks


def per_walk(summed):
    """(ns, frames) of one walk by frame pointers."""
    samples = max(summed["samples"], 1)
    return summed["user_ns"] / samples, summed["user_frames"] / samples


def fit(points):
    """Least squares: (constant, slope) of y over x."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / \
        sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y - slope * mean_x, slope


def stack_rows(machine, rounds):
    """Time for a whole user stack, against the kernel's own walk by frame
    pointers at as many frames."""
    def seam(calls, *options):
        return per_stack(machine.seam_record(
            [machine.tool("depth-nofp"), SECONDS, str(calls), *options])[1])

    def walk(calls, *options):
        return per_walk(machine.fp_walk(
            [machine.tool("depth-fp"), SECONDS, str(calls), *options]))

    # The frames of libc that each sees besides the program's own.
    ours, theirs = (round(work(20)[1]) - 20 for work in (seam, walk))
    for caches in ("warm", "cold"):
        options = ["cold"] if caches == "cold" else []
        for frames in FRAMES:
            mine, peers = interleave(
                rounds, lambda: seam(frames - ours, *options),
                lambda: walk(frames - theirs, *options))
            yield Row("whole user stack, %d frames, %s caches" % (
                frames, caches), "ns", [ns for ns, _ in mine],
                [ns for ns, _ in peers], "frame-pointer walk",
                "<= 1" if frames == 40 else "")
    slope = frame_price(machine, rounds)
    for name in LOADS:
        yield from stack_rows_of_load(machine, rounds, name, slope)
    for pair in machine.pairs:
        yield from stack_rows_of_pair(machine, rounds, *pair)


def frame_price(machine, rounds):
    """What a walk pays for a frame of a real program's size, cold: ns."""
    walks = interleave(rounds, *(
        lambda frames=frames: per_walk(machine.fp_walk(
            [machine.tool("depth-fp-large"), SECONDS, str(frames), "cold"]))
        for frames in FRAMES))
    return fit([(median([n for _, n in w]), median([ns for ns, _ in w]))
                for w in walks])[1]


def stack_rows_of_load(machine, rounds, name, slope):
    """Beside the walk in the very same program. That ends after a frame or
    two, as the program has no frame pointers, but has then paid for all
    that a walk finds cold there; the frames it lacks are added at the price
    of one of their size in cold caches."""
    command = machine.load(name)
    if not command:
        return
    # The first finds no tables yet.
    machine.seam_record(command)
    stacks, walks = interleave(
        rounds, lambda: per_stack(machine.seam_record(command)[1]),
        lambda: per_walk(machine.fp_walk(command)))
    frames = median([n for _, n in stacks])
    walked = median([n for _, n in walks])
    yield Row("whole user stack, %s, %.1f frames" % (name, frames), "ns",
              [ns for ns, _ in stacks],
              [ns + slope * (frames - n) for ns, n in walks],
              "frame-pointer walk: %.1f frames there, then %.1f ns each" % (
                  walked, slope),
              "<= 1" if name == "cc1plus" else "")


def stack_rows_of_pair(machine, rounds, name, without, having):
    """A load's program in two builds: each is seen in its own."""
    rest = machine.load(name)[1:]
    machine.seam_record([without, *rest])
    stacks, walks = interleave(
        rounds, lambda: per_stack(machine.seam_record([without, *rest])[1]),
        lambda: per_walk(machine.fp_walk([having, *rest])))
    yield Row("whole user stack, %s built twice, %.1f frames" % (
        name, median([n for _, n in stacks])), "ns",
              [ns for ns, _ in stacks], [ns for ns, _ in walks],
              "frame-pointer walk, built with them: %.1f frames" % median(
                  [n for _, n in walks]),
              "<= 1" if name == "cc1plus" else "")


def event_ns(machine, command, *options):
    """Mean time of one run of seam's event program."""
    stats = None
    process = subprocess.Popen(
        machine.seam_command(command, *options), env=machine.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    while process.poll() is None:
        stats = program_stats(process.pid, PERF_EVENT) or stats
        time.sleep(0.05)
    if process.returncode or not stats or not stats[1]:
        raise RuntimeError("no statistics of the event program")
    return stats[0] / stats[1]


def event_rows(machine, rounds):
    """The event program's own time by the depth of the user stack."""
    def work(depth):
        return lambda: event_ns(
            machine, [machine.tool("depth-nofp"), SECONDS, str(depth)],
            "--max-stack", str(max(DEPTHS) + 100))

    with BpfStats():
        results = interleave(rounds, *(work(depth) for depth in DEPTHS))
    for depth, times in zip(DEPTHS, results):
        yield Row("event program, %d frames" % depth, "ns", times,
                  results[0], "itself at %d frames" % DEPTHS[0],
                  "1: does not grow")


def kernel_half_rows(machine, rounds):
    """How much of the event program is the walk of the kernel's stack."""
    command = machine.load("syscalls-40")
    if not command:
        return
    with BpfStats():
        events, walks = interleave(
            rounds, lambda: event_ns(machine, command),
            lambda: machine.fp_walk(command))
    clocks = [w["clock_ns"] / w["samples"] for w in walks]
    yield Row("event program, system calls", "ns", events,
              [w["kernel_ns"] / w["samples"] for w in walks],
              "bpf_get_stack of its kernel half, %.0f %% in the kernel" % (
                  100 * median([w["kernel_samples"] / w["samples"]
                                for w in walks])))
    yield Row("two readings of the clock, in both", "ns", clocks)


def file_and_cpu_rows(machine, rounds, name):
    """Bytes a sample in the file, and CPU added to the load."""
    command = machine.load(name)
    if not command:
        return

    def seam():
        run, summary = machine.seam_record(command)
        return run, summary["samples"], summary["bytes"]

    def perf(*options):
        return lambda: machine.perf_record(command, *options)

    seam()
    alone, ours, dwarf, packed, fp = interleave(
        rounds, lambda: (machine.run(command), 0, 0), seam, perf(*DWARF),
        perf("-z", *DWARF), perf("-g"))
    peers = ((dwarf, "dwarf,8192"), (packed, "dwarf,8192 -z"), (fp, "-g"))
    for peer, peer_name in peers:
        yield Row("bytes a sample, %s" % name, "B",
                  [size / n for _, n, size in ours],
                  [size / n for _, n, size in peer if n], "perf " + peer_name,
                  "<= 1/40" if peer is dwarf else "")
    base = median([run.cpu for run, _, _ in alone])
    for peer, peer_name in peers:
        yield Row("CPU added to %s's %.3f s" % (name, base), "s",
                  [run.cpu - base for run, _, _ in ours],
                  [run.cpu - base for run, _, _ in peer], "perf " + peer_name,
                  "<= 1" if peer is dwarf else "")
    base = median([run.wall for run, _, _ in alone])
    yield Row("elapsed time added to %s's %.3f s" % (name, base), "s",
              [run.wall - base for run, _, _ in ours],
              [run.wall - base for run, _, _ in dwarf], "perf dwarf,8192")


def cost_rows(machine, rounds):
    ours, peers = interleave(
        rounds, lambda: machine.run(machine.seam_command(["/bin/true"])).cpu,
        lambda: machine.perf_record(["/bin/true"], *DWARF)[0].cpu)
    yield Row("CPU of recording /bin/true", "s", ours, peers,
              "perf dwarf,8192")
    for name in LOADS:
        yield from file_and_cpu_rows(machine, rounds, name)


PARTS = {"stack": stack_rows, "event": event_rows,
         "kernel": kernel_half_rows, "cost": cost_rows}


def cpu_model():
    with open("/proc/cpuinfo") as f:
        found = re.search(r"^model name\s*:\s*(.*)$", f.read(), re.M)
    return found.group(1) if found else platform.machine()


def describe_machine(args):
    version = subprocess.run([args.perf, "--version"], encoding="utf-8",
                             stdout=subprocess.PIPE).stdout.strip()
    print("%s; Linux %s; %d CPUs, %s; load average %.2f; %s; %d Hz, "
          "cpu-clock; medians of %d runs, in turn, with quartiles\n" % (
              datetime.date.today(), platform.release(), os.cpu_count(),
              cpu_model(), os.getloadavg()[0], version, FREQ, args.rounds))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse
                                     .RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, metavar="FOLDER")
    parser.add_argument("--perf", required=True, metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default=",".join(PARTS),
                        help="some of " + ",".join(PARTS))
    parser.add_argument("--pair", action="append", default=[], type=pair_of,
                        metavar="NAME=PROGRAM,PROGRAM",
                        help="a load's program built without frame pointers, "
                        "and with them, for the part 'stack'")
    return parser.parse_args()


def pair_of(text):
    name, programs = text.split("=")
    without, having = map(os.path.abspath, programs.split(","))
    return name, without, having


def main():
    args = parse_args()
    describe_machine(args)
    rows = []
    with tempfile.TemporaryDirectory(prefix="seam-bench.") as folder:
        machine = Machine(args.build, args.perf, folder, args.pair)
        for part in args.only.split(","):
            print("bench: %s" % part, file=sys.stderr)
            rows += PARTS[part](machine, args.rounds)
    print_table(rows)
    print("\nload average at the end %.2f" % os.getloadavg()[0])


if __name__ == "__main__":
    main()
