#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a program that is edited, compiled and run again and again
under one name, while one recording goes on, shows each run's own call path.

Frame sizes, depth and layout differ in each build, so that another build's
table gives a wrong path. File systems reuse an inode's number at once, and a
file can be written over in place. Also a library that is replaced, between
runs and under a running process, a program on an overlay file system, one
whose file is gone, and a process that executes one build after the other.
Names come from the builds that the test has kept. Each with build-ids and
without, where only the inode can tell one build from another; names in the
recording are then those of the last build, and not looked at.
"""

import bisect
import os
import random
import re
import shutil
import subprocess
import sys
import time

import livetest

BUILDS = 10
OWN = re.compile(r"[a-z]+\d+_f\d+$")
HZ = 4999
BARE = "-Wl,--build-id=none"
MISS = "a miss"
# What a sample without its table ends with: nothing that was found wrongly.
MISSES = ("no-table", "lost")
LEAST_WHOLE = 0.99
ROOT = ["_start", "__libc_start_main", "__libc_start_call_main", "main"]


def source(kind, build, ms):
    """A path of 4 to 12 functions in a random order, frames of any size."""
    rng = random.Random(1000 * build + len(kind))
    depth = 4 + rng.randrange(9)
    names = ["%s%d_f%d" % (kind, build, i) for i in range(depth)]
    order = list(range(depth))
    rng.shuffle(order)
    text = ["#define _GNU_SOURCE", "#include <stdio.h>", "#include <time.h>",
            "#include <stdlib.h>", "#include <unistd.h>", "#include <dlfcn.h>",
            "#include <string.h>", "static volatile unsigned long sink;",
            "static volatile int sure = 1;"]
    text += ["long %s(long);" % name for name in names]
    for i in order:
        size = 8 * (1 + rng.randrange(60))
        pad = "nop;" * rng.randrange(50)
        body = 'volatile long a[%d]; a[0] = n; __asm__ volatile("%s");' % (
            size, pad)
        if rng.randrange(2):    # a frame pointer, by chance
            body += "volatile char *v = __builtin_alloca(n + 16); v[0] = 1;"
        if i + 1 < depth:
            body += "n = %s(n + 1);" % names[i + 1]
        else:
            body += """struct timespec t; long from = -1, now;
                do {
                    for (int k = 0; k < 20000; k++) sink += k;
                    long ret;
                    __asm__ volatile("syscall" : "=a"(ret) : "0"(228L),
                        "D"(2L), "S"(&t) : "rcx", "r11", "memory");
                    now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
                    if (from < 0) from = now;
                } while (now < from + %d);""" % ms
        text.append("__attribute__((noipa)) long %s(long n) { %s "
                    "return n + a[0]; }" % (names[i], body))
    return "\n".join(text), names


MAIN = r"""
int main(int argc, char **argv)
{
	FILE *log = fopen(argv[1], "a");
	fprintf(log, "%%d %%lx %s\n", getpid(), (long)%s);
	fclose(log);
	if (getenv("FIRST"))
		sink += %s(1);
	if (argc > 2)
		unlink(argv[2]);
	sink += %s(1);
	if (argc > 3)
		execv(argv[3], argv + 3);
	_exit(0);
}
"""

# Opens the library, runs it, waits for it to be replaced, and so on.
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[3]); i++) {
		void *lib = dlopen(argv[2], RTLD_NOW);
		long (*first)(long) = dlsym(lib, "first");
		FILE *log = fopen(argv[1], "a");
		fprintf(log, "%d %lx %s\n", getpid(), (long)first,
			(char *)dlsym(lib, "build"));
		fclose(log);
		first(1);
		dlclose(lib);
		puts("");
		fflush(stdout);
		if (getchar() < 0)
			break;
	}
	_exit(0);
}
"""


class Build:
    """A file as it was, and which function an address of it is in."""

    def __init__(self, path, names):
        self.path = path
        self.names = names
        nm = subprocess.run(["nm", "-n", path], stdout=subprocess.PIPE,
                            encoding="utf-8", check=True).stdout
        symbols = [(int(m[1], 16), m[2]) for m in re.finditer(
            r"^([0-9a-f]+) [TtWw] (\S+)$", nm, re.M)]
        self.start = [address for address, _ in symbols]
        self.symbol = [name for _, name in symbols]
        self.address = dict((name, address) for address, name in symbols)

    def name(self, address):
        i = bisect.bisect_right(self.start, address) - 1
        return self.symbol[i] if i >= 0 else "?"


class Run:
    """A process, or a part of its life, that ran one build."""

    def __init__(self, build, base):
        self.build = build
        self.base = base


def make(bench, kind, number, flags, ms=90):
    """Compiles a build to a file of its own, kept."""
    text, names = source(kind, number, ms)
    if "-shared" in flags:
        text += '\nlong first(long n) { return %s(n) + 1; }\n' \
            'const char build[] = "%s%d";\n' % (names[0], kind, number)
    else:
        text += MAIN % (("%s%d" % (kind, number),) + 3 * (names[0],))
    path = bench.compile(text, "kept-%s%d" % (kind, number), *flags)
    return Build(path, names)


def read_log(path, builds):
    """pid -> its Runs, in the order in which they were."""
    runs = {}
    with open(path) as f:
        for line in f:
            pid, address, which = line.split()
            build = builds[which]
            runs.setdefault(int(pid), []).append(Run(
                build, int(address, 16) - build.address[
                    "first" if "first" in build.address
                    else build.names[0]]))
    return runs


def judge(sample, run, name, named):
    """None, or what is wrong with a sample of a run of the file name. named:
    the recording knows the build, and so must its names be."""
    path, inside = [], []
    for depth, frame in enumerate(livetest.user_frames(sample)):
        symbol = frame.get("sym", "?").split("@")[0]
        if os.path.basename(frame.get("dso", "").replace(
                " (deleted)", "")) == name:
            leaf = depth + 1 == len(livetest.user_frames(sample))
            truth = run.build.name(int(frame["ip"], 16) - run.base -
                                   (not leaf))
            inside.append(truth)
            if named and symbol != truth and OWN.match(symbol):
                return "%s is shown as %s" % (truth, symbol)
            symbol = truth
        path.append(symbol.replace("__libc_start_main_impl",
                                   "__libc_start_main"))
    own = [p for p in path if OWN.match(p)]
    if sample["end"] != "outermost":
        # Not whole, but what there is may be right.
        names = " ".join(run.build.names) + " "
        return MISS if sample["end"] in MISSES and \
            " ".join(own + [""]) in names else \
            "ends %s: %s" % (sample["end"], " ".join(path))
    if own != run.build.names[:len(own)]:
        return "is " + " ".join(path)
    if own and path[-len(own):] != own:
        return "has other frames inside: " + " ".join(path)
    if own and path[:4] != ROOT:
        return "does not begin at main: " + " ".join(path)
    if "first" in path:
        before = len(own) + 1
    else:
        before = len(own)
    if own and len(path) != 4 + before:
        return "has frames too many: " + " ".join(path)
    return None


def is_in(sample, name):
    """Whether the file's own code ran."""
    return livetest.user_frames(sample)[-1].get("dso", "").find(name) >= 0


def check(bench, what, recording, runs, name, named=True, in_time=True,
          is_gone=False):
    """Every sample of every run has its own build's path or is a miss, and
    misses are few: of each run the end of its path is seen. is_gone: only who
    has asked for its table has one, which is from when its own code runs on: a
    stack that begins in libc asks for libc's, if that is to come."""
    if not bench.test(what + ": recorded", recording.status == 0,
                      recording.log):
        return
    wrong, deep, samples, misses, early = [], {}, 0, [], 0
    for sample in recording.samples():
        if sample["pid"] not in runs or sample["end"] == "no-user":
            continue
        samples += 1
        candidates = runs[sample["pid"]]
        verdicts = [judge(sample, run, name, named) for run in candidates]
        is_gone = is_gone and not is_in(sample, name)
        if is_gone and MISS in verdicts:
            early += 1
            continue
        if None not in verdicts:
            (misses if MISS in verdicts else wrong).append(
                "%s; %s" % (verdicts[0], livetest.show(sample)))
            continue
        run = candidates[verdicts.index(None)]
        if is_in(sample, name) and len(livetest.user_frames(sample)) >= \
                4 + len(run.build.names):
            deep[id(run)] = deep.get(id(run), 0) + 1
    every = [run for some in runs.values() for run in some]
    bench.note("%s: %d runs, %s samples at the end of their paths; %d before "
               "it was asked for, %d misses, copies %d, tables %d, lost %s" % (
                   what, len(every), list(deep.values()), early, len(misses),
                   recording.summary["copies"], recording.summary["tables"],
                   {k: v for k, v in recording.summary["lost"].items()
                    if v}))
    bench.test(what + ": no sample has another build's path",
               samples and not wrong,
               "%d wrong\n" % len(wrong) + "\n".join(wrong[:6]))
    if not in_time:
        return
    # A file that has no name any more goes with its process.
    bench.timely(what + ": at least %g %% are whole" % (100 * LEAST_WHOLE),
                 len(misses) <= (1 - LEAST_WHOLE) * samples,
                 "%d misses of %d\n" % (len(misses), samples) +
                 "\n".join(misses[:6]))
    bench.timely(what + ": there are samples at the end of each path",
                 len(deep) == len(every) and min(deep.values()) > 50,
                 list(deep.values()))


def both(bench, function, what, kind, flags, *rest):
    """With build-ids and without."""
    function(bench, what, kind, flags, *rest)
    function(bench, what + ", without build-ids", kind + "bare",
             flags + [BARE], *rest)


def inodes(bench, what, numbers):
    bench.note("%s: %d runs had %d inode numbers" % (
        what, len(numbers), len(set(numbers))))


def programs(bench, what, kind, flags, replace):
    """Edits, compiles and runs ten times, while the test itself and what
    it starts is recorded, the compiler too."""
    log, same = bench.path(kind + ".log"), bench.path(kind, "same.out")
    os.mkdir(bench.path(kind))
    # The compiler's own tables take seconds to make.
    with open(bench.path("warm.c"), "w") as f:
        f.write(source(kind, 0, 0)[0] + MAIN % ("x", "puts", "puts", "puts"))
    bench.record("-e", "cpu-clock", "-F", str(HZ), "--", "cc", "-O1", "-o",
                 bench.path("warm"), bench.path("warm.c"))
    recorder = bench.recorder("-p", str(os.getpid()), "-e", "cpu-clock",
                              "-F", str(HZ), name=kind + ".data").ready()
    builds, numbers = {}, []
    for i in range(BUILDS):
        build = make(bench, kind, i, flags)
        builds["%s%d" % (kind, i)] = build
        replace(build.path, same)
        numbers.append(os.stat(same).st_ino)
        subprocess.run([same, log], check=True)
    inodes(bench, what, numbers)
    recording = recorder.interrupt()
    check(bench, what, recording, read_log(log, builds), "same.out",
          BARE not in flags)


def again(bench, what, kind, flags, replace, count=BUILDS, in_time=True):
    """The same of a driver that seam has started: only its processes."""
    log, same = bench.path(kind + ".log"), bench.path(kind, "same.out")
    os.mkdir(bench.path(kind))
    builds, script = {}, []
    for i in range(count):
        builds["%s%d" % (kind, i)] = build = make(bench, kind, i, flags)
        script.append("%s; %s %s || exit 1" % (
            replace.format(build.path, same), same, log))
    recording = bench.record("-e", "cpu-clock", "-F", str(HZ), "--", "sh",
                             "-c", "\n".join(script), name=kind + ".data")
    check(bench, what, recording, read_log(log, builds), "same.out",
          BARE not in flags, in_time)


def by_linker(bench):
    def link(path, same):
        # What cc -o same.out does: the old file is unlinked first.
        if os.path.exists(same):
            os.unlink(same)
        subprocess.run(["objcopy", path, same], check=True)
    both(bench, programs, "linked anew", "link", ["-no-pie"], link)


def in_place(bench):
    both(bench, again, "written over", "over", ["-no-pie"],
         "cat {0} >{1}; chmod 755 {1}")


def while_busy(bench):
    """The recorder opens what it is asked for at once, but reads it when it
    has made the table of clang's library, a second or more later: of which
    build that is then, only the inode tells."""
    large = shutil.which("clang-19") or shutil.which("clang-14")
    again(bench, "written over, read late", "busy", ["-no-pie", BARE],
          large + " --version >/dev/null && cat {0} >{1} && chmod 755 {1}",
          count=4, in_time=False)


def by_copy(bench):
    both(bench, again, "removed and copied", "copy", ["-pie", "-fPIE"],
         "rm -f {1}; cp {0} {1}")


def library(bench):
    both(bench, replaced, "a library replaced under its user", "lib",
         ["-shared", "-fPIC"])


def replaced(bench, what, kind, flags):
    """Replaced under a process that opens it again."""
    loader = bench.compile("#include <stdlib.h>\n" + LOADER, "loader")
    log, same = bench.path(kind + ".log"), bench.path("libsame.so")
    builds = {"%s%d" % (kind, i): make(bench, kind, i, flags)
              for i in range(BUILDS)}
    kept = list(builds.values())
    subprocess.run(["cp", kept[0].path, same], check=True)
    process = bench.start([loader, log, same, str(BUILDS)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    numbers = []
    recorder = bench.recorder("-p", str(process.pid), "-e", "cpu-clock",
                              "-F", str(HZ), name=kind + ".data").ready()
    for i in range(1, BUILDS):
        os.unlink(same)
        subprocess.run(["cp", kept[i].path, same], check=True)
        numbers.append(os.stat(same).st_ino)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
    inodes(bench, what, numbers)
    recording = recorder.interrupt()
    process.stdin.close()
    process.wait()
    runs = {pid: some[1:] for pid, some in read_log(log, builds).items()}
    check(bench, what, recording, runs, "libsame.so", BARE not in flags)


def deleted(bench):
    both(bench, gone, "a file deleted after start", "gone", ["-pie", "-fPIE"])


def gone(bench, what, kind, flags):
    """The program removes its file as its first deed."""
    log, builds, script = bench.path(kind + ".log"), {}, []
    for i in range(3):
        builds["%s%d" % (kind, i)] = build = make(bench, kind, i, flags)
        script.append("cp {0} {1}; {1} {2} {1}".format(
            build.path, bench.path("same.out"), log))
    recording = bench.record("-e", "cpu-clock", "-F", str(HZ), "--", "sh",
                             "-c", "\n".join(script), name=kind + ".data")
    check(bench, what, recording, read_log(log, builds), "same.out",
          BARE not in flags)


def late(bench):
    both(bench, gone_before, "a file deleted before the recorder looks",
         "late", ["-pie", "-fPIE"])


def gone_before(bench, what, kind, flags):
    """The recorder stands still from before its start until it is gone."""
    log, same = bench.path(kind + ".log"), bench.path(kind + "-same.out")
    build = make(bench, kind, 0, flags)
    recorder = bench.recorder("-p", str(os.getpid()), "-e", "cpu-clock",
                              "-F", str(HZ), name=kind + ".data").ready()
    shutil.copy(build.path, same)
    recorder.stop()
    process = bench.start([same, log, same], env=dict(os.environ, FIRST="1"))
    while os.path.exists(same):
        time.sleep(0.001)
    recorder.go()
    process.wait()
    check(bench, what, recorder.interrupt(),
          read_log(log, {kind + "0": build}), os.path.basename(same),
          BARE not in flags, is_gone=True)


def chain(bench):
    both(bench, executed, "one process, one build after the other", "exec",
         ["-no-pie"])


def executed(bench, what, kind, flags):
    """All have the same addresses, and the name of each other's code."""
    log, command = bench.path(kind + ".log"), []
    builds = {"%s%d" % (kind, i): make(bench, kind, i, flags)
              for i in range(BUILDS)}
    for i, build in enumerate(builds.values()):
        same = bench.path("%s%d" % (kind, i), "same.out")
        os.mkdir(os.path.dirname(same))
        os.rename(build.path, same)
        build.path = same
        command += [same, log, "/no/such/file"]
    recording = bench.record("-e", "cpu-clock", "-F", str(HZ), "--",
                             *command, name=kind + ".data")
    check(bench, what, recording, read_log(log, builds), "same.out",
          BARE not in flags)


OVERLAY = """set -e
mkdir lower upper work merged
cp {0} lower/same.out
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
merged/same.out {3}
touch merged/same.out
merged/same.out {3}
cat {1} >merged/same.out
merged/same.out {3}
rm merged/same.out
cp {2} merged/same.out
merged/same.out {3}
"""


def overlay(bench):
    tried = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mkdir l u w m; mount -t overlay o -o "
         "lowerdir=l,upperdir=u,workdir=w m"], cwd=bench.folder,
        stderr=subprocess.PIPE, encoding="utf-8")
    if tried.returncode:
        bench.skip("an overlay", "cannot be mounted: " +
                   tried.stderr.strip()[:100].replace("\n", " "))
        return
    both(bench, overlaid, "an overlay", "ovl", ["-no-pie"])


def overlaid(bench, what, kind, flags):
    """Below, copied up, written over, and removed and made again, in a mount
    namespace of its own."""
    folder, log = bench.path(kind), bench.path(kind + ".log")
    os.mkdir(folder)
    builds = {"%s%d" % (kind, i): make(bench, kind, i, flags)
              for i in range(3)}
    script = OVERLAY.format(*(b.path for b in builds.values()), log)
    recording = bench.record("-e", "cpu-clock", "-F", str(HZ), "--",
                             "unshare", "-m", "sh", "-c", script,
                             name=kind + ".data", cwd=folder)
    check(bench, what, recording, read_log(log, builds), "same.out",
          BARE not in flags)


if __name__ == "__main__":
    sys.exit(livetest.main(by_linker, in_place, while_busy, by_copy, library,
                           deleted, late, chain, overlay))
