#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what the recorder keeps and asks is bounded. Files that are
nearly all debugging information cost it next to nothing; a file that cannot
be had is asked for once, and its stacks are not copied in vain; and a
process that exits while another thread of its lives on is still known.

The recorder's memory is the kernel's count of its private pages.
"""

import os
import shutil
import subprocess
import sys
import threading
import time

import livetest

MIB = 1 << 20
SPIN = """#include <stdlib.h>
#include <time.h>
static volatile int x;
static void spin(void) { for (int i = 0; i < 1000; i++) x += i; }
int main(int argc, char **argv) {
    struct timespec t, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 1000000L * atoi(argv[1]);
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do { spin(); clock_gettime(CLOCK_MONOTONIC, &t); }
    while (t.tv_sec < end.tv_sec ||
           (t.tv_sec == end.tv_sec && t.tv_nsec < end.tv_nsec));
    return argc > 9;
}
"""
FIRST_THREAD = """#include <pthread.h>
#include <time.h>
#include <unistd.h>
static volatile int x;
static void *run(void *arg) {
    time_t end = time(NULL) + 9;
    while (time(NULL) < end) for (int i = 0; i < 100000; i++) x += i;
    _exit(0);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_exit(NULL);
}
"""


class Memory(threading.Thread):
    """The most that a process has had, in bytes."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path = "/proc/%d/status" % pid
        self.most = 0
        self.start()

    def run(self):
        try:
            while True:
                with open(self.path) as f:
                    for line in f:
                        if line.startswith("RssAnon:"):
                            self.most = max(self.most,
                                            1024 * int(line.split()[1]))
                time.sleep(0.02)
        except OSError:
            pass


def debugging_information(bench):
    """Eight programs, each with 60 MiB that no unwinder looks at."""
    small = bench.compile(SPIN, "small")
    with open(bench.path("debug"), "wb") as f:
        for _ in range(60):
            f.write(os.urandom(MIB))
    for i in range(8):
        out = bench.path("large%d" % i)
        # Different content: else one build-id, and one image, for all.
        bench.compile(SPIN + "int v%d;" % i, "large%d" % i,
                      "-Wl,--build-id=0x%032x" % (i + 1))
        subprocess.run(["objcopy", "--add-section",
                        ".debug_info=" + bench.path("debug"), out],
                       check=True)
    os.unlink(bench.path("debug"))
    command = "for i in 0 1 2 3 4 5 6 7; do %s$i 200; %s 20; done" % (
        bench.path("large"), small)
    recorder = bench.recorder("-e", "cpu-clock", "-F", "999", "--",
                              "/bin/sh", "-c", command)
    memory = Memory(recorder.process.pid)
    recording = recorder.wait()
    summary = recording.summary
    for i in range(8):
        os.unlink(bench.path("large%d" % i))
    if not bench.test("debugging information: recorded",
                      recording.status == 0 and summary, recording.log):
        return
    bench.note("%d MiB, at most %d KiB of images" % (
        memory.most // MIB, summary.get("image_bytes_max", 0) // 1024))
    bench.test("debugging information: stacks are whole",
               summary["wanted"] > 100 and summary["end"]["outermost"] >=
               0.999 * summary["wanted"] - 1, summary["end"])
    # Two of the eight files would be more.
    bench.test("debugging information: is not kept", 0 < memory.most <
               100 * MIB, "%d MiB" % (memory.most // MIB))


def not_to_be_had(bench):
    """Deleted, and the process may not be looked into."""
    if not shutil.which("setpriv"):
        bench.skip("not to be had", "there is no setpriv")
        return
    program = bench.compile(SPIN, "deleted")
    target = bench.start([program, "600000"])
    time.sleep(0.2)
    os.unlink(program)
    data = bench.path("perf.data")
    done = subprocess.run(
        ["setpriv", "--bounding-set=-sys_ptrace", bench.seam, "record", "-o",
         data, "--json-summary", data + ".json", "-e", "cpu-clock", "-F",
         "999", "--duration", "8", "-p", str(target.pid)],
        stderr=subprocess.PIPE, encoding="utf-8", env=bench.env)
    target.kill()
    target.wait()
    if not bench.test("not to be had: recorded", done.returncode == 0,
                      done.stderr):
        return
    summary = livetest.json.load(open(data + ".json"))
    bench.note("%(tables_asked)d asked, %(copies)d copies" % summary)
    bench.test("not to be had: every sample says so",
               summary["wanted"] > 500 and not summary["end"]["outermost"] and
               summary["end"]["no-table"] + summary["end"]["unproven"] >=
               0.99 * summary["wanted"], summary["end"])
    bench.test("not to be had: is counted, once",
               summary["tables_gone"] == 1 and summary["tables_asked"] < 10,
               summary)
    bench.test("not to be had: is not copied for nothing",
               summary["copies"] < 0.1 * summary["wanted"], summary)


def first_thread(bench):
    """With too little memory for tables stacks are copied, all the time."""
    program = bench.compile(FIRST_THREAD, "first-thread", "-pthread")
    recording = bench.record("-e", "cpu-clock", "-F", "499",
                             "--table-memory", "4096", "--", program)
    summary = recording.summary
    if not bench.test("a first thread that ends: recorded",
                      recording.status == 0 and summary, recording.log):
        return
    bench.test("a first thread that ends: the process is still known",
               summary["copies"] > 1000 and summary["end"]["outermost"] >=
               0.999 * summary["wanted"] - 1, summary)


if __name__ == "__main__":
    sys.exit(livetest.main(debugging_information, not_to_be_had,
                           first_thread))
