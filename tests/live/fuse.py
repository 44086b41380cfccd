#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a stack pointer into a file whose pages a FUSE daemon never
gives costs its own stack and nothing else, be the program another or the
daemon itself: nobody is made to wait for it, and everybody can be ended.
"""

import os
import subprocess
import sys
import time

import faults
import livetest

# With a stack pointer into a file of which nothing is ever read.
CLIENT = faults.HEAD + faults.SPIN + r"""
SPIN(never)
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	char *p = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);

	need(argc > 2 && p != MAP_FAILED, argv[1]);
	getchar(); /* until it is recorded */
	spin_never((unsigned long)p + 8192, 120000000L * atol(argv[2]));
	return 0;
}
"""


class Daemon:
    """Its commands are letters; each is answered by a line."""

    def __init__(self, bench, program):
        with open(os.path.join(livetest.HERE, "fused.c")) as f:
            daemon = bench.compile(f.read(), "fused", "-pthread")
        self.folder = bench.path("mount")
        os.mkdir(self.folder)
        self.process = bench.start([daemon, self.folder, program],
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


def never_given(bench):
    program = bench.compile(CLIENT, "client")
    daemon = Daemon(bench, program)
    if daemon.line != "mounted\n":
        bench.skip("pages that never come", "no FUSE: " + daemon.end())
        return
    try:
        profile(bench, daemon, program)
    finally:
        daemon.end()


def profile(bench, daemon, program):
    path = os.path.join(daemon.folder, "never")
    witness = bench.start([bench.compile(faults.WITNESS, "witness")])
    ends, stays = (bench.start([program, path, n], stdin=subprocess.PIPE)
                   for n in ("4", "100000"))
    everybody = [witness, ends, stays, daemon.process]
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "-p", ",".join(
        str(p.pid) for p in everybody)).ready()
    for process in ends, stays:
        process.stdin.write(b"\n")
        process.stdin.close()
    # Each of these waits for ever if somebody waits for a page.
    bench.test("pages that never come: the daemon goes on",
               daemon.command("w") == "done\n")
    bench.test("pages that never come: a program goes on", ends.wait() == 0,
               ends.returncode)
    while faults.cpu_s(stays.pid) < 0.3:
        time.sleep(0.05)
    recording = recorder.interrupt()
    stays.kill()
    bench.test("pages that never come: a program can be killed",
               stays.wait() == -9, stays.returncode)
    witness.kill()
    bench.test("pages that never come: recorded", recording.status == 0,
               recording.log)
    samples = recording.samples()
    for what, process, leaf in (("a program", ends, "never"),
                                ("another", stays, "never"),
                                ("the daemon", daemon.process, "own")):
        found = faults.ends_by_leaf(samples, process.pid)
        bench.test("pages that never come: %s is unreadable" % what,
                   list(found) == [leaf] and
                   list(found[leaf]) == ["unreadable"] and
                   found[leaf]["unreadable"] > 50, found)
    faults.witness_is_whole(bench, "pages that never come", samples,
                            witness.pid)


if __name__ == "__main__":
    sys.exit(livetest.main(never_given))
