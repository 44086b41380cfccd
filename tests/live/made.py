#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: stacks lead through code that a program made while it ran, if
it said where that code's SFrame section is: by seam_jit_add, before or after
the recording began, or by the prctl that was proposed for Linux.

Functions come one by one, go, and others take their place with frames of
another size, so that a table that was kept too long gives a wrong path. A
child of fork has its parent's code, and changes its own; exec ends all. What
is said of code may be wrong in any way: it is refused, by its reason, and
harms nobody.
"""

import collections
import os
import subprocess
import sys

import livetest
from livetest import user_frames, user_path

ROOT = os.path.join(livetest.HERE, "..", "..")
CODE = 0x20000000
CODE_SIZE = 1 << 20
LEAST_WHOLE = 0.99
# Where it is the point that there is no table.
NO_FALLBACK = ("--unwind", "sframe")

HEAD = r"""
#include <seam/jit.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE 256
static volatile unsigned long sink;
static volatile int sure = 1;
static uint8_t *code;

static const uint8_t bytes[] = {
	0x48, 0x83, 0xec, 0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0,
	0x48, 0x83, 0xc4, 0, 0xc3,
};

struct section {
	uint16_t magic;
	uint8_t version, flags, abi, fixed_fp, fixed_ra, aux;
	uint32_t num_functions, num_rows, rows_size, index, rows;
	int64_t start;
	uint32_t size, at;
	uint16_t n;
	uint8_t info, info2, block, row[3][3];
} __attribute__((packed));
""" + livetest.CPU_MS + r"""
__attribute__((noipa)) static void work(long ms)
{
	for (long from = cpu_ms(); cpu_ms() < from + ms * SLOWER;)
		for (int i = 0; i < 20000; i++)
			sink += i;
}

/* Function number at, in its place, its frame as wanted; returns its section,
 * which says that it is at a certain distance. */
static struct section *make_at(int at, int frame, struct section *s)
{
	uint8_t *f = code + at * PLACE;
	void (*target)(long) = work;

	memcpy(f, bytes, sizeof(bytes));
	f[3] = f[19] = frame * 16 + 8;
	memcpy(f + 6, &target, 8);
	*s = (struct section){
		.magic = 0xdee2, .version = 3, .flags = 5, .abi = 3,
		.fixed_ra = -8, .num_functions = 1, .num_rows = 3,
		.rows_size = 14, .rows = 16,
		.start = (int64_t)f - (int64_t)&s->start,
		.size = sizeof(bytes), .n = 3,
		.row = {{0, 3, 8}, {4, 3, frame * 16 + 16}, {20, 3, 8}},
	};
	return s;
}

static struct section *make(int at, int frame)
{
	return make_at(at, frame, (void *)(code + at * PLACE + 64));
}

__attribute__((noipa)) static void enter(int at, long ms)
{
	((void (*)(long))(code + at * PLACE))(ms);
	sink++;
}

static void add(int at, int frame)
{
	struct section *s = make(at, frame);

	if (seam_jit_add(s, sizeof(*s), code + at * PLACE, sizeof(bytes), 0))
		abort();
}

static int add_by_prctl(int at, struct section *s, long size)
{
	return prctl(79, (long)s, (long)sizeof(*s), (long)(code + at * PLACE),
		     size);
}

static void start(int fd)
{
	code = mmap((void *)0x20000000, 1 << 20, 7, fd < 0 ? 0x100022 : 0x100001,
		    fd, 0);
	if (code == MAP_FAILED)
		abort();
}

/* Until the recorder is there. */
static void wait_for_it(void)
{
	puts("");
	fflush(stdout);
	getchar();
}
"""
TAIL = r"""
int main(int argc, char **argv)
{
	int status = sure ? run(argc, argv) : 1;

	sink++;
	return status;
}
"""

# Each is `static int run(int argc, char **argv)`; made functions are called
# through enter().
EARLY = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	add(3, 5);
	wait_for_it();
	enter(3, 400);
	add(1, 2);
	enter(1, 200);
	return 0;
}
"""
GROW = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	for (int i = 0; i < 400; i++) {
		add(i * 7 % 400, i % 7);
		enter(i * 7 % 400, 2);
	}
	/* Long enough for a busy machine to have read them all. */
	usleep(1000000);
	for (int i = 0; i < 400; i++)
		enter(i, 4);
	return 0;
}
"""
REUSE = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	add(9, 1);
	for (int i = 0; i < 150; i++) {
		add(4, i * 5 % 7);
		enter(4, 5);
		enter(9, 1);
		if (seam_jit_remove(code + 4 * PLACE))
			abort();
	}
	return 0;
}
"""
PROTECT = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	for (int i = 0; i < 60; i++) {
		mprotect(code + 4096 * i, 4096, 3);
		add(16 * i, i % 7);
		mprotect(code + 4096 * i, 4096, 5);
		enter(16 * i, 10);
	}
	return 0;
}
"""
MEMFD = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	int fd = syscall(SYS_memfd_create, "code", 0);

	if (ftruncate(fd, 1 << 20))
		abort();
	start(fd);
	add(3, 5);
	if (argc > 1)
		wait_for_it();
	enter(3, 300);
	add(2, 1);
	enter(2, 200);
	return 0;
}
"""
FORK = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	add(0, 1);
	/* Until the tables of all that it is linked with are there. */
	enter(0, 400);
	for (int i = 0; i < 6; i++) {
		enter(0, 20);
		if (fork())
			continue;
		enter(0, 200);
		if (seam_jit_remove(code))
			abort();
		add(0, 2 + i % 5);
		enter(0, 200);
		return 0;
	}
	enter(0, 100);
	while (wait(0) > 0)
		;
	return 0;
}
"""
PRCTL = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	struct section *s;
	int at;

	start(-1);
	for (int i = 0; i < 40; i++) {
		s = make(at = i % 3, i * 5 % 7);
		if (add_by_prctl(at, s, sizeof(bytes)) != -1)
			abort();
		enter(at, 10);
		prctl(80, (long)s, 0L, 0L, 0L);
	}
	add_by_prctl(0, make(0, 1), sizeof(bytes));
	if (!fork()) {
		enter(0, 150);
		return 0;
	}
	wait(0);
	return 0;
}
"""
WRONG = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	struct section *s;

	start(-1);
	add_by_prctl(5, make(5, 1), sizeof(bytes));
	add_by_prctl(5, make(5, 1), sizeof(bytes));	/* overlap */
	add_by_prctl(6, make(6, 1), 0);			/* bad range */
	add_by_prctl(6, make(6, 1), -4096L);		/* bad range */
	add_by_prctl(6, make(6, 1), sizeof(bytes) - 1);	/* malformed */
	s = make(7, 1);
	s->num_rows = s->rows_size = 1 << 30;
	add_by_prctl(7, s, sizeof(bytes));		/* malformed */
	prctl(79, 0x10000L, 4096L, (long)(code + 8 * PLACE), 64L);
	prctl(79, (long)code, 1L << 40, (long)(code + 8 * PLACE), 64L);
	prctl(80, (long)code, 0L, 0L, 0L);		/* unknown */
	prctl(79, 1L, 2L, 3L, 4L);			/* another option's */
	enter(5, 200);
	return 0;
}
"""
LATE = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	add_by_prctl(5, make(5, 1), sizeof(bytes));
	wait_for_it();
	enter(5, 300);
	return 0;
}
"""
EXEC = r"""
__attribute__((noipa)) static int run(int argc, char **argv)
{
	start(-1);
	if (argc < 2) {
		add(0, 1);
		/* Nobody can read it any more when this is over. */
		usleep(500000);
		enter(0, 800);
		execl(argv[0], argv[0], "again", (char *)0);
	}
	make(0, 6);
	enter(0, 200);
	return 0;
}
"""


def build(bench, name, body):
    lib = os.path.dirname(bench.seam)
    return bench.compile(
        HEAD + body + TAIL, name, "-O2", "-D_GNU_SOURCE",
        "-DSLOWER=%d" % bench.args.slower, paths=[
            "-I" + os.path.join(ROOT, "include"), "-L" + lib,
            "-Wl,-rpath," + lib, "-lseam"])


def programs(bench):
    for body in (EARLY, GROW, REUSE, PROTECT, MEMFD, FORK, PRCTL, WRONG, LATE,
                 EXEC):
        build(bench, "made", body)


def record(bench, name, body, *argv, options=()):
    program = build(bench, name, body)
    return bench.record("-e", "cpu-clock", "-F", "4999", *options, "--",
                        program, *argv, name=name + ".data")


def attach(bench, name, body, *argv, options=()):
    """The recorder comes when the program has said all it says."""
    program = bench.start([build(bench, name, body), *argv],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    recorder = bench.recorder("-p", str(program.pid), "-e", "cpu-clock", "-F",
                              "4999", *options, name=name + ".data").ready()
    program.stdin.write(b"\n")
    program.stdin.close()
    program.wait()
    return recorder.wait()


def is_made(frame):
    return CODE <= int(frame["ip"], 16) < CODE + CODE_SIZE


def through(samples):
    """Those that are in made code, or in what it called."""
    return [s for s in samples if any(map(is_made, user_frames(s))) or
            "work" in user_path(s)]


def is_right(sample):
    """main, run, enter, the made function, and what it calls."""
    path, frames = user_path(sample), user_frames(sample)
    if "enter" not in path:
        return False
    at = path.index("enter")
    return path[at - 2:at] == ["main", "run"] and is_made(frames[at + 1]) \
        and path[at + 2:] in ([], ["work"], ["work", "cpu_ms"])


def check(bench, what, recording, least=100, least_whole=LEAST_WHOLE):
    samples = recording.samples()
    made = through(samples)
    lost = [s for s in made if s["end"] != "outermost"]
    wrong = [s for s in made if not is_right(s) and
             s["end"] in ("outermost", "unproven")]
    bench.timely("%s: there are samples" % what, len(made) >= least,
                 "%d of %d\n%s" % (len(made), len(samples), recording.log))
    bench.test("%s: no wrong path" % what, not wrong,
               "\n".join(map(livetest.show, wrong)))
    if not least_whole:
        return made
    # What a process has made goes with it.
    bench.timely("%s: %.0f %% are whole at least" % (what, 100 * least_whole),
                 len(made) - len(lost) >= least_whole * len(made),
                 "%d of %d\n%s\n%s" % (len(lost), len(made), recording.log,
                                       "\n".join(map(livetest.show, lost))))
    return made


def early(bench):
    check(bench, "added before the recording began",
          attach(bench, "early", EARLY))


def grow(bench):
    recording = record(bench, "grow", GROW)
    check(bench, "400 functions, one by one", recording)
    bench.test("each was read once", recording.summary["made"] == 400,
               recording.log)
    bench.test("what is not new is unwound in the kernel",
               recording.summary["copies"] <
               recording.summary["unwinds"] / 2, recording.log)


def reuse(bench):
    """Some stacks are copied, and what was there then is there no more when
    they are unwound: nothing is known of it."""
    check(bench, "other functions in one place",
          record(bench, "reuse", REUSE), least_whole=0.5)


def unheard(bench):
    """Where nobody tells what becomes of code, what was known of it may be
    another function's. Of copies that are late all has ended."""
    engine = ("--engine", "dump") if bench.engine == "deferred" else ()
    check(bench, "other functions in one place, unheard",
          record(bench, "unheard", REUSE, options=(*engine, *NO_FALLBACK)),
          least_whole=0.02 if bench.args.slower == 1 else 0)


def protect(bench):
    check(bench, "pages written, then made executable",
          record(bench, "protect", PROTECT))


def memfd(bench):
    check(bench, "code in a memfd", record(bench, "memfd", MEMFD))
    check(bench, "code in a memfd, recorded later",
          attach(bench, "memfd-late", MEMFD, "wait"))


def fork(bench):
    check(bench, "children of fork", record(bench, "fork", FORK))


def is_heard(bench, option):
    """Whether this kernel tells of this prctl, as of those that it knows
    nothing of: Linux 7.0 has PR_RSEQ_SLICE_EXTENSION and PR_GET_CFI there."""
    recording = bench.record(
        "-e", "task:task_prctl_unknown", "-c", "1", "--", "/usr/bin/python3",
        "-c", "import ctypes; ctypes.CDLL(None).prctl(%d, 9, 0, 0, 0)" % option,
        name="heard.data")
    return bool(recording.summary and recording.summary["samples"])


def prctl_is_seen(bench, what):
    heard = [option for option in (79, 80) if is_heard(bench, option)]
    if heard != [79, 80]:
        bench.skip(what, "this kernel has another use for prctl's 79 or 80; "
                   "heard: %s" % heard)
    return heard == [79, 80]


def by_prctl(bench):
    what = "sections told of by prctl"
    heard = is_heard(bench, 79)
    recording = record(bench, "prctl", PRCTL, options=() if heard
                       else NO_FALLBACK)
    if heard:
        check(bench, what, recording)
        return
    # That of another use of this number.
    made = [s for s in through(recording.samples()) if "enter" not in
            user_path(s)]
    bench.note("prctl 79 is not heard")
    bench.test(what + ", not heard: they end with no-table",
               len(made) > 50 and not recording.summary["made"] and all(
                   s["end"] == "no-table" for s in made),
               recording.log + "\n".join(map(livetest.show, made[:5])))


def wrong(bench):
    if not prctl_is_seen(bench, "wrong sections"):
        return
    recording = record(bench, "wrong", WRONG)
    check(bench, "beside wrong sections", recording, 50)
    count = recording.summary
    for name, n in (("made", 1), ("made_overlap", 1), ("made_bad_range", 2),
                    ("made_malformed", 2), ("made_unreadable", 1),
                    ("made_too_much", 1), ("made_unknown", 1)):
        bench.test("%s: %d" % (name, n), count[name] == n, recording.log)
    bench.test("the summary says it", "refused: 2 with a bad range, 1 over"
               in recording.log, recording.log)


def late(bench):
    recording = attach(bench, "late", LATE, options=NO_FALLBACK)
    made = [s for s in through(recording.samples()) if "enter" not in
            user_path(s)]
    # Each has a copy, for which a slow machine may have no room.
    may = {"no-table"} | ({"lost"} if recording.summary["lost"]["copies"]
                          else set())
    ends = collections.Counter(s["end"] for s in made)
    bench.test("a prctl before the recording began: no-table",
               ends["no-table"] > 50 and set(ends) <= may,
               recording.log + "\n".join(map(livetest.show, made)))


def executed(bench):
    """The second program's code has the first's place and another frame."""
    recording = record(bench, "exec", EXEC, options=NO_FALLBACK)
    made = through(recording.samples())
    whole = [s for s in made if is_right(s) and s["end"] == "outermost"]
    ended = [s for s in made if s.get("end") == "no-table"]
    # What ends has a copy, for which a slow machine may have no room.
    lost = [s for s in made if s.get("end") == "lost"]
    bench.test("exec ends what was said", len(whole) > 50 and
               len(ended) > 50 and len(whole) + len(ended) + len(lost) >=
               LEAST_WHOLE * len(made) and
               len(lost) <= recording.summary["lost"]["copies"] +
               (1 - LEAST_WHOLE) * len(made), recording.log +
               "\n".join(map(livetest.show, made)))
    bench.test("and no path is wrong", all(
        is_right(s) for s in made if s.get("end") == "outermost"),
        "\n".join(map(livetest.show, made)))


TESTS = (early, grow, reuse, protect, memfd, fork, by_prctl, wrong, late,
         executed)
if __name__ == "__main__":
    sys.exit(livetest.main(*TESTS, unheard, programs=programs, only={
        "code that came a moment ago takes deferral and its copies":
            ("deferred", TESTS),
        "programs without frame pointers": ("deferred immediate dump",
                                            (unheard,))}))
