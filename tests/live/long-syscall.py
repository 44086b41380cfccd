#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the samples of one long system call share one unwind, and
each shows the kernel's frames above the program's, down to the entry point.

The program reads 64 MiB of random numbers at a time, 40 frames deep, and
writes much in one call. Another's calls are the last instruction of their
function, behind which the next one begins, with another rule.
"""

import collections
import re
import sys

import livetest

DEPTH = 40
SOURCE = r"""
#include <stdlib.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/mman.h>
#include <unistd.h>

static char *big;
static const long size = 64 << 20;
static int fd;

void one_write(void) { if (write(fd, big, size) < size) exit(3);
	__asm__ volatile(""); }
void one_read(void) { if (read(fd, big, size) < 0) exit(4);
	__asm__ volatile(""); }
void down(int n, void (*last)(void))
{
	if (n > 1)
		down(n - 1, last);
	else
		last();
	__asm__ volatile("");
}
int main(void)
{
	big = mmap(0, size, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		   -1, 0);
	fd = memfd_create("x", 0);
	for (int i = 0; i < 6; i++) {
		lseek(fd, 0, SEEK_SET);
		down(%d, one_write);
		lseek(fd, 0, SEEK_SET);
		down(%d, one_read);
	}
	return 0;
}
""" % (DEPTH, DEPTH)
START = ["_start", "__libc_start_main", "__libc_start_call_main", "main"]
# The kernel's way in and out of a call, first frame first: the entry's own
# code; work before or after the call, and an interrupt that waited for it to
# allow some; and a fault or an interrupt of libc's few instructions around it.
AROUND = re.compile(
    r"(entry_SYSCALL_64\S*|syscall_return_via_sysret)"
    r"( do_syscall_64( x64_sys_call| \S*(exit_to_user_mode|syscall_exit|"
    r"syscall_enter|syscall_trace|irq_enable)\S*( \S+)*)?)?$|"
    r"asm_(exc_page_fault|sysvec_\S+|common_interrupt)( \S+)*$")
# The kernel's own unwinder ends where it is in one of these, without a word: a
# thunk, the first of which is called by another name that it has, by perf as
# well, alone or with its caller, or the first or last instructions of a BPF program, of which nothing
# is named after it is gone.
CUT = re.compile(r"(\w+ )?(__x86_indirect_thunk|__softirqentry_text_end|srso|"
                 r"retbleed)\w*( asm_(sysvec_\S+|common_interrupt)( \S+)*)?$|"
                 r"bpf_\w+$")
MODULES = 0xffffffffc0000000


def program(bench):
    return bench.compile("#define _GNU_SOURCE\n" + SOURCE, "long-syscall")


def long_calls(bench):
    exe = program(bench)
    recording = bench.record("-e", "cpu-clock", "-F", "4999", "--", exe)
    summary = recording.summary
    if not bench.test("recorded", recording.status == 0 and summary,
                      recording.log):
        return
    bench.note("%(samples)d samples, %(unwinds)d unwinds, served most "
               "%(served_most)d" % summary)
    if bench.engine != "dump":
        bench.test("many samples share an unwind",
                   summary["served_most"] > 5, summary["served_most"])
    bench.test("the printed summary says how many", re.search(
        r"%d unwinds, %d served samples: [\d.]+ each, %d at most" % (
            summary["unwinds"], summary["stacks"], summary["served_most"]),
        recording.log), recording.log)
    if bench.engine == "deferred": # the others take one at each event
        bench.test("there are fewer unwinds than samples",
                   summary["stacks"] * 3 < summary["samples"],
                   "%(stacks)d stacks, %(samples)d samples" % summary)
    calls = {"one_write": "write", "one_read": "read"}
    groups, wrong, count = collections.defaultdict(list), [], 0
    around, cut, other = 0, 0, []
    for sample in recording.samples():
        path = livetest.user_path(sample)
        kernel = livetest.kernel_frames(sample)
        last = next((name for name in calls if name in path), None)
        if not kernel or not last or path[-1] == last:
            continue
        count += 1
        groups[sample.get("cookie")].append(path)
        if not any("sys_" + calls[last] in f.get("sym", "") for f in kernel):
            names = " ".join(map(name_of, reversed(kernel)))
            around += bool(AROUND.match(names))
            cut += bool(CUT.match(names))
            if not AROUND.match(names) and not CUT.match(names):
                other.append(sample)
        if not right(path, last, calls[last]) or \
                sample["end"] != "outermost":
            wrong.append(sample)
    bench.test("samples inside both calls", count > 50 and
               len({tuple(p[0]) for p in groups.values()}) >= 2, count)
    bench.test("each is kernel, then libc's call, then all %d frames" % DEPTH,
               not wrong, "\n".join(map(livetest.show, wrong[:3])))
    bench.note("%d of %d in the call, %d on the way in or out, %d cut by the "
               "kernel" % (count - around - cut - len(other), count, around,
                          cut))
    bench.test("the kernel's frames are the call's, or its way in or out",
               not other, "\n".join(map(livetest.show, other[:5])))
    bench.test("nearly all are the call's", around + cut <= count / 50,
               "%d of %d are not" % (around + cut, count))
    bench.test("samples of one cookie have one user half", all(
        all(path == paths[0] for path in paths)
        for paths in groups.values()))


def name_of(frame):
    if "sym" in frame or int(frame["ip"], 16) < MODULES:
        return frame.get("sym", "?")
    return "bpf_unnamed"


def right(path, last, call):
    start = [name.replace("__libc_start_main_impl", "__libc_start_main")
             for name in path[:4]]
    return start == START and path[4:4 + DEPTH] == ["down"] * DEPTH and \
        path[4 + DEPTH] == last and len(path) == DEPTH + 6 and \
        call in path[-1]


# By both instructions; each sleeps, so that there is a sample amid the call,
# and comes back into the next function, which undoes what the first has done.
LASTS = r"""
#define STAY() __asm__ volatile("" ::: "memory")
#define CALLS(name, number, call) \
	void name(void); \
	__asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		".cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\n" \
		".cfi_rel_offset %rbx, 0\npush $0\n.cfi_adjust_cfa_offset 8\n" \
		"mov $" #number ", %eax\nxor %ebx, %ebx\n" call "\n" \
		".cfi_endproc\n.size " #name ", . - " #name "\n" \
		".type behind_" #name ",@function\nbehind_" #name ":\n" \
		".cfi_startproc\npop %rbx\npop %rbx\nret\n.cfi_endproc\n" \
		".size behind_" #name ", . - behind_" #name)
CALLS(by_syscall, 24, "syscall"); /* sched_yield */
CALLS(by_int80, 158, "int $0x80");
CALLS(by_chmod, 15, "int $0x80"); /* the number of 64-bit code's sigreturn */
__attribute__((noipa)) void calls_syscall(void) { by_syscall(); STAY(); }
__attribute__((noipa)) void calls_int80(void) { by_int80(); STAY(); }
__attribute__((noipa)) void calls_chmod(void) { by_chmod(); STAY(); }
int main(void)
{
	for (int i = 0; i < 50; i++)
		calls_syscall();
	for (int i = 0; i < 50; i++)
		calls_int80();
	for (int i = 0; i < 50; i++)
		calls_chmod();
	return 0;
}
"""


def last_program(bench):
    return bench.compile(LASTS, "lasts")


def lasts(bench):
    """The leaf has the next function's name, as its address is there."""
    recording = bench.record("-e", "raw_syscalls:sys_enter", "--",
                             last_program(bench))
    samples = [s for s in recording.samples() if s["comm"] == "lasts"]
    for how in ("syscall", "int80", "chmod"):
        what = "a call by %s, the last instruction of its function" % how
        found = [s for s in samples
                 if "behind_by_" + how in livetest.user_path(s)]
        if not found and how != "syscall" and recording.status == 139:
            return bench.skip(what, "this kernel has no such calls")
        bad = [s for s in found if s["end"] != "outermost" or
               livetest.user_path(s) not in [
                   start + ["main", "calls_" + how, "behind_by_" + how]
                   for start in (START[:3], [START[0], START[1] + "_impl",
                                             START[2]])]]
        bench.test(what, len(found) == 50 and not bad, "%d of %d\n%s" % (
            len(bad), len(found), "\n".join(map(livetest.show, bad[:3]))))


def programs(bench):
    program(bench)
    last_program(bench)


if __name__ == "__main__":
    sys.exit(livetest.main(long_calls, lasts, programs=programs, only={
        "without frame pointers the program has no stacks":
            ("deferred immediate dump", (long_calls,)),
        "a dump does not know of a call that leaves no trace in registers":
            ("deferred immediate", (lasts,))}))
