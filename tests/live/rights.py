#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what seam-record(1) says of rights is so.

A user with CAP_BPF and CAP_PERFMON, and no other right, records its own
programs and those of others, whole, and keeps its tables in its own cache;
each further capability gives what the man page says, and nothing less does;
without the two there is one line that says what to do.
"""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

import livetest

NOBODY = 65534
BOTH = ("bpf", "perfmon")
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
SOURCE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static char buf[65536];
void leaf(int fd)
{
	for (int i = 0; i < 20000; i++)
		sink += i;
	pread(fd, buf, sizeof(buf), 0);
}
void mid(int fd) { leaf(fd); __asm__ volatile(""); }
void naps(void) { usleep(1000); __asm__ volatile(""); }
double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	int fd = open("/usr/bin/python3", O_RDONLY);
	double end = now() + atoi(argv[1]);
	while (now() < end) {
		for (int i = 0; i < 50; i++)
			mid(fd);
		naps();
	}
	return 7;
}
"""


class User:
    """nobody, with a home, a copy of seam, and these capabilities alone."""

    def __init__(self, bench, *caps):
        self.bench, self.caps = bench, caps
        self.home = bench.path("home")
        self.exe = bench.path("bin", "seam")
        if not os.path.exists(self.exe):
            os.chmod(bench.folder, 0o755)
            os.mkdir(bench.path("bin"))
            shutil.copy(bench.seam, self.exe)
            os.mkdir(self.home, 0o700)
            os.chown(self.home, NOBODY, NOBODY)
        self.env = dict(os.environ, HOME=self.home)
        self.env.pop("XDG_CACHE_HOME", None)

    def argv(self, *command):
        caps = ",".join("+" + cap for cap in self.caps)
        rights = ["--inh-caps=" + caps, "--ambient-caps=" + caps,
                  "--bounding-set=-all," + caps] if caps else []
        return ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY,
                "--clear-groups", *rights, *command]

    def run(self, *command):
        return subprocess.run(self.argv(*command), env=self.env,
                              cwd=self.home, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8")

    def record(self, *options, name="perf.data"):
        """A Recording, as livetest's, in the user's home."""
        data = os.path.join(self.home, name)
        done = self.run(self.exe, "record", "-o", data, *options)
        return livetest.Recording(self.bench, data, done.returncode,
                                  done.stderr, None)


def program(bench):
    exe = bench.path("bin", "reads")
    if not os.path.exists(exe):
        bench.compile(SOURCE, "bin/reads")
    return exe


def started(bench, exe, argv):
    """A process that runs exe by now."""
    process = bench.start(argv)
    while process.poll() is None and \
            os.readlink("/proc/%d/exe" % process.pid) != exe:
        time.sleep(0.01)
    time.sleep(0.1)  # main's
    return process


# The program's paths, root first.
PATH = re.compile(r"_start __libc_start_main __libc_start_call_main "
                  r"(main( mid( leaf|$)| naps|$| time)|exit )")


def all_whole(bench, what, recording, starts=True):
    """All samples' stacks are whole, and from main on of the program's paths;
    before it is the program's start, which page faults make long."""
    samples = recording.samples() if recording.status in (0, 7) else []
    paths = [livetest.user_path(s) for s in samples]
    begin = next((i for i, path in enumerate(paths) if "main" in path), 0) \
        if starts else 0
    good = [s for s, path in zip(samples[begin:], paths[begin:])
            if s["end"] == "outermost" and PATH.match(" ".join(path))]
    n = len(samples) - begin
    return bench.test(what, n > 50 and len(good) >= 0.98 * n and
                      begin <= 0.2 * len(samples) and
                      all(s["end"] == "outermost" for s in samples),
                      "status %d, %d of %d whole: %s%s" % (
                          recording.status, len(good), n, recording.log,
                          "\n".join(livetest.show(s) for s in samples
                                    if s not in good)))


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE,
                           encoding="utf-8", check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def two_capabilities(bench):
    user = User(bench, *BOTH)
    exe = program(bench)
    for name in ("perf_event_paranoid", "unprivileged_bpf_disabled",
                 "kptr_restrict", "perf_event_mlock_kb"):
        with open("/proc/sys/kernel/" + name) as f:
            bench.note("%s: %s" % (name, f.read().strip()))
    recording = user.record(*CLOCK, "--", exe, "1")
    all_whole(bench, "CAP_BPF and CAP_PERFMON record a command, whole",
              recording)
    bench.test("its exit status is the command's, and nothing was lost",
               recording.status == 7 and "lost: nothing" in recording.log,
               recording.log)
    kernel = [s for s in recording.samples() if livetest.kernel_frames(s)]
    bench.test("the kernel's frames are there", len(kernel) > 20, len(kernel))
    kernel_names(bench, recording)
    own_cache(bench, user, exe)
    recording = user.record("-e", "sched:sched_switch", "--", exe, "1")
    all_whole(bench, "a tracepoint, whole", recording)
    bench.test("what it tells is not for these rights, and that is said",
               "1 of the events without payload" in recording.log and
               not any("payload" in s for s in recording.samples()),
               recording.log)


def shown(user):
    """Whether the kernel shows this user its addresses."""
    line = user.run("head", "-n1", "/proc/kallsyms").stdout
    return int(line.split()[0], 16) != 0


def kernel_names(bench, recording):
    """Who reads the recording, not who made it, sees names or does not."""
    for caps in ((), ("syslog",)):
        user = User(bench, *caps)
        text = user.run(user.exe, "script", "-i", recording.data).stdout
        named = " do_syscall_64+" in text
        bench.test("read with %s: the kernel's names are %s" % (
            " ".join(caps) or "no capability",
            "there" if shown(user) else "hidden"),
            "pread" in text and named == shown(user), text[-2000:])


def own_cache(bench, user, exe):
    folder = os.path.join(user.home, ".cache", "seam")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    facts = [os.stat(os.path.join(folder, name)) for name in names]
    bench.test("its tables are in the user's own cache, closed to others",
               facts and all(st.st_uid == NOBODY and
                             stat.S_IMODE(st.st_mode) == 0o600
                             for st in facts) and
               stat.S_IMODE(os.stat(folder).st_mode) == 0o700, names)
    bench.test("the program's own is among them, by its build-id",
               any(name.startswith(build_id(exe)) for name in names), names)


def running(bench):
    user = User(bench, *BOTH)
    exe = program(bench)
    for what, argv in (("its own process", User(bench).argv(exe, "60")),
                       ("root's process", [exe, "60"])):
        target = started(bench, exe, argv)
        recording = user.record(*CLOCK, "-p", str(target.pid), "--duration",
                                "0.7")
        all_whole(bench, "-p of %s: whole" % what, recording, False)
        target.kill()
        target.wait()


def third_capabilities(bench):
    """Each makes the one difference that the man page names."""
    exe = program(bench)
    own = User(bench).argv
    cases = (
        ("a deleted file", own, True, ("checkpoint_restore",)),
        ("a deleted file of root's process", lambda *argv: list(argv), True,
         ("checkpoint_restore", "sys_ptrace", "dac_read_search")),
        ("a file of root's that one may not read", lambda *argv: list(argv),
         False, ("dac_read_search",)),
    )
    for what, argv, deleted, caps in cases:
        # Another file than before: its table must not be known.
        copy = bench.path("bin", "reads%d" % len(bench.results))
        bench.compile(SOURCE + "int v = %d;" % len(bench.results),
                      os.path.relpath(copy, bench.folder))
        os.chmod(copy, 0o755 if deleted else 0o700)
        target = started(bench, copy, argv(copy, "60"))
        if deleted:
            os.unlink(copy)
        to = ["-p", str(target.pid), "--duration", "0.5"]
        comm = os.path.basename(copy)
        for missing in caps:
            fewer = [cap for cap in caps if cap != missing]
            # By tables alone: code can be followed without rights.
            recording = User(bench, *BOTH, *fewer).record(
                *CLOCK, "--unwind", "sframe", *to)
            samples = recording.samples()
            bench.test("%s: not without cap_%s" % (what, missing),
                       recording.status == 0 and len(samples) > 100 and
                       all(s["end"] == "no-table" for s in samples),
                       recording.log)
        recording = User(bench, *BOTH, *caps).record(*CLOCK, *to)
        samples = recording.samples()
        # A file that is gone has no symbols any more, but it has tables.
        bench.test("%s: whole with cap_%s" % (what, ", cap_".join(caps)),
                   len(samples) > 100 and all(
                       s["end"] == "outermost" and s["comm"] == comm and
                       "__libc_start_call_main" in livetest.user_path(s)
                       for s in samples),
                   recording.log + "\n".join(map(livetest.show, samples)))
        target.kill()
        target.wait()


def refused(bench):
    exe = program(bench)
    for caps in ((), ("bpf",), ("perfmon",)):
        target = started(bench, exe, User(bench).argv(exe, "60"))
        for what in (["--", exe, "1"], ["-p", str(target.pid)], ["-a"]):
            recording = User(bench, *caps).record(
                "--engine", "deferred", *what, name="refused.data")
            lines = recording.log.splitlines()
            bench.test("%s, %s: one line that says what to do" % (
                " ".join(caps) or "no capability", what[0]),
                recording.status == 1 and len(lines) == 1 and
                lines[0].startswith("seam: ") and
                "run as root, or with CAP_BPF and CAP_PERFMON" in lines[0],
                "status %d: %s" % (recording.status, recording.log))
        target.kill()
        target.wait()
    bench.test("what is refused leaves no file behind", not os.path.exists(
        bench.path("home", "refused.data")))


def file_capabilities(bench):
    """setcap on seam: who runs it needs no rights, and passes none on."""
    user = User(bench)
    exe = program(bench)
    if os.statvfs(bench.folder).f_flag & os.ST_NOSUID or \
            not shutil.which("setcap"):
        bench.skip("seam with capabilities of its file",
                   "no setcap, or a file system without")
        return
    user.exe = bench.path("bin", "seam-caps")
    shutil.copy(bench.seam, user.exe)
    subprocess.run(["setcap", "cap_bpf,cap_perfmon=ep", user.exe], check=True)
    recording = user.record(*CLOCK, "--", exe, "1")
    all_whole(bench, "setcap on seam: a user without rights records, whole",
              recording)
    done = user.run(user.exe, "record", "-q", "-o", "caps.data", "--", "grep",
                    "Cap", "/proc/self/status")
    rights = dict(line.split() for line in done.stdout.splitlines())
    bench.test("the command gets none of them",
               all(int(rights[name], 16) == 0 for name in (
                   "CapInh:", "CapPrm:", "CapEff:", "CapAmb:")),
               done.stdout + done.stderr)


def locked_memory(bench):
    """Two recordings of one user that may lock no more than the buffers."""
    with open("/proc/sys/kernel/perf_event_mlock_kb") as f:
        if int(f.read()) >= 2 * 516:
            bench.skip("locked memory", "the kernel allows two recordings")
            return
    user = User(bench, *BOTH)
    first = bench.start(
        user.argv("prlimit", "--memlock=0", user.exe, "record", "-q", "-o",
                  os.path.join(user.home, "first.data"), "--", "sleep", "60"),
        env=user.env, stderr=subprocess.DEVNULL)
    while first.poll() is None and not livetest.polls(first.pid):
        time.sleep(0.01)
    done = user.run("prlimit", "--memlock=0", user.exe, "record", "-o",
                    os.path.join(user.home, "second.data"), "--", "true")
    bench.test("no memory to lock: one line that says what to do",
               done.returncode == 1 and len(done.stderr.splitlines()) == 1 and
               "kernel.perf_event_mlock_kb" in done.stderr,
               "status %d: %s" % (done.returncode, done.stderr))
    # What is left of it holds our output, for which whoever runs us waits.
    command = livetest.command_of(first.pid)
    first.kill()
    first.wait()
    os.kill(command, signal.SIGKILL)


def paranoid():
    """Skips all where only root may use events. Debian's kernels know 3."""
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        if int(f.read()) <= 2:
            return False
    print("1..0 # SKIP kernel.perf_event_paranoid lets only root use events")
    return True


def main():
    if paranoid():
        return 0
    give = subprocess.run(
        ["setpriv", "--reuid=%d" % NOBODY, "--clear-groups",
         "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon", "true"],
        stderr=subprocess.DEVNULL)
    if give.returncode:
        print("1..0 # SKIP CAP_BPF and CAP_PERFMON cannot be given here")
        return 0
    return livetest.main(two_capabilities, running, third_capabilities,
                         refused, file_capabilities, locked_memory)


if __name__ == "__main__":
    sys.exit(main())
