#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: of recordings that perf 7.3.4 makes here and now of python3, of
git and of a compiler with --call-graph dwarf, our stacks are those of its own
script or more complete, sample by sample, frame by frame: each address, and the
file that it is in. Each difference has a name, and is counted under it; one
without fails. A stack of ours may
    go on where perf's ends, to a start or where one begins that both agree on,
    go on where perf's ends, until there is no more of the copy,
    have frames between that perf's leaves out, and begin where that does, or
    have the user's frame, where perf shows the kernel's half alone.
"""

import collections
import json
import os
import shutil
import sys

import livetest
from perfscript import perf

LEAST = 100 # samples of which both have the same stack
# Of a program, and of the dynamic linker before it.
STARTS = ("_start", "_dl_start_user")
# "unproven" ends where others do, and nothing says that there is no more.
WHOLE = ("outermost", "unproven")
PYTHON = r"""
import json, re
def f(n):
    return 1 if n < 2 else f(n - 1) + f(n - 2)
for i in range(6):
    f(20)
    json.loads(json.dumps(list(range(60000))))
    re.findall(r"(\d+)", "123 " * 30000)
"""
CC = r"""
#include <map>
#include <string>
template <int n> struct many : many<n - 1> {
	std::map<int, std::string> m;
	int f(const std::string &s) { m[n] = s + s; return m.size(); }
};
template <> struct many<0> {};
int f(const std::string &s) { return many<300>().f(s); }
"""


def git_log(bench):
    """Of this tree, or of one that is made: a tree need be no repository."""
    tree = os.path.dirname(livetest.HERE)
    git = shutil.which("git")
    if not git or perf(bench, git, "-C", tree, "log", "-1").returncode:
        return None
    return [git, "-C", tree, "--no-pager", "log", "-p", "-n", "150"]


def compiler(bench):
    """C++'s own, where there is one; else perl."""
    source = bench.path("generated.cc")
    with open(source, "w", encoding="ascii") as text:
        text.write(CC)
    gxx = shutil.which("g++")
    if gxx and not perf(bench, gxx, "-E", "-o", source + ".ii",
                        source).returncode:
        tool = perf(bench, gxx, "-print-prog-name=cc1plus").stdout.strip()
        return [tool, "-quiet", "-O1", "-fpreprocessed", source + ".ii",
                "-o", source + ".s"]
    tool = shutil.which("perl")
    return tool and [tool, "-e", "sub r { my $n = shift; $n < 2 ? $n : "
                     "r($n - 1) + r($n - 2) } r(23); my %h; "
                     "$h{$_ % 977} .= chr(65 + $_ % 26) for 1 .. 300000;"]


def ours(bench, data):
    """{tid: [(ns, [(address, file)...], end, root's function)]}, leaf first."""
    done = perf(bench, bench.seam, "script", "--format", "json",
                "--no-inline", "-i", data)
    found = collections.defaultdict(list)
    for sample in map(json.loads, done.stdout.splitlines()):
        frames = [f for f in sample["frames"] if f.get("dso") != "[seam]"]
        found[sample["tid"]].append((
            sample["time_ns"],
            [(int(f["ip"], 16), f.get("dso", "[unknown]")) for f in frames],
            sample["end"], frames[-1].get("sym") if frames else None))
    return found


def theirs(bench, tool, data):
    """The same by perf, without an end."""
    done = perf(bench, tool, "script", "--ns", "--no-inline", "-F",
                "tid,time,ip,sym,dso", "--max-stack", "4096", "-i", data)
    found = collections.defaultdict(list)
    for block in done.stdout.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if not lines:
            continue
        tid, time = lines[0].split()[:2]
        seconds, nanos = time.rstrip(":").split(".")
        words = [line.split() for line in lines[1:]]
        found[int(tid)].append((
            int(seconds) * 10 ** 9 + int(nanos),
            [(int(w[0], 16), w[-1].strip("()")) for w in words]))
    return found


def same(a, b):
    """perf has of a caller the address before the one to return to."""
    return a[0] - b[0] in (0, 1) and a[1] == b[1]


def pairs(mine, other):
    """(ours, its end and root, perf's), sample by sample; None: others."""
    if {tid: len(v) for tid, v in mine.items()} != \
            {tid: len(v) for tid, v in other.items()}:
        return None
    both = []
    for tid, stacks in mine.items():
        # Of one moment they come in the order of the file.
        for a, b in zip(sorted(stacks, key=lambda s: s[0]),
                        sorted(other[tid], key=lambda s: s[0])):
            if a[0] != b[0]:
                return None
            both.append((a[1], a[2:], b[1]))
    return both


def is_same(a, b):
    return len(a) == len(b) and all(map(same, a, b))


def has_all(a, b):
    """Whether all of b are in a, in their order, and the last is the last."""
    left = iter(a)
    return all(any(same(x, y) for x in left) for y in b) and \
        same(a[-1], b[-1])


def is_kernel(b):
    return all(ip >> 63 for ip, _ in b)


def difference(a, how, b, roots):
    """Its name, or None: a stack of ours, its end and root, and perf's."""
    end, root = how
    if is_same(a, b):
        return "the same"
    if len(a) <= len(b):
        return None
    if not all(map(same, a, b)):
        return "perf's leaves frames out" if has_all(a, b) else None
    if is_kernel(b):
        return "perf's has the kernel's half alone"
    if end in WHOLE and (root in STARTS or a[-1] in roots):
        return "ours goes on"
    return "ours goes on to the copy's end" if end == "unreadable" else None


def compare(bench, tool, title, command):
    data = bench.path("copies.data")
    done = perf(bench, tool, "record", "-q", "-e", "cpu-clock", "-F", "2499",
                "--call-graph", "dwarf", "-o", data, "--", *command)
    if not os.path.exists(data):
        bench.skip(title, "it does not record here: " +
                   done.stderr.strip().replace("\n", " ")[:200])
        return
    both = pairs(ours(bench, data), theirs(bench, tool, data))
    os.unlink(data)
    if not bench.test(title + ": the same samples", both is not None):
        return
    roots = {a[-1] for a, (end, _), b in both
             if a and end in WHOLE and is_same(a, b)}
    counts, bad = collections.Counter(), []
    for a, how, b in both:
        name = difference(a, how, b, roots)
        counts[name or "unexplained"] += 1
        if not name:
            bad.append("%s\n%s\nperf: %s" % (how, a, b))
    bench.note("%s: %s" % (title, ", ".join(
        "%d: %s" % (n, name) for name, n in counts.most_common())))
    bench.test(title + ": the same stacks or more complete ones",
               not bad and counts["the same"] >= LEAST,
               "\n".join(bad[:5]) or counts)


def each(name, find):
    def run(bench):
        tool, command = livetest.newer_perf(), find(bench)
        if not tool:
            bench.skip(name, "perf 7.3.4 was not fetched: make peers")
        elif not command:
            bench.skip(name, "it is not here")
        else:
            compare(bench, tool, name, command)
    run.__name__ = name
    return run


sys.exit(livetest.main(
    each("python3", lambda bench: ["/usr/bin/python3", "-c", PYTHON]),
    each("git", git_log), each("compiler", compiler)))
