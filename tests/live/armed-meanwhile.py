#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a userfaultfd that is armed while a stack is taken.

A thread makes system calls, each of which is recorded, and never looks at the
upper pages of its stack. Another one drops these, and a moment later arms a
userfaultfd there, which nobody answers: between the look at the mapping and the
reading of its pages, in one of some thousand rounds. The thread must never wait
for a handler, as it would not without the recorder.
"""

import sys

import livetest

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define SIZE (256 * 1024L)
#define STAY() __asm__ volatile("" ::: "memory")

static volatile unsigned long progress;
static volatile pid_t tid;
static char *volatile from, *stack;

static void need(int good, const char *what)
{
	if (!good) { perror(what); exit(9); }
}
__attribute__((noipa)) void calls(void)
{
	/* The pages above its own two. */
	from = (char *)(((uintptr_t)__builtin_frame_address(0) + 8192) & ~4095UL);
	tid = syscall(SYS_gettid);
	for (;;) { syscall(SYS_getppid); progress++; }
}
__attribute__((noipa)) int down(int n)
{
	volatile char pad[2500];
	pad[0] = 1;
	if (n > 1) down(n - 1); else calls();
	STAY();
	return pad[0];
}
static void entry(void) { down(20); }
/* Pages that the thread library may look at are not its stack's. */
static void *run(void *arg)
{
	__asm__ volatile("mov %0, %%rsp; xor %%ebp, %%ebp; push $0; jmp *%1"
			 : : "r"(stack + SIZE), "r"(entry) : "memory");
	return arg;
}
static uint64_t ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static int waits(void)
{
	char path[64], text[64];
	int fd, n;
	snprintf(path, sizeof(path), "/proc/self/task/%d/wchan", tid);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return !strcmp(text, "handle_userfault");
}
int main(int argc, char **argv)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC), stuck = 0;
	unsigned long rounds = 0;
	unsigned seed = 1;
	uint64_t until;
	size_t size;
	pthread_t t;

	need(fd >= 0 && !ioctl(fd, UFFDIO_API, &api), "userfaultfd");
	stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(stack, SIZE, MADV_NOHUGEPAGE);
	need(!pthread_create(&t, NULL, run, NULL), "thread");
	while (!tid) usleep(1000);
	size = stack + SIZE - from;
	for (until = ns() + atoi(argv[1]) * 1000000000ull; ns() < until; rounds++) {
		struct uffdio_register reg = {
			.range = {(uintptr_t)from, size},
			.mode = UFFDIO_REGISTER_MODE_MISSING};
		unsigned long was;
		uint64_t wait;
		madvise(from, size, MADV_DONTNEED);
		wait = ns() + rand_r(&seed) % 60000;
		while (ns() < wait) ;
		need(!ioctl(fd, UFFDIO_REGISTER, &reg), "register");
		was = progress;
		while (progress < was + 3 && !waits()) usleep(20);
		stuck += progress < was + 3;
		/* Wakes who waits. */
		need(!ioctl(fd, UFFDIO_UNREGISTER, &reg.range), "unregister");
	}
	printf("%lu rounds, %d waits\n", rounds, stuck);
	fflush(stdout);
	_exit(stuck || argc > 2);
}
"""


def programs(bench):
    bench.compile(SOURCE, "meanwhile", "-pthread")


def meanwhile(bench):
    program = bench.compile(SOURCE, "meanwhile", "-pthread")
    alone = bench.start([program, "1"])
    if alone.wait() == 9:
        bench.skip("armed meanwhile", "there is no userfaultfd")
        return
    bench.test("armed meanwhile: nobody waits without a recorder",
               alone.returncode == 0, alone.returncode)
    recording = bench.record("-e", "raw_syscalls:sys_enter", "-c", "1", "--",
                             program, "8")
    summary = recording.summary or {}
    bench.note(recording.log)
    bench.test("armed meanwhile: nobody waits for its handler",
               recording.status == 0, "status %d: %s" % (
                   recording.status, recording.log))
    if bench.engine == "deferred":
        bench.test("armed meanwhile: pages were brought in, and some were not",
                   summary.get("faulted", 0) > 10 and
                   summary["end"]["unreadable"] > 0, summary)


if __name__ == "__main__":
    sys.exit(livetest.main(meanwhile, programs=programs))
