#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a stack pointer into a file whose pages a FUSE daemon never
gives costs its own stack and nothing else, be the program another or the
daemon itself: nobody is made to wait for it, and everybody can be ended. So it
is where the daemon has the program's own file, and stops to answer; where it
is slow the stacks are whole.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import faults
import livetest

# With a stack pointer into a file of which nothing is ever read.
CLIENT = faults.HEAD + faults.SPIN + r"""
SPIN(never)
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE,
		       fd, 0);

	need(argc > 2 && p != MAP_FAILED, argv[1]);
	getchar(); /* until it is recorded */
	spin_never((unsigned long)p + 8192, 120000000L * atol(argv[2]));
	return 0;
}
"""


def fused(bench):
    with open(os.path.join(livetest.HERE, "fused.c")) as f:
        return bench.compile(f.read(), "fused", "-pthread")


class Daemon:
    """Its commands are letters; each is answered by a line."""

    def __init__(self, bench, program):
        self.folder = tempfile.mkdtemp(dir=bench.folder)
        self.process = bench.start([fused(bench), self.folder, program],
                                   stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8")
        self.line = self.process.stdout.readline()

    def command(self, letter):
        self.process.stdin.write(letter)
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        said = self.process.communicate()[1]
        subprocess.run(["umount", "-l", self.folder],
                       stderr=subprocess.DEVNULL)
        return said


def with_daemon(bench, what, source, function, *args):
    program = bench.compile(source, "prog")
    daemon = Daemon(bench, program)
    if daemon.line != "mounted\n":
        bench.skip(what, "no FUSE: " + daemon.end())
        return
    try:
        function(bench, what, daemon, program, *args)
    finally:
        daemon.end()


def never_given(bench):
    with_daemon(bench, "pages that never come", CLIENT, profile, False)


def never_given_to_all(bench):
    with_daemon(bench, "all tasks, pages that never come", CLIENT, profile,
                True)


# What the file system is on: $at is the loop device.
ON_LOOP = ":"
ON_MAPPER = """{ modprobe dm-mod || :; } 2>/dev/null
        grep -qw device-mapper /proc/devices || {
            echo "no device-mapper in this kernel"; exit 1; }
        echo "0 $(blockdev --getsz "$at") linear $at 0" |
            /sbin/dmsetup create --readonly "$3" || exit
        at=/dev/mapper/$3"""
MAPPED = "seam-test"


def on_a_loop(bench):
    """A file on a file system on a loop device on a file of the daemon's."""
    on_a_disk(bench, "a loop device", ON_LOOP)


def on_a_mapper(bench):
    """Likewise, with a device mapper's device between."""
    what = "a device mapper's"
    if not os.path.exists("/sbin/dmsetup"):
        bench.skip(what, "no dmsetup")
        return
    on_a_disk(bench, what, ON_MAPPER)


def on_a_disk(bench, what, between):
    program = bench.compile(CLIENT, "prog")
    folder = tempfile.mkdtemp(dir=bench.folder)
    tree, image, mounted = (os.path.join(folder, name) for name in (
        "tree", "image", "mounted"))
    os.mkdir(tree)
    os.mkdir(mounted)
    with open(os.path.join(tree, "never"), "wb") as f:
        f.write(b"x" * (1 << 20))
    made = subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-d", tree,
                           image, "8M"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    daemon = Daemon(bench, image)
    # It answers until the file's own blocks are known, and then no more.
    at = subprocess.run(["sh", "-c", """
        at=$(/sbin/losetup -r -f --show "$1/prog") || exit
        echo "$at"
        """ + between + """
        mount -t ext4 -o ro,noload "$at" "$2" && head -c 4096 "$2/never" |
            grep -q x""", "sh", daemon.folder, mounted, MAPPED],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    try:
        if made.returncode or at.returncode or daemon.line != "mounted\n":
            bench.skip(what, "no such device on FUSE: %s%s" % (
                made.stdout, at.stdout))
            return
        drop_pages(os.path.join(mounted, "never"))
        daemon.command("s")
        profile(bench, what, daemon, program, False,
                os.path.join(mounted, "never"))
    finally:
        daemon.end()
        subprocess.run(["umount", "-l", mounted], stderr=subprocess.DEVNULL)
        if between == ON_MAPPER:
            subprocess.run(["/sbin/dmsetup", "remove", "--deferred", MAPPED],
                           stderr=subprocess.DEVNULL)
        if at.stdout.startswith("/dev/"):
            subprocess.run(["/sbin/losetup", "-d", at.stdout.split()[0]],
                           stderr=subprocess.DEVNULL)


def drop_pages(path):
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def profile(bench, what, daemon, program, everything, path=None):
    path = path or os.path.join(daemon.folder, "never")
    witness = bench.start([bench.compile(faults.WITNESS, "witness")])
    ends, stays = (bench.start([program, path, n], stdin=subprocess.PIPE)
                   for n in ("4", "100000"))
    everybody = [witness, ends, stays, daemon.process]
    of = ["-a"] if everything else [
        "-p", ",".join(str(p.pid) for p in everybody)]
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", *of).ready()
    for process in ends, stays:
        process.stdin.write(b"\n")
        process.stdin.close()
    # Each of these waits for ever if somebody waits for a page.
    bench.test(what + ": the daemon goes on",
               daemon.command("w") == "done\n")
    bench.test(what + ": a program goes on", ends.wait() == 0,
               ends.returncode)
    while faults.cpu_s(stays.pid) < 0.3:
        time.sleep(0.05)
    recording = recorder.interrupt()
    stays.kill()
    bench.test(what + ": a program can be killed",
               stays.wait() == -9, stays.returncode)
    witness.kill()
    bench.test(what + ": recorded", recording.status == 0,
               recording.log)
    samples = recording.kept(recording.samples())
    for who, process, leaf in (("a program", ends, "never"),
                                ("another", stays, "never"),
                                ("the daemon", daemon.process, "own")):
        found = faults.ends_by_leaf(samples, process.pid)
        bench.test(what + ": %s is unreadable" % who,
                   list(found) == [leaf] and
                   list(found[leaf]) == ["unreadable"] and
                   found[leaf]["unreadable"] > 50, found)
    faults.witness_is_whole(bench, what, samples,
                            witness.pid)


# Large enough that it is not read in one go.
SERVED = faults.HEAD + r"""
__asm__(".pushsection .text\n.fill 1000000, 1, 0xcc\n.popsection");
void served(long ms) { burn(ms); STAY(); }
int main(int argc, char **argv)
{
	if (argc > 2)
		getchar(); /* until it is recorded */
	served(atol(argv[1]));
	return 0;
}
"""
# Another file of its own.
OTHER = SERVED.replace("served", "other").replace("0xcc", "0xf4")


def samples_of(bench, data, comm):
    """Of one command alone: to name the others' addresses asks the daemon."""
    done = subprocess.run([bench.seam, "script", "-i", data, "--comm", comm,
                           "--format", "json", "--no-inline"],
                          stdout=subprocess.PIPE, env=bench.env,
                          stderr=subprocess.DEVNULL, encoding="utf-8")
    return [json.loads(line) for line in done.stdout.splitlines()]


def wholes(samples, function):
    return [s for s in samples if s["end"] == "outermost" and
            "main" in (path := livetest.user_path(s)) and
            path[path.index("main"):][:3] == ["main", function, "burn"]]


def stops(bench):
    for engine in "deferred", "dump":
        with_daemon(bench, "the daemon stops, " + engine, SERVED, stopped,
                    engine)


def stopped(bench, what, daemon, program, engine):
    served = bench.start([os.path.join(daemon.folder, "prog"), "1000000000"])
    other = bench.start([bench.compile(OTHER, "other"), "2000", "wait"],
                        stdin=subprocess.PIPE)
    livetest.burn(0.1, served.pid)
    daemon.command("s")
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "--engine",
                              engine, "-p", "%d,%d" % (
                                  served.pid, other.pid)).ready()
    # Until seam has asked, and gets no answer.
    while daemon.command("?") == "0\n":
        time.sleep(0.05)
    other.stdin.write(b"\n")
    other.stdin.close()
    bench.test(what + ": another program goes on", other.wait() == 0)
    # For ever, if it has to wait for the daemon.
    while len(wholes(samples_of(bench, recorder.data, "other"),
                     "other")) < 600 and recorder.process.poll() is None:
        time.sleep(0.1)
    bench.test(what + ": the other's stacks are delivered meanwhile",
               recorder.process.poll() is None)
    recording = recorder.interrupt(signal.SIGINT)
    bench.test(what + ": the recording ends", recording.status == 0,
               recording.log)
    bench.test(what + ": the summary says why",
               recording.summary["lost"]["files"] > 0 and
               "did not give them in time" in recording.log, recording.log)
    served.kill()
    bench.test(what + ": the program can be killed", served.wait() == -9)
    others = samples_of(bench, recording.data, "other")
    bad = [s for s in others if s["end"] not in ("outermost", "no-user") and
           "burn" in livetest.user_path(s)]
    bench.test(what + ": another program's stacks are whole", not bad,
               "\n".join(map(livetest.show, bad[:3])))
    daemon.command("g")
    samples = [s for s in recording.samples() if s["pid"] == served.pid]
    kept = recording.kept(samples)
    ends = {s["end"] for s in kept}
    bench.test(what + ": its own stacks say why they are not",
               len(kept) > len(samples) / 2 and
               ends <= {"no-table", "unproven"}, ends)


def is_slow(bench):
    for engine in "deferred", "dump":
        with_daemon(bench, "the daemon is slow, " + engine, SERVED, slow,
                    engine)


def slow(bench, what, daemon, program, engine):
    served = bench.start([os.path.join(daemon.folder, "prog"), "3000", "wait"],
                         stdin=subprocess.PIPE)
    daemon.command("d")
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "--engine",
                              engine, "-p", str(served.pid)).ready()
    served.stdin.write(b"\n")
    served.stdin.close()
    served.wait()
    recording = recorder.wait()
    samples = [s for s in recording.kept(recording.samples())
               if "burn" in livetest.user_path(s)]
    whole = wholes(samples, "served")
    bench.test(what + ": all stacks are whole",
               len(whole) > 500 and len(whole) == len(samples),
               "%d of %d\n%s\n%s" % (len(whole), len(samples), "\n".join(
                   livetest.show(s) for s in samples if s["end"] !=
                   "outermost"), recording.log))
    if bench.timely(what + ": its file came",
                    not recording.summary["files_stuck"], recording.log):
        bench.test(what + ": and its table", engine != "deferred" or
                   recording.summary["copies"] <
                   recording.summary["unwinds"] / 2, recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(never_given, never_given_to_all, on_a_loop, on_a_mapper,
                          stops, is_slow))
