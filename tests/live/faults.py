#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: stack pages that are not in memory are brought in for the
unwind, but only where that can harm nobody.

Pages that were pushed out, to a file or to swap, give whole stacks. Pages
that a userfaultfd handler would have to bring are left alone: here the
handler's own stack is such, so that whoever faults on it waits for ever. And
a stack pointer that leads to a device, to another's address or nowhere costs
its own stack and nothing else.
"""

import ctypes
import os
import re
import subprocess
import sys
import time

import livetest

HEAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
#define SIZE (256 * 1024L)
""" + livetest.CPU_MS + r"""
static void need(int good, const char *what)
{
	if (!good) { perror(what); exit(9); }
}
/* Seldom in a call, however dear calls are. */
void burn(long ms)
{
	long end = cpu_ms() + ms;
	while (cpu_ms() < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}
/* A call that keeps some pages for itself. */
int down(int n, void (*last)(void))
{
	volatile char pad[2500];
	pad[0] = 1;
	if (n > 1) down(n - 1, last); else last();
	STAY();
	return pad[0];
}
/* Runs entry, which must not return, on a stack in memory of ours. */
static void on_stack(char *stack, void (*entry)(void))
{
	__asm__ volatile("mov %0, %%rsp; xor %%ebp, %%ebp; push $0; jmp *%1"
			 : : "r"(stack + SIZE), "r"(entry) : "memory");
	__builtin_unreachable();
}
/* The pages above the caller's own two. */
static char *above(void)
{
	return (char *)(((uintptr_t)__builtin_frame_address(0) + 8192) &
			~4095UL);
}
"""

DEEP = 20
PATH = ["entry"] + ["down"] * DEEP + ["last", "burn"]

# Pushes its callers' pages out, again and again, and works meanwhile.
PAGED_OUT = HEAD + r"""
static char *stack;
static long out, rounds;
void last(void)
{
	char *from = above();
	size_t size = (size_t)(stack + SIZE - from);
	int map = open("/proc/self/pagemap", O_RDONLY);
	uint64_t page;

	need(map >= 0, "pagemap");
	for (rounds = 0; rounds < 40; rounds++) {
		need(!msync(from, size, MS_SYNC), "msync");
		madvise(from, size, 21 /* MADV_PAGEOUT */);
		for (char *p = from; p < from + size; p += 4096) {
			need(pread(map, &page, 8, (uintptr_t)p / 4096 * 8) == 8,
			     "pagemap");
			out += !(page >> 63);
		}
		burn(20);
	}
}
void entry(void)
{
	down(20, last);
	printf("%ld %ld\n", rounds, out);
	exit(0);
}
int main(int argc, char **argv)
{
	int fd = -1;

	if (argc > 1) {
		fd = open(argv[1], O_RDWR | O_CREAT, 0600);
		need(fd >= 0 && !ftruncate(fd, SIZE), argv[1]);
	}
	stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, argc > 1 ? MAP_SHARED
		     : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	need(stack != MAP_FAILED, "mmap");
	on_stack(stack, entry);
}
"""


def paged_out(bench, what, *args):
    program = bench.compile(PAGED_OUT, "paged-out")
    said = bench.path("said")
    with open(said, "w") as f:
        recording = bench.record("-e", "cpu-clock", "-F", "999", "--",
                                 program, *args, stdout=f)
    if not bench.test(what + ": recorded", recording.status == 0,
                      recording.log):
        return
    rounds, out = map(int, open(said).read().split())
    summary = recording.summary
    samples = [s for s in recording.samples()
               if livetest.user_path(s)[-1:] == ["burn"]]
    bench.note("%s: %d pages out, %d brought back in %d samples" % (
        what, out, summary["faulted"], len(samples)))
    # Some stay, of those that have just been read.
    if not bench.test(what + ": the pages were out", out >= rounds / 2,
                      "%d of %d rounds" % (out, rounds)):
        return
    bench.test(what + ": they were brought back for the unwind",
               summary["faulted"] >= min(rounds, out) / 4, summary)
    bad = [s for s in samples if s["end"] != "outermost" or
           livetest.user_path(s) != PATH]
    bench.test(what + ": every stack is whole", len(samples) > 100 and not bad,
               "\n".join(map(livetest.show, bad[:3])))


def programs(bench):
    for source, name in ((PAGED_OUT, "paged-out"), (WITNESS, "witness"),
                         (WILD, "wild"), (ASTRAY, "astray")):
        bench.compile(source, name)
    bench.compile(ARMED, "armed", "-pthread")


def in_a_file(bench):
    paged_out(bench, "stack in a file", bench.path("stack"))


def swapped(bench):
    """With swap of its own, 8 MiB, for the time of the test."""
    libc = ctypes.CDLL(None, use_errno=True)
    swap = bench.path("swap")
    with open(swap, "wb") as f:
        f.write(bytes(8 << 20))
    os.chmod(swap, 0o600)
    made = subprocess.run(["/sbin/mkswap", swap], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    if made.returncode or libc.swapon(swap.encode(), 0):
        bench.skip("swapped stack", "no swap: %s" % (
            made.stdout if made.returncode else
            os.strerror(ctypes.get_errno())))
        return
    try:
        paged_out(bench, "swapped stack")
    finally:
        libc.swapoff(swap.encode())



# A handler whose own stack is armed, and a client whose stack it serves.
ARMED = HEAD + r"""
static int uffd;
static volatile int ready;
static long asked, served;
static char backup[SIZE];
static char *client_stack, *handler_stack, *client_from;

/* Takes a stack's upper pages away; whoever looks at them has to ask. */
static void arm(char *from, char *stack, int keep)
{
	size_t size = (size_t)(stack + SIZE - from);
	struct uffdio_register reg = {
		.range = {(uintptr_t)from, size},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	if (keep)
		memcpy(backup + (from - stack), from, size);
	need(!ioctl(uffd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER");
	need(!madvise(from, size, MADV_DONTNEED), "madvise");
}
void answer(uint64_t addr)
{
	struct uffdio_copy copy = {
		.dst = addr & ~4095UL, .len = 4096,
		.src = (uintptr_t)backup + (addr & ~4095UL) -
		       (uintptr_t)client_stack,
	};
	burn(1);
	need(!ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}
void serve(void)
{
	struct uffd_msg msg;

	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		served++;
		answer(msg.arg.pagefault.address);
	}
	_exit(8);
}
void unarmed(void) { burn(200); STAY(); }
void handle(void)
{
	unarmed();
	arm(above(), handler_stack, 0);
	ready = 1;
	serve();
	STAY();
}
void handler_entry(void) { down(20, handle); STAY(); }
void missing(void) { burn(10); STAY(); }
void present(void) { burn(10); STAY(); }
void work(void)
{
	client_from = above();
	while (!ready)
		usleep(1000);
	for (int i = 0; i < 20; i++) {
		arm(client_from, client_stack, 1);
		missing();
		for (char *p = client_from; p < client_stack + SIZE; p += 4096) {
			asked++;
			(void)*(volatile char *)p;
		}
		present();
	}
	printf("%ld %ld\n", asked, served);
	fflush(stdout);
	_exit(0);
}
void client_entry(void) { down(20, work); STAY(); }
static void *handler(void *arg) { on_stack(handler_stack, handler_entry); return arg; }
int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t t;

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	need(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api), "userfaultfd");
	client_stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	handler_stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(!pthread_create(&t, NULL, handler, NULL), "pthread_create");
	on_stack(client_stack, client_entry);
}
"""


def has_uffd(bench, what):
    """The libc has no name for it: 323 on amd64."""
    fd = ctypes.CDLL(None, use_errno=True).syscall(323, os.O_CLOEXEC)
    if fd < 0:
        bench.skip(what, "no userfaultfd: " + os.strerror(ctypes.get_errno()))
        return False
    os.close(fd)
    return True


def judge_armed(bench, what, samples):
    # In the calls that take its pages away a stack may be either.
    ends = {"missing": {}, "present": {}, "unarmed": {}, "serve": {}}
    for sample in samples:
        names = livetest.user_path(sample)
        for name, count in ends.items():
            if name in names:
                count[sample["end"]] = count.get(sample["end"], 0) + 1
    bench.note(ends)
    for name in ends:
        end = "unreadable" if name in ("missing", "serve") else "outermost"
        bench.test("armed stacks, %s: %s is %s" % (what, name, end),
                   list(ends[name]) == [end] and ends[name][end] > 50, ends)


def armed(bench):
    if not has_uffd(bench, "armed stacks"):
        return
    program = bench.compile(ARMED, "armed", "-pthread")
    for what in "the whole machine", "the program":
        command = [] if what == "the program" else ["-a"]
        said = bench.path("said")
        with open(said, "w") as f:
            recording = bench.record("-e", "cpu-clock", "-F", "999", *command,
                                     "--", program, stdout=f)
        # It ends by itself, or a handler waits for itself.
        if not bench.test("armed stacks, %s: recorded" % what,
                          recording.status == 0, recording.log):
            return
        asked, served = map(int, open(said).read().split())
        bench.note("%d pages asked for, %d served" % (asked, served))
        bench.test("armed stacks, %s: only the program asked for pages" % what,
                   asked == served, "%d, served %d" % (asked, served))
        judge_armed(bench, what, recording.samples())


SPIN = r"""
/* With a stack pointer of any value nothing may be called or pushed. */
#define SPIN(name)                                                         \
	__attribute__((noinline)) void spin_##name(unsigned long sp, long n)   \
	{                                                                      \
		unsigned long own;                                             \
		__asm__ volatile("mov %%rsp, %0; mov %2, %%rsp\n"              \
				 "1: dec %1; jnz 1b\n"                         \
				 "mov %0, %%rsp"                               \
				 : "=&r"(own), "+r"(n) : "r"(sp) : "memory");  \
	}
"""
WILD = HEAD + SPIN + r"""
SPIN(vvar) SPIN(perf) SPIN(armed) SPIN(kernel) SPIN(noncanonical)
SPIN(unmapped) SPIN(forbidden) SPIN(edge) SPIN(sparse) SPIN(constant)

static unsigned long memory(size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS |
		       MAP_NORESERVE, -1, 0);
	need(p != MAP_FAILED, "mmap");
	return (unsigned long)p;
}
static unsigned long vvar(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long at = 0;
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar]"))
			at = strtoul(line, NULL, 16);
	fclose(f);
	need(at != 0, "vvar");
	return at + 0x800;
}
/* A ring buffer, which the kernel maps as it does a device's memory. Its
 * zeros would be return addresses of outermost frames. */
static unsigned long ring(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	char *p;

	need(fd >= 0, "perf_event_open");
	p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(p != MAP_FAILED && !*(volatile char *)(p + 4096), "ring buffer");
	return (unsigned long)p + 4096;
}
/* Nobody ever answers. */
static unsigned long armed(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_register reg = {
		.range = {memory(4096, PROT_READ | PROT_WRITE), 4096},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	need(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api) &&
	     !ioctl(uffd, UFFDIO_REGISTER, &reg), "userfaultfd");
	return reg.range.start + 512;
}
#define NONCANONICAL 0x0000900000000000
/* Not each machine can go on, behind an interrupt, with such a stack pointer:
 * it may end who has one. */
static int may_be_noncanonical(long n)
{
	struct rlimit none = {0};
	pid_t child = fork();
	int status;

	need(child >= 0, "fork");
	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		spin_noncanonical(NONCANONICAL, n);
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child, "waitpid");
	return !status;
}
int main(int argc, char **argv)
{
	long n = 120000000;
	size_t sparse = 1UL << 40;
	unsigned long edge, constant;
	int noncanonical = may_be_noncanonical(n);

	puts(noncanonical ? "" : "noncanonical");
	fflush(stdout);
	getchar(); /* until it is recorded */
	if (argc > 1)
		n *= atoi(argv[1]);
	spin_armed(armed(), n);
	if (argc > 1)
		return 0;
	spin_vvar(vvar(), n);
	spin_perf(ring(), n);
	spin_kernel(0xffff888000001000, n);
	if (noncanonical)
		spin_noncanonical(NONCANONICAL, n);
	spin_unmapped(0x10000, n);
	spin_forbidden(memory(4096, PROT_NONE), n);
	edge = memory(2 * 4096, PROT_READ) + 4096;
	need(!mprotect((void *)edge, 4096, PROT_NONE), "mprotect");
	spin_edge(edge, n);
	/* Pages that are there, of zeros. */
	constant = memory(4096, PROT_READ);
	need(!*(volatile char *)constant, "constant");
	spin_constant(constant + 512, n);
	spin_sparse(memory(sparse, PROT_READ | PROT_WRITE) + sparse / 4, n);
	return 0;
}
"""
# Of memory that nobody may read, no page can be brought in.
ASTRAY = HEAD + SPIN + r"""
SPIN(forbidden)
int main(void)
{
	void *p = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(p != MAP_FAILED, "mmap");
	spin_forbidden((unsigned long)p + SIZE / 2, 1200000000);
	return 0;
}
"""
WITNESS = HEAD + r"""
void last(void) { for (;;) burn(1000); }
void entry(void) { down(20, last); STAY(); }
int main(void)
{
	on_stack(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		      MAP_ANONYMOUS, -1, 0), entry);
}
"""


def ends_by_leaf(samples, pid):
    ends = {}
    for sample in samples:
        names = livetest.user_path(sample)
        if sample["pid"] == pid and names and names[-1].startswith("spin_"):
            count = ends.setdefault(names[-1][5:], {})
            count[sample["end"]] = count.get(sample["end"], 0) + 1
    return ends


def witness_is_whole(bench, what, samples, pid):
    """Nothing of what happens to others is seen in its samples."""
    mine = [s for s in samples if s["pid"] == pid and
            livetest.user_path(s)[-1:] == ["burn"]]
    bad = [s for s in mine if livetest.user_path(s) != PATH or
           s["end"] != "outermost"]
    bench.test(what + ": another program's stacks are whole",
               len(mine) > 50 and not bad, "%d samples\n%s" % (
                   len(mine), "\n".join(map(livetest.show, bad[:3]))))


def recorded(bench, *commands):
    """Runs a witness and each command, all recorded from their start on. A
    command first says what it leaves out."""
    witness = bench.start([bench.compile(WITNESS, "witness")])
    others = [bench.start(c, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
              for c in commands]
    for process in others:
        process.left_out = process.stdout.readline().decode().split()
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "-p", ",".join(
        str(p.pid) for p in [witness, *others])).ready()
    for process in others:
        process.stdin.write(b"\n")
        process.stdin.close()
    return [recorder, witness, *others]


def is_ordinary(bench, name):
    """Until Linux 6.14 the pages of perf's buffers are like any others: an
    engine that brings none in may read them."""
    release = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release)
                        .groups()))
    return name == "perf" and bench.engine == "immediate" and release < (6, 14)


def wild(bench):
    if not has_uffd(bench, "wild stack pointers"):
        return
    program = bench.compile(WILD, "wild")
    recorder, witness, process = recorded(bench, [program])
    process.wait()
    recording = recorder.interrupt()
    witness.kill()
    bench.test("wild stack pointers: recorded", recording.status == 0,
               recording.log)
    bench.test("wild stack pointers: the program ended by itself",
               process.returncode == 0, process.returncode)
    samples = recording.samples()
    ends = ends_by_leaf(samples, process.pid)
    for name in ("vvar", "perf", "armed", "kernel", "noncanonical",
                 "unmapped", "forbidden", "edge", "constant", "sparse"):
        if name in process.left_out:
            bench.skip("wild stack pointers: " + name,
                       "this machine ends a program that has one")
            continue
        # A zero page is there for whoever reads memory that was never
        # written, and a return address of 0 is the outermost one.
        # The event brings none in.
        zeros = is_ordinary(bench, name) or \
            name == "sparse" and bench.engine == "deferred"
        end = "outermost" if zeros else "unreadable"
        bench.test("wild stack pointers: %s is %s" % (name, end),
                   list(ends.get(name, {})) == [end], ends.get(name))
    bench.note(ends)
    witness_is_whole(bench, "wild stack pointers", samples, witness.pid)


def astray(bench):
    """What was tried in vain is no page that was brought in."""
    recording = bench.record("-e", "cpu-clock", "-F", "999", "--",
                             bench.compile(ASTRAY, "astray"))
    if not bench.test("astray: recorded", recording.status == 0,
                      recording.log):
        return
    ends = {}
    for sample in recording.samples():
        if livetest.user_path(sample)[-1:] == ["spin_forbidden"]:
            ends[sample["end"]] = ends.get(sample["end"], 0) + 1
    faulted = recording.summary["faulted"]
    bench.note("%s, %d pages brought in" % (ends, faulted))
    tried = ends.get("unreadable", 0)
    bench.test("astray: each stack says that it is unreadable",
               list(ends) == ["unreadable"] and tried > 100, ends)
    # The program's own beginning may lack some of its tables and code.
    bench.test("astray: no page was brought in for them", faulted < tried / 2,
               "%d for %d stacks" % (faulted, tried))


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def never_answered(bench):
    """One is killed while it is recorded, another outlives the recorder."""
    if not has_uffd(bench, "never answered"):
        return
    program = bench.compile(WILD, "wild")
    recorder, witness, first, second = recorded(
        bench, [program, "100000"], [program, "100000"])
    while min(cpu_s(first.pid), cpu_s(second.pid)) < 0.2:
        time.sleep(0.05)
    first.kill()
    bench.test("never answered: the program can be killed",
               first.wait() == -9, first.returncode)
    before = cpu_s(second.pid)
    while cpu_s(second.pid) < before + 0.2:
        time.sleep(0.05)
    recording = recorder.interrupt()
    second.kill()
    witness.kill()
    bench.test("never answered: recorded", recording.status == 0,
               recording.log)
    samples = recording.samples()
    for process in first, second:
        ends = ends_by_leaf(samples, process.pid)
        bench.test("never answered: says so", list(ends) == ["armed"] and
                   list(ends["armed"]) == ["unreadable"] and
                   ends["armed"]["unreadable"] > 50, ends)
    witness_is_whole(bench, "never answered", samples, witness.pid)


if __name__ == "__main__":
    sys.exit(livetest.main(
        in_a_file, swapped, armed, wild, astray, never_answered,
        programs=programs,
        only={
            "deferral alone brings pages in": ("deferred", (in_a_file,
                                                            swapped)),
            "the kernel takes the stack":
                ("deferred immediate", (armed, wild, astray,
                                        never_answered))}))
