#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: perf reads our recordings and shows the same samples.

Every sample of bash with short processes, of python3, of threads that exec
and of page faults: time, thread, command, each frame's address and symbol.
Two differences are known, counted and accounted for. perf looks a return
address up as it is, not the call before it: where a call is a function's last
instruction, perf names what comes behind; such a frame must lie at such an
address. And perf does not know the names of our own BPF programs.
"""

import os
import re
import subprocess
import sys

import livetest

HEAD = re.compile(r"^(.*?)\s+(\d+)\s+(\d+)\.(\d+):\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*?)( \(inlined\))?$")
LEAST = 200


def perf_of(bench):
    """The newer perf, or None and why."""
    if bench.args.perf:
        return bench.args.perf, None
    tool = os.path.join(livetest.HERE, "..", "..", "tools", "peers.sh")
    done = subprocess.run([tool, "--where"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")
    return done.stdout.strip(), done.stderr.strip()


def perf_samples(perf, data):
    done = subprocess.run(
        [perf, "script", "--ns", "--no-inline", "--max-stack", "4096", "-F",
         "comm,tid,time,ip,sym", "-i", data], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    samples = []
    for line in done.stdout.splitlines():
        head, frame = HEAD.match(line), FRAME.match(line)
        if head:
            samples.append((int(head[3]) * 10**9 + int(head[4]),
                            int(head[2]), head[1].strip(), []))
        elif frame and samples:
            samples[-1][3].append((int(frame[1], 16), frame[2]))
        elif line.strip():
            raise ValueError("a line of perf's: %r" % line)
    return samples, done.returncode, done.stderr


def our_samples(recording):
    return [(s["time_ns"], s["tid"], s["comm"],
             [(int(f["ip"], 16), f.get("sym", "[unknown]"), f.get("off"))
              for f in s["frames"]], s) for s in recording.samples(
                  "--no-demangle")]


class Symbols:
    """Where the functions of a file begin and end."""

    def __init__(self):
        self.known = {}

    def of(self, dso):
        """name -> {(start, end)}; a symbol without size ends at once."""
        if dso not in self.known:
            self.known[dso] = {}
            for path in self.files(dso):
                text = subprocess.run(
                    ["readelf", "-sW", path], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, encoding="utf-8").stdout
                for line in text.splitlines():
                    word = line.split()
                    if len(word) > 7 and word[3] in ("FUNC", "IFUNC",
                                                     "NOTYPE"):
                        start = int(word[1], 16)
                        self.known[dso].setdefault(
                            word[7].split("@")[0], set()).add(
                                (start, start + int(word[2], 0)))
        return self.known[dso]

    @staticmethod
    def files(dso):
        yield dso
        notes = subprocess.run(["readelf", "-n", dso], encoding="utf-8",
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout
        found = re.search(r"Build ID: (..)(\w+)", notes)
        if found and os.path.exists("/usr/lib/debug/.build-id/%s/%s.debug" %
                                    found.groups()):
            yield "/usr/lib/debug/.build-id/%s/%s.debug" % found.groups()

    def is_behind(self, frame, theirs):
        """The frame's address is the first behind its function, or the
        first of the function that perf names."""
        symbols = self.of(frame.get("dso", ""))
        ours = symbols.get(frame.get("sym", "").split("@")[0], ())
        next_ones = symbols.get(theirs.split("@")[0], ())
        return any(start + frame.get("off", 0) == end for start, end in ours
                   ) or any(start + frame.get("off", 0) == following
                            for start, _ in ours
                            for following, _ in next_ones)


def same_frame(theirs, ours, raw, leaf, symbols):
    """'same', 'behind', 'bpf', or 'different'"""
    if theirs[1] == ours[1]:
        return "same"
    if raw.get("dso") == "[bpf]" and theirs[1] == "[unknown]":
        return "bpf"    # perf has not been told of BPF programs
    if not leaf and symbols.is_behind(raw, theirs[1]):
        return "behind"
    return "different"


def compare(bench, what, recording, perf):
    theirs, status, complaint = perf_samples(perf, recording.data)
    ours = our_samples(recording)
    bench.test(what + ": perf reads the file without a word",
               status == 0 and not complaint, complaint)
    # perf holds samples back until their stacks come, each task's its own.
    key = sorted(sample[:3] for sample in theirs)
    our_key = [sample[:3] for sample in ours]
    bench.test(what + ": in order of time", our_key == sorted(
        our_key, key=lambda k: k[0]))
    our_key.sort()
    bench.test(what + ": the same times, threads and commands, at least %d" %
               LEAST, key == our_key and len(key) >= LEAST,
               "perf has %d, seam %d; first: %s" % (
                   len(key), len(our_key), next(
                       ((a, b) for a, b in zip(key, our_key) if a != b),
                       None)))
    mine = dict((sample[:2], sample) for sample in ours)
    symbols, count, wrong = Symbols(), {"same": 0, "behind": 0, "bpf": 0}, {}
    lengths = []
    for sample in theirs:
        other = mine.get(sample[:2])
        if not other:
            continue
        if [f[0] for f in sample[3]] != [f[0] for f in other[3]]:
            lengths.append("perf %s seam %s" % (
                " ".join("%x:%s" % f for f in sample[3]),
                livetest.show(other[4])))
            continue
        for i, (a, b) in enumerate(zip(sample[3], other[3])):
            raw = other[4]["frames"][i]
            leaf = i == 0 or not raw.get("kernel") and \
                bool(other[4]["frames"][i - 1].get("kernel"))
            verdict = same_frame(a, b, raw, leaf, symbols)
            if verdict == "different":
                text = "%s: perf %s, seam %s+%s" % (
                    raw.get("dso"), a[1], b[1], b[2])
                wrong[text] = wrong.get(text, 0) + 1
            else:
                count[verdict] += 1
    bench.test(what + ": the same addresses in every stack", not lengths,
               "%d differ\n" % len(lengths) + "\n".join(lengths[:5]))
    bench.test(what + ": the same symbols", not wrong and count["same"],
               "\n".join("%d %s" % (n, text) for text, n in sorted(
                   wrong.items(), key=lambda item: -item[1])))
    bench.note("%s: %d samples, %d frames with the same symbol, %d named by "
               "perf after what is behind the call, %d of BPF programs" % (
                   what, len(theirs), count["same"], count["behind"],
                   count["bpf"]))


def load(bench, what, *options):
    perf, why = perf_of(bench)
    if not perf:
        return bench.skip(what, why)
    recording = bench.record(*options)
    if bench.test(what + ": recorded", recording.status == 0, recording.log):
        compare(bench, what, recording, perf)


def bash(bench):
    load(bench, "bash", "-e", "cpu-clock", "-F", "4999", "--", "bash", "-c",
         "for ((i = 0; i < 500; i++)); do /bin/true; done")


def python(bench):
    load(bench, "python3", "-e", "cpu-clock", "-F", "4999", "--",
         "/usr/bin/python3", "-c", "import json, decimal, email.parser\n"
         "for i in range(40): json.loads(json.dumps(list(range(9000))))")


# Each exec is by a thread that takes over another's tid in it.
EXECS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int left;
void *again(void *path)
{
	char text[16];
	char *argv[] = {path, text, NULL};
	snprintf(text, sizeof(text), "%d", left - 1);
	execv(path, argv);
	_exit(1);
}
int main(int argc, char **argv)
{
	pthread_t t;
	left = atoi(argv[1]);
	if (!left)
		return 0;
	pthread_create(&t, NULL, again, argv[0]);
	pthread_join(t, NULL);
	return 1;
}
"""


def execs(bench):
    load(bench, "exec by threads", "-e", "cpu-clock", "-F", "4999", "--",
         bench.compile(EXECS, "execs", "-pthread"), "300")


def faults(bench):
    load(bench, "two events", "-e", "page-faults", "-e", "context-switches",
         "-c", "3", "--", "bash", "-c",
         "for i in 1 2 3 4 5 6 7 8; do ls -lR /etc >/dev/null; done")


if __name__ == "__main__":
    sys.exit(livetest.main(bash, python, execs, faults, options=[
        ("--perf", os.environ.get("SEAM_PERF"))]))
