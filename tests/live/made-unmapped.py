#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what was said of code that a program made ends when its memory
is unmapped, without a word from the program, and is not said of what comes in
its place: where it cannot be told at once, nothing is believed until it is.
"""

import os
import subprocess
import sys
import time

import livetest
from livetest import user_frames

import made

# Code goes without a word, in each way there is, and other code comes, with a
# frame of another size and no section. The first code stays until the recorder
# has begun to look.
UNMAPPED = r"""
#include <poll.h>
#include <signal.h>
#define PLACES 100
#define PAGES 4096UL
static void *page(int flags)
{
	return mmap(code, PAGES, 7, flags, -1, 0);
}

static void must(int is_true)
{
	if (!is_true)
		abort();
}

/* How many ways of unmap() there are: not each machine has 32-bit calls, and
 * one that lacks them may end who makes one. */
static int ways;

static void find_ways(void)
{
	int pid = getpid(), child = fork(), status, ret;

	must(child >= 0);
	if (!child) {
		signal(SIGSEGV, _exit);
		__asm__ volatile("int $0x80" : "=a"(ret) : "0"(64)
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(ret != pid); /* 64: getppid */
	}
	must(waitpid(child, &status, 0) == child);
	ways = status ? 4 : 5;
}

static void unmap(int how)
{
	uint8_t *away = code + (1 << 19);

	switch (how % ways) {
	case 0:
		must(!munmap(code, PAGES));
		must(page(0x100022) == code);
		break;
	case 1: /* MAP_FIXED */
		must(page(0x32) == code);
		break;
	case 2: /* moved away, and to nowhere in particular */
		must(mremap(code, PAGES, PAGES, 3, away) == away);
		must(page(0x100022) == code);
		break;
	case 3: /* another is moved there */
		must(mmap(away, PAGES, 7, 0x32, -1, 0) == away);
		must(mremap(away, PAGES, PAGES, 3, code) == code);
		break;
	case 4: /* by a call of 32-bit code, where there are such */
		__asm__ volatile("int $0x80" : : "a"(91), "b"(code), "c"(PAGES)
				 : "memory", "r8", "r9", "r10", "r11");
		must(page(0x100022) == code);
		break;
	}
}

static inline __attribute__((always_inline)) void until_told(int at)
{
	struct pollfd in = {0, POLLIN, 0};

	puts("");
	fflush(stdout);
	while (!poll(&in, 1, 0))
		enter(at, 5);
	getchar();
	enter(at, 200);
}

/* Many places, all at once, and other memory between them, which comes and
 * goes and is nobody's code. */
static void scatter(int is_listed)
{
	uint8_t *was = code;
	void *between;

	for (int i = 0; i < PLACES; i++) {
		code = mmap(was + (i + 1) * (2 << 20), PAGES, 7, 0x100022, -1,
			    0);
		must(code != MAP_FAILED);
		if (is_listed)
			add(0, 1);
		else
			add_by_prctl(0, make(0, 1), sizeof(bytes));
	}
	for (int i = 0; i < PLACES; i++) {
		between = was + (i + 1) * (2 << 20) + (1 << 20);
		must(mmap(between, PAGES, 3, 0x100022, -1, 0) == between);
		must(!munmap(between, PAGES));
	}
	for (int i = 0; i < PLACES; i++)
		must(!munmap(was + (i * 7 % PLACES + 1) * (2 << 20), PAGES));
	code = was;
}

/* A child's code is its parent's until it goes. */
static inline __attribute__((always_inline)) void in_child(void)
{
	struct section elsewhere, *s = make_at(1, 6, &elsewhere);

	add_by_prctl(1, s, sizeof(bytes));
	if (!fork()) {
		unmap(0);
		make_at(1, 2, &elsewhere);
		enter(1, 60);
		_exit(0);
	}
	wait(0);
	enter(1, 60);
	prctl(80, (long)s, 0L, 0L, 0L);
}

__attribute__((noipa)) static int run(int argc, char **argv)
{
	struct section elsewhere, *s;

	code = mmap((void *)0x20000000, PAGES, 7, 0x100022, -1, 0);
	must(code != MAP_FAILED);
	find_ways();
	if (argc > 1)
		add(3, 5);
	wait_for_it();
	if (argc > 1) {
		until_told(3);
		if (!strcmp(argv[1], "scattered"))
			scatter(1);
	} else {
		s = make_at(2, 3, &elsewhere);
		add_by_prctl(2, s, sizeof(bytes));
		until_told(2);
		prctl(80, (long)s, 0L, 0L, 0L);
		scatter(0);
		in_child();
	}
	for (int i = 0; i < 20; i++) {
		if (argc > 1) {
			unmap(i);
			make_at(3, i % 5, &elsewhere);
			enter(3, 20);
			continue;
		}
		s = make_at(1, 6, &elsewhere);
		add_by_prctl(1, s, sizeof(bytes));
		enter(1, 15);
		unmap(i);
		make_at(1, i % 6, &elsewhere);
		enter(1, 15);
	}
	printf("%d\n", ways);
	return 0;
}
"""
# The recorder is stopped, and so much is said that nothing more can be told.
# Then code goes without a word, and other code comes.
UNTOLD = r"""
#include <poll.h>
__attribute__((noipa)) static int run(int argc, char **argv)
{
	struct pollfd in = {0, POLLIN, 0};
	struct section elsewhere, *s;

	code = mmap((void *)0x20000000, 4096, 7, 0x100022, -1, 0);
	if (code == MAP_FAILED)
		abort();
	s = make_at(2, 6, &elsewhere);
	wait_for_it();
	add_by_prctl(2, s, sizeof(bytes));
	puts("");
	fflush(stdout);
	while (!poll(&in, 1, 0))
		enter(2, 5);
	getchar();
	for (int i = 0; i < 5000; i++)
		prctl(0x7365616d, 0L, 0L, 0L, 0L);
	if (munmap(code, 4096) ||
	    mmap(code, 4096, 7, 0x100022, -1, 0) != (void *)code)
		abort();
	make_at(2, 2, &elsewhere);
	wait_for_it();
	enter(2, 2000);
	return 0;
}
"""
LISTED = 100 + 1 # that are unmapped


def sees_unmaps(pid):
    """Whether a program of that process is attached to system calls."""
    folder = "/proc/%d/fdinfo/" % pid
    for fd in os.listdir(folder):
        try:
            with open(folder + fd) as f:
                if "sys_enter" in f.read():
                    return True
        except OSError:
            pass
    return False


def attach_unmapped(bench, name, body, *argv, options=()):
    """Program and recorder, which looks for unmapping."""
    program = bench.start([made.build(bench, name, body), *argv],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0)
    program.stdout.readline()
    recorder = bench.recorder("-p", str(program.pid), "-e", "cpu-clock", "-F",
                              "4999", *made.NO_FALLBACK, *options,
                              name=name + ".data").ready()
    program.stdin.write(b"\n")
    program.stdout.readline()
    # Without end only where it is broken, and even then not for ever.
    for _ in range(3000):
        if recorder.process.poll() is not None or \
                sees_unmaps(recorder.process.pid):
            break
        time.sleep(0.01)
    return program, recorder


def programs(bench):
    for body in UNMAPPED, UNTOLD:
        made.build(bench, "made", body)


def record_unmapped(bench, *argv):
    program, recorder = attach_unmapped(bench, "unmapped" + "".join(argv),
                                        UNMAPPED, *argv)
    program.stdin.write(b"\n")
    ways = program.stdout.read().decode()
    program.wait()
    return recorder.wait(), program.returncode, ways


def unmapped(bench):
    """What was said of code ends with it, and is not said of other code."""
    for what, argv in (("by prctl", ()), ("in a list", ("list",))):
        if not argv and not made.prctl_is_seen(bench, what):
            continue
        recording, status, ways = record_unmapped(bench, *argv)
        bench.test("%s: the program ended by itself" % what, status == 0,
                   status)
        if ways == "4\n":
            bench.skip("%s: unmapped by a call of 32-bit code" % what,
                       "this machine has no such calls")
        found = made.through(recording.samples())
        outer = [s for s in found if s.get("end") == "outermost"]
        wrong = [s for s in outer if not made.is_right(s)]
        ended = [s for s in found if s.get("end") == "no-table"]
        count = recording.summary
        bench.test("%s: code is unmapped without a word" % what,
                   count["made_unmapped"] == (1 if argv else 20 + 100 + 1),
                   recording.log)
        bench.test("%s: no other unmapping is taken for one" % what,
                   count["made_vain"] == 0, count)
        bench.test("%s: which is seen" % what, count["made_unseen"] == 0 and
                   "ended with their code unmapped" in recording.log,
                   recording.log)
        bench.test("%s: no wrong path" % what, not wrong,
                   "%d of %d\n" % (len(wrong), len(outer)) +
                   "\n".join(map(livetest.show, wrong)))
        bench.test("%s: there are stacks with tables, and without" % what,
                   len(outer) > 100 and len(ended) > 100,
                   "%d of %d\n" % (len(outer), len(found)) + recording.log)


def beside(bench):
    """Others make system calls all the time, and may be preempted in the
    program that looks at them."""
    what = "beside others' calls"
    if not made.is_heard(bench, 0x7365616d):
        bench.skip(what, "this kernel does not tell what programs say of code")
        return
    others = [bench.start(["sh", "-c", "while :; do : </dev/null; done"],
                          preexec_fn=lambda: os.nice(19))
              for _ in range(2 * os.cpu_count())]
    recording, status, _ = record_unmapped(bench, "scattered")
    for other in others:
        other.kill()
        other.wait()
    outer = [s for s in made.through(recording.samples())
             if s.get("end") == "outermost"]
    wrong = [s for s in outer if not made.is_right(s)]
    count = recording.summary
    # The list is read when it is asked for, and most are gone by then.
    seen = count["made_unmapped"] + count["made_vain"]
    # Where neither program saw a call, that is said.
    unseen = count["made_unlooked"]
    bench.note("%s: unmapped %d, seen by none: %d at most" % (
        what, seen, unseen))
    bench.test("%s: code is unmapped without a word" % what, status == 0 and
               LISTED - unseen <= seen <= LISTED, recording.log)
    bench.test("%s: no wrong path" % what,
               outer and (seen < LISTED or not wrong),
               "%d of %d\n" % (len(wrong), len(outer)) +
               "\n".join(map(livetest.show, wrong)))


def untold(bench):
    """What could not be told is told later, before anything is believed."""
    if not made.prctl_is_seen(bench, "code that goes while the buffer is full"):
        return
    program, recorder = attach_unmapped(bench, "untold", UNTOLD,
                                        options=("-m", "16"))
    recorder.stop()
    program.stdin.write(b"\n")
    program.stdout.readline()
    recorder.go()
    program.stdin.write(b"\n")
    program.wait()
    recording = recorder.wait()
    found = made.through(recording.samples())
    ended = [s for s in found if s["end"] == "no-table"]
    wrong = [s for s in found if s["end"] == "outermost" and
             not made.is_right(s)]
    # Made code without a table is where a stack ends.
    wrong += [s for s in ended if not made.is_made(user_frames(s)[0])]
    count = recording.summary
    bench.test("code that goes while the buffer is full: its section is over",
               count["made_untold"] == 1 and count["made_unmapped"] == 0 and
               "since tidings of their end may be lost" in recording.log,
               recording.log)
    bench.test("and that something was lost is said", count["lost"]["made"] > 0,
               count)
    bench.test("and what comes in its place has no other's table",
               not wrong and len(ended) > 40, "%d wrong, %d of %d ended\n" % (
                   len(wrong), len(ended), len(found)) + recording.log +
               "\n".join(map(livetest.show, wrong)))


if __name__ == "__main__":
    sys.exit(livetest.main(unmapped, beside, untold, programs=programs, only={
        "unmapping is seen by BPF alone":
            ("deferred immediate", (unmapped, beside, untold))}))
