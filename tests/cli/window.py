#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""window.py SEAM GOLDEN

Description: a recording that comes by a pipe is printed while it comes, as it
would be of a file, and in memory that does not grow with it. What is further
apart than the window is told, and nobody gets what is another's.
"""

import json
import struct
import subprocess
import sys
import tempfile

KERNEL, DEFERRED = struct.pack("<q", -128), struct.pack("<q", -640)
COMM, SAMPLE, STACK = 3, 9, 22
ROUND = struct.pack("<IHH", 68, 0, 8)
SECOND = 10**9
KERNEL_IP, USER_IP = 0xffffffff81000000, 0x400000


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def head(size=128):
    """A pipe's recording of one event: address, task, time and chain."""
    attr = struct.pack("<IIQQQQQ", 1, size, 0, 100, 1 | 2 | 4 | 32, 0,
                       1 << 18).ljust(size, b"\0")
    return b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr)


def comm(tid, time, name=b"window"):
    return record(COMM, struct.pack("<II", tid, tid) + name.ljust(8, b"\0") +
                  struct.pack("<IIQ", tid, tid, time))


def sample(tid, time, cookie, ip=KERNEL_IP):
    return record(SAMPLE, struct.pack("<QIIQQ", ip, tid, tid, time, 4) +
                  KERNEL + struct.pack("<Q", ip) + DEFERRED +
                  struct.pack("<Q", cookie), 1)


def stack(tid, time, cookie, n=3):
    ips = [USER_IP + cookie % 65536 * 16 + i for i in range(n)]
    return record(STACK, struct.pack("<QQ%dQ" % n, cookie, n, *ips) +
                  struct.pack("<IIQ", tid, tid, time))


def busy(n, tids=8, begin=SECOND, n_frames=3, step=10**6, first=0):
    """n rounds, in each of them every thread's records behind those of the
    thread before, though they are of the same time; each stack is in the round
    behind its sample's."""
    data = bytearray().join(
        comm(tid, begin - 1) for tid in range(1, tids + 1))
    for r in range(n):
        for tid in range(1, tids + 1):
            at = begin + r * step
            if r:
                data += stack(tid, at + 1, first + r * tids + tid,
                              n_frames)
            for i in range(3):
                data += sample(tid, at + 10 + i * (tid + 1),
                               first + (r + 1) * tids + tid)
        data += ROUND
    return bytes(data)


class Bench:
    def __init__(self, seam, folder):
        self.seam, self.folder = seam, folder
        self.n, self.failed = 0, False

    def test(self, what, ok, more=""):
        self.n += 1
        self.failed |= not ok
        print("%s %d - %s" % ("ok" if ok else "not ok", self.n, what))
        for line in "" if ok else more.splitlines()[:20]:
            print("#", line)

    def start(self, *options):
        return subprocess.Popen(
            [self.seam, "script", "-i", "-", "--json-summary",
             self.folder + "/summary", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def piped(self, data, *options):
        """What is printed, on both, and what was counted."""
        out, err = self.start(*options).communicate(data)
        with open(self.folder + "/summary", encoding="ascii") as f:
            counts = json.load(f)
        del counts["file"]
        return out, err.decode(), counts

    def of_file(self, data, *options):
        path = self.folder + "/data"
        with open(path, "wb") as f:
            f.write(data)
        out = subprocess.run(
            [self.seam, "script", "-i", path, "--json-summary",
             self.folder + "/summary", *options], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        with open(self.folder + "/summary", encoding="ascii") as f:
            counts = json.load(f)
        del counts["file"]
        return out, counts


def same(bench, golden):
    """Within the window a pipe's recording is a file's."""
    with open(golden + "/pipe.data", "rb") as f:
        recorded = f.read()
    cut = recorded[:-11]
    made = head() + busy(300)
    no_rounds = made.replace(ROUND, b"")
    late = head() + comm(1, 0) + stack(1, SECOND, 7) + \
        sample(1, SECOND + 5, 7) + stack(1, SECOND + 50, 7) + \
        sample(1, SECOND + 30, 7) + ROUND + sample(2, SECOND + 70, 7)
    for name, data, window in (("perf's", recorded, "1"),
                               ("perf's, cut off", cut, "1"),
                               ("a made one", made, "0.1"),
                               ("one without rounds", no_rounds, "0.1"),
                               ("one with stacks before samples", late, "0.1")):
        for form in "perf", "json", "folded":
            want = bench.of_file(data, "--format", form)
            out, err, counts = bench.piped(data, "--format", form, "--window",
                                           window)
            bench.test("%s is printed as a file's, %s" % (name, form),
                       out == want[0] and counts == want[1] and
                       counts["samples"] > 2, "%s\n%s\n%s" %
                       (err, counts, want[1]))


def ordered(bench):
    """What is far apart before the first round, as perf reads each CPU's
    records when it begins; and what has no rounds at all."""
    lanes = b"".join(
        comm(tid, SECOND) + b"".join(
            sample(tid, SECOND + i * 10**7, tid * 1000 + i) +
            stack(tid, SECOND + i * 10**7 + 1, tid * 1000 + i, 100)
            for i in range(1000)) for tid in (1, 2))
    data = head() + lanes + ROUND + ROUND
    out, err, counts = bench.piped(data, "--format", "json")
    bench.test("before the first round nothing is late",
               out == bench.of_file(data, "--format", "json")[0] and
               counts["disordered"] == 0, "%s\n%s" % (counts, err))
    roundless = (head() + busy(600, n_frames=1000)).replace(ROUND, b"")
    few = "--max-stack", "1"
    bench.test("a long stream without rounds is printed as a file's",
               len(roundless) > 34 << 20 and
               bench.piped(roundless, *few)[0] ==
               bench.of_file(roundless, *few)[0])


def beyond(bench):
    """A task that sleeps for ten seconds, while another with its cookie and
    others go on; a record that is late by as much."""
    data = head() + comm(100, 0) + comm(101, 1) + sample(100, SECOND, 5) + \
        sample(101, SECOND + 1, 5) + stack(101, SECOND + 2, 5) + \
        busy(1000, begin=SECOND + 10, step=10**7) + \
        stack(100, 11 * SECOND, 5) + \
        busy(3, begin=11 * SECOND + 1, first=10**6)
    out, err, counts = bench.piped(data, "--format", "json")
    samples = [json.loads(line) for line in out.splitlines()]
    sleeper = [s for s in samples if s["tid"] == 100]
    other = [s for s in samples if s["tid"] == 101]
    bench.test("a stack that comes behind the window is missed",
               len(sleeper) == 1 and sleeper[0]["end"] == "window" and
               not any(int(f["ip"], 16) < KERNEL_IP
                       for f in sleeper[0]["frames"]), str(sleeper))
    bench.test("and is nobody else's", len(other) == 1 and
               sum(int(f["ip"], 16) < KERNEL_IP
                   for f in other[0]["frames"]) == 3, str(other))
    bench.test("both are counted", counts["end"]["window"] == 1 and
               counts["unused_why"]["missed"] == 1 and
               "1 samples left when the window had passed" in err and
               "1 user stacks came when their samples had left" in err,
               "%s\n%s" % (counts, err))
    out, err, counts = bench.piped(data + comm(1, SECOND) + ROUND)
    bench.test("a record behind later ones is told",
               counts["disordered"] == 1 and
               "1 records came behind later ones" in err,
               "%s\n%s" % (counts, err))
    want = bench.of_file(data, "--format", "json")
    bench.test("a longer window has all",
               bench.piped(data, "--window", "20", "--format", "json")[0] ==
               want[0] and want[1]["end"]["window"] == 0, str(want[1]))
    bench.test("and so has no window", bench.piped(
        data, "--window", "all", "--format", "json")[0] == want[0])


def while_it_comes(bench):
    seam = bench.start("--format", "json")
    seam.stdin.write(head() + busy(4))
    seam.stdin.flush()
    first = seam.stdout.readline() # it never comes if the end is waited for
    seam.stdin.write(busy(4, begin=2 * SECOND))
    rest = seam.communicate()[0]
    bench.test("samples are printed before the stream ends",
               json.loads(first)["pid"] in range(1, 9) and
               rest.count(b"\n") > 100, first.decode())


def peak(bench, rounds):
    """Of memory, in KiB, when all but what the pipe holds was read."""
    seam = bench.start("--format", "json", "--window", "0.05", "--max-stack",
                       "1")
    with open(bench.folder + "/out", "wb") as sink:
        reader = subprocess.Popen(["cat"], stdin=seam.stdout, stdout=sink)
    seam.stdout.close()
    seam.stdin.write(head())
    for i in range(rounds):
        seam.stdin.write(busy(25, begin=(i + 1) * SECOND, n_frames=1000))
    with open("/proc/%d/status" % seam.pid, encoding="ascii") as f:
        most = int(f.read().split("VmHWM:")[1].split()[0])
    seam.stdin.close()
    seam.stderr.read()
    seam.wait()
    reader.wait()
    with open(bench.folder + "/out", "rb") as f:
        return most, f.read().count(b"\n")


def bounded(bench):
    (short, n), (long, n_long) = peak(bench, 2), peak(bench, 20)
    bench.test("memory is not of the stream's length",
               n_long == 10 * n == 20 * 600 and long < short + 12 * 1024,
               "%d KiB for %d, %d KiB for %d" % (short, n, long, n_long))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        same(bench, sys.argv[2])
        ordered(bench)
        beyond(bench)
        while_it_comes(bench)
        bounded(bench)
    print("1..%d" % bench.n)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
