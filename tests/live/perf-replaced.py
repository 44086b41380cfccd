#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a script that records and looks with perf has whole stacks when
`seam record` takes the place of `perf record`, and nothing else is changed.

The script names no file. Its options are those of perf record that mean the
same here. perf 7.3.4 reads what is recorded; the perf of Debian 12, which knows
nothing of deferral, what --merge writes.
"""

import os
import re
import shutil
import subprocess
import sys

import livetest
from livetest import SPIN_PATH

SCRIPT = """
set -eu
cd "$FOLDER"
rm -f perf.data
$RECORD
test -f perf.data
perf() { "$PERF" "$@" 2>>errors </dev/null; }
perf report --stdio --no-children -g caller >report.txt
perf script --comms spin -F comm,tid,ip,sym >script.txt
perf annotate --stdio -s leaf >annotate.txt
"""

# What stands behind "record" in such scripts.
COMMAND = ["-g", "-F max -z -g -N -B -T -e cpu-clock", "-F 499 -e cpu-clock --call-graph dwarf,8192",
           "-c 2000000 -e cpu-clock -g -o perf.data -q",
           "--freq=499 --call-graph fp --output perf.data"]
TARGET = ["-g -p %d", "-g -t %d", "-F 499 -g --pid %d"]


def what_is_wrong(folder):
    def text(name):
        with open(os.path.join(folder, name), encoding="utf-8") as out:
            return out.read()

    seen = [found for found in livetest.perf_stacks(text("script.txt"))
            if set(found) & set(SPIN_PATH[:3])]
    whole = [livetest.is_spin(found) for found in seen]
    # Nearly all of its time is leaf's own.
    in_leaf = sum("leaf" in found for found in seen)
    if sum(whole) < max(1, 0.9 * len(whole)) or in_leaf < 0.5 * len(seen):
        return "%d of %d stacks are whole; not: %s" % (
            sum(whole), len(whole),
            [found for found, good in zip(seen, whole) if not good][:5])
    report = text("report.txt")
    if any(name not in report for name in SPIN_PATH):
        return "report has not the whole path:\n" + report[:2000]
    annotated = text("annotate.txt")
    if "Disassembly of section .text" not in annotated or \
            "<leaf>:" not in annotated:
        return "annotate shows no code:\n" + annotated[:2000]
    return None


def looked_at(bench, perf, record):
    folder = bench.path("script")
    os.makedirs(folder, exist_ok=True)
    env = dict(bench.env, RECORD=record, PERF=perf, FOLDER=folder, LC_ALL="C")
    done = subprocess.run(["sh", "-c", SCRIPT], env=env, encoding="utf-8",
                          errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        return done.stdout
    return what_is_wrong(folder)


def each(bench, perf, title, record, command=COMMAND, others=TARGET):
    program = bench.compile(livetest.SPIN, "spin")
    for options in command:
        wrong = looked_at(bench, perf, "%s %s -- %s 400" % (
            record, options, program))
        bench.test("%s: record %s" % (title, options), not wrong, wrong)
    target = bench.start([program, "100000000"])
    for options in others:
        wrong = looked_at(bench, perf, "%s %s --duration 0.6" % (
            record, options % target.pid))
        bench.test("%s: record %s" % (title, options), not wrong, wrong)
    wrong = looked_at(bench, perf, "%s -a -g -- sleep 0.6" % record)
    bench.test("%s: record -a -g -- sleep" % title, not wrong, wrong)
    wrong = looked_at(bench, perf, "%s -p %d -g -- sleep 0.6" % (
        record, target.pid))
    bench.test("%s: record -p -g -- sleep" % title, not wrong, wrong)
    wrong = looked_at(bench, perf, "%s -D 1 -g -- %s 2000" % (
        record, program))
    bench.test("%s: record -D" % title, not wrong, wrong)
    cpu = min(os.sched_getaffinity(0))
    wrong = looked_at(bench, perf, "%s -C %d -g -- taskset -c %d %s 400" % (
        record, cpu, cpu, program)) or other_cpu(bench, perf, cpu)
    bench.test("%s: record -C" % title, not wrong, wrong)


def other_cpu(bench, perf, cpu):
    """None, or samples of another CPU than -C named."""
    cpus = subprocess.run(
        [perf, "script", "-F", "cpu,ip", "-G", "-i",
         os.path.join(bench.path("script"), "perf.data")], env=bench.env,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
        errors="replace").stdout
    found = {int(line.split("]")[0][1:]) for line in cpus.splitlines()
             if line.startswith("[")}
    return None if found == {cpu} else "samples of CPUs %s" % sorted(found)


def newer_perf(bench):
    perf = livetest.newer_perf()
    if not perf:
        bench.skip("perf 6.19 or later", "it was not fetched: make peers")
        return
    every = bool(os.environ.get("SEAM_TEST_ALL"))
    each(bench, perf, "perf 7.3.4", bench.seam + " record",
         COMMAND if every else COMMAND[1:4], TARGET if every else TARGET[:2])


def older_perf(bench):
    perf = shutil.which("perf")
    if not perf:
        bench.skip("perf of Debian 12", "it is not installed")
        return
    each(bench, perf, "perf of Debian 12, merged",
         bench.seam + " record --merge", COMMAND[:1], TARGET[:1])


def highest(bench):
    """-F max leaves time for what is recorded: see FREQ_MAX."""
    perf = shutil.which("perf")
    if not perf:
        bench.skip("-F max", "perf of Debian 12 is not installed")
        return
    with open("/proc/sys/kernel/perf_event_max_sample_rate") as f:
        most = min(20000, int(f.read()))
    recording = bench.record("-F", "max", "-e", "cpu-clock", "--",
                             bench.compile(livetest.SPIN, "spin"), "100")
    said = subprocess.run([perf, "evlist", "-F", "-i", recording.data],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", env=bench.env).stdout
    bench.test("-F max is the kernel's highest rate, or 20000",
               re.search(r"^cpu-clock\S*: sample_period=%d$" % (1e9 / most),
                         said, re.M),
               said)


def status(bench):
    """A command's status is the script's, merged or not."""
    program = bench.compile(livetest.SPIN, "spin")
    done = subprocess.run([bench.seam, "record", "--merge", "-q", "-o",
                           bench.path("status.data"), "--", program, "100",
                           "3"], env=bench.env)
    bench.test("the command's exit status comes through --merge",
               done.returncode == 3, done.returncode)


sys.exit(livetest.main(older_perf, newer_perf, highest, status))
