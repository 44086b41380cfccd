#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: inlined functions and lines of a recorded program.

Its calls are known, and so is which are inlined: the innermost function is
one, and so is a caller, whose line is that of the call and not of what comes
behind it. script, folded, report and JSON say so alike, without --no-inline;
perf's newer version shows the same functions and lines where the samples were.
"""

import os
import re
import subprocess
import sys

import livetest

# Lines are told by their marks.
SOURCE = r"""
#include <stdio.h>
#define INLINE static inline __attribute__((always_inline))
#define ALONE __attribute__((noinline, noclone))
volatile unsigned sink;
INLINE unsigned spin(unsigned x)
{
	for (int i = 0; i < 3000; i++)
		x = x * 1664525u + 1013904223u; /* SPIN */
	return x;
}
ALONE unsigned work(unsigned x)
{ /* OPEN */
	return spin(x) + 1; /* WORK */
}
INLINE unsigned wrap(unsigned x)
{
	unsigned y = work(x); /* WRAP */
	sink = y;
	return y + 1;
}
INLINE unsigned twice(unsigned x)
{
	return wrap(x) + /* TWICE */
		1;
}
int main(void)
{
	unsigned s = 0;
	for (int i = 0; i < 100000; i++)
		s += twice(s); /* MAIN */
	printf("%u\n", s);
	return 0;
}
"""

CHAIN = [("spin", True, "SPIN"), ("work", False, "WORK"),
         ("wrap", True, "WRAP"), ("twice", True, "TWICE"),
         ("main", False, "MAIN")]
LEAST = 50


def marks():
    """mark -> line"""
    return dict((mark, number) for number, line in
                enumerate(SOURCE.splitlines(), 1)
                for mark in re.findall(r"/\* (\w+) \*/", line))


def build(bench, name, *flags, compiler="gcc"):
    source = bench.path(name + ".c")
    with open(source, "w") as out:
        out.write(SOURCE)
    subprocess.run([compiler, "-O2", "-fno-unroll-loops", *flags, source,
                    "-o", bench.path(name)], check=True,
                   stderr=subprocess.DEVNULL)
    return bench.path(name)


def seam(bench, *arguments):
    return subprocess.run([bench.seam, *arguments], stdout=subprocess.PIPE,
                          encoding="utf-8", check=True, env=bench.env).stdout


def chain_of(sample):
    """Of one that was taken in spin, as in CHAIN; else None."""
    frames = [f for f in sample["frames"] if not f["kernel"]][:len(CHAIN)]
    if (sample.get("end") != "outermost" or not frames or
            frames[0].get("sym") != "spin"):
        return None
    return [(f.get("sym"), f["inlined"],
             (os.path.basename(f.get("file", "?")), f.get("line")))
            for f in frames]


def check_script(bench, what, recording, name):
    place = marks()
    wanted = [(sym, inlined, (name + ".c", place[mark]))
              for sym, inlined, mark in CHAIN]
    chains = [c for c in map(chain_of, recording.samples("--inline")) if c]
    # The loop has two lines, its head and its body; clang gives the padding
    # before it to the inlined function, at the line where the caller opens.
    lines = (place["SPIN"] - 1, place["SPIN"], place["OPEN"])
    wrong = [c for c in chains if c[1:] != wanted[1:] or c[0][:2] !=
             wanted[0][:2] or c[0][2][1] not in lines]
    bench.test("%s: the functions and lines of every sample, at least %d" % (
        what, LEAST), len(chains) >= LEAST and not wrong,
        "%d of %d\n%s\nnot %s" % (len(wrong), len(chains), "\n".join(
            map(str, wrong[:3])), wanted))
    plain = recording.samples()
    bench.test("%s: --no-inline has neither" % what, not any(
        f["inlined"] or "file" in f for s in plain for f in s["frames"]))


def check_views(bench, what, data):
    folded = seam(bench, "script", "-i", data, "--format", "folded")
    bench.test("%s: folded" % what, re.search(
        r";main;twice_\[i\];wrap_\[i\];work;spin_\[i\] \d+$", folded, re.M),
        folded)
    tree = seam(bench, "report", "-i", data)
    bench.test("%s: report's tree" % what, re.search(
        r"main\n.*twice \(inlined\)\n.*wrap \(inlined\)\n.*work\n"
        r".*spin \(inlined\)\n", tree), tree)
    bench.test("%s: report --no-inline" % what, "inlined" not in seam(
        bench, "report", "-i", data, "--no-inline"))


def leaves(text, program):
    """Of each sample in the program, by time: the lines of its first frame
    with those inlined in it. Others, as in libc's printf, are none of ours."""
    found = {}
    for block in text.split("\n\n"):
        head, _, rest = block.lstrip("\n").partition("\n")
        part = re.match(r"((?:.*\n.*\(inlined\)\n)*.*\(%s\)\n.*)\n" %
                        re.escape(program), rest + "\n")
        when = re.search(r"(\d+\.\d+):", head)
        if part and when and "([kernel" not in part[1]:
            found[when[1]] = part[1]
    return found


def check_perf(bench, what, data, program):
    tool = os.path.join(livetest.HERE, "..", "..", "tools", "peers.sh")
    done = subprocess.run([tool, "--where"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")
    perf = os.environ.get("SEAM_PERF") or done.stdout.strip()
    if not perf:
        return bench.skip(what + ": as perf", done.stderr.strip())
    theirs = subprocess.run(
        [perf, "script", "-i", data, "-F", "+srcline"], check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        encoding="utf-8").stdout
    theirs = leaves(theirs, program)
    ours = leaves(seam(bench, "script", "-i", data, "-F", "+srcline"), program)
    wrong = [t for t in theirs if theirs[t] != ours.get(t)]
    bench.test("%s: perf prints the same where each sample was" % what,
               len(theirs) >= LEAST and not wrong, "%d of %d\n%s" % (
                   len(wrong), len(theirs), "\n".join(
                       "%s\nnot\n%s" % (ours.get(t), theirs[t])
                       for t in wrong[:2])))


def one(bench, what, compiler, *flags):
    name = what.replace(" ", "-")
    program = build(bench, name, *flags, compiler=compiler)
    recording = bench.record("-e", "cpu-clock", "-F", "999", "--", program,
                             name=name + ".data")
    if bench.test(what + ": recorded", recording.status == 0, recording.log):
        check_script(bench, what, recording, name)
        check_views(bench, what, recording.data)
        check_perf(bench, what, recording.data, program)


def gcc(bench):
    one(bench, "gcc", "gcc", "-gdwarf-5")


def clang(bench):
    one(bench, "clang", "clang-14", "-gdwarf-4")


if __name__ == "__main__":
    sys.exit(livetest.main(gcc, clang))
