#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: files that the recorder cannot find by the name that a program
has for them: in another mount namespace, below a chroot with a libc of its own,
on an overlay that is copied up while it is mapped, and in memfds, executed and
opened as a library; and by names with ends of lines. At the recorder's own path
of that name is another build, or nothing, and each stack is whole and by its own
build's table.
"""

import os
import re
import shutil
import subprocess
import sys

import livetest
import rebuilt

EVENTS = ("-e", "cpu-clock", "-F", str(rebuilt.HZ))
SHARED = ["-shared", "-fPIC"]

# Runs each library's function before and after the one line that it waits for.
# fd: the file's bytes are put into a memfd, and that is opened.
LOADER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
static int in_memory(const char *name)
{
	int from = open(name, O_RDONLY), to = memfd_create("same.out", 0);
	if (from < 0 || to < 0) exit(2);
	while (sendfile(to, from, NULL, 1 << 20) > 0) ;
	close(from);
	return to;
}
int main(int argc, char **argv)
{
	int is_fd = argc > 3 && !strcmp(argv[1], "fd");
	int is_exec = argc > 3 && !strcmp(argv[1], "exec");
	char *log = argv[1 + (is_fd || is_exec)], name[64];
	if (is_exec) {
		char *args[] = {"same.out", log, NULL};
		fexecve(in_memory(argv[3]), args, environ);
		return 3;
	}
	for (int i = 2 + is_fd; i < argc; i++) {
		int fd = is_fd ? in_memory(argv[i]) : -1;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		void *lib = dlopen(is_fd ? name : argv[i], RTLD_NOW);
		if (!lib) { fputs(dlerror(), stderr); return 4; }
		if (is_fd) close(fd);
		long (*first)(long) = dlsym(lib, "first");
		FILE *out = fopen(log, "a");
		fprintf(out, "%d %lx %s\n", getpid(), (long)first,
			(char *)dlsym(lib, "build"));
		fclose(out);
		first(1);
		puts(""); fflush(stdout);
		getchar();
		first(1);
		dlclose(lib);
	}
	_exit(0);
}
"""


def builds_of(bench, kind, flags, count):
    """name -> Build, of which the files lie elsewhere too. Each runs for so
    long that a machine which stands still for a moment reads it in time."""
    return {"%s%d" % (kind, i): rebuilt.make(bench, kind, i, flags, 200)
            for i in range(count)}


def record(bench, what, kind, builds, name, command, log=None, **options):
    log = log or bench.path(kind + ".log")
    recording = bench.record(*EVENTS, "--", *command, name=kind + ".data",
                             stdin=subprocess.DEVNULL, **options)
    rebuilt.check(bench, what, recording, rebuilt.read_log(log, builds), name,
                  False)


NAMESPACES = """
cp {0.path} {here}/libsame.so
{loader} {log} {here}/libsame.so
unshare -m sh -c "mount --bind {1.path} {here}/libsame.so
    exec {loader} {log} {here}/libsame.so"
mkdir {here}/private
unshare -m sh -c "mount -t tmpfs tiny {here}/private
    cp {2.path} {here}/private/libsame.so
    exec {loader} {log} {here}/private/libsame.so"
"""


def may_mount(bench, what):
    """Whether, and if not it is skipped."""
    tried = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mkdir -p l u w m && mount -t tmpfs t l "
         "&& mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w m"],
        cwd=bench.folder, stderr=subprocess.PIPE, encoding="utf-8")
    if tried.returncode:
        bench.skip(what, "cannot be mounted: " +
                   " ".join(tried.stderr.split())[:100])
    return not tried.returncode


def namespaces(bench):
    what = "a library in another mount namespace"
    if not may_mount(bench, what):
        return
    bench.compile(LOADER, "loader")
    builds = builds_of(bench, "ns", SHARED, 3)
    text = NAMESPACES.format(*builds.values(), here=bench.folder,
                             loader=bench.path("loader"),
                             log=bench.path("ns.log"))
    record(bench, what, "ns", builds, "libsame.so", ["sh", "-ec", text])


def libraries(program):
    """All that it is linked with, as paths."""
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE,
                         encoding="utf-8", check=True).stdout
    return re.findall(r"(/\S+) \(0x", out)


def changed_root(bench):
    """By the name that it has in there is another build out here."""
    root, same = bench.path("root"), bench.path("same.out")
    builds = builds_of(bench, "root", ["-pie", "-fPIE"], 2)
    inside, outside = builds.values()
    for path in [inside.path] + libraries(inside.path):
        to = root + (same if path == inside.path else path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
    shutil.copy(outside.path, same)
    log = bench.path("root.log")
    # The same file, to write to.
    open(log, "w").close()
    os.link(log, root + log)
    record(bench, "a chroot with its own libc", "root", builds, "same.out",
           ["sh", "-ec", "{1} {2}; chroot {0} {1} {2}".format(root, same, log)])


INSIDE = """
trap 'kill $target' EXIT
mkdir {root}
mount --rbind / {root}
chroot {root} unshare -m {program} 100000000 &
target=$!
until grep -q spin /proc/$target/comm; do sleep .05; done
chroot {root} {seam} record {events} -o {data} -p $target --duration 1
"""


def is_of_spin(path):
    """Through libc's table to main and on, each function by its name: how many
    samples are of main's own calls is as dear as calls are."""
    return "main" in path and "?" not in path and path[path.index("main"):] in [
        ["main"], ["main", "cpu_ms"], ["main", "outer"],
        ["main", "outer", "middle"], ["main", "outer", "middle", "leaf"]]


def both_inside(bench):
    """The recorder is in a chroot, and a program that runs already has mounts
    of its own there: what it has mapped is told by names from out here."""
    if not may_mount(bench, "a recorder in a chroot"):
        return
    data = bench.path("inside.data")
    done = subprocess.run(["unshare", "-m", "sh", "-ec", INSIDE.format(
        root=bench.path("inside"), program=bench.compile(livetest.SPIN, "spin"),
        seam=os.path.abspath(bench.seam), events=" ".join(EVENTS), data=data)],
        env=bench.env, stderr=subprocess.PIPE, encoding="utf-8")
    samples = livetest.Recording(bench, data, 0, "", None).samples()
    whole = [s for s in samples if s["end"] == "outermost" and
             is_of_spin(livetest.user_path(s))]
    deep = [s for s in whole if "middle" in livetest.user_path(s)]
    bench.test("a recorder in a chroot: names and tables are had", done.returncode
               == 0 and len(whole) > 0.9 * len(samples) > 0 and
               len(deep) > 0.5 * len(samples), "%d of %d, %d deep\n%s" % (
                   len(whole), len(samples), len(deep), done.stderr))


# As /proc/PID/maps writes the first, and so it may be called as well.
NAMES = ["same.out\nx", "same.out\\012x", "same.out\\x\n\\012"]


def programs(bench):
    """Those of odd_names()."""
    bench.compile(livetest.SPIN, "spin")


def odd_names(bench):
    """Running before the recording begins, and begun in it."""
    program = bench.compile(livetest.SPIN, "spin")
    for name in NAMES:
        path = bench.path(name)
        shutil.copy(program, path)
        target = bench.start([path, "100000000"])
        recorder = bench.recorder(*EVENTS, "-p", str(target.pid)).ready()
        livetest.burn(0.2, target.pid)
        before = recorder.interrupt()
        target.kill()
        for what, recording in (
                ("that ran before", before),
                ("that is begun", bench.record(*EVENTS, "--", path, "200"))):
            found = [s for s in recording.samples() if "leaf" in
                     livetest.user_path(s)]
            whole = [s for s in found if s["end"] == "outermost" and
                     {f["dso"] for f in s["frames"] if f.get("sym") == "leaf"}
                     == {path}]
            bench.test("a program %s, called %r" % (what, name),
                       found and len(whole) > 0.9 * len(found),
                       "%d of %d\n%s" % (len(whole), len(found), "\n".join(
                           map(livetest.show, recording.samples()[:5]))))


def memfds(bench):
    loader, log = bench.compile(LOADER, "loader"), bench.path("memory.log")
    builds = builds_of(bench, "memory", SHARED, 4)
    record(bench, "libraries in memfds", "memory", builds, "memfd:same.out",
           [loader, "fd", log, *(b.path for b in builds.values())])
    builds = builds_of(bench, "execute", ["-no-pie"], 3)
    log = bench.path("execute.log")
    text = "\n".join("{} exec {} {}".format(loader, log, b.path)
                     for b in builds.values())
    record(bench, "programs in memfds", "execute", builds, "memfd:same.out",
           ["sh", "-ec", text])


OVERLAY = """
mkdir lower upper work merged
cp {0} lower/libsame.so
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
exec {1} {2} $PWD/merged/libsame.so $PWD/merged/libsame.so \
    $PWD/merged/libsame.so
"""


def copied_up(bench):
    """Copied up while it is mapped, and replaced by another build."""
    what = "a library copied up"
    if not may_mount(bench, what):
        return
    loader, log = bench.compile(LOADER, "loader"), bench.path("up.log")
    builds = builds_of(bench, "up", SHARED, 2)
    first, second = (b.path for b in builds.values())
    os.mkdir(bench.path("up"))
    process = bench.start(
        ["unshare", "-m", "sh", "-ec", OVERLAY.format(first, loader, log)],
        cwd=bench.path("up"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorder = bench.recorder(*EVENTS, "-p", str(process.pid),
                              name="up.data").ready()
    merged = "/proc/%d/root%s" % (process.pid,
                                  bench.path("up", "merged", "libsame.so"))
    steps = [lambda: os.utime(merged), lambda: (
        os.unlink(merged), shutil.copy(second, merged)), lambda: None]
    for step in steps:
        process.stdout.readline()
        step()
        process.stdin.write(b"\n")
        process.stdin.flush()
    process.wait()
    # The copy, which is the second, is of the same build, and may come to lie
    # where that was.
    runs = {pid: some[1:] for pid, some in
            rebuilt.read_log(log, builds).items()}
    rebuilt.check(bench, what, recorder.interrupt(), runs, "libsame.so", False)


if __name__ == "__main__":
    sys.exit(livetest.main(namespaces, changed_root, both_inside, odd_names,
                           memfds, copied_up, programs=programs))
