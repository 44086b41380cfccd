#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""processes.py SEAM

Description: memory is not that of all processes that a recording has, but of
those that live: of a hundred thousand short ones, each with a program and user
stacks of its own, of a file and of a pipe; and of the children of a server that
has much mapped, which it shares with each of them until one of both maps more.
No frame lacks its mapping, and a sample that comes when its process is long gone
is counted.
"""

import json
import os
import struct
import subprocess
import sys

import measured

FORK, EXIT, COMM, SAMPLE, MMAP2, STACK, ATTR = 7, 4, 3, 9, 10, 22, 64
EXEC = 1 << 13
DEFERRED = 2**64 - 640
USER = 2**64 - 512
KERNEL_IP = 2**64 - 2**31
CODE = 0x7f0000000000
MIB = 1 << 20
SHORT, MAPPED = 100000, 4 # processes, and mappings of each
SERVED, SERVER = 9000, 1500
MOST = 180 * MIB # the file's pages included; of all processes it was 300


class Recording:
    """One event: address, task, time and chain; user stacks come later."""

    def __init__(self, f):
        self.f, self.time, self.samples = f, 10**9, 0
        attr = struct.pack("<IIQQQQQ", 1, 128, 0, 100, 1 | 2 | 4 | 32, 0,
                           1 << 18 | 3 << 38).ljust(128, b"\0")
        f.write(b"PERFILE2" + struct.pack("<Q", 16))
        self.record(ATTR, attr)

    def record(self, kind, body, misc=0):
        self.f.write(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    def told(self, kind, pid, body, misc=0):
        self.time += 1000
        self.record(kind, body + struct.pack("<IIQ", pid, pid, self.time), misc)

    def task(self, kind, pid, parent):
        self.told(kind, pid, struct.pack("<IIIIQ", pid, parent, pid, parent,
                                         self.time + 1000))

    def runs(self, pid, name):
        self.told(COMM, pid, struct.pack("<II", pid, pid) +
                  name.ljust(8, b"\0"), EXEC)

    def maps(self, pid, nth, path):
        path = path.ljust(len(path) // 8 * 8 + 8, b"\0")
        self.told(MMAP2, pid, struct.pack(
            "<IIQQQIIQQII", pid, pid, CODE + (nth << 20), 1 << 19, 0, 8, 1,
            77 + nth, 0, 5, 2) + path, 2)

    def in_kernel(self, pid, cookie):
        self.time += 1000
        self.samples += 1
        self.record(SAMPLE, struct.pack("<QIIQQQQ", KERNEL_IP, pid, pid,
                                        self.time, 2, DEFERRED, cookie), 1)

    def in_user(self, pid, nth):
        self.time += 1000
        self.samples += 1
        ip = CODE + (nth << 20) + 0x10
        self.record(SAMPLE, struct.pack("<QIIQQQQ", ip, pid, pid, self.time, 2,
                                        USER, ip), 2)

    def stack(self, pid, cookie, nths):
        ips = [CODE + (nth << 20) + 0x100 for nth in nths]
        self.told(STACK, pid, struct.pack("<QQ%dQ" % len(ips), cookie,
                                          len(ips), *ips))


def short(path, late):
    """The first samples of a program come before what it has mapped."""
    with open(path, "wb") as f:
        r = Recording(f)
        r.runs(1, b"parent")
        for pid in range(1000, 1000 + SHORT):
            cookie = pid << 16
            r.task(FORK, pid, 1)
            r.in_kernel(pid, cookie)
            r.runs(pid, b"short")
            for nth in range(MAPPED):
                r.maps(pid, nth, b"/no/such/file-%d" % nth)
            r.stack(pid, cookie, (0, 1, 1, 3))
            r.in_user(pid, 2)
            r.task(EXIT, pid, 1)
        for pid in range(1000, 1000 + late):
            r.in_user(pid, 2)
    return r.samples


def served(path):
    """Every third child runs a program, and then the server maps more."""
    with open(path, "wb") as f:
        r = Recording(f)
        r.runs(1, b"server")
        for nth in range(SERVER):
            r.maps(1, nth, b"/no/such/file-%d" % nth)
        for pid in range(1000, 1000 + SERVED):
            r.task(FORK, pid, 1)
            if pid % 3 == 0:
                r.runs(pid, b"child")
            r.maps(pid, SERVER, b"/no/such/own")
            r.in_user(pid, SERVER)
            if pid % 3:
                r.in_user(pid, SERVER // 2)
            r.task(EXIT, pid, 1)
            if pid % 3 == 0:
                r.maps(1, SERVER + 1 + pid % 64, b"/no/such/late")
    return r.samples


def mapped(path):
    """Of all frames, how many; and how many there are."""
    n = known = 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line[:1] == "\t" and "ffff" not in line[:24]:
                n += 1
                known += "(/no/such/" in line
    return known, n


def read(t, what, path, samples, forgotten=0):
    out, counts = (os.path.join(t.folder, name) for name in ("out", "counts"))
    for command in (["script"], ["report", "--json"],
                    ["export", "--to", "pprof", "-o", out + ".gz"],
                    ["inject", "-o", out + ".data"]):
        most = t.most(*command, "-i", path, "--json-summary", counts, out=out)
        with open(counts, encoding="ascii") as f:
            told = json.load(f)
        name = "%s, %s: " % (what, command[0])
        if "samples" in told:
            t.test(name + "each sample is there", told["samples"] == samples
                   and not told["user_half"]["missing"] and
                   told["forgotten"] == forgotten, told)
        t.test(name + "memory is bounded", most < MOST, most)
        if command[0] == "script":
            known, n = mapped(out)
            t.test(name + "each frame has its mapping",
                   n - known == forgotten and n >= samples,
                   "%d of %d" % (known, n))


def files(t):
    path = os.path.join(t.folder, "short")
    late = 100
    read(t, "short processes", path, short(path, late), late)
    read(t, "a server", path, served(path))


def pipe(t):
    path, out, counts = (os.path.join(t.folder, name)
                         for name in ("piped", "out", "counts"))
    samples = short(path, 0)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        most = t.most("script", "-i", "-", "--json-summary", counts, out=out,
                      stdin=cat.stdout.fileno())
    with open(counts, encoding="ascii") as f:
        told = json.load(f)
    known, n = mapped(out)
    t.test("of a pipe: each frame has its mapping", known == n >= samples and
           told["samples"] == samples and not told["forgotten"],
           "%d of %d\n%s" % (known, n, told))
    t.test("of a pipe: memory is bounded", most < MOST, most)


sys.exit(measured.run(sys.argv[1], files, pipe))
