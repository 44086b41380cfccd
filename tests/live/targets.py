#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: record takes what it was told to, and nothing else.

A running process (-p), a running thread (-t), the machine (-a), a command
and its children; several events at once; counts; an end by time, by the
command, by a signal; and the command's exit status.
"""

import collections
import os
import re
import signal
import subprocess
import sys
import time

import livetest

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile unsigned long sink;
void leaf_%(name)s(void) { for (int i = 0; i < 100000; i++) sink += i; }
void mid_%(name)s(void) { leaf_%(name)s(); __asm__ volatile(""); }
int compare_%(name)s(const void *a, const void *b)
{
	mid_%(name)s();
	return 0;
}
void *work(void *arg)
{
	int v[2] = {1, 2};
	printf("%%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	for (;;)
		qsort(v, 2, sizeof(*v), compare_%(name)s);
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1)
		pthread_create(&t, NULL, work, NULL);
	work(NULL);
}
"""
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
OFTEN = ["-e", "cpu-clock", "-F", "4999"]
LEAST_WHOLE = 0.999
# So that a program ends by itself, by the CPU time that it has used.
LIMIT = "ulimit -c 0; ulimit -t 1; "
# The program's only path, as far as it has come. qsort allocates and copies.
PATH = re.compile(
    r"(_start __libc_start_main(_impl)? __libc_start_call_main main|"
    r"(__)?clone3? start_thread)"
    r"( work( \S*qsort\S*( (?!main|work|compare|mid|leaf)\S+)*"
    r"( compare( mid( leaf)?)?)?)?)?$")


def compiled(bench, name):
    return bench.compile(SOURCE % {"name": name}, "spin-" + name, "-pthread")


def programs(bench):
    for name in "one", "two", "three":
        compiled(bench, name)
    bench.compile(REBORN, "reborn")
    bench.compile(MOVING, "moving", "-pthread")
    bench.compile(ENDING, "ending", "-pthread")


def spinner(bench, name, *arguments):
    """A running program; returns (process, its threads' tids)."""
    exe = bench.path("spin-" + name)
    if not os.path.exists(exe):
        compiled(bench, name)
    process = bench.start([exe, *arguments], stdout=subprocess.PIPE)
    tids = [int(process.stdout.readline()) for _ in range(
        2 if arguments else 1)]
    return process, tids


def stop(*processes):
    for process in processes:
        process.kill()
        process.wait()


def whole(bench, what, samples, least):
    """As many of them as the issue asks for are whole."""
    # A dump amid an execve has no stack of the program that was.
    fine = ("outermost", "exec")[:1 + (bench.args.engine == "dump")]
    short = [s for s in samples if s["end"] not in fine]
    bench.note("%s: %d samples, not whole: %s" % (what, len(samples), dict(
        collections.Counter(s["end"] for s in short))))
    bench.test(what + ": whole, through a library that was there before",
               len(samples) >= least and
               len(short) <= (1 - LEAST_WHOLE) * len(samples),
               "%d samples\n" % len(samples) +
               "\n".join(map(livetest.show, short[:5])))


def on_path(bench, what, samples, name):
    """The whole ones are the path of the spinner of that name."""
    wrong, deep = [], 0
    for sample in samples:
        path = " ".join(livetest.user_path(sample)).replace("_" + name, "")
        deep += path.endswith(" compare mid leaf")
        if sample["end"] == "outermost" and not PATH.match(path):
            wrong.append(sample)
    bench.test(what + ": the path is the program's own, mostly to its end",
               not wrong and deep > 0.9 * len(samples),
               "%d wrong, %d of %d at the end\n" % (
                   len(wrong), deep, len(samples)) +
               "\n".join(map(livetest.show, wrong[:5])))


def hold(bench, what, recording, samples, name, least):
    samples = recording.kept(samples)
    whole(bench, what, samples, least)
    on_path(bench, what, samples, name)


def process(bench):
    one, one_tids = spinner(bench, "one", "thread")
    two, _ = spinner(bench, "two")
    recorder = bench.recorder(*OFTEN, "-p", str(one.pid)).ready()
    livetest.burn(1, one.pid)
    recording = recorder.interrupt()
    samples = recording.samples()
    tids = {s["tid"] for s in samples}
    bench.test("-p: records that process alone, both its threads",
               recording.status == 0 and tids == set(one_tids) and
               {s["pid"] for s in samples} == {one.pid}, tids)
    hold(bench, "-p", recording, samples, "one", 1000)
    recording = bench.record(*CLOCK, "-p", "%d,%d" % (one.pid, two.pid),
                             "--duration", "0.5")
    bench.test("-p: two processes", {s["pid"] for s in recording.samples()} ==
               {one.pid, two.pid}, recording.log)
    recorder = bench.recorder(*OFTEN, "-t", str(one_tids[1])).ready()
    livetest.burn(0.6, one.pid, one_tids[1])
    recording = recorder.interrupt()
    samples = recording.samples()
    bench.test("-t: that thread alone, not its sibling",
               {s["tid"] for s in samples} == {one_tids[1]},
               collections.Counter(s["tid"] for s in samples))
    hold(bench, "-t", recording, samples, "one", 500)
    # All that a busy machine does is recorded as well: not as often.
    recorder = bench.recorder(*CLOCK, "-a").ready()
    livetest.burn(0.5, two.pid)
    recording = recorder.interrupt()
    samples = recording.samples()
    for name, pid in (("one", one.pid), ("two", two.pid)):
        hold(bench, "-a, %s" % name, recording,
             [s for s in samples if s["pid"] == pid], name, 100)
    stop(one, two)


def target_ends(bench):
    one, _ = spinner(bench, "one")
    recorder = bench.recorder(*CLOCK, "-p", str(one.pid)).ready()
    livetest.burn(0.2, one.pid)
    stop(one)
    recording = recorder.wait()
    bench.test("-p: ends with the process", recording.status == 0 and
               len(recording.samples()) > 50, recording.log)


# A thread that ends when it is told to, of a process that goes on.
ENDING = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile unsigned long sink;
static void *thread(void *arg)
{
	printf("%d\n", (int)syscall(SYS_gettid));
	fflush(stdout);
	getchar();
	while (sink < 400000000)
		sink++;
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	sleep(300); /* or who waits for the process would wait for ever */
	return 0;
}
"""


def engines(bench):
    """Whose threads end is told otherwise without BPF: that, too."""
    yield "", []
    if bench.engine == "deferred":
        yield ", dump", ["--engine", "dump"]


def thread_ends(bench):
    exe = bench.compile(ENDING, "ending", "-pthread")
    for what, engine in engines(bench):
        process = bench.start([exe], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
        tid = int(process.stdout.readline())
        recorder = bench.recorder(*CLOCK, *engine, "-t", str(tid)).ready()
        process.stdin.close()
        recording = recorder.wait()
        bench.test("-t%s: ends with the thread, though its process goes on" %
                   what, recording.status == 0 and process.poll() is None and
                   len(recording.samples()) > 50, recording.log)
        stop(process)


# It has a child that has ended, which nobody waits for.
UNAWAITED = """
import os, sys
if os.fork() == 0:
    os._exit(0)
os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
print("ready", flush=True)
while not sys.stdin.closed:
    os.stat("/")
"""
# A user that has no other processes.
NOBODY_ELSE = 54321


def found_ended(bench):
    """-u and -D find processes, of which some end before they are opened."""
    lone = bench.start(["/usr/bin/python3", "-c", UNAWAITED], user=NOBODY_ELSE,
                       stdout=subprocess.PIPE)
    lone.stdout.readline()
    recorder = bench.recorder(*CLOCK, "-u", str(NOBODY_ELSE)).ready()
    livetest.burn(0.2, lone.pid)
    recording = recorder.interrupt()
    bench.test("-u: a process that has ended is not missed",
               recording.status == 0 and lone.pid in {
                   s["pid"] for s in recording.samples()}, recording.log)
    stop(lone)
    recording = bench.record(*CLOCK, "-D", "300", "--duration", "1", "--",
                             "/usr/bin/python3", "-c", UNAWAITED)
    bench.test("-D: nor is one below the command",
               "unwinds" in recording.log and recording.samples(),
               recording.log)


# Starts a program under a pid of choice, as the kernel does when they wrap.
REBORN = r"""
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	pid_t wanted = atoi(argv[1]);
	struct clone_args args = {.exit_signal = SIGCHLD,
				  .set_tid = (uintptr_t)&wanted,
				  .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(99);
	}
	return pid < 0 ? 77 : waitpid(pid, NULL, 0) != pid;
}
"""


def pid_reused(bench):
    bench.compile(REBORN, "reborn")
    two, _ = spinner(bench, "two")
    compiled(bench, "three")
    for option in ("-p", "-t"):
        what = option + ": another program under a target's old number"
        one, _ = spinner(bench, "one")
        recorder = bench.recorder(*CLOCK, option, "%d,%d" % (
            one.pid, two.pid)).ready()
        livetest.burn(0.1, one.pid)
        livetest.burn(0.1, two.pid)
        stop(one)
        status = subprocess.run(
            [bench.path("reborn"), str(one.pid), "timeout", "0.5",
             bench.path("spin-three")], stdout=subprocess.DEVNULL).returncode
        recording = recorder.interrupt()
        if status == 77:
            bench.skip(what, "pids cannot be chosen here")
            continue
        comms = collections.Counter(
            (s["comm"], s["pid"] == one.pid) for s in recording.samples())
        bench.test(what + " is not taken for it",
                   status == 0 and set(comms) == {
                       ("spin-one", True), ("spin-two", False)}, comms)
    stop(two)


def ends_for_another(bench):
    """The number lives on, with another process."""
    bench.compile(REBORN, "reborn")
    for option in ("-p", "-t"):
        what = option + ": ends with the target, though another has its number"
        one, _ = spinner(bench, "one")
        recorder = bench.recorder(*CLOCK, option, str(one.pid)).ready()
        livetest.burn(0.1, one.pid)
        # The recorder sees the number gone, or it does not.
        recorder.process.send_signal(signal.SIGSTOP)
        stop(one)
        other = bench.start([bench.path("reborn"), str(one.pid), "sleep",
                             "10"])
        while other.poll() is None and not os.path.exists(
                "/proc/%d" % one.pid):
            time.sleep(0.01)
        recorder.process.send_signal(signal.SIGCONT)
        if other.poll() is not None:
            bench.skip(what, "pids cannot be chosen here")
            recorder.interrupt()
            continue
        recording = recorder.wait()
        bench.test(what, recording.status == 0 and other.poll() is None and
                   recording.samples(), recording.log)
        os.kill(one.pid, signal.SIGKILL)
        other.wait()


# A thread runs another program, by which it gets its process's number. It has
# so much memory to give back in the middle that whoever looks sees neither.
MOVING = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static char *const *next;
static void *thread(void *arg)
{
	static char much[256 << 20];
	for (size_t i = 0; i < sizeof(much); i += 4096)
		much[i] = 1;
	printf("%d\n", (int)syscall(SYS_gettid));
	fflush(stdout);
	getchar();
	execvp(next[0], next);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	next = argv + 1;
	pthread_create(&t, NULL, thread, NULL);
	pause();
	return argc;
}
"""


def thread_execs(bench):
    bench.compile(MOVING, "moving", "-pthread")
    compiled(bench, "one")
    for what, engine in engines(bench):
        process = bench.start([bench.path("moving"), "sh", "-c", LIMIT +
                               bench.path("spin-one") + "; true"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        tid = int(process.stdout.readline())
        recorder = bench.recorder(*OFTEN, *engine, "-t", str(tid)).ready()
        process.stdin.close()
        process.wait()
        recording = recorder.wait()
        samples = [s for s in recording.samples() if s["comm"] == "spin-one"]
        bench.test("-t%s: a thread that execs is followed under its new number"
                   % what, recording.status == 0 and tid != process.pid and
                   len(samples) > 100, collections.Counter(
                       (s["comm"], s["tid"]) for s in recording.samples()))
        on_path(bench, "-t%s: what the thread runs then" % what, [
            s for s in samples if "qsort" in " ".join(livetest.user_path(s))],
                "one")


def children(bench):
    compiled(bench, "one")
    count = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; "
    spin = "(%sexec %s)" % (LIMIT, bench.path("spin-one"))
    recording = bench.record(*CLOCK, "--", "sh", "-c", "%ssh -c '%s%s; true' "
                             "& %s; wait" % (count, count, spin, spin))
    samples = recording.samples()
    mine = recording.kept([s for s in samples if s["comm"] == "spin-one"])
    pids = collections.Counter((s["comm"], s["pid"]) for s in samples)
    spinning = {pid for comm, pid in pids if comm == "spin-one"}
    # As busybox's shell is called for a moment, where that is sh.
    comms = {comm for comm, pid in pids} - {"exe"}
    bench.test("a command's children and theirs are recorded",
               recording.status == 0 and len(spinning) == 2 and
               {"sh", "spin-one"} == comms and
               len({pid for comm, pid in pids} - spinning) == 2, pids)
    whole(bench, "a command's children", mine, 300)
    on_path(bench, "a command's children", [
        s for s in mine if "qsort" in " ".join(livetest.user_path(s))], "one")


# 512 faults each time.
FAULTS = ("import mmap\nfor i in range(%d):\n m = mmap.mmap(-1, 1 << 21)\n"
          " for at in range(0, 1 << 21, 4096): m[at] = 1\n m.close()")


def events(bench):
    command = ["--", "/usr/bin/python3", "-c", FAULTS % 20]
    # Some tick in a fault that is a sample as well: 4 of 20 times 512, 14 to 39
    # of these.
    recording = bench.record("-e", "cpu-clock", "-e", "page-faults", "-F",
                             "4999", "--", "/usr/bin/python3", "-c",
                             FAULTS % 200)
    samples = recording.samples()
    by = collections.Counter(s["event"] for s in samples)
    bench.test("two events, each under its name", set(by) == {
        "cpu-clock", "page-faults"} and min(by.values()) > 20, by)
    kinds = collections.defaultdict(set)
    for sample in samples:
        kinds[sample.get("cookie")].add(sample["event"])
    bench.test("samples of both events share a stack",
               sum(len(kind) == 2 for kind in kinds.values()) > 0, by)
    recording = bench.record("-m", "16M", "-e", "page-faults", "-c", "1",
                             *command)
    every = len(recording.samples())
    bench.test("-c 1: a sample for each of 10,240 page faults, or more",
               10240 <= every <= 16000, every)
    recording = bench.record("-m", "16M", "-e", "page-faults", "-c", "10",
                             *command)
    samples = recording.samples()
    bench.test("-c 10: a tenth of them, each stands for ten",
               abs(len(samples) - every / 10) < every / 50 and
               {s["period"] for s in samples} == {10},
               "%d and %d, %s" % (every, len(samples), {
                   s["period"] for s in samples}))


def endings(bench):
    # By which the command does not end by itself.
    recording = bench.record(*CLOCK, "--duration", "0.6", "--", "sleep", "900")
    bench.test("--duration: ends in time, and asks the command to end",
               recording.summary and
               recording.status == 128 + signal.SIGTERM, recording.status)
    for command, want in ((["sh", "-c", "exit 7"], 7), (["true"], 0),
                          (["sh", "-c", "kill -9 $$"], 137),
                          (["sh", "-c", "kill -SEGV $$"], 139)):
        recording = bench.record(*CLOCK, "--", *command)
        bench.test("exit status of '%s' is %d" % (" ".join(command), want),
                   recording.status == want and recording.summary,
                   "%s: %s" % (recording.status, recording.log))
    for name in ("INT", "TERM"):
        one, _ = spinner(bench, "one")
        recorder = bench.recorder(*CLOCK, "-p", str(one.pid)).ready()
        livetest.burn(0.2, one.pid)
        recording = recorder.interrupt(getattr(signal, "SIG" + name))
        stop(one)
        bench.test("SIG%s ends it well: status 0, a summary and a whole file"
                   % name, recording.status == 0 and
                   "complete" in recording.log and
                   len(recording.samples()) == recording.summary["samples"]
                   > 50 and not recording.complaint, recording.log)
    interrupted(bench)


def interrupted(bench):
    """Ctrl-C, of which the command takes no notice."""
    recorder = bench.recorder(*CLOCK, "--", "sh", "-c",
                              "trap '' INT; while :; do :; done").ready()
    child = livetest.command_of(recorder.process.pid)
    livetest.burn(0.2, child)
    recording = recorder.interrupt(signal.SIGINT)
    bench.test("Ctrl-C: a command that goes on is asked to end, and what was "
               "recorded is whole",
               recording.status == 128 + signal.SIGTERM and
               not os.path.exists("/proc/%d" % child) and
               len(recording.samples()) == recording.summary["samples"]
               > 50 and not recording.complaint, "status %d: %s" % (
                   recording.status, recording.log))


def fill(fd):
    """A pipe, to its last byte. Whoever else writes to it will wait."""
    end = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(end, b" " * size)
        except BlockingIOError:
            pass
    os.close(end)


def writes_to(pid, fd):
    """It is in write(2)."""
    with open("/proc/%d/syscall" % pid) as f:
        return f.read().split()[:2] == ["1", hex(fd)]


def signal_too_late(bench):
    """It comes when all is recorded, and the summary is being printed."""
    one, _ = spinner(bench, "one")
    reader, writer = os.pipe()
    recorder = bench.start(
        [bench.seam, "record", *CLOCK, "-o", bench.path("late.data"), "-p",
         str(one.pid)], stderr=writer, env=bench.env)
    while recorder.poll() is None and not livetest.polls(recorder.pid):
        time.sleep(0.01)
    livetest.burn(0.2, one.pid)
    fill(writer)
    recorder.send_signal(signal.SIGTERM)
    while recorder.poll() is None and not writes_to(recorder.pid, 2):
        time.sleep(0.01)
    recorder.send_signal(signal.SIGTERM)
    os.close(writer)
    with open(reader, "rb") as f:
        log = f.read().decode()
    stop(one)
    bench.test("a signal after the end does not change its status",
               recorder.wait() == 0 and "complete" in log,
               "%d: %s" % (recorder.returncode, log.strip()))


if __name__ == "__main__":
    sys.exit(livetest.main(process, target_ends, thread_ends, found_ended,
                           pid_reused, ends_for_another, thread_execs,
                           children, events, endings, signal_too_late,
                           programs=programs, only={
                               "a stack for each sample, and copies that need "
                               "more room than there is":
                                   ("deferred", (events,))}))
