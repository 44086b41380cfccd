#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What printing and summing up a recording of ours takes, beside perf: CPU time,
elapsed time and the most memory of script and report. The recording is given, or made of
cc1plus and python3 until it has the samples. Both read it in turns."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import measure

AIM = "<= 0.1"
MOST_KIB = 300 * 1000 * 1000 // 1024
FIGURES = (("CPU", "s", AIM), ("elapsed", "s", AIM),
           ("most memory", "KiB", "<= %d KiB" % MOST_KIB))
LOADS = ("cc1plus", "python3")


def use(command, env, bound=None, ended=None):
    """(seconds of CPU, seconds elapsed, most KiB resident) of a command; its
    output is not kept. One that runs for longer than bound seconds is ended,
    and what it took by then is kept in ended: it is not run again."""
    if ended:
        return ended[0]
    began = time.monotonic()
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    clock = threading.Timer(bound or threading.TIMEOUT_MAX, child.kill)
    clock.start()
    _, status, usage = os.wait4(child.pid, 0)
    clock.cancel()
    child.returncode = status
    took = (usage.ru_utime + usage.ru_stime, time.monotonic() - began,
            usage.ru_maxrss)
    if bound and status == signal.SIGKILL and took[1] >= bound:
        ended.append(took)
    elif status:
        raise OSError("%s: wait status %d" % (" ".join(command), status))
    return took


def record(machine, samples):
    """Until there are as many: how fast they come differs."""
    data = machine.path("perf.data")
    programs = [machine.load(name) for name in LOADS]
    loop = "".join("(while :; do %s >/dev/null; done) &\n" % " ".join(p)
                   for p in programs) + "wait"
    seconds = 10
    while True:
        load = subprocess.Popen(["sh", "-c", loop], env=machine.env,
                                start_new_session=True,
                                stderr=subprocess.DEVNULL)
        try:
            out = subprocess.run(
                [machine.seam, "record", "-a", "-F", "25000", "-m", "4096",
                 "--duration", str(seconds), "-o", data], env=machine.env,
                stderr=subprocess.PIPE, encoding="utf-8").stderr
        finally:
            os.killpg(load.pid, 9)
            load.wait()
        wanted = re.search(r"(\d+) wanted", out)
        if not wanted or wanted[1] == "0":
            raise OSError("nothing was recorded: " + out)
        if int(wanted[1]) >= samples:
            return data
        seconds = int(seconds * samples / int(wanted[1]) * 1.1) + 1


def main():
    parser = measure.reader_options(__doc__, 3)
    parser.add_argument("--samples", type=int, default=1000000)
    parser.add_argument("--no-inline", dest="both", action="store_const",
                        const=["--no-inline"], default=[],
                        help="both without inlined functions")
    parser.add_argument("--bound", type=float, default=900,
                        help="seconds after which perf is ended (900)")
    args = parser.parse_args()
    if not args.perf:
        print("views: there is no perf")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        machine = measure.Machine(args.build, args.perf, folder)
        data = args.input or record(machine, args.samples)
        rows = []
        for what, options in {"script": [], "report": ["--stdio"]}.items():
            ended = []
            ours, theirs = measure.interleave(
                args.rounds,
                lambda: use([machine.seam, what, *args.both, "-i", data],
                            machine.env),
                lambda: use([args.perf, what, *options, *args.both, "-i",
                             data], machine.env, args.bound, ended))
            if ended:
                print("perf %s was ended after %g s: it takes more than is "
                      "shown" % (what, args.bound))
            for i, (name, unit, aim) in enumerate(FIGURES):
                rows.append(measure.Row(
                    "%s, %s" % (what, name), unit,
                    [v[i] for v in ours], [v[i] for v in theirs], "perf",
                    aim))
        print("%d bytes, %s" % (os.path.getsize(data),
                                time.strftime("%Y-%m-%d")))
        measure.print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
