#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the engine dump records whole stacks, without any right for a
user's own programs; what it cannot have it says.

auto takes it where the rights for BPF are missing. Its stacks are those that
the programs have, samples carry their own (spelling.py), a copy that is too
short and a buffer that is full are counted, and exactly. Whose process it
may record perf says, too.
"""

import collections
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

import livetest
import rights
import spelling

DUMP = ["--engine", "dump"]
DEEP = r"""
#include <stdlib.h>
#include <time.h>
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
__attribute__((noipa)) void down(int n)
{
	volatile char room[1000];
	room[0] = n; /* the kernel copies up to the first page not there */
	if (n) down(n - 1);
	else for (int i = 0; i < 100000; i++) sink += i;
	__asm__ volatile("" : : "r"(room) : "memory");
}
int main(int argc, char **argv)
{
	long end = cpu_ms() + 500;
	while (cpu_ms() < end) down(atoi(argv[1]));
	return 0;
}
"""
HIDDEN = r"""
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	pause();
	return 0;
}
"""


def engine_of(bench, recording):
    """What the file says, in the feature that perf shows as its version."""
    with open(recording.data, "rb") as f:
        head = f.read(65536)
    found = re.search(rb"seam [0-9.]+, engine ([a-z]+)", head)
    return found.group(1).decode() if found else None


def add_up(bench, what, recording, samples):
    summary = recording.summary
    ends = {code: n for code, n in summary["end"].items() if n}
    found = dict(collections.Counter(s["end"] for s in samples))
    bench.test(what + ": the counts add up, in the summary and in the file",
               summary["wanted"] + ends.get("no-user", 0) ==
               sum(ends.values()) == len(samples) and found == ends and
               summary["events"] == summary["samples"] + summary["excluded"] +
               summary["lost"]["samples"], "%s %s %s" % (found, ends, summary))


def programs(bench):
    bench.compile(rights.SOURCE, "reads")
    bench.compile(DEEP, "deep")
    bench.compile(HIDDEN, "hidden")
    forks(bench)
    spelling.build(bench, "spell", 3, 40)


def unprivileged(bench):
    user = rights.User(bench)
    exe = rights.program(bench)
    summary = os.path.join(user.home, "summary")
    before = os.umask(0)
    # A buffer of the size that a user has is full of 127 stacks: 0.6 s.
    recording = user.record("-e", "cpu-clock", "-F", "199", "--json-summary",
                            summary, "--", exe, "3")
    os.umask(before)
    rights.all_whole(bench, "a user without rights records a command, whole",
                     recording)
    bench.test("its exit status is the command's, and nothing was lost",
               recording.status == 7 and "lost: nothing" in recording.log,
               recording.log)
    modes = {path: oct(stat.S_IMODE(os.stat(path).st_mode))
             for path in (recording.data, summary)}
    bench.test("recording and summary are nobody else's to read",
               set(modes.values()) == {"0o600"}, modes)
    bench.test("auto takes dump, and says why",
               "engine dump (without CAP_BPF and CAP_PERFMON; see 'seam "
               "doctor')" in recording.log, recording.log)
    bench.test("the file says dump", engine_of(bench, recording) == "dump")
    samples = recording.samples()
    bench.test("the kernel's part is left out, which the event's name says",
               all(s["event"] == "cpu-clock:u" and
                   not livetest.kernel_frames(s) for s in samples),
               collections.Counter(s["event"] for s in samples))
    target = rights.started(bench, exe, user.argv(exe, "60"))
    recording = user.record("-e", "cpu-clock", "-F", "199", "-p",
                            str(target.pid), "--duration", "3")
    rights.all_whole(bench, "its own running process, whole", recording, False)
    target.kill()
    target.wait()


def refused(bench):
    user = rights.User(bench)
    root = bench.start(["sleep", "60"])
    closed, other = bench.path("bin", "closed"), bench.path("bin", "other")
    for path, mode in (closed, 0o711), (other, 0o4755):
        shutil.copy(rights.program(bench), path)
        os.chmod(path, mode)
    gets_rights = not os.statvfs(bench.folder).f_flag & os.ST_NOSUID
    for what, options, say in (
            ("another's process", ["-p", str(root.pid)], "another user's"),
            ("every task", ["-a"], "CAP_PERFMON"),
            ("the kernel's part", ["-e", "cpu-clock:k", "--", "true"],
             "CAP_PERFMON"),
            ("sleeps", ["--off-cpu", "--", "true"], "context-switches"),
            ("a place in a program", ["-e", "uprobe:%s:main" % rights.program(bench), "--",
                                      "true"], "CAP_BPF"),
            ("a tracepoint", ["-e", "sched:sched_switch", "--", "true"],
             "tracefs"),
            ("a command that one may not read", ["--", closed, "1"],
             "run as root, or with CAP_BPF"),
            *[("a command with other rights", ["--", other, "1"],
               "run as root, or with CAP_BPF")] * gets_rights):
        recording = user.record(*DUMP, *options, name="refused.data")
        lines = recording.log.splitlines()
        bench.test("without rights, %s: one line that says why" % what,
                   recording.status == 1 and len(lines) == 1 and
                   say in lines[0] and not os.path.exists(recording.data),
                   "status %d: %s" % (recording.status, recording.log))
    root.kill()
    root.wait()


def asleep(bench, argv):
    """A process that is the program, and sleeps in it."""
    process = bench.start(argv)
    while True:
        with open("/proc/%d/stat" % process.pid) as f:
            name, rest = f.read().rsplit(") ", 1)
        if rest[0] == "S" and name.endswith("(" + os.path.basename(
                argv[-2])[:15]):
            return process
        time.sleep(0.01)


def as_perf(bench):
    """Whose process one may record: the kernel decides, of perf as of us."""
    perf, user = bench.args.perf, rights.User(bench)
    if not perf or user.run(perf, "version").returncode:
        bench.skip("what perf refuses", "no perf 7.3.4 that a user may run")
        return
    sleep = shutil.which("sleep")
    rights.program(bench)  # and its folder
    hidden = bench.compile(HIDDEN, "bin/hidden")
    out = os.path.join(user.home, "as-perf.data")
    for what, argv, allowed in (
            ("its own process", user.argv(sleep, "60"), True),
            ("another's process", [sleep, "60"], False),
            ("its own process that may not be traced",
             user.argv(hidden, "60"), False)):
        target = asleep(bench, argv)
        of = ["-e", "cpu-clock:u", "-p", str(target.pid)]
        done = user.run(perf, "record", "-q", "-o", out, *of, "--", "sleep",
                        "0.1")
        ours = user.record(*of, "--duration", "0.1", name="ours.data")
        lines = ours.log.splitlines()
        bench.test("%s: perf %s it" % (
            what, "records" if allowed else "refuses"),
            (done.returncode == 0) == allowed, done.stderr)
        bench.test("%s: so do we%s" % (
            what, "" if allowed else ", in a line that says whose it is"),
            ours.status == 0 if allowed else
            ours.status == 1 and len(lines) == 1 and
            "task %d is another user's, or may not be traced: " %
            target.pid in lines[0] and
            not os.path.exists(ours.data),
            "status %d: %s" % (ours.status, ours.log))
        target.kill()
        target.wait()
        if allowed:
            os.unlink(ours.data)


def with_kernel(bench):
    """As root: both halves of the stack, also where they are of a child."""
    exe = rights.program(bench)
    recording = bench.record(*DUMP, *rights.CLOCK, "--", "sh", "-c",
                             exe + " 1; exit 7")
    rights.all_whole(bench, "as root, of what the command starts",
                     children(recording, "reads"))
    samples = recording.samples()
    growing = [s for s in samples if is_growing(s)]
    bench.test("few are taken where the stack's page is only on its way",
               len(growing) <= 5, "\n".join(map(livetest.show, growing)))
    add_up(bench, "as root", recording, samples)
    both = [s for s in samples if livetest.kernel_frames(s) and
            "pread" in " ".join(livetest.user_path(s))]
    bench.test("system calls have both halves", len(both) > 20 and all(
        not f.get("kernel") for s in both
        for f in s["frames"][len(livetest.kernel_frames(s)):]), len(both))
    recording = bench.record(*DUMP, "-e", "cpu-clock:u", "-F", "1999", "--",
                             exe, "1")
    samples = recording.samples()
    bench.test("with :u no address of the kernel is there, but its time is",
               not any(int(f["ip"], 16) >> 63 for s in samples
                       for f in s["frames"]) and
               any("pread" in " ".join(livetest.user_path(s)[-1:])
                   for s in samples), recording.log)


def in_exec(sample):
    """Has the program's name already, and its caller's registers still."""
    return sample["end"] == "exec" and any(
        "execve" in f.get("sym", "") for f in livetest.kernel_frames(sample))


def is_growing(sample):
    """The tick came in the fault that brings its stack's page: nothing can be
    copied of that."""
    return sample["end"] == "unreadable" and any(
        "page_fault" in f.get("sym", "") for f in
        livetest.kernel_frames(sample))


def children(recording, comm):
    """The recording's samples of one program alone, once it is begun; before
    main without those that come as its stack grows."""
    class Part(livetest.Recording):
        def samples(self, *options):
            mine = [s for s in super().samples(*options)
                    if s["comm"] == comm and not in_exec(s)]
            begin = next((i for i, s in enumerate(mine)
                          if "main" in livetest.user_path(s)), 0)
            return [s for i, s in enumerate(mine)
                    if i >= begin or not is_growing(s)]
    return Part(recording.bench, recording.data, recording.status,
                recording.log, recording.summary)


def forks(bench):
    return bench.compile(livetest.VFORKS, "forks", "-DCHILDREN=3000")


def processes_lost(bench):
    """Of what processes do there is too much for a page, while nobody reads
    it; of samples none."""
    target = bench.start([forks(bench)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorder = bench.recorder(*DUMP, "-e", "cpu-clock", "-c", "100000000000",
                              "-m", "1", "-p", str(target.pid)).ready()
    recorder.process.send_signal(signal.SIGSTOP)
    target.stdin.write(b"\n")
    target.stdin.flush()
    target.stdout.readline()
    recorder.process.send_signal(signal.SIGCONT)
    recording = recorder.interrupt()
    target.kill()
    target.wait()
    lost = (recording.summary or {}).get("lost", {})
    bench.test("records of processes are lost and counted, and no sample is "
               "said to be", recording.status == 0 and
               lost["sideband"] > 1000 and lost["samples"] == 0,
               "%s\n%s" % (lost, recording.log))


def short_copies(bench):
    exe = bench.compile(DEEP, "deep")
    for frames, copy, end in ((20, [], "outermost"),
                              (45, [], "copy-short"),
                              (45, ["--stack-copy", "65536"], "outermost"),
                              (20, ["--stack-copy", "8192"], "copy-short")):
        recording = bench.record(*DUMP, "-e", "cpu-clock", *copy, "--", exe,
                                 str(frames))
        samples = recording.samples()
        what = "%d frames of 1 KiB%s" % (frames, " ".join([""] + copy))
        add_up(bench, what, recording, samples)
        down = [s for s in samples if "down" in livetest.user_path(s)]
        bench.test("%s: %s" % (what, end), len(down) > 50 and
                   sum(s["end"] == end for s in down) >= 0.98 * len(down),
                   recording.log)


def faults(bench):
    """Events that are counted exactly, in a buffer that is too small."""
    recording = livetest.unread(bench, *DUMP, "-m", "16")
    summary = recording.summary
    add_up(bench, "a small buffer", recording, recording.samples())
    bench.test("a small buffer: it lost many, and the event's own count says "
               "that none is missing",
               summary["lost"]["samples"] > 1000 and
               summary["events"] == summary["expected"], summary)


def own_stacks(bench):
    spelling.own_stacks(bench, "dump", 0.99, add_up, "-F", "5000")


if __name__ == "__main__":
    sys.exit(0 if "--prebuild" not in sys.argv and rights.paranoid() else
             livetest.main(unprivileged, refused, as_perf, with_kernel,
                           processes_lost, short_copies, faults, own_stacks,
                           programs=programs, of="dump", options=[
                               ("--perf", os.environ.get("SEAM_PERF"))]))
