#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: --unwind chooses how stacks are found, and in which order:
guesses are marked wherever a stack is shown, and none is called whole; frame
pointers alone need no table.
"""

import collections
import gzip
import re
import subprocess
import sys

import fallback
import livetest
from livetest import main, show, user_frames


def after_calls(exe):
    """Every address behind a call, as objdump sees them."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", exe],
                          check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout
    found, was_call = set(), False
    for line in text.splitlines():
        match = re.match(r" +([0-9a-f]+):\t(?:(?:bnd|addr32|notrack) )*(\S+)",
                         line)
        if not match:
            continue
        if was_call:
            found.add(int(match[1], 16))
        was_call = match[2].startswith("call")
    return found


def bytes_of(bench, data, *command):
    return subprocess.run([bench.seam, *command, "-i", data],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout


def text_of(bench, data, *command):
    return bytes_of(bench, data, *command).decode()


def marks(bench, what, data, n):
    """Every output has the marks: n frames of all samples."""
    text = text_of(bench, data, "script")
    bench.test(what + ": as many marks in perf's layout",
               len(re.findall(r"^\t +[0-9a-f]+ \? ", text, re.M)) == n)
    text = text_of(bench, data, "script", "--format", "folded")
    bench.test(what + ": as many marks in folded stacks",
               sum(int(line.rsplit(" ", 1)[1]) * line.count(";? ")
                   for line in text.splitlines()) == n)
    text = text_of(bench, data, "report", "--stdio")
    bench.test(what + ": marks in the report", re.search(r"\? \w", text))
    text = text_of(bench, data, "report", "--json")
    bench.test(what + ": marks in the report as JSON", '"name":"? ' in text)


FORMATS = ("pprof", "firefox", "speedscope", "chrome", "folded")


def exported_marks(bench, data):
    """The marked names that each format's file has."""
    found = {}
    for form in FORMATS:
        out = bytes_of(bench, data, "export", "--to", form, "-o", "-")
        if out[:2] == b"\x1f\x8b":
            out = gzip.decompress(out)
        found[form] = set(re.findall(rb"\? [A-Za-z_]\w+", out))
    return found


def merged(bench, data, n):
    """So has every output of the recording when its stacks are in its samples,
    and when they are apart again."""
    whole, apart = bench.path("merged.data"), bench.path("apart.data")
    for options, one, other in ((), data, whole), (["--unmerge"], whole, apart):
        subprocess.run([bench.seam, "inject", *options, "-i", one, "-o", other],
                       stderr=subprocess.DEVNULL, check=True)
    marks(bench, "merged", whole, n)
    marks(bench, "unmerged", apart, n)
    wanted = exported_marks(bench, data)
    for what, path in ("merged", whole), ("unmerged", apart):
        found = exported_marks(bench, path)
        bench.test("%s: exports have the marks that they had" % what,
                   all(wanted.values()) and found == wanted,
                   "%s\n%s" % (wanted, found))


def guess(bench):
    """JIT code where neither tables nor frame pointers are to be used."""
    exe = bench.compile(fallback.JIT, "jit-static", "-static", "-no-pie")
    calls = after_calls(exe)
    recording = bench.record("-F", "999", "--unwind", "sframe,guess", "--",
                             exe, "nofp")
    samples = recording.samples()
    guessed = [s for s in samples if s["end"] == "guessed"]
    frames = [f for s in samples for f in user_frames(s)
              if not f["reliable"]]
    bench.test("guess: stacks through JIT code are guessed",
               len(guessed) > 300 and all(
                   user_path[0] == "_start" for user_path in
                   map(fallback.Names().path, guessed)),
               collections.Counter(s["end"] for s in samples))
    bench.test("guess: each has one frame that is, and no other stack",
               len(frames) == len(guessed) and
               all(any(not f["reliable"] for f in user_frames(s))
                   for s in guessed) and
               all(f["method"] == "guess" for f in frames))
    wrong = [f for f in frames if int(f["ip"], 16) not in calls]
    bench.test("guess: none that is not behind a call",
               frames and not wrong, wrong[:5])
    bench.test("guess: no stack with one is called whole",
               recording.summary["end"]["guessed"] == len(guessed) and
               recording.summary["guessed_frames"] > 300)
    marks(bench, "guess", recording.data, len(frames))
    merged(bench, recording.data, len(frames))


# Words on the stack, half of which are addresses of text, odd ones and then
# even ones: of calls and not, and one more than once.
RAW = r"""
#include <stdio.h>
#include <time.h>
static volatile unsigned long sink;
""" + livetest.CPU_MS + r"""
int main(void);
__attribute__((noinline)) void leaf(volatile unsigned long *words)
{
	for (int i = 0; i < 50000; i++)
		sink += words[i & 63];
}
static int is_text(int i)
{
	return (i ^ i >> 5) & 1;
}
static unsigned long text(int i)
{
	return (unsigned long)main + (i == 9 ? 3 : i);
}
static unsigned long other(int i, volatile unsigned long *words)
{
	switch (i %% 4) {
	case 0: return i;
	case 1: return (unsigned long)&sink;
	case 2: return (unsigned long)&words[i];
	}
	return 0xffff800000000000 + i;
}
int main(void)
{
	volatile unsigned long words[64];
	for (int i = 0; i < 64; i++)
		words[i] = is_text(i) ? text(i) : other(i / 2, words);
	for (int i = 0; i < 64; i++)
		if (is_text(i))
			printf("%%lx ", text(i));
	fflush(stdout);
	while (cpu_ms() < 600)
		leaf(words);
	return 0;
}
""".replace("%%", "%")


def has_run(values, run):
    """Whether run lies in values, one behind the other."""
    return any(values[i:i + len(run)] == run
               for i in range(len(values) - len(run) + 1))


def guess_raw(bench):
    """Every word that is an address of text, in the stack's order, and no other
    word; and as many as the summary counts."""
    exe = bench.compile(RAW, "raw", "-static", "-no-pie")
    with open(bench.path("raw.out"), "w+") as out:
        recording = bench.record("-F", "999", "--unwind", "guess-all", "--",
                                 exe, stdout=out)
        out.seek(0)
        words = [int(word, 16) for word in out.read().split()]
    names = fallback.Names(exe)
    samples = [s for s in recording.kept(recording.samples())
               if "leaf" in names.path(s)[-1:]]
    found = [[int(f["ip"], 16) for f in user_frames(s)[::-1]]
             for s in samples]
    bad = [s for s, ips in zip(samples, found) if not has_run(ips, words)]
    bench.test("guess-all: every address of text on the stack, and no other",
               len(words) == 32 and len(samples) > 100 and not bad,
               "%d of %d: %s\n%s" % (len(bad), len(samples),
                                     [hex(w) for w in words],
                                     "\n".join(map(show, bad[:2]))))
    each = {s["cookie"]: sum(not f["reliable"] for f in user_frames(s))
            for s in recording.samples() if s.get("cookie")}
    summary = recording.summary
    bench.test("guess-all: the summary counts each that it delivered",
               summary["guessed_frames"] == sum(each.values()) > 3200 or
               (summary["unused"] or summary["lost"]["stacks"]) and
               summary["guessed_frames"] > sum(each.values()) > 3200,
               "%d in stacks\n%s" % (sum(each.values()), summary))


def planted_of(exe):
    """Where main's local points to, behind no call."""
    planted, = (start + 1 for start, _, name in fallback.Names(exe).ranges
                if name == "main")
    assert planted not in after_calls(exe)
    return planted


def guess_all(bench):
    exe = bench.path("jit-static")
    planted = planted_of(exe)
    recording = bench.record("-F", "999", "--unwind", "guess-all", "--",
                             exe, "nofp")
    samples = recording.samples()
    frames = [user_frames(s) for s in samples]
    bench.test("guess-all: all but the leaf, and main among them",
               all(not f["reliable"] for s in frames for f in s[:-1]) and
               all(f["reliable"] for s in frames for f in s[-1:]) and
               sum("main" in fallback.Names().path(s) for s in samples) > 300,
               recording.log)
    below = [s for s in samples if "c_leaf" in fallback.Names().path(s)[-1:]]
    found = [s for s in below if planted in {
        int(f["ip"], 16) for f in user_frames(s)[:-1]}]
    bench.test("guess-all: an address of text that is behind no call",
               len(below) > 100 and len(found) == len(below),
               "%d of %d\n%s" % (len(found), len(below), "\n".join(
                   show(s) for s in below[:3])))


def order(bench):
    """Frame pointers alone, and before tables."""
    source, exe = bench.path("order.c"), bench.path("order")
    with open(source, "w") as f:
        f.write(fallback.BARE)
    subprocess.run(["gcc", "-O2", "-ffreestanding", "-nostdlib", "-static",
                    "-no-pie", "-fno-pie", "-fno-omit-frame-pointer",
                    "-fno-stack-protector", "-fno-optimize-sibling-calls",
                    "-DROUNDS=24000000", source, "-o", exe], check=True)
    names = fallback.Names(exe)
    for unwind in ("fp", "fp,sframe"):
        recording = bench.record("-F", "999", "--unwind", unwind, "--", exe)
        samples = [s for s in recording.samples() if "run" in names.path(s)]
        bench.test("%s: whole without tables" % unwind,
                   len(samples) > 100 and
                   all(s["end"] == "unproven" for s in samples) and
                   set(fallback.methods(samples)) <= {"fp", None},
                   "\n".join([str(fallback.methods(samples)), recording.log,
                              *(show(s) for s in samples
                                if s["end"] != "unproven")][:9]))
    bench.test("fp alone asks for no table",
               bench.record("--unwind", "fp", "--", exe).summary["tables"] == 0)


if __name__ == "__main__":
    sys.exit(main(guess, guess_all, guess_raw, order))
