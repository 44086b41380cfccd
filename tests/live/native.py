#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the engine native records the kernel's own deferred stacks; on
a program with frame pointers they are the program's, and ours are the same.

Where the kernel defers nothing, one line says so. The program is whole in
itself, has a frame in every function, and spends its time in two loops, one
of them in system calls: so its stacks are known, but for a tick on one of the
few instructions at a function's ends, where a walk by frame pointers leaves
out the caller.

    native.py --make FILE    builds the program alone, for machines without cc
"""

import collections
import json
import os
import shutil
import subprocess
import sys

import livetest
import rights

NATIVE = ["--engine", "native"]
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
SOURCE = r"""
#include <time.h>
""" + livetest.CPU_MS + r"""
static volatile unsigned long sink;
static char bytes[1 << 16];
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
__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n"
	".cfi_undefined rip\nxor %ebp, %ebp\nmov (%rsp), %rdi\n"
	"and $-16, %rsp\ncall begin\nhlt\n.cfi_endproc\n"
	".size _start, . - _start\n");
"""
FLAGS = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
         "-fno-optimize-sibling-calls", "-fno-stack-protector",
         "-fasynchronous-unwind-tables", "-nostdlib", "-static", "-no-pie"]
SPIN = ("_start", "begin", "turn", "work", "spin")
ASKS = ("_start", "begin", "turn", "want", "asks")


def program(bench):
    return bench.args.prog or bench.compile(SOURCE, "native-fp", *FLAGS)


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


def main():
    if sys.argv[1:2] == ["--make"]:
        subprocess.run(["cc", "-x", "c", "-", "-o", sys.argv[2], "-O1",
                        "-fno-inline", *FLAGS], input=SOURCE,
                       encoding="utf-8", check=True)
        return 0
    return livetest.main(run, options=[("--prog", None)])


def run(bench):
    if engines(bench)["native"]["state"] != "yes":
        refused(bench)
        return
    for test in (compared, asleep, execs, small_buffer, unprivileged):
        livetest.run_one(bench, test)


if __name__ == "__main__":
    sys.exit(main())
