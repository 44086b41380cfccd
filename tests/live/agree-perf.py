#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: perf reads our recordings and shows the same samples.

Every sample of bash with short processes, of python3, git, a C++ program with
threads (its names demangled, too), threads that exec, a coroutine and of page
faults: time, thread, command, each frame's address and symbol. Three differences
are known, and each frame that has one is proved to have no other. perf looks a return address up as it is, not
the call before it: where a call is a function's last instruction, perf names
what comes behind. By the file's own symbols ours must hold the byte before that
address and not the address, and perf's hold the address; where perf knows none,
no symbol may. Perf does not know the names of our own BPF programs. And of some
entries of .plt.got (gcc's own) it finds no name but where they are: by the file's
relocations the entry must jump by the slot of the function that ours names.
"""

import bisect
import collections
import os
import re
import subprocess
import sys

import livetest

HEAD = re.compile(r"^(.*?)\s+(\d+)\s+(\d+)\.(\d+):\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*?)( \(inlined\))?$")
LEAST = 200
KERNEL = "[kernel.kallsyms]"


def perf_of(bench):
    """The newer perf, or None and why."""
    if bench.args.perf:
        return bench.args.perf, None
    tool = os.path.join(livetest.HERE, "..", "..", "tools", "peers.sh")
    done = subprocess.run([tool, "--where"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")
    return done.stdout.strip(), done.stderr.strip()


def perf_samples(perf, data, *names):
    done = subprocess.run(
        [perf, "script", "--ns", "--no-inline", *names, "--max-stack", "4096",
         "-F", "comm,tid,time,ip,sym", "-i", data], stdout=subprocess.PIPE,
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


def our_samples(recording, *names):
    return [(s["time_ns"], s["tid"], s["comm"],
             [(int(f["ip"], 16), f.get("sym", "[unknown]"), f.get("off"))
              for f in s["frames"]], s) for s in recording.samples(*names)]


class Symbols:
    """Whose an address of a file is, by its symbol tables alone."""

    def __init__(self):
        self.known, self.jumps = {}, {}

    def of(self, dso):
        """[(start, end, name)], by start; one without a size ends where the
        next begins."""
        if dso not in self.known:
            found = set(self.kernels()) if dso == KERNEL else set()
            for path in self.files(dso):
                text = subprocess.run(
                    ["readelf", "-sW", path], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, encoding="utf-8").stdout
                for line in text.splitlines():
                    word = line.split()
                    if len(word) > 7 and word[6] != "UND" and \
                            word[3] in ("FUNC", "IFUNC", "NOTYPE"):
                        start = int(word[1], 16)
                        found.add((start, start + int(word[2], 0),
                                   word[7].split("@")[0]))
            starts = sorted({start for start, _, _ in found}) + [1 << 64]
            self.known[dso] = sorted(
                (start, end if end > start else
                 starts[bisect.bisect_right(starts, start)], name)
                for start, end, name in found)
        return self.known[dso]

    @staticmethod
    def kernels():
        with open("/proc/kallsyms", encoding="utf-8") as f:
            for at, kind, name, *module in map(str.split, f):
                if kind in "tTwW" and not module:
                    yield int(at, 16), int(at, 16), name

    @staticmethod
    def files(dso):
        if dso == KERNEL:
            return
        yield dso
        notes = subprocess.run(["readelf", "-n", dso], encoding="utf-8",
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout
        found = re.search(r"Build ID: (..)(\w+)", notes)
        if found and os.path.exists("/usr/lib/debug/.build-id/%s/%s.debug" %
                                    found.groups()):
            yield "/usr/lib/debug/.build-id/%s/%s.debug" % found.groups()

    def at(self, dso, svma):
        return {name for start, end, name in self.of(dso)
                if start <= svma < end}

    def entries(self, dso):
        """{where in the file an entry of .plt.got is: the function in the slot
        by which it jumps}."""
        def text(*command):
            return subprocess.run([*command, dso], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL,
                                  encoding="utf-8").stdout

        if dso not in self.jumps:
            found = re.search(r" \.plt\.got +\S+ +(\w+) (\w+) ",
                              text("readelf", "-SW"))
            slots = dict(re.findall(r"^0*(\w+)  \S+ R_X86_64_\w+ +\w+ (\w+)",
                                    text("readelf", "-rW"), re.M))
            self.jumps[dso] = {
                int(at, 16) - int(found[1], 16) + int(found[2], 16):
                slots.get(slot) for at, slot in re.findall(
                    r"^ +(\w+):.*\bjmp .*# (\w+)",
                    text("objdump", "-d", "--section=.plt.got"), re.M)
            } if found else {}
        return self.jumps[dso]

    def is_entry(self, frame, theirs):
        found = re.fullmatch(r"offset_0x([0-9a-f]+)@plt", theirs)
        ours, plt, _ = frame.get("sym", "").partition("@plt")
        return bool(found and plt) and ours == self.entries(
            frame.get("dso", "")).get(int(found[1], 16))

    def is_behind(self, frame, theirs):
        """Ours is the name of the byte before the address and not of the
        address, whose name perf has, or which has none."""
        dso, ours = frame.get("dso", ""), frame.get("sym", "").split("@")[0]
        for start, _, name in self.of(dso):
            svma = start + frame.get("off", 0)
            if name != ours or ours not in self.at(dso, svma - 1):
                continue
            names = self.at(dso, svma)
            if ours not in names and (
                    theirs.split("@")[0] in names or
                    theirs == "[unknown]" and not names):
                return True
        return False


def same_frame(theirs, ours, raw, leaf, symbols):
    """'same', 'behind', 'bpf', 'entry', or 'different'"""
    if theirs[1] == ours[1]:
        return "same"
    if raw.get("dso") == "[bpf]" and theirs[1] == "[unknown]":
        return "bpf"    # perf has not been told of BPF programs
    if not leaf and symbols.is_behind(raw, theirs[1]):
        return "behind"
    if symbols.is_entry(raw, theirs[1]):
        return "entry"
    return "different"


def compare(bench, what, recording, perf, behind):
    theirs, status, complaint = perf_samples(perf, recording.data,
                                             "--no-demangle")
    ours = our_samples(recording, "--no-demangle")
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
    symbols, count, wrong = Symbols(), collections.Counter(), {}
    lengths, known = [], {}
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
            key = (a[1], b[1], b[2], raw.get("dso"), leaf)
            if key not in known:
                known[key] = same_frame(a, b, raw, leaf, symbols)
            verdict = known[key]
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
    bench.test(what + ": %s named after what is behind its call" % (
        "a frame is" if behind else "if any frame is"),
               count["behind"] or not behind, count)
    bench.note("%s: %d samples, %d frames with the same symbol, %d named by "
               "perf after what is behind the call, %d of BPF programs, %d entries "
               "of .plt.got without a name" % (
                   what, len(theirs), count["same"], count["behind"],
                   count["bpf"], count["entry"]))


def load(bench, what, *options, behind=False):
    perf, why = perf_of(bench)
    if not perf:
        bench.skip(what, why)
        return None
    recording = bench.record("-m", "64M", *options)
    if bench.test(what + ": recorded", recording.status == 0,
                  recording.log) and \
            bench.timely(what + ": no stack is lost", not
                         recording.summary["end"]["lost"], recording.log):
        compare(bench, what, recording, perf, behind)
        return recording
    return None


def bash(bench):
    load(bench, "bash", "-e", "cpu-clock", "-F", "4999", "--", "bash", "-c",
         "for ((i = 0; i < 500; i++)); do /bin/true; done", behind=True)


def python(bench):
    load(bench, "python3", "-e", "cpu-clock", "-F", "4999", "--",
         "/usr/bin/python3", "-c", "import json, decimal, email.parser\n"
         "for i in range(40): json.loads(json.dumps(list(range(9000))))")


def git(bench):
    """A made history, as of tests/loads."""
    script = os.path.join(livetest.HERE, "..", "loads", "git-log.sh")
    if subprocess.run(["sh", script, "prepare", bench.folder]).returncode:
        return bench.skip("git", "there is no git to record")
    load(bench, "git", "-e", "cpu-clock", "-F", "4999", "--", "git", "-C",
         bench.path("repo"), "--no-pager", "log", "-p", "-n", "300", "main")


# Exceptions from functions that do not return, caught in threads; names that
# are mangled; calls that are the last thing in their function.
THREADS = r"""
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static std::atomic<long> sink;
template <typename T> [[noreturn, gnu::noinline]] void refuse(T what)
{
	for (volatile int i = 0; i < 20000; i++)
		;
	throw std::runtime_error(std::to_string(what));
}
template <typename T> [[gnu::noinline]] long check(T n)
{
	if (n & 1)
		refuse(n);
	std::map<std::string, T> m;
	for (int i = 0; i < 50; i++)
		m[std::to_string(i * n)] = n;
	return (long)m.size();
}
static void work(void)
{
	std::regex word("([a-z]+)_([0-9]+)");
	for (long i = 0; i < 15000; i++) {
		try {
			sink += check(i);
		} catch (const std::exception &e) {
			sink += std::regex_match(std::string("some_") + e.what(),
						 word);
		}
	}
}
int main()
{
	std::vector<std::thread> all;
	for (int i = 0; i < 4; i++)
		all.emplace_back(work);
	for (auto &t : all)
		t.join();
	return 0;
}
"""


def threads(bench):
    exe = bench.path("threads")
    subprocess.run(["c++", "-x", "c++", "-", "-o", exe, "-O2", "-pthread",
                    "-fomit-frame-pointer", "-include", "atomic"],
                   input=THREADS, encoding="utf-8", check=True)
    recording = load(bench, "C++ in threads", "-e", "cpu-clock", "-F", "4999",
                     "--", exe)
    if recording:
        demangled(bench, perf_of(bench)[0], recording)


# What makes a coroutine's stack writes where it is to return to: no call ends
# there, and before it there is no function.
COROUTINE = r"""
#include <ucontext.h>
static ucontext_t begun, other;
static char stack[1 << 16];
static volatile unsigned long sink;
static void body(void)
{
	for (unsigned long i = 0; i < 300000000; i++)
		sink += i;
}
int main(void)
{
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = &begun;
	makecontext(&other, body, 0);
	return swapcontext(&begun, &other);
}
"""


def coroutine(bench):
    recording = load(bench, "a coroutine", "-e", "cpu-clock", "-F", "4999",
                     "--", bench.compile(COROUTINE, "coroutine"))
    if recording:
        found = [s for s in recording.samples() if livetest.user_path(s)[
            :2] == ["__start_context", "body"]]
        bench.test("a coroutine: begins in libc", len(found) >= LEAST,
                   "%d samples do" % len(found))


def mangled(names):
    """Those that a demangler has something to do with."""
    return {name for name in names if name.startswith(("_Z", "_R"))}


def demangled(bench, perf, recording):
    """Both demangle with the same library; what perf leaves out of a name,
    parameters and what stands before it, is not compared."""
    theirs = {(at, f[0]): f[1] for sample in perf_samples(
        perf, recording.data)[0] for at, f in [
            (sample[:2], f) for f in sample[3]]}
    ours, raw = ({(s[:2], f[0]): f[1] for s in our_samples(
        recording, *names) for f in s[3]} for names in ((), ("--no-demangle",)))
    cases = {(raw[k], ours[k], theirs[k]) for k in raw
             if mangled([raw[k]]) and k in theirs}
    wrong = [case for case in cases if case[1] != case[2]]
    bench.test("C++ in threads: the same demangled names, of 20 and more",
               len(cases) >= 20 and not wrong, "%d names, differing: %s" % (
                   len(cases), wrong[:5]))


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


def machine(bench):
    """All that runs, gcc among it, whose entries of .plt.got perf cannot name."""
    load(bench, "the whole machine", "-a", "-e", "cpu-clock", "-F", "1999", "--",
         "bash", "-c", "for i in 1 2 3 4 5 6 7 8; do gcc -dumpspecs; done; "
         "for ((i = 0; i < 200; i++)); do /bin/true; done")


def faults(bench):
    load(bench, "two events", "-e", "page-faults", "-e", "context-switches",
         "-c", "3", "--", "bash", "-c",
         "for i in 1 2 3 4 5 6 7 8; do ls -lR /etc >/dev/null; done")


if __name__ == "__main__":
    sys.exit(livetest.main(bash, python, git, threads, coroutine,
                           execs, faults, machine, options=[
        ("--perf", os.environ.get("SEAM_PERF"))]))
