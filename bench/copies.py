#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What reading a recording of perf record --call-graph dwarf takes, beside
perf's own script, and samply's import where there is a samply. The recording is
given, or made of a shell that runs git. All read it in turns, in one run; and
once more as if its event had been a precise one."""

import os
import shutil
import subprocess
import sys
import tempfile

import measure
from as_precise import as_precise

AIMS = {"perf": "<= 0.1", "samply": "<= 0.5"}
TEXT = ["script", "--no-inline", "-i"]


def frames(command, env):
    """Samples, and frames of all of them: more of these is more complete."""
    run = subprocess.run(command, env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, encoding="utf-8",
                         errors="replace", check=True)
    lines = run.stdout.splitlines()
    shown = [line for line in lines if line.startswith("\t") and
             "([seam]" not in line and "([unknown])" not in line]
    return sum(bool(line) and line[0] != "\t" for line in lines), len(shown)


def record(machine, perf, seconds):
    data = machine.path("perf.data")
    loop = ("end=$(($(date +%%s) + %d)); while [ $(date +%%s) -lt $end ]; do "
            "git -C %s log -p -n 300 >/dev/null; done" % (
                seconds, os.path.dirname(os.path.abspath(__file__))))
    machine.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "2499",
                 "--call-graph", "dwarf", "-o", data, "sh", "-c", loop])
    return data


def rows(machine, rounds, what, ours, theirs, peer):
    """By what it takes of the processors, and by the clock."""
    a, b = measure.interleave(rounds, lambda: machine.run(ours),
                              lambda: machine.run(theirs))
    return [measure.Row("%s, CPU" % what, "s", [r.cpu for r in a],
                        [r.cpu for r in b], peer, AIMS[peer]),
            measure.Row("%s, elapsed" % what, "s", [r.wall for r in a],
                        [r.wall for r in b], peer, AIMS[peer])]


def find_samply():
    """One of this machine, else sid's; None where there is neither."""
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                        "tools", "peer-tool.sh")
    return shutil.which("samply") or subprocess.run(
        [tool, "samply"], stdout=subprocess.PIPE,
        encoding="utf-8").stdout.strip() or None


def main():
    parser = measure.reader_options(__doc__, 10)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    if not args.perf:
        print("copies: there is no perf")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        machine = measure.Machine(args.build, args.perf, folder)
        data = args.input or record(machine, args.perf, args.seconds)
        version = subprocess.run([args.perf, "--version"],
                                 stdout=subprocess.PIPE,
                                 encoding="utf-8").stdout.strip()
        print("%s, %d bytes" % (version, os.path.getsize(data)))
        for name in (machine.seam, args.perf):
            print("%s: %d samples, %d frames" % (
                name, *frames([name, *TEXT, data], machine.env)))
        table = rows(machine, args.rounds, "script, stack copies",
                     [machine.seam, *TEXT, data], [args.perf, *TEXT, data],
                     "perf")
        precise = as_precise(data, machine.path("precise.data"))
        table += rows(machine, args.rounds, "script, precise stack copies",
                      [machine.seam, *TEXT, precise],
                      [args.perf, *TEXT, precise], "perf")
        samply = find_samply()
        if samply:
            imports = [samply, "import", "--save-only", "-o",
                       machine.path("samply.json"), data]
            table += rows(machine, args.rounds, "script, stack copies",
                          [machine.seam, *TEXT, data], imports, "samply")
            # Which names nothing either.
            table += rows(machine, args.rounds, "inject, stack copies",
                          [machine.seam, "inject", "-f", "-i", data, "-o",
                           machine.path("merged.data")], imports, "samply")
            table += rows(
                machine, args.rounds, "import, stack copies",
                [machine.seam, "export", "--to", "firefox", "-i", data, "-o",
                 machine.path("seam.json")], imports, "samply")
        measure.print_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
