#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: `record -o -` gives every reader the whole recording by a pipe,
and nothing else: the command's output and the summary stay out of it. A reader
that leaves ends the recording, one that does not read leaves it to a signal,
and a terminal gets none.
"""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import livetest

RECORD = ["record", "-F", "499", "-e", "cpu-clock", "-o", "-"]


def through(bench, reader, *options):
    """What the reader prints of a recording that it gets by a pipe; of the
    recorder all else: its status, its standard error."""
    program = bench.compile(livetest.SPIN, "spin")
    with open(bench.path("log"), "w+", encoding="utf-8") as log:
        recorder = bench.start(
            [bench.seam, *RECORD, *options, "--", "sh", "-c",
             'echo said; exec "$@"', "sh", program, "500"],
            env=bench.env, stdout=subprocess.PIPE, stderr=log)
        done = subprocess.run(reader, env=bench.env, encoding="utf-8",
                              errors="replace", stdin=recorder.stdout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        recorder.stdout.close()
        status = recorder.wait()
        log.seek(0)
        return done, status, log.read()


def whole(text):
    """How many stacks have SPIN's whole path; how many ought to."""
    found = [stack for stack in livetest.perf_stacks(text)
             if set(stack) & set(livetest.SPIN_PATH)]
    return sum(map(livetest.is_spin, found)), len(found)


def script(bench):
    done, status, log = through(bench, [bench.seam, "script", "-i", "-"])
    good, n = whole(done.stdout)
    bench.test("script reads the pipe", not done.returncode and
               not status and n and good >= 0.9 * n, "%d of %d stacks\n%s" % (
                   good, n, done.stderr + done.stdout[:2000]))
    bench.test("the command's output and the summary are not in it",
               "said\n" in log and "to standard output" in log, log)


def readers(bench):
    """A stream that was kept; each reader by a pipe."""
    with open(bench.path("stream"), "wb") as out:
        subprocess.run([bench.seam, *RECORD, "--", bench.compile(
            livetest.SPIN, "spin"), "300"], env=bench.env, stdout=out,
                       stderr=subprocess.DEVNULL, check=True)
    for command in (["report"], ["report", "--json"],
                    ["export", "--to", "folded", "-o", "-"],
                    ["inject", "-o", bench.path("whole")]):
        with subprocess.Popen(["cat", bench.path("stream")],
                              stdout=subprocess.PIPE) as cat:
            done = subprocess.run([bench.seam, *command, "-i", "-"],
                                  env=bench.env, stdin=cat.stdout,
                                  encoding="utf-8", stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        text = done.stdout
        if command[0] == "inject":
            text = subprocess.run(
                [bench.seam, "script", "-i", bench.path("whole")],
                encoding="utf-8", stdout=subprocess.PIPE,
                env=bench.env).stdout
        bench.test("%s reads it" % " ".join(command[:2]),
                   not done.returncode and
                   all(name in text for name in livetest.SPIN_PATH),
                   done.stderr + text[:2000])


def newer_perf(bench):
    perf = livetest.newer_perf()
    if not perf:
        bench.skip("perf 6.19 or later", "it was not fetched: make peers")
        return
    done, status, _ = through(bench, [perf, "script", "-i", "-"], "-z", "3")
    good, n = whole(done.stdout)
    bench.test("perf 7.3.4 reads the pipe, compressed", not done.returncode and
               not status and n and good >= 0.9 * n, "%d of %d stacks\n%s" % (
                   good, n, done.stderr + done.stdout[:2000]))


def any_perf(bench):
    """Merged on its way, it is read by perf of any age."""
    perf = shutil.which("perf")
    if not perf:
        bench.skip("any perf", "there is none")
        return
    done, status, _ = through(bench, ["sh", "-c", '"$0" inject -i - -o - | '
                                      '"$1" script -i -', bench.seam, perf])
    good, n = whole(done.stdout)
    bench.test("perf reads the pipe, merged on its way", not done.returncode and
               not status and n and good >= 0.9 * n, "%d of %d stacks\n%s" % (
                   good, n, done.stderr + done.stdout[:2000]))


def leaves(bench):
    """Its standard input is closed while the recording goes on."""
    done, status, log = through(bench, ["head", "-c", "100"])
    bench.test("a reader that leaves is told, and ends the recording",
               not done.returncode and status == 1 and
               "standard output: Broken pipe" in log, "%d %s" % (status, log))


def filled(bench):
    """A recorder whose pipe is full, as nobody reads it; the pipe."""
    target = bench.start([bench.compile(livetest.SPIN, "spin"), "100000000"])
    reader, writer = os.pipe()
    recorder = bench.start(
        [bench.seam, *RECORD, "-F", "4999", "--json-summary",
         bench.path("summary"), "-p", str(target.pid)], env=bench.env,
        stdout=writer, stderr=subprocess.PIPE, encoding="utf-8")
    while recorder.poll() is None and select.select([], [writer], [], 0)[1]:
        time.sleep(0.05)
    os.close(writer)
    return recorder, reader, target


def ask(recorder):
    """A signal, until it is taken."""
    def pending():
        with open("/proc/%d/status" % recorder.pid, encoding="utf-8") as f:
            return any(int(line.split()[1], 16) for line in f
                       if line.startswith(("SigPnd", "ShdPnd")))
    recorder.send_signal(signal.SIGINT)
    while recorder.poll() is None and pending():
        time.sleep(0.01)


def ended(bench, recorder, target):
    log = recorder.communicate()[1]
    target.kill()
    with open(bench.path("summary"), encoding="utf-8") as f:
        return recorder.returncode, log, json.load(f)


def n_samples(bench, stream):
    done = subprocess.run([bench.seam, "script", "-i", "-", "--format", "json"],
                          env=bench.env, input=stream, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.stdout.count(b"\n")


def unread(bench):
    """Nobody ever reads, and two signals come."""
    recorder, reader, target = filled(bench)
    ask(recorder)
    ask(recorder)
    status, log, told = ended(bench, recorder, target)
    with os.fdopen(reader, "rb") as f:
        n = n_samples(bench, f.read())
    lost = told["lost"]["output"]
    bench.test("a second signal ends it though nobody reads", status == 1 and
               "nobody reads it" in log and "records that were not written"
               in log, "%d %s" % (status, log))
    bench.test("every sample is in the pipe or counted", n and
               n < told["samples"] <= n + lost, "%d in the pipe, %d lost, %s" %
               (n, lost, log))


def read_late(bench):
    """Somebody reads after the first signal."""
    recorder, reader, target = filled(bench)
    ask(recorder)
    with os.fdopen(reader, "rb") as f:
        stream = f.read()
    status, log, told = ended(bench, recorder, target)
    n = n_samples(bench, stream)
    bench.test("after one signal all that is read late is whole",
               status == 0 and told["lost"]["output"] == 0 and
               n == told["samples"], "%d, %d samples, %s" % (status, n, log))


def terminal(bench):
    master, slave = pty.openpty()
    done = subprocess.run([bench.seam, *RECORD, "--", "true"], stdout=slave,
                          stderr=subprocess.PIPE, encoding="utf-8",
                          env=bench.env)
    os.close(slave)
    os.close(master)
    bench.test("a terminal gets no recording", done.returncode == 2 and
               "standard output is a terminal" in done.stderr, done.stderr)


sys.exit(livetest.main(script, readers, newer_perf, any_perf, leaves, unread,
                       read_late, terminal))
