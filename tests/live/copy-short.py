#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a stack copy of the engine deferred that was too short says so,
and one that is long enough is whole.

Below frames of 1 KiB each is a leaf with a rule that no table can hold, so that
every stack taken there is a copy. What the rule needs is written before, by a
function of its own, which a table does hold: the writing may fault, and take a
tick.
"""

import sys

import livetest

# CFA = *(rsp - 16) + *(rsp - 24), in DWARF: breg7 -16, deref, breg7 -24, deref,
# plus.
DEEP = r"""
#include <stdlib.h>
#include <time.h>
""" + livetest.CPU_MS + r"""
__asm__(".text; .globl enter; .type enter, @function\n"
	"enter: .cfi_startproc\n"
	"	leaq 8(%rsp), %rax\n"
	"	movq %rax, -16(%rsp)\n"
	"	movq $0, -24(%rsp)\n"
	"	.cfi_endproc; .size enter, .-enter\n"
	"	.type leaf, @function\n"
	"leaf: .cfi_startproc\n"
	"	.cfi_escape 0x0f, 7, 0x77, 0x70, 6, 0x77, 0x68, 6, 0x22\n"
	"	movl $200000, %ecx\n"
	"1:	decl %ecx; jnz 1b\n"
	"	ret\n"
	"	.cfi_endproc; .size leaf, .-leaf\n");
void enter(void);
void down(int n)
{
	volatile char room[1000];

	room[0] = 1;
	if (n)
		down(n - 1);
	else
		enter();
	room[1] = 1;
}
int main(int argc, char **argv)
{
	while (cpu_ms() < 500)
		down(argc > 1 ? atoi(argv[1]) : 0);
	return 0;
}
"""


def program(bench):
    return bench.compile(DEEP, "deep")


def short_copies(bench):
    exe = program(bench)
    for frames, copy, end in ((20, [], "outermost"),
                              (50, [], "outermost"),
                              (90, [], "copy-short"),
                              (20, ["--stack-copy", "8192"], "copy-short"),
                              (1, ["--stack-copy", "8192"], "outermost")):
        recording = bench.record("--engine", "deferred", "-e", "cpu-clock",
                                 *copy, "--", exe, str(frames))
        samples = [s for s in recording.samples()
                   if "leaf" in livetest.user_path(s)[-1:]]
        what = "%d frames of 1 KiB%s" % (frames, " ".join([""] + copy))
        bench.test("%s: every copy ends with %s" % (what, end),
                   len(samples) > 50 and
                   all(s["end"] == end for s in samples) and
                   recording.summary["copies"] >= len(
                       {s["cookie"] for s in samples}),
                   "%d samples\n%s\n%s" % (
                       len(samples), "\n".join(map(livetest.show, [
                           s for s in samples if s["end"] != end][:3])),
                       recording.log))
        # A copy begins on the page of what lies below rsp.
        size = int(copy[1]) if copy else 65536
        seen = [livetest.user_path(s).count("down") for s in samples]
        bench.test("%s: no frame that was copied is missing" % what,
                   all(n == frames + 1 for n in seen)
                   if end == "outermost" else
                   seen and size // 1056 - 6 <= min(seen) and
                   max(seen) <= size // 1000, seen[:5])
        bench.test("%s: the summary counts them" % what,
                   recording.summary["end"][end] >= len(samples) and
                   (end == "outermost" or end in recording.log),
                   recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(short_copies, programs=program, of="deferred"))
