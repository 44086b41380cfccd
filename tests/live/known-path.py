#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Record every known-path program and check each of its stacks.

    known-path.py --seam build/seam --progs build/tests/progs \\
        [--match 'signals-*'] [--seconds 1] [--freq 4999] [--recorder perf]

One TAP line for each variant (program, compiler, -O, link) and setting; what
check-paths.py says about a failed one follows as comments. With --recorder
perf the stacks are perf's own (--call-graph dwarf), with --recorder gdb they
are gdb's at each of the first instructions: ways to try the programs and the
checker without seam, and to see what peers make of them.
"""

import argparse
import concurrent.futures
import fnmatch
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "progs")


def settings_of(name):
    """The lines args, vary and record of NAME.expect."""
    found = {"args": "$SECONDS", "vary": [], "record": []}
    for line in open(os.path.join(SOURCES, name + ".expect")):
        word, _, rest = line.strip().partition(" ")
        if word == "args":
            found["args"] = rest
        elif word == "vary":
            variable, *values = rest.split()
            found["vary"].append([(variable, value) for value in values])
        elif word == "record":
            found["record"] += rest.split()
    return found


def repeats(variant):
    """Whether it shows only with SEAM_TEST_ALL=1 what others do without: how
    a program is linked is seen at -O2, and static ones at every -O by one
    program; -O3 behind a PLT is -O2 there."""
    name, _, opt, *link = variant.split("-", 3)
    if name == "recurse" and link and link[0].startswith("static"):
        return False
    return link and opt != "O2" and (name != "plt" or opt == "O3")


def programs(args):
    """(variant, name) of every built program, in a stable order."""
    for variant in sorted(os.listdir(args.progs)):
        name = variant.split("-")[0]
        path = os.path.join(args.progs, variant)
        if os.path.exists(os.path.join(SOURCES, name + ".expect")) and \
                variant.count("-") >= 2 and "." not in variant and \
                not os.path.isdir(path) and \
                fnmatch.fnmatch(variant, args.match):
            yield variant, name


def fill_in(text, values):
    for variable, value in values.items():
        text = text.replace("$" + variable, value)
    return text.split()


def logged(command, log, out=None):
    """Returns None or why it failed, with the end of what it said."""
    with open(log, "w") as err:
        status = subprocess.run(command, stderr=err, stdout=out or err)
    if status.returncode == 0:
        return None
    return "status %d: %s" % (status.returncode, open(log).read()[-500:])


def record(args, folder, exe, extra, arguments):
    """Returns None or why it failed."""
    data = os.path.join(folder, "perf.data")
    if args.recorder == "gdb":
        return step(args, folder, exe, arguments)
    if args.recorder == "perf":
        command = ["perf", "record", "-q", "-F", str(args.freq), "-e",
                   "cpu-clock", "--call-graph", "dwarf,32768", "-o", data]
    else:
        command = [args.seam, "record", "-o", data, "-F", str(args.freq),
                   "-e", "cpu-clock", "-z", "0", "--json-summary",
                   os.path.join(folder, "summary.json"), "--engine",
                   args.engine] + extra
    failure = logged(command + ["--", exe] + arguments,
                     os.path.join(folder, "log"))
    return failure or args.recorder == "seam" and other_engine(args, folder)


def other_engine(args, folder):
    """What is wrong with the engine that recorded, or None."""
    with open(os.path.join(folder, "summary.json")) as f:
        engine = json.load(f)["engine"]
    wanted = "deferred" if args.engine == "auto" else args.engine
    return None if engine == wanted else "the engine is %s, not %s" % (
        engine, wanted)


def script(args, folder):
    """Makes folder/stacks.json of what record() left; why it failed."""
    data = os.path.join(folder, "perf.data")
    if args.recorder == "gdb":
        return None
    if args.recorder == "perf":
        command = [os.path.join(HERE, "perf-json.py"), data, "--dwarf"]
    else:
        command = [args.seam, "script", "-i", data, "--format", "json",
                   "--no-inline"]
    with open(os.path.join(folder, "stacks.json"), "w") as out:
        return logged(command, os.path.join(folder, "log"), out)


def step(args, folder, exe, arguments):
    """gdb's stack at each of the first instructions of the path."""
    out = os.path.join(folder, "stacks.json")
    subprocess.run(
        ["gdb", "-nx", "-batch", "-x", os.path.join(HERE, "gdb-step.py"),
         "--args", exe] + arguments, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=dict(
            os.environ, STEPS=str(args.steps), OUT=out, LD_BIND_NOW="1",
            FROM="spell" if "/fnptr-" in exe else "path_more"))
    return None if os.path.exists(out) else "gdb wrote nothing"


def seconds_of(args, values):
    """Deep stacks cost the checker, frame by frame: fewer of them do."""
    depth = int(values.get("DEPTH", 0))
    return args.seconds * min(1, max(0.3, 150 / max(depth, 1)))


def check(args, folder, exe, name, values):
    command = [os.path.join(HERE, "check-paths.py"), "--exe", exe,
               "--expect", os.path.join(SOURCES, name + ".expect"),
               "--known-bad", os.path.join(SOURCES, "known-bad-cfi.txt"),
               "--json", os.path.join(folder, "stacks.json"),
               "--min", str(int(args.freq * seconds_of(args, values) *
                                  args.share))]
    if args.recorder == "seam":
        command += ["--data", os.path.join(folder, "perf.data")]
    else:
        command += ["--no-shares"]
    if args.recorder == "gdb":
        # It does not get everywhere: not into signal handlers, for one.
        command += ["--no-kernel", "--min", str(args.steps)]
    if args.recorder == "gdb" or args.no_coverage:
        # Few samples, then, where the kernel takes long to start a program.
        command += ["--slow-start", "20"]
        command += ["--no-coverage"]
    # What it could not read, or not believe, it says.
    for end in {"immediate": ("unreadable", "unsure"),
                "dump": ("copy-short", "exec", "exited",
                         "unreadable")}.get(args.engine, ()):
        command += ["--may-end", end]
    for variable, value in values.items():
        command += ["--set", "%s=%s" % (variable, value)]
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    return done.returncode == 0, done.stdout


def settled(args, folder, exe, name, values, label):
    """(good, text) of one recording, whose folder it then empties."""
    failure = script(args, folder.name)
    good, text = False, failure
    if not failure:
        good, text = check(args, folder.name, exe, name, values)
    if args.keep and not good and not failure:
        for kept in ("stacks.json", "perf.data"):
            if os.path.exists(os.path.join(folder.name, kept)):
                shutil.move(os.path.join(folder.name, kept), os.path.join(
                    args.keep, label.replace(" ", "-") + "-" + kept))
    folder.cleanup()
    return good, text


def with_section(args, folder, exe):
    """The program with an .sframe of its own."""
    out = os.path.join(folder, os.path.basename(exe))
    subprocess.run([args.seam, "sframe", "make", exe, "-o", out], check=True,
                   stdout=subprocess.DEVNULL)
    return out


def begin(args, pool, variant, name, values):
    """Records; returns (label, the future of what settled() says)."""
    exe = os.path.realpath(os.path.join(args.progs, variant))
    settings = settings_of(name)
    label = variant + "".join(" %s=%s" % item for item in values.items())
    builtin = dict(values, SECONDS=str(seconds_of(args, values)),
                   PLUGIN=os.path.join(os.path.realpath(args.progs),
                                       variant.replace("dlopen", "plugin") +
                                       ".so"))
    folder = tempfile.TemporaryDirectory(prefix="known-path-")
    if args.tables == "mapped":
        exe = with_section(args, folder.name, exe)
    failure = record(args, folder.name, exe, settings["record"],
                     fill_in(settings["args"], builtin))
    if failure:
        folder.cleanup()
        return label, pool.submit(lambda: (False, failure))
    return label, pool.submit(settled, args, folder, exe, name, values, label)


def tell(number, label, good, text):
    print("%sok %d - %s" % ("" if good else "not ", number, label))
    for line in text.splitlines():
        if not good or line.startswith(("# samples", "# excused")):
            print(line if line.startswith("#") else "# " + line)
    sys.stdout.flush()


def cases(args):
    """(variant, name, values) of every recording to make."""
    for variant, name in programs(args):
        for vary in itertools.product(*settings_of(name)["vary"]):
            values = dict(vary)
            # Depth is the same to every compiler: one level shows it.
            if "DEPTH" in values and int(values["DEPTH"]) != 40 and \
                    "-O2" not in variant:
                continue
            # And however it is linked.
            if not args.all and (repeats(variant) or (
                    variant.count("-") > 2 and
                    values.get("DEPTH", "40") != "40")):
                continue
            yield variant, name, values


def run(args):
    """One recording is looked at while the next one is made."""
    good, number, waiting = True, 0, []
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
        for case in itertools.chain(cases(args), [None]):
            if case:
                waiting.append(begin(args, pool, *case))
            while waiting and (not case or len(waiting) > 1):
                number += 1
                label, future = waiting.pop(0)
                tell(number, label, *future.result())
                good &= future.result()[0]
    return good, number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seam", default="build/seam")
    parser.add_argument("--progs", required=True)
    parser.add_argument("--match", default="*")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--freq", type=int, default=4999)
    parser.add_argument("--share", type=float, default=0.5,
                        help="least part of freq * seconds to be had")
    parser.add_argument("--no-coverage", action="store_true",
                        help="some paths may not be seen: few samples")
    parser.add_argument("--recorder", default="seam",
                        choices=("seam", "perf", "gdb"))
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--tables", default="auto",
                        help="mapped: of programs with an .sframe")
    parser.add_argument("--steps", type=int, default=1500,
                        help="instructions for --recorder gdb")
    parser.add_argument("--all", action="store_true",
                        default=bool(os.environ.get("SEAM_TEST_ALL")),
                        help="those too that repeat what others show")
    parser.add_argument("--keep", help="folder for the stacks and recordings of failures")
    args = parser.parse_args()
    if args.recorder == "seam" and os.geteuid() != 0:
        print("1..0 # SKIP recording with BPF needs root here")
        return 0
    good, number = run(args)
    print("1..%d" % number)
    if number == 0:
        print("# no program matches; are they built? (known-path-progs)")
    return 0 if good and number else 1


if __name__ == "__main__":
    sys.exit(main())
