# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the live tests share: TAP, a recorder to start and end, its samples.

A test is a function that takes a Bench and calls its test(); main() gives it
a private folder and table cache, and skips all where recording cannot be.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

import prebuilt
import stalls

HERE = os.path.dirname(os.path.abspath(__file__))

# C for programs under test: their CPU time, by a bare system call, so that no
# frame of libc appears. It wants <time.h>.
CPU_MS = r"""
static long cpu_ms(void)
{
	struct timespec t;
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(228L), "D"(2L), "S"(&t)
			 : "rcx", "r11", "memory");
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
"""

# Spins for so many ms of CPU time; with another argument it ends with 3.
SPIN = r"""
#include <time.h>
#include <stdlib.h>
static volatile unsigned long sink;
""" + CPU_MS + r"""
void leaf(void) { for (int i = 0; i < 20000; i++) sink += i; }
void middle(void) { leaf(); __asm__ volatile(""); }
void outer(void) { middle(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	while (cpu_ms() < atol(argv[1]))
		outer();
	return argc > 2 ? 3 : 0;
}
"""
SPIN_PATH = ["leaf", "middle", "outer", "main"]

# As many children as CHILDREN says, between two lines of input.
VFORKS = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	getchar();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = vfork();
		if (!pid) _exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 1;
	}
	puts("done"); fflush(stdout);
	getchar();
	getchar();
	return 0;
}
"""

# C of a stack that spells a number, bit by bit, down to leaf(n), which comes
# before it, as does STAY(), behind which no call is the last.
SPELL = r"""
void spell(unsigned n, int bit);
__attribute__((noipa)) void bit0(unsigned n, int bit) { spell(n, bit); STAY(); }
__attribute__((noipa)) void bit1(unsigned n, int bit) { spell(n, bit); STAY(); }
__attribute__((noipa)) void spell(unsigned n, int bit)
{
	if (!bit) leaf(n);
	else if (n >> (bit - 1) & 1) bit1(n, bit - 1);
	else bit0(n, bit - 1);
	STAY();
}
"""


# What an engine says instead, where it cannot have a stack; deferred can.
MAY_END = {"immediate": ("unreadable", "unsure"),
           "dump": ("copy-short", "exec", "exited", "unreadable", "unsure")}


# How often a function may run that a machine which stands still has failed.
TRIES = 3


class Bench:
    """One run of a test file: its options, its folder, its TAP lines."""

    def __init__(self, args, folder):
        self.args = args
        self.seam = os.path.abspath(args.seam)
        self.folder = self.top = folder
        self.results = []
        # Of the function that runs.
        self.late = []      # promises that were not kept in time, and why
        self.is_wrong = False
        self.running = []
        self.engine = args.engine or "deferred"
        self.may_end = MAY_END.get(self.engine, ())
        self.env = dict(os.environ,
                        XDG_CACHE_HOME=os.path.join(folder, "cache"))
        os.mkdir(os.path.join(folder, "cache"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def say(self, line):
        """At once: whoever ends us amid a test sees how far it was."""
        print(line)
        sys.stdout.flush()

    def verdict(self, what, good, why=""):
        self.results.append(bool(good))
        self.say("%sok %d - %s" % ("" if good else "not ", len(self.results),
                                   what))
        if not good:
            # A summary is one dictionary, of more than a line's length.
            lines = textwrap.wrap(str(why), 900) if isinstance(
                why, dict) else str(why).splitlines()[:40]
            self.note("\n".join("  " + line for line in lines))

    def test(self, what, good, why=""):
        self.is_wrong |= not good
        self.verdict(what, good, why)
        return good

    def timely(self, what, good, why=""):
        """A promise for a machine that does not stand still: what ends is
        read in time, and buffers are emptied."""
        if good:
            self.verdict(what, good)
        else:
            self.late.append((what, why))
        return good

    def skip(self, what, why):
        self.test("%s # SKIP %s" % (what, why), True)

    def note(self, text):
        for line in str(text).splitlines():
            self.say("# " + line[:1000])

    def may_try_again(self):
        """Some promises were not kept, all of them only late."""
        return bool(self.late) and not self.is_wrong

    def try_again(self, count):
        """In another folder, as if nothing had been promised."""
        self.end()
        for what, why in self.late:
            self.note("too late: " + what)
            self.note("\n".join(str(why).splitlines()[:40]))
        self.late = []
        self.folder = os.path.join(self.top, "again%d" % count)
        os.makedirs(self.folder, exist_ok=True)

    def close(self):
        """What the function found too late is so for good."""
        for what, why in self.late:
            self.verdict(what, False, why)
        self.late, self.is_wrong, self.folder = [], False, self.top

    # --- programs ---

    def compile(self, source, name, *flags, compiler="cc", language="c",
                paths=()):
        """Builds C text without frame pointers; returns the path. Flags that
        name folders of this machine are in paths."""
        out = self.path(name)
        prebuilt.make(self.args, out, [
            compiler, "-x", language, "-", "-O1", "-g0",
            "-fomit-frame-pointer", "-fno-inline", "-Wl,-z,now", *flags],
            paths, source)
        return out

    def start(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.running.append(process)
        return process

    def end(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.running = []

    # --- recordings ---

    def record(self, *options, name="perf.data", **popen):
        """A whole recording. Returns a Recording."""
        return self.recorder(*options, name=name, **popen).wait()

    def recorder(self, *options, name="perf.data", **popen):
        return Recorder(self, options, name, popen)


class Recording:
    def __init__(self, bench, data, status, log, summary):
        self.bench = bench
        self.data = data
        self.status = status
        self.log = log
        self.summary = summary

    def samples(self, *options):
        """Every sample as `seam script` gives it, without inlined functions
        if the options do not say else. Raises if it fails."""
        known = {}

        def share(made):
            """Equal frames as one: a guest has not the memory for all."""
            if "ip" not in made:
                return made
            return known.setdefault(tuple(made.items()), made)

        with tempfile.TemporaryFile("w+", errors="replace") as said:
            reader = subprocess.Popen(
                [self.bench.seam, "script", "-i", self.data, "--format",
                 "json", "--no-inline", *options], stdout=subprocess.PIPE,
                stderr=said, encoding="utf-8", errors="replace",
                env=self.bench.env)
            with reader:
                samples = [json.loads(line, object_hook=share)
                           for line in reader.stdout]
            said.seek(0)
            self.complaint = said.read()
        if reader.returncode:
            raise RuntimeError("seam script: status %d: %s" % (
                reader.returncode, self.complaint))
        return samples

    def kept(self, samples):
        """Those whose stack was not lost. A machine that is busy loses some,
        and says so: without a count for each entry all are given back."""
        counts = self.summary["lost"]
        cookies = {s.get("cookie") for s in samples if s["end"] == "lost"}
        if len(cookies) > sum(counts[place] for place in (
                "stacks", "copies", "elements", "scratch")):
            return samples
        kept = [s for s in samples if s["end"] != "lost"]
        if cookies:
            self.bench.note("lost and counted: %d samples, %s" % (
                len(samples) - len(kept),
                {place: n for place, n in counts.items() if n}))
        return kept


class Recorder:
    """A `seam record` that runs, and has begun to record."""

    def __init__(self, bench, options, name, popen):
        self.bench = bench
        self.data = bench.path(name)
        self.json = self.data + ".json"
        self.log = open(self.data + ".log", "w+")
        if os.path.exists(self.json):
            os.unlink(self.json)
        popen.setdefault("stdout", subprocess.DEVNULL)
        popen.setdefault("env", bench.env)
        engine = bench.args.engine and "--engine" not in options
        self.process = bench.start(
            [bench.seam, "record", "-o", self.data, "--json-summary",
             self.json, *(["--engine", bench.engine] if engine else []),
             *options], stderr=self.log, **popen)

    def ready(self):
        """Waits until it records: the events are on, the file has a header.

        The file alone is too early by the start of the events. A recorder
        that reads its rings sleeps in poll."""
        while self.process.poll() is None:
            if os.path.exists(self.data) and polls(self.process.pid):
                return self
            time.sleep(0.01)
        return self

    def settle(self):
        """Waits until it has done all that there is to do: none of its
        threads wants a CPU, nor has had one since it last read its rings.
        Half a minute: with buffers of a page, on a slow machine, what others
        do may not let it rest."""
        pid, before, still = self.process.pid, -1, 0
        until = time.monotonic() + 30
        while self.process.poll() is None and still < 3 and \
                time.monotonic() < until:
            used = cpu_ticks(pid)
            rests = used == before and polls(pid) and all(
                state(pid, tid) in "SI"
                for tid in os.listdir("/proc/%d/task" % pid))
            before, still = used, still + 1 if rests else 0
            time.sleep(0.1)
        if still < 3:
            self.bench.note("the recorder did not come to rest")

    def stop(self):
        """Until go(): its buffers fill."""
        pid = self.process.pid
        self.process.send_signal(signal.SIGSTOP)
        while self.process.poll() is None and any(
                state(pid, tid) != "T"
                for tid in os.listdir("/proc/%d/task" % pid)):
            time.sleep(0.01)

    def go(self):
        self.process.send_signal(signal.SIGCONT)

    def interrupt(self, signum=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signum)
        return self.wait()

    def wait(self):
        status = self.process.wait()
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        summary = None
        if os.path.exists(self.json):
            with open(self.json) as f:
                summary = json.load(f)
        return Recording(self.bench, self.data, status, text, summary)


def stat(pid, tid=None):
    """What the kernel says of a process, or a thread of it: from its state
    on."""
    path = "/proc/%d/" % pid + ("task/%s/" % tid if tid else "") + "stat"
    with open(path) as f:
        return f.read().rpartition(")")[2].split()


def state(pid, tid=None):
    return stat(pid, tid)[0]


def naps(pid, tid=None):
    """How often it has gone to sleep by itself."""
    path = "/proc/%d/task/%s/status" % (pid, tid or pid)
    with open(path) as f:
        return int(f.read().split("\nvoluntary_ctxt_switches:")[1].split()[0])


def cpu_ticks(pid, tid=None):
    """The CPU time that it has used."""
    words = stat(pid, tid)
    return int(words[11]) + int(words[12])


def burn(seconds, pid, tid=None):
    """Waits until a target has used so much more CPU time: a machine that is
    busy gives it that later."""
    end = cpu_ticks(pid, tid) + seconds * os.sysconf("SC_CLK_TCK")
    while cpu_ticks(pid, tid) < end:
        if state(pid, tid) in "ZX":
            raise RuntimeError("%d has ended" % pid)
        time.sleep(0.02)


def command_of(recorder):
    """The process that it has begun; None: not yet."""
    with open("/proc/%d/task/%d/children" % (recorder, recorder)) as f:
        return int((f.read().split() or [0])[0]) or None


# Page by page, whatever size the kernel would like its pages to have.
TOUCH = """import mmap
input()
m = mmap.mmap(-1, 40 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
try:
    m.madvise(mmap.MADV_NOHUGEPAGE)
except OSError:
    pass # it has no other
for i in range(0, 40 << 20, 4096):
    m[i] = 1
"""


def unread(bench, *options):
    """Records 10,240 page faults and more while nobody reads: so any buffer
    that is smaller loses some, on any machine."""
    recorder = bench.recorder(*options, "-e", "page-faults", "-c", "1", "--",
                              "/usr/bin/python3", "-c", TOUCH,
                              stdin=subprocess.PIPE).ready()
    command = command_of(recorder.process.pid)
    recorder.stop()
    recorder.process.stdin.write(b"\n")
    recorder.process.stdin.flush()
    while state(command) not in "ZX":
        time.sleep(0.01)
    recorder.go()
    return recorder.wait()


def polls(pid):
    """Whether it sleeps in poll or ppoll."""
    try:
        with open("/proc/%d/syscall" % pid) as f:
            return f.read().split()[0] in ("7", "271")
    except OSError:
        return False


def newer_perf():
    """perf 7.3.4 that was fetched; empty: none was."""
    tool = os.path.join(HERE, "..", "..", "tools", "peers.sh")
    return os.environ.get("SEAM_PERF") or subprocess.run(
        [tool, "--where"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, encoding="utf-8").stdout.strip()


def perf_stacks(text):
    """Of perf script's text, each leaf first."""
    for block in text.split("\n\n"):
        lines = [line.split() for line in block.splitlines()[1:]]
        yield [words[1].split("+")[0] for words in lines if len(words) > 1]


def is_spin(found):
    """From SPIN's innermost function that is in it on, all of its path."""
    at = min(found.index(name) for name in SPIN_PATH if name in found)
    expected = SPIN_PATH[SPIN_PATH.index(found[at]):]
    return found[at:at + len(expected)] == expected


def user_frames(sample):
    """Root first."""
    return [f for f in reversed(sample["frames"]) if not f.get("kernel")
            and not f.get("inlined")]


def kernel_frames(sample):
    return [f for f in sample["frames"] if f.get("kernel")]


def user_path(sample):
    return [f.get("sym", "?").split("@")[0] for f in user_frames(sample)]


def show(sample):
    return "%s %s tid %d end %s: %s" % (
        sample.get("comm"), sample["time_ns"], sample["tid"],
        sample.get("end"), " ".join(
            "%s:%s+%d" % (f["ip"], f.get("sym", "?"), f.get("off", 0))
            for f in sample["frames"]))


def why_not(args, of):
    """Why nothing can be recorded here, by the engine that it is of, or
    None."""
    if os.geteuid() != 0:
        return "recording with BPF needs root here"
    if not os.path.exists(args.seam):
        return "%s is not built" % args.seam
    doctor = subprocess.run([args.seam, "doctor"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, encoding="utf-8")
    none = any(line.split()[:2] == ["no", "task-work"]
               for line in doctor.stdout.splitlines())
    if none and (of == "deferred" or not args.engine):
        return "this kernel has no task work for BPF"
    if of and args.engine not in (None, of):
        return "of the engine %s alone" % of
    return None # that this kernel has what is named, who names it has seen


def prebuild(args, programs):
    """Makes what the tests will ask for, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="seam-live-") as folder:
        programs(Bench(args, folder))
    return 0


def main(*tests, options=(), tools=(), programs=None, of=None, only=None):
    """programs(bench) compiles all that the tests compile. tools: options for
    programs of the build. of: the one engine that they are of. only: why not
    the others -> engines, functions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seam", default="build/seam")
    parser.add_argument("--progs", default="build/tests/progs")
    parser.add_argument("--only", help="name of one of the functions")
    parser.add_argument("--keep", help="a folder to work in and leave")
    parser.add_argument("--engine", help="for recordings that name none")
    parser.add_argument("--slower", type=int, default=1,
                        help="how much slower than usual this machine is")
    parser.add_argument("--prebuild", help="compile into this folder, and end")
    parser.add_argument("--prebuilt", help="the folder; nothing is compiled")
    for name, value in (*options, *tools):
        parser.add_argument(name, default=value)
    args = parser.parse_args()
    # A background shell's children ignore SIGINT, and so would ours.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if args.prebuild:
        os.makedirs(args.prebuild, exist_ok=True)
    for name, _ in tools:
        name = name.lstrip("-").replace("-", "_")
        setattr(args, name, prebuilt.tool(args, getattr(args, name)))
    if args.prebuild:
        return prebuild(args, programs)
    reason = why_not(args, of)
    if reason:
        print("1..0 # SKIP " + reason)
        return 0
    folder = args.keep or tempfile.mkdtemp(prefix="seam-live-")
    os.makedirs(folder, exist_ok=True)
    bench = Bench(args, folder)
    watch = stalls.Watch()
    try:
        for function in tests:
            if args.only and function.__name__ != args.only:
                continue
            why = why_skipped(bench.engine, function, only or {})
            if why:
                bench.skip(function.__name__, why)
                bench.close()
            else:
                run_one(bench, function, watch)
    finally:
        watch.end()
        bench.end()
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("1..%d" % len(bench.results))
    return 0 if bench.results and all(bench.results) else 1


def why_skipped(engine, function, only):
    """Why an engine does not promise what the function tests, or None."""
    for why, (engines, functions) in only.items():
        if function in functions and engine not in engines.split():
            return why
    return None


def run_once(bench, function):
    began = time.monotonic()
    try:
        function(bench)
    except Exception:
        bench.test(function.__name__ + " ran to its end", False,
                   traceback.format_exc())
    bench.note("%s took %.1f s" % (function.__name__,
                                   time.monotonic() - began))


def run_one(bench, function, watch):
    """Again where a promise was not kept that has to be kept in time, while
    the machine stood still."""
    watch.worst()
    for count in range(1, TRIES + 1):
        run_once(bench, function)
        stood = watch.worst()
        if count == TRIES or not stood or not bench.may_try_again():
            break
        bench.try_again(count)
        bench.note("this machine stood still for %.0f ms: once more" %
                   (stood * 1000))
    bench.close()
