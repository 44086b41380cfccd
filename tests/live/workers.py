#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: io_uring's workers are threads of the process that have no user
half: they are counted as no-user, also with the process's own memory under
their hands, and nobody waits for them, be they at work, asleep in a call of
the program's at the end, or killed with it.
"""

import subprocess
import sys
import time

import account
import livetest

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define STAY() __asm__ volatile("" ::: "memory")
#define SIZE (1 << 20)
static unsigned *tail, *mask, *array, *head, *done, *cmask, entered;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static int ring, zero, empty[2];
static char *room;

static int setup(unsigned flags)
{
	struct io_uring_params p = {.flags = flags, .sq_thread_idle = 2000};
	char *sq, *cq;
	ring = syscall(SYS_io_uring_setup, 8, &p);
	if (ring < 0) return -errno;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*cqes),
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED) exit(2);
	tail = (void *)(sq + p.sq_off.tail);
	mask = (void *)(sq + p.sq_off.ring_mask);
	array = (void *)(sq + p.sq_off.array);
	head = (void *)(cq + p.cq_off.head);
	done = (void *)(cq + p.cq_off.tail);
	cmask = (void *)(cq + p.cq_off.ring_mask);
	cqes = (void *)(cq + p.cq_off.cqes);
	return 0;
}
__attribute__((noipa)) void submit(int fd, int enter_flags, int wait)
{
	unsigned at = *tail & *mask;
	memset(&sqes[at], 0, sizeof(sqes[at]));
	sqes[at].opcode = IORING_OP_READ;
	sqes[at].flags = IOSQE_ASYNC;
	sqes[at].fd = fd;
	sqes[at].addr = (unsigned long)room;
	sqes[at].len = SIZE;
	array[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, wait, enter_flags, NULL, 0) < 0)
		exit(3);
	STAY();
}
/* A worker fills the room, which it has to fault in first. */
__attribute__((noipa)) void fill(int enter_flags)
{
	if (madvise(room, SIZE, MADV_DONTNEED)) exit(4);
	submit(zero, enter_flags, 1);
	while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == *head) ;
	if (cqes[*head & *cmask].res != SIZE) exit(5);
	++*head;
}
int main(int argc, char **argv)
{
	int sqpoll = argc > 1 && argv[1][0] == 'p', rounds = 60;
	int err = setup(sqpoll ? IORING_SETUP_SQPOLL : 0);
	int flags = IORING_ENTER_GETEVENTS;
	if (sqpoll) flags |= IORING_ENTER_SQ_WAKEUP;
	if (err) { fprintf(stderr, "%s\n", strerror(-err)); return 77; }
	zero = open("/dev/zero", O_RDONLY);
	room = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (zero < 0 || room == MAP_FAILED || pipe(empty)) return 1;
	if (argc > 2) getchar();
	while (rounds--) fill(flags);
	if (argc < 3) return 0;
	puts("waits"); fflush(stdout);
	submit(empty[0], flags, 1); /* nothing ever comes */
	return 6;
}
"""
EVENTS = ["-m", "16M", "-e", "cpu-clock/freq=1999/", "-e",
          "page-faults/period=1/", "-e", "context-switches/period=1/"]
WORKERS = ("iou-wrk-", "iou-sqp-")


def judge(bench, name, recording, kinds):
    samples = recording.samples()
    account.exact(bench, name, recording, samples)
    pid = next((s["pid"] for s in samples if s["comm"] == "rings"), None)
    mine = [s for s in samples if s["pid"] == pid]
    # The program has one thread of its own. A worker gets its name late.
    workers = [s for s in mine if s["tid"] != pid]
    rest = [s for s in mine if s["tid"] == pid]
    count = {k: sum(s["comm"].startswith(k) for s in workers) for k in kinds}
    bench.note("%s: %s, %d of the program's own" % (name, count, len(rest)))
    bench.test(name + ": workers were sampled, also in page faults",
               min(count.values()) > 20 and any(
                   "handle_mm_fault" in f.get("sym", "") for s in workers
                   for f in s["frames"]), count)
    wrong = [s for s in workers if s["end"] != "no-user" or
             livetest.user_frames(s) or not livetest.kernel_frames(s)]
    bench.test(name + ": of a worker there is the kernel's half alone",
               not wrong, "\n".join(map(livetest.show, wrong[:5])))
    wrong = [s for s in rest if s["end"] not in ("outermost",
                                                 *bench.may_end)]
    bench.test(name + ": the program's own stacks are whole",
               len(rest) > 20 and not wrong,
               "\n".join(map(livetest.show, wrong[:5])))
    return samples


def at_work(bench, program, name, kinds, *args):
    recording = bench.record(*EVENTS, "--", program, *args)
    if recording.status == 77:
        bench.skip(name, "this kernel has no io_uring for us: " +
                   recording.log.splitlines()[0])
        return False
    if bench.test(name + ": recorded", recording.status == 0 and
                  recording.summary, recording.log):
        judge(bench, name, recording, kinds)
    return True


def asleep(bench, program):
    """The recording ends while a worker and the program wait for each other."""
    name = "a worker that sleeps"
    process = bench.start([program, "w", "wait"], stdout=subprocess.PIPE,
                          stdin=subprocess.PIPE)
    recorder = bench.recorder(*EVENTS, "-p", str(process.pid)).ready()
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.stdout.readline()
    while not in_call(process.pid, "426"):
        time.sleep(0.01)
    recording = recorder.interrupt()
    samples = judge(bench, name, recording, WORKERS[:1])
    last = [s for s in samples if s["tid"] == process.pid][-1]
    path = livetest.user_path(last)
    bench.test(name + ": who waits for it has the whole stack",
               path[-3:-1] == ["main", "submit"] and "syscall" in path[-1] and
               last["end"] == "outermost", livetest.show(last))
    process.kill()
    process.wait()


def in_call(pid, number):
    with open("/proc/%d/syscall" % pid) as f:
        return f.read().split()[0] == number


def programs(bench):
    return bench.compile(SOURCE, "rings")


def workers(bench):
    program = programs(bench)
    if at_work(bench, program, "workers", WORKERS[:1]):
        at_work(bench, program, "a thread that polls", WORKERS, "p")
        asleep(bench, program)


if __name__ == "__main__":
    sys.exit(livetest.main(workers, programs=programs, only={
        "without frame pointers the program has no stacks":
            ("deferred immediate dump", (workers,))}))
