#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: buffers of one page at 20 kHz lose most of what is recorded,
and yet the counts add up exactly, and no sample carries the stack of another
entry than its own.

The program's stacks spell which call they are of (spelling.py). It is there
when the recording begins, so that what it has mapped is not lost as well.

Where the recorder does not come to read, stack copies fill their buffer. They
leave room for requests for tables, without which there would be more of them.
"""

import collections
import json
import shutil
import subprocess
import sys

import livetest
import spelling

FILES = 100
# Touches so many pages, one by one: each a copy, while it has no table.
TOUCH = r"""
#include <stdlib.h>
#include <sys/mman.h>
static volatile char *v;
int main(int argc, char **argv)
{
	size_t size = (size_t)atol(argv[1]) << 12;

	v = mmap(0, size, 3, 0x22, -1, 0);
	madvise((void *)v, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		v[i] = 1;
	return 0;
}
"""


def add_up(bench, name, recording, samples):
    summary = recording.summary
    lost, ends = summary["lost"], {
        code: n for code, n in summary["end"].items() if n}
    bench.note("%s: %d samples, %s; lost %s" % (
        name, len(samples), ends, {k: n for k, n in lost.items() if n}))
    bench.test(name + ": every event is a sample, seam's own, or lost",
               summary["watched"] == summary["samples"] + summary["own"] +
               lost["samples"] and len(samples) == summary["samples"],
               "%(watched)d events, %(samples)d samples, %(own)d own" %
               summary + ", %d lost" % lost["samples"])
    bench.test(name + ": wanted is the sum of the end codes",
               summary["wanted"] == sum(ends.values()) ==
               summary["samples"], summary)
    found = dict(collections.Counter(s["end"] for s in samples))
    bench.test(name + ": each end code as often in the file", found == ends,
               "file %s, summary %s" % (found, ends))
    report = json.loads(subprocess.run(
        [bench.seam, "report", "-i", recording.data, "--json"],
        stdout=subprocess.PIPE, check=True, env=bench.env).stdout)
    bench.test(name + ": the file says how many samples are lost",
               report["lost_samples"] == lost["samples"],
               "%s and %s" % (report["lost_samples"], lost["samples"]))
    cookies = {s["cookie"] for s in samples if s["end"] == "lost"}
    bare = [s for s in samples if s["end"] == "lost"]
    # The vDSO has names for what it exports alone.
    bad = [s for s in bare if len(livetest.user_path(s)) != 1 or not (
        livetest.user_frames(s)[0].keys() & {"sym"} or
        livetest.user_frames(s)[0].get("dso") == "[vdso]")]
    bench.test(name + ": what is lost has where the kernel was entered",
               not bad, "%d of %d\n%s" % (len(bad), len(bare), "\n".join(
                   "%s\n%s" % (livetest.show(s), s["frames"])
                   for s in bad[:3])))
    dropped = lost["stacks"] + lost["copies"] + lost["scratch"]
    bench.test(name + ": no stack is lost that was not counted",
               len(cookies) <= dropped, "%d entries without a stack, %d "
               "dropped" % (len(cookies), dropped))


def spell(bench, name, *options):
    log = bench.path(name + ".log")
    recording = spelling.record(
        bench, bench.path("spell"), log, *options, "-e", "cpu-clock", "-F",
        "20000", "-e", "raw_syscalls:sys_enter")
    if not bench.test(name + ": recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return None
    samples = recording.samples()
    add_up(bench, name, recording, samples)
    spelling.hold(bench, name, samples, log)
    return recording.summary


def programs(bench):
    spelling.build(bench, "spell", 3, 40, 4000)
    bench.compile(TOUCH, "touch", "-O1", "-D_DEFAULT_SOURCE")


def loss(bench):
    programs(bench)
    one = spell(bench, "one page", "-m", "1")
    bench.test("one page: samples and stacks are lost", one and
               min(one["lost"]["samples"], one["lost"]["stacks"],
                   one["end"]["lost"]) > 100 / bench.args.slower, one)
    many = spell(bench, "4,096 pages", "-m", "16M")
    bench.test("4,096 pages: a hundredth of that is lost, or less",
               many and many["lost"]["samples"] <=
               one["lost"]["samples"] / 100, many)


def requests(bench):
    """Many programs of files that were never seen before, while nobody
    reads."""
    programs(bench)
    first = bench.path("touch")
    names = [shutil.copy(first, bench.path("touch-%d" % i))
             for i in range(FILES)]
    script = "read x; %s 5000; for f in %s; do $f 5; done; echo; read x" % (
        first, " ".join(names))
    shell = bench.start(["/bin/sh", "-c", script], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, bufsize=0)
    recorder = bench.recorder("-e", "page-faults", "-c", "1", "-m", "256",
                              "-p", str(shell.pid), "--unwind", "sframe",
                              name="requests.data").ready()
    recorder.stop()
    shell.stdin.write(b"\n")
    shell.stdout.readline()
    recorder.go()
    shell.stdin.close()
    shell.wait()
    recording = recorder.wait()
    lost = recording.summary["lost"]
    bench.test("nobody reads: copies are lost", lost["copies"] > 0, lost)
    bench.test("nobody reads: no request for a table is lost",
               lost["requests"] == 0 and
               recording.summary["tables_asked"] >= FILES,
               "%s %s" % (lost, recording.log))


if __name__ == "__main__":
    sys.exit(livetest.main(loss, requests, programs=programs, only={
        "dump.py and native.py have a loss of their own":
            ("deferred immediate", (loss,)),
        "deferral alone sends copies and asks for tables at once":
            ("deferred", (requests,))}))
