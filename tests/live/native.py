#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the engine native records the kernel's own deferred stacks; on
a program with frame pointers they are the program's, and ours are the same.

Where the kernel defers nothing, one line says so. Its programs are whole in
themselves and have a frame in every function. One spends its time in two
loops, one of them in system calls: so its stacks are known, but for a tick on
one of the few instructions at a function's ends, where a walk by frame
pointers leaves out the caller. Others touch pages at the ends of many paths,
in several threads: of each fault both engines have a stack, in one run. And
perf reads what native recorded, and sees the same frames.
"""

import collections
import json
import os
import shutil
import subprocess
import sys

import livetest
import rights

perf_samples = __import__("agree-perf").perf_samples

NATIVE = ["--engine", "native"]
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
HEAD = r"""
#include <time.h>
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
static inline __attribute__((always_inline)) long
call(long nr, long a, long b, long c)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b),
			 "d"(c) : "rcx", "r11", "memory");
	return ret;
}
#define CODE __attribute__((noipa))
/* A leaf has a frame only if it asks where that is. */
#define FRAME __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
"""
SOURCE = HEAD + r"""
static char bytes[1 << 16];
CODE void spin(void)
{
	FRAME;
	for (int i = 0; i < 1000000; i++)
		sink += i;
}
CODE void asks(void)
{
	FRAME;
	for (int i = 0; i < 5; i++)
		call(318, (long)bytes, sizeof(bytes), 0); /* getrandom */
}
CODE void work(void) { spin(); sink++; }
CODE void want(void) { asks(); sink++; }
CODE void turn(void) { work(); want(); sink++; }
CODE void doze(void)
{
	struct timespec t = {1000, 0};
	call(35, (long)&t, 0, 0); /* nanosleep */
	sink++;
}
/* With an argument it sleeps in the end. */
CODE int begin(long argc)
{
	long end = cpu_ms() + 2000;

	while (cpu_ms() < end)
		turn();
	if (argc > 1)
		doze();
	call(231, 0, 0, 0); /* exit_group */
	return 0;
}
"""
START = r"""
__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n"
	".cfi_undefined rip\nxor %ebp, %ebp\nmov (%rsp), %rdi\n"
	"and $-16, %rsp\ncall begin\nhlt\n.cfi_endproc\n"
	".size _start, . - _start\n");
"""
FLAGS = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
         "-fno-optimize-sibling-calls", "-fno-stack-protector",
         "-fasynchronous-unwind-tables", "-nostdlib", "-static", "-no-pie"]
# Each page is touched once, behind so many calls as its number says, of which
# some have big frames; in the end by a thread with a stack of its own as well.
TOUCH = HEAD + r"""
static volatile char pages[PAGES][4096] __attribute__((aligned(4096)));
static char stack[1 << 20] __attribute__((aligned(16)));
CODE void touch(int page) { FRAME; pages[page][page] = 1; }
CODE void small(int page, int n);
CODE void big(int page, int n)
{
	volatile char room[300];
	room[0] = n;
	if (n) small(page, n - 1); else touch(page);
	sink += room[0];
}
CODE void small(int page, int n)
{
	if (n) big(page, n - 1); else touch(page);
	sink++;
}
CODE void touch_all(int from, int to)
{
	for (int i = from; i < to; i++)
		if (i & 1) big(i, i / 2 % DEPTH); else small(i, i / 2 % DEPTH);
	sink++;
}
CODE void thread(void) { touch_all(PAGES / 2, PAGES); call(60, 0, 0, 0); }
CODE int begin(long argc)
{
	int tid = 0;
	char byte;

	call(28, (long)pages, sizeof(pages), 15); /* MADV_NOHUGEPAGE */
	call(0, 0, (long)&byte, 1); /* until it is recorded */
	touch_all(0, PAGES / 2);
	if (THREADS) {
		register long r10 __asm__("r10") = (long)&tid;
		long ret;
		/* The whole of a process but for signals, and tid as a futex. */
		__asm__ volatile("syscall; test %0, %0; jnz 1f\n"
				 "jmp spawned; 1:"
				 : "=a"(ret)
				 : "0"(56L), "D"(0x350f00L), "S"(stack + (1 << 20)),
				   "d"(&tid), "r"(r10)
				 : "rcx", "r11", "memory");
		while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
			call(24, 0, 0, 0); /* sched_yield */
	} else {
		touch_all(PAGES / 2, PAGES);
	}
	call(231, 0, 0, 0);
	return 0;
}
"""
# A thread's outermost frame, as _start is the program's.
SPAWNED = r"""
__asm__(".type spawned, @function\nspawned:\n.cfi_startproc\n"
	".cfi_undefined rip\nxor %ebp, %ebp\ncall thread\nhlt\n.cfi_endproc\n"
	".size spawned, . - spawned\n");
"""
# name -> pages, depths, whether a thread takes the second half.
TOUCHES = {"flat": (300, 3, 0), "deep": (1500, 60, 0), "threads": (1000, 25, 1)}
SPIN = ("_start", "begin", "turn", "work", "spin")
ASKS = ("_start", "begin", "turn", "want", "asks")


def program(bench):
    return bench.compile(SOURCE + START, "native-fp", *FLAGS)


def toucher(bench, name):
    flags = "-DPAGES=%d -DDEPTH=%d -DTHREADS=%d" % TOUCHES[name]
    return bench.compile(TOUCH + SPAWNED + START, "native-" + name, *FLAGS,
                         *flags.split())


def programs(bench):
    program(bench)
    by_thread(bench)
    for name in TOUCHES:
        toucher(bench, name)


def engines(bench):
    done = subprocess.run([bench.seam, "doctor", "--json"],
                          stdout=subprocess.PIPE)
    return {e["name"]: e for e in json.loads(done.stdout)["engines"]}


def refused(bench):
    recording = bench.record(*NATIVE, "--", "true", name="refused.data")
    lines = recording.log.splitlines()
    bench.test("without the kernel's deferral: one line that says what to do",
               recording.status == 1 and len(lines) == 1 and
               "Linux 6.19" in lines[0] and "doctor" in lines[0] and
               not os.path.exists(recording.data), recording.log)


def path(sample):
    """Root first."""
    return tuple(livetest.user_path(sample))


def add_up(bench, what, recording, samples):
    summary = recording.summary
    ends = {code: n for code, n in summary["end"].items() if n}
    found = dict(collections.Counter(s["end"] for s in samples))
    bench.test(what + ": the counts add up, in the summary and in the file",
               summary["wanted"] + ends.get("no-user", 0) ==
               sum(ends.values()) == len(samples) and found == ends and
               summary["watched"] == summary["samples"] + summary["own"] +
               summary["excluded"] + summary["lost"]["samples"],
               "%s %s %s" % (found, ends, summary))
    return found


def left_out(short, whole):
    """How many frames of a known path another lacks; None: it has others."""
    at = 0
    for name in short:
        if name not in whole[at:]:
            return None
        at = whole.index(name, at) + 1
    return len(whole) - len(short)


def judge(bench, engine, samples, may_lack):
    """Each stack is a known path, or the beginning of one."""
    seen = collections.Counter(path(s) for s in samples)
    known = {whole[:n] for whole in (SPIN, ASKS) for n in range(1, 6)}
    known.add(("_start", "begin", "cpu_ms"))
    exact = sum(n for p, n in seen.items() if p in known)
    other = {p: n for p, n in seen.items() if p not in known and not (
        may_lack and any(left_out(p, k) == 1 for k in known))}
    bench.test("%s: every stack is one of the program's" % engine,
               not other, other)
    bench.test("%s: all but 1 %% of them with every function" % engine,
               len(samples) - exact <= max(1, len(samples) // 100) and
               len(samples) > 50,
               "%d of %d: %s" % (exact, len(samples), seen))
    return seen


def compared(bench):
    """Both engines, one after the other, on one machine."""
    exe, seen = program(bench), {}
    for engine, end in (("deferred", "outermost"), ("native", "unproven")):
        recording = bench.record("--engine", engine, *CLOCK, "--", exe,
                                 name=engine + ".data")
        samples = recording.samples()
        found = add_up(bench, engine, recording, samples)
        samples = [s for s in samples if s["end"] != "exec"]
        bench.test("%s: they end with %s, or lie in the exec before" %
                   (engine, end), recording.summary["engine"] == engine and
                   found.get(end) == len(samples), recording.log)
        seen[engine] = judge(bench, engine, samples, engine == "native")
        both = [s for s in samples if livetest.kernel_frames(s) and
                path(s)[:5] == ASKS]
        bench.test("%s: system calls have both halves" % engine,
                   len(both) > 10, len(both))
    for name, whole in (("code", SPIN), ("system calls", ASKS)):
        counts = {e: sum(n for p, n in seen[e].items() if p[:5] == whole)
                  for e in seen}
        bench.test("of %s both have the same stack, function by function" %
                   name, min(counts.values()) > 10, counts)


def faults_of(bench, name, exe):
    """Two recordings of one run, of every fault: native's, deferred's."""
    target = bench.start([exe], stdin=subprocess.PIPE)
    recorders = [bench.recorder(
        "--engine", engine, "-e", "page-faults", "-c", "1", "-p",
        str(target.pid), name="%s-%s.data" % (name, engine)).ready()
        for engine in ("native", "deferred")]
    target.stdin.close()
    target.wait()
    return [recorder.wait() for recorder in recorders]


def ips(sample):
    return tuple(f["ip"] for f in livetest.user_frames(sample))


def one_run(bench):
    """Both engines at once, fault by fault."""
    for name, (pages, depth, threads) in TOUCHES.items():
        both = faults_of(bench, name, toucher(bench, name))
        theirs, ours = [collections.Counter(
            (s["tid"], path(s), ips(s)) for s in recording.samples()
            # Not those of our own unwind, of which native knows nothing.
            if "touch" in path(s) and not livetest.kernel_frames(s))
                        for recording in both]
        what = "%s, one run" % name
        bench.test("%s: each page's fault, by both" % what,
                   sum(theirs.values()) == sum(ours.values()) == pages and
                   len({tid for tid, _, _ in ours}) == 1 + threads,
                   "%d and %d of %d\n%s%s" % (
                       sum(theirs.values()), sum(ours.values()), pages,
                       both[0].log, both[1].log))
        bench.test("%s: the kernel's frames are ours, address by address, in "
                   "%d stacks" % (what, len(ours)), theirs == ours and
                   len({p for _, p, _ in ours}) >= 2 * depth,
                   "\n".join("%s: %s" % pair for counts in (
                       theirs - ours, ours - theirs)
                       for pair in list(counts.items())[:5]))
        perf_reads(bench, what, both[0])


def perf_reads(bench, what, recording):
    """perf joins what the kernel gave, and so do we, to the same."""
    if not bench.args.perf:
        bench.skip("%s: perf reads the same frames" % what, "no perf 7.3.4")
        return
    theirs, status, said = perf_samples(bench.args.perf, recording.data)
    theirs = [(time, tid, tuple(ip for ip, _ in frames))
              for time, tid, _, frames in theirs]
    ours = [(s["time_ns"], s["tid"], tuple(int(f["ip"], 16)
                                           for f in s["frames"]))
            for s in recording.samples()]
    both = set(theirs) & set(ours)
    bench.test("%s: perf reads the same frames of %d samples" % (
        what, len(ours)), status == 0 and len(ours) > 100 and
        sorted(theirs) == sorted(ours), said + "\n".join(
            "%s %s" % (who, sample) for who, some in (
                ("perf", theirs), ("seam", ours))
            for sample in [s for s in some if s not in both][:5]))


def asleep(bench):
    """A stack that never comes is told from one that was lost."""
    exe = program(bench)
    recorder = bench.recorder(*NATIVE, "-e", "context-switches", "-c", "1",
                              "--", exe, "s").ready()
    while not is_asleep(recorder.process.pid):
        pass
    recording = recorder.interrupt()
    samples = recording.samples()
    found = add_up(bench, "asleep", recording, samples)
    pending = [s for s in samples if s["end"] == "pending"]
    bench.test("a task asleep at the end is pending, and nothing is lost",
               found.get("pending") == 1 and not found.get("lost") and
               path(pending[0]) == ("doze",), recording.log)


def is_asleep(recorder):
    """Whether the recorder's command is in nanosleep."""
    try:
        with open("/proc/%s/syscall" % livetest.command_of(recorder)) as f:
            return f.read().split()[0] == "35"
    except (OSError, IndexError):
        return False


def execs(bench):
    """No sample of an exec has the stack of the program that begins."""
    script = "import os; os.execv('/usr/bin/python3', ['python3', '-c', '0'])"
    recording = bench.record(*NATIVE, "-e", "page-faults", "-c", "1", "--",
                             "/usr/bin/python3", "-c", script)
    samples = recording.samples()
    found = add_up(bench, "execs", recording, samples)
    wrong = [livetest.show(s) for s in samples
             if (s["end"] == "exec") != ("execve" in path(s)[-1]) or
             (s["end"] != "exec" and "load_elf_binary" in
              [f.get("sym") for f in livetest.kernel_frames(s)])]
    bench.test("samples inside an exec say so, and have no other's stack",
               found.get("exec", 0) > 1 and not wrong, [found] + wrong)


# A thread execs, again and again, from faults and ticks of its own.
BY_THREAD = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char **args;
static void *run(void *arg)
{
	char number[16], *next[] = {args[0], number, NULL};
	snprintf(number, sizeof(number), "%d", atoi(args[1]) - 1);
	memset(malloc(1 << 20), 1, 1 << 20);
	execv(args[0], next);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	args = argv;
	if (atoi(argv[1]) <= 0) return 0;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	return argc;
}
"""


def by_thread(bench):
    return bench.compile(BY_THREAD, "by-thread", "-pthread")


def execs_by_thread(bench):
    """It has another number behind the exec, in the middle of its entry."""
    recording = bench.record(*NATIVE, "-e", "page-faults", "-c", "1", "--",
                             by_thread(bench), "20", name="by-thread.data")
    samples = recording.samples()
    found = add_up(bench, "execs by a thread", recording, samples)
    inside = [s for s in samples if "load_elf_binary" in
              [f.get("sym") for f in livetest.kernel_frames(s)]]
    wrong = [s for s in inside if s["end"] != "exec" or
             len(livetest.user_frames(s)) != 1 or
             "exec" not in path(s)[-1]]
    bench.test("execs by a thread: %d samples inside say so, and none waits "
               "for ever" % len(inside), len(inside) > 20 and not wrong and
               not found.get("pending"), "%s\n%s" % (found, "\n".join(
                   map(livetest.show, wrong[:10]))))


def small_buffer(bench):
    """Everything that is lost is counted."""
    recording = livetest.unread(bench, *NATIVE, "-m", "1")
    summary = recording.summary
    add_up(bench, "a small buffer", recording, recording.samples())
    bench.test("a small buffer: samples and stacks were lost, and the event's "
               "own count says that no sample is missing",
               summary["lost"]["samples"] > 100 and
               summary["lost"]["records"] > 100 and
               summary["end"]["pending"] == 0 and
               summary["events"] == summary["expected"], summary)


def unprivileged(bench):
    """A user's own program, without rights: not the kernel's part."""
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        if int(f.read()) > 2:
            bench.skip("a user's own program", "perf_event_paranoid is above 2")
            return
    user = rights.User(bench)
    exe = shutil.copy(program(bench), bench.path("bin", "native-fp"))
    recording = user.record(*NATIVE, *CLOCK, "--", exe)
    samples = recording.samples() if recording.status == 0 else []
    bench.test("a user without rights records an own program, without the "
               "kernel's part", len(samples) > 100 and all(
                   s["event"] == "cpu-clock:u" and
                   not livetest.kernel_frames(s) for s in samples), recording.log)
    judge(bench, "without rights", samples, True)


def run(bench):
    if engines(bench)["native"]["state"] != "yes":
        refused(bench)
        return
    for test in (compared, one_run, asleep, execs, execs_by_thread,
                 small_buffer, unprivileged):
        livetest.run_once(bench, test)


if __name__ == "__main__":
    sys.exit(livetest.main(run, programs=programs, of="native", options=[
        ("--perf", os.environ.get("SEAM_PERF"))]))
