#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: samples of tracepoints have what the tracepoint tells, and it is
of the very hit that their stack is of.

Who is right: the program of spelling.py, whose stacks spell a number that its
system calls have as an argument; and perf, which prints the same payloads.
"""

import json
import os
import re
import subprocess
import sys
import time

import livetest
import spelling

perf_of = __import__("agree-perf").perf_of

# The kernel's text of a system call: number, then arguments in hex.
PREAD = re.compile(r"^NR 17 \(\w+, \w+, 200, (\w+),")
# And of the tracepoint of that call alone.
PREAD_ALONE = re.compile(r"^fd: \w+, buf: \w+, count: 0x0*200, pos: (\w+)")
LOST = "[payload lost]"
SYSCALLS = "raw_syscalls:sys_enter"
CALLS = 1000 # a second; more than there is a reason for


def spell(bench, name, event, *options):
    """Records the calls. Returns (samples, summary), or None."""
    program = bench.start([bench.path("spell"), bench.path("log"), "1",
                           "wait"], stdin=subprocess.PIPE)
    recorder = bench.recorder(*options, "-e", event, "-p",
                              str(program.pid)).ready()
    program.stdin.close()
    program.wait()
    recording = recorder.wait()
    if not bench.test(name + ": recorded", recording.status == 0 and
                      program.returncode == 0 and recording.summary,
                      "%s %s" % (program.returncode, recording.log)):
        return None
    return recording.samples(), recording.summary


def agree(bench, name, samples, least, pattern=PREAD):
    """Payload and stack spell one number, where both are whole."""
    wrong, right = [], 0
    for sample in samples:
        call = pattern.match(sample.get("payload", ""))
        bits = spelling.spelled(sample)
        if not call or len(bits) != spelling.BITS:
            continue
        right += int(call[1], 16) == int(bits, 2)
        if int(call[1], 16) != int(bits, 2):
            wrong.append(sample)
    bench.note("%s: %d of %d samples spell one number twice" % (
        name, right, len(samples)))
    bench.test(name + ": payload and stack are of one hit",
               not wrong and right >= least, "%d right\n" % right + "\n".join(
                   "%s %s" % (s["payload"], livetest.show(s))
                   for s in wrong[:5]))


def account(bench, name, samples, summary):
    """Each sample has one, or is counted."""
    lost = sum(s.get("payload") == LOST for s in samples)
    none = [s for s in samples if not s.get("payload")]
    bench.test(name + ": each sample has a payload, or is counted",
               not none and lost == summary["lost"]["payloads"] and
               not any("malformed" in s["payload"] for s in samples),
               "%d without a word, %d lost, %s" % (
                   len(none), lost, summary["lost"]))


def one_hit(bench):
    spelling.build(bench, "spell", 2, 40, 6000)
    # Its tables are made here, so that most stacks are whole below.
    bench.record("-e", SYSCALLS, "--", bench.path("spell"), bench.path("log"),
                 "0")
    for name, event, options, least in (
            ("all hits", SYSCALLS, (), 1000),
            ("each seventh", SYSCALLS + "/period=7/", (), 200),
            ("beside a clock and another", SYSCALLS,
             ("-F", "5000", "-e", "cpu-clock", "-e", "sched:sched_switch"),
             1000)):
        found = spell(bench, name, event, *options)
        if not found:
            continue
        samples = [s for s in found[0] if s["event"] == SYSCALLS]
        # What a guest is too slow for is lost, and counted below.
        agree(bench, name, samples, least // bench.args.slower)
        others = [s for s in found[0] if s["event"] == "cpu-clock"]
        bench.test(name + ": a clock has none",
                   not any("payload" in s for s in others))
        account(bench, name, [s for s in found[0] if ":" in s["event"]],
                found[1])


def programs(bench):
    bench.compile(FREES, "frees")
    spelling.build(bench, "spell", 2, 40, 6000)
    spelling.build(bench, "spell", 2, 40)


def loss(bench):
    """Where a payload may have been lost, none is taken for it."""
    spelling.build(bench, "spell", 2, 40)
    found = spell(bench, "one page", SYSCALLS, "-m", "1", "-F", "20000", "-e",
                  "cpu-clock")
    if found:
        samples = [s for s in found[0] if s["event"] == SYSCALLS]
        # A guest may be so slow that hardly one is left.
        agree(bench, "one page", samples, bench.args.slower == 1)
        account(bench, "one page", samples, found[1])
        bench.test("one page: some are lost", found[1]["lost"]["payloads"],
                   found[1])


def own_calls(bench):
    """One records its own system calls, with buffers that a few of them fill:
    to read them makes more, and does not wake it to read those. Nor does it
    where another's did."""
    bursts = bench.start(["sh", "-c", "while read go; do for i in 1 2 3 4 5 6 "
                          "7 8 9; do : >/dev/null; done; done"],
                         stdin=subprocess.PIPE)
    data = bench.path("own.data")
    recorder = bench.start(["sh", "-c", 'exec "$@" -p $$,%d' % bursts.pid, "sh",
                            bench.seam, "record", "-o", data, "--json-summary",
                            data + ".json", "-m", "1", "-c", "1", "-e",
                            SYSCALLS], stderr=open(data + ".log", "w"),
                           env=bench.env)
    began = time.monotonic()
    # It may never sleep, which others wait for.
    while recorder.poll() is None and not os.path.exists(data):
        time.sleep(0.01)
    time.sleep(1)
    # A burst may find them filled by the recorder; not each of some.
    for _ in range(10):
        bursts.stdin.write(b"\n")
        bursts.stdin.flush()
        time.sleep(0.33)
    recorder.terminate()
    status, took = recorder.wait(), time.monotonic() - began
    bursts.kill()
    bursts.wait()
    log = open(data + ".log").read()
    if not bench.test("it records itself", status == 0, log):
        return
    lost = json.load(open(data + ".json"))["lost"]["samples"]
    samples = livetest.Recording(bench, data, 0, log, None).samples()
    calls = lost + len(samples)
    others = sum(s["tid"] == bursts.pid for s in samples)
    bench.note("%d calls in %.1f s, %d of another" % (calls, took, others))
    bench.test("and another", others > 3, log)
    # It looks ten times a second, and has some ten calls to make for that.
    bench.test("and is not woken by what it does itself",
               0 < calls < CALLS * took, log)


def single(bench):
    """Tracepoints of single calls are of those, with what they tell."""
    enter, leave = "syscalls:sys_enter_pread64", "syscalls:sys_exit_pread64"
    spelling.build(bench, "spell", 2, 40)
    found = spell(bench, "single calls", SYSCALLS, "-m", "4M", "-e",
                  enter + "," + leave)
    if not found:
        return
    by = {e: [s for s in found[0] if s["event"] == e]
          for e in (SYSCALLS, enter, leave)}
    agree(bench, "single calls", by[enter], 1000 // bench.args.slower,
          PREAD_ALONE)
    told = {e: [s for s in v if s.get("payload", LOST) != LOST]
            for e, v in by.items()}
    all_of = [s for s in told[SYSCALLS] if PREAD.match(s["payload"])]
    unknown = len(by[SYSCALLS]) - len(told[SYSCALLS])
    bench.note({e: (len(v), len(told[e])) for e, v in by.items()})
    # A slow machine may lose payloads, which is counted, and here told.
    bench.test("single calls: as many as of all calls are these",
               len(told[SYSCALLS]) > len(all_of) > 0 and
               len(by[enter]) == len(by[leave]) and
               0 <= len(by[enter]) - len(all_of) <= unknown,
               "%d of all, %d unknown" % (len(all_of), unknown))
    bench.test("single calls: their results are told", told[leave] and all(
        s["payload"].startswith("0x") for s in told[leave]),
               told[leave][:3])
    # The second has a number, but no kernel has it.
    for name in "nothing", "tuxcall":
        event = "syscalls:sys_enter_" + name
        recording = bench.record("-e", event, "--", "true", name="none.data")
        bench.test("single calls: %s is no event" % event,
                   recording.status == 1 and "has no tracepoint " + event in
                   recording.log, recording.log)


# What it frees, soft interrupts free as well, amid that.
FREES = r"""
#include <time.h>
#include <unistd.h>
int main(void)
{
	int p[2];
	for (time_t end = time(NULL) + 3; time(NULL) < end; )
		for (int i = 0; i < 100; i++) {
			if (pipe(p)) return 1;
			close(p[0]);
			close(p[1]);
		}
	return 0;
}
"""


def interrupted(bench):
    """Between what perf and what the program makes of a hit an interrupt may
    come that hits it too, and of which no sample is made. (Of some 5,000
    samples one had that one's payload: a slow machine sees none.) And in an
    interrupt, payloads are found."""
    exe = bench.compile(FREES, "frees")
    recording = bench.record("-m", "8M", "-F", "999", "-e",
                             "timer:hrtimer_expire_entry", "-e",
                             "cpu-clock/call-graph=no/", "--", exe)
    found = [s for s in recording.samples() if s["event"].startswith("timer:")]
    bad = [s for s in found if not s.get("payload", "").startswith("hrtimer=")]
    bench.test("interrupted: in a hard interrupt each has its payload",
               len(found) > 300 and not bad and
               not recording.summary["lost"]["payloads"],
               "%d of %d\n%s" % (len(bad), len(found), recording.log))
    recording = bench.record(
        "-m", "32M", "-F", "20000", "-e", "kmem:kmem_cache_free/period=5/",
        "-e", "cpu-clock/call-graph=no/", "--", exe)
    right, wrong = 0, []
    for sample in recording.samples():
        site = re.match(r"call_site=(\w+)", sample.get("payload", ""))
        if not site:
            continue
        if any(f["ip"] == site[1] for f in livetest.kernel_frames(sample)):
            right += 1
        else:
            wrong.append(sample)
    bench.note("%d of %d are called from where they say" % (
        right, right + len(wrong)))
    bench.test("interrupted: payload and stack are of one hit", right > 500 and
               not wrong, "\n".join("%s %s" % (s["payload"], livetest.show(s))
                                    for s in wrong[:5]) + recording.log)


def unwanted(bench):
    recording = bench.record("-e", "sched:sched_switch/no-payload/", "--",
                             "sleep", "0.1")
    samples = recording.samples()
    bench.test("no-payload: samples without", samples and not any(
        "payload" in s for s in samples) and
        not recording.summary["no_payload"], recording.log)
    recording = bench.record("-e", "sched:sched_switch/payload/", "--", "true")
    bench.test("a term that is none is refused", recording.status != 0 and
               "no-payload" in recording.log, recording.log)


# Without the plugins that trace-cmd brings along, which print some events in
# words of their own.
PLAIN = ["unshare", "-m", "sh", "-c", """
for plugins in /usr/lib/*/traceevent; do
	[ ! -d "$plugins" ] || mount -t tmpfs none "$plugins"
done
exec "$@" """, "sh"]


def lines(command, env=None):
    """From the thread on: perf forgets a dead one's name sooner."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace", env=env)
    return sorted(re.sub(r"^.*?\s(\d+ \[)", r"\1", line)
                  for line in done.stdout.splitlines()
                  if " sched:" in line), done.stderr


def as_perf(bench):
    """perf prints the same line for each sample, fields and strings."""
    perf, why = perf_of(bench)
    if not perf:
        bench.skip("perf prints the same", why)
        return
    events = "sched:sched_switch,sched:sched_process_exec"
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true $i; sleep 0.01; done"
    for engine in ("deferred", "dump"):
        recording = bench.record("--engine", engine, "-e", events, "--", "sh",
                                 "-c", script)
        theirs, said = lines(PLAIN + [perf, "script", "-i", recording.data])
        ours, _ = lines([bench.seam, "script", "-i", recording.data],
                        bench.env)
        execs = [line for line in ours if "filename=/bin/true" in line]
        bench.test("%s: perf prints the same of %d samples" % (
            engine, len(ours)), ours == theirs and len(execs) == 8 and
            len(ours) > 20 and not recording.summary["lost"]["payloads"],
            recording.log + said + "\n".join(
                sorted(set(ours) ^ set(theirs))[:10]))


if __name__ == "__main__":
    sys.exit(livetest.main(one_hit, single, loss, own_calls, interrupted,
                           unwanted, as_perf,
                           programs=programs,
                           only={
        "payloads are joined by BPF": ("deferred immediate", (one_hit,
                                                              single, loss,
                                                              own_calls,
                                                              interrupted,
                                                              unwanted)),
        "both engines that it has are in it": ("deferred", (as_perf,))},
                           options=(("--perf", os.environ.get("SEAM_PERF")),)))
