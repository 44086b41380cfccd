#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""large.py SEAM GOLDEN

Description: a recording of more than 10 GiB is read by report, script and
inject with all of its samples, in memory that does not grow with it: a real
one's rounds, again and again with other times and cookies, between unknown
records and AUX data. Records lie across 4 GiB, 8 GiB and the 10th. And one as
large of nothing but stack copies, as perf makes them, where the kernel gives no
more memory than a small part of it; and 2 GiB of nothing but samples and stacks
that cookies join, in less than what is kept of these.
"""

import json
import os
import shutil
import struct
import subprocess
import sys

import measured

GIB = 1 << 30
SIZE = 10 * GIB + (300 << 20)
ROUNDS = 400
PART = 192 << 20 # of AUX data at a time
FILLER = 65528 # bytes of an unknown record
FILLERS = 400 # between two such
UNKNOWN = 60 # no record of the kernel's that is known
SAMPLE, STACK, ROUND, AUXTRACE = 9, 22, 68, 71
DEFERRED = struct.pack("<q", -640)
DENSE = 2 * GIB # of records that all need an index
LIMIT = 512 << 20 # of a cgroup, files' pages included
MOST = 400 << 20 # bytes of memory; of files' pages there are up to 192 MiB


class Golden:
    """A recording whose samples and stacks can be repeated."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = data = f.read()
        self.header = list(struct.unpack_from("<8s12Q", data))
        at, self.end = self.header[5], self.header[5] + self.header[6]
        self.begin = at
        self.records = []
        while at < self.end:
            kind, _, size = struct.unpack_from("<IHH", data, at)
            self.records.append((kind, data[at:at + size]))
            at += size
        attrs, = struct.unpack_from("<Q", data, 24)
        self.type, = struct.unpack_from("<Q", data, attrs + 24)
        times = [struct.unpack_from("<Q", r, self.time_at(k, r))[0]
                 for k, r in self.records if k in (SAMPLE, STACK)]
        self.step = max(times) - min(times) + 1000000

    def time_at(self, kind, record):
        """Samples begin with what each has, others end with it."""
        if kind == SAMPLE: # IDENTIFIER, IP, TID, TIME
            return 8 * (1 + bool(self.type >> 16 & 1) + bool(self.type & 1) +
                        bool(self.type >> 1 & 1))
        behind = (6, 9, 7, 16) # ID, STREAM_ID, CPU, IDENTIFIER
        return len(record) - 8 * (1 + sum(self.type >> b & 1 for b in behind))

    def round(self, n):
        """Its samples and stacks as they would come n rounds later."""
        for kind, record in self.records:
            if kind not in (SAMPLE, STACK):
                continue
            record = bytearray(record)
            at = self.time_at(kind, record)
            time, = struct.unpack_from("<Q", record, at)
            struct.pack_into("<Q", record, at, time + n * self.step)
            at = 8 if kind == STACK else record.rfind(DEFERRED) + 8
            if at > 7:
                cookie, = struct.unpack_from("<Q", record, at)
                struct.pack_into("<Q", record, at, cookie + (n << 40))
            yield bytes(record)


def head(kind, size):
    return struct.pack("<IHH", kind, 0, size)


class Large:
    """Writes at one place after the other; what is not written is a hole."""

    def __init__(self, golden, path):
        self.golden = golden
        self.fillers = self.skips = 0
        with open(path, "wb") as self.f:
            self.f.write(golden.data[:golden.begin])
            for kind, record in golden.records:
                if kind != ROUND:
                    self.f.write(record)
            rounds = iter(range(1, ROUNDS))
            # Of the first record behind each jump all but some is before it.
            for to in (4 * GIB - 24, 8 * GIB - 8, 10 * GIB - 16):
                self.fill(to, rounds)
            for n in rounds:
                self.round(n)
            self.jump(SIZE)
            finish(self.f, golden)

    def round(self, n):
        for record in self.golden.round(n):
            self.f.write(record)
        self.f.write(head(ROUND, 8))

    def fill(self, to, rounds):
        """A few rounds, unknown records and AUX data until there."""
        while to - self.f.tell() > 3 * PART:
            for _ in range(4):
                self.round(next(rounds))
            for _ in range(FILLERS):
                self.f.write(head(UNKNOWN, FILLER))
                self.f.seek(FILLER - 8, os.SEEK_CUR)
                self.fillers += 1
            self.jump(self.f.tell() + PART)
        self.jump(to)
        self.round(next(rounds))

    def jump(self, to):
        """What an AUXTRACE record says is behind it needs no room."""
        size = to - self.f.tell() - 48
        self.f.write(head(AUXTRACE, 48) + struct.pack("<Q", size) + bytes(32))
        self.f.seek(size, os.SEEK_CUR)
        self.skips += 1


def finish(f, golden):
    """What stands behind the records, and where."""
    header = list(golden.header)
    end = f.tell()
    header[6] = end - header[5]
    bodies = []
    for i in range(bin(header[9]).count("1")):
        at, size = struct.unpack_from("<QQ", golden.data, golden.end + 16 * i)
        bodies.append(golden.data[at:at + size])
    at = end + 16 * len(bodies)
    for body in bodies:
        f.write(struct.pack("<QQ", at, len(body)))
        at += len(body)
    f.write(b"".join(bodies))
    f.seek(0)
    f.write(struct.pack("<8s12Q", *header))


def dense(golden, path, size):
    """Round upon round, with nothing between. Return: how many."""
    rounds = 1
    with open(path, "wb") as f:
        f.write(golden.data[:golden.end])
        while f.tell() < size:
            f.write(b"".join((*golden.round(rounds), head(ROUND, 8))))
            rounds += 1
        finish(f, golden)
    return rounds


def report(t, path):
    out = os.path.join(t.folder, "out")
    most = t.most("report", "--json", "--no-inline", "-i", path, out=out)
    with open(out, encoding="utf-8") as f:
        return json.load(f), most


def functions(told):
    return {(f["name"], f.get("dso")): (f["samples"], f["self"], f["total"])
            for f in told["events"][0]["functions"]}


def times(functions, n):
    return {name: tuple(n * x for x in counts)
            for name, counts in functions.items()}


def reports(t, one, told, most, what):
    t.test("%s: every sample has its stack" % what,
           told["samples"] == ROUNDS * one["samples"] and
           not told["damaged"] and not told["malformed_records"] and
           told["user_half"]["missing"] == 0 and told["unused"] == 0,
           {k: told[k] for k in told if k != "events"})
    t.test("%s: every function has its weight" % what,
           functions(told) == times(functions(one), ROUNDS))
    t.test("%s: memory does not grow with the file" % what, most < MOST, most)


def script(t, path, one):
    out = os.path.join(t.folder, "out")
    most = t.most("script", "--no-inline", "-i", path, out=out)
    samples = frames = 0
    last = 0.0
    sorted_so_far = True
    with open(out, encoding="utf-8") as f:
        for line in f:
            if line[:1] == "\t":
                frames += 1
            elif line.strip():
                samples += 1
                now = float(next(w for w in line.split()
                                 if w.endswith(":") and "." in w)[:-1])
                sorted_so_far &= now >= last
                last = now
    t.test("script: every sample in the order of time", sorted_so_far and
           samples == ROUNDS * one["samples"] and frames > samples,
           "%d samples, %d frames" % (samples, frames))
    t.test("script: memory does not grow with the file", most < MOST, most)


def inject(t, path, one):
    room = os.statvfs(t.folder)
    if room.f_bavail * room.f_frsize < SIZE + GIB:
        t.skip("inject", "no room for it")
        return
    merged = os.path.join(t.folder, "merged.data")
    most = t.most("inject", "-i", path, "-o", merged)
    t.test("inject: memory does not grow with the file", most < MOST, most)
    told, most = report(t, merged)
    reports(t, one, told, most, "report of what was merged")


def large(t):
    golden = os.path.join(sys.argv[2], "sig.data")
    path = os.path.join(t.folder, "large.data")
    one, _ = report(t, golden)
    made = Large(Golden(golden), path)
    t.test("it is larger than 10 GiB", os.path.getsize(path) > SIZE)
    told, most = report(t, path)
    reports(t, one, told, most, "report")
    t.test("report: what lies between is passed over", told["passed_over"]
           == {"auxtrace": made.skips, "unknown": made.fillers},
           told["passed_over"])
    script(t, path, one)
    inject(t, path, one)


LOOP = """end=$(($(date +%s) + 2))
while [ "$(date +%s)" -lt "$end" ]; do ls -lR /usr/include >/dev/null; done"""


def copies(t):
    perf = shutil.which(os.environ.get("SEAM_PERF", "perf"))
    room = os.statvfs(t.folder)
    one, path = (os.path.join(t.folder, name) for name in ("one", "copies"))
    if not perf or subprocess.run(
            [perf, "record", "-q", "-e", "cpu-clock", "-F", "4999",
             "--call-graph", "dwarf", "-o", one, "sh", "-c", LOOP],
            stderr=subprocess.DEVNULL).returncode:
        t.skip("copies", "no perf that records here")
        return
    if room.f_bavail * room.f_frsize < SIZE + GIB:
        t.skip("copies", "no room for them")
        return
    rounds = dense(Golden(one), path, SIZE)
    first, _ = report(t, one)
    with t.limited(LIMIT) as is_limited:
        if not is_limited:
            t.skip("copies, limited", "no cgroup for it can be made here")
        t.test("copies: they are larger than 10 GiB",
               os.path.getsize(path) > SIZE)
        told, most = report(t, path)
        t.test("copies: every sample is as in the first round",
               told["samples"] == rounds * first["samples"] and
               told["end"] == times_each(first["end"], rounds) and
               told["copies"]["unwound"] == rounds *
               first["copies"]["unwound"] > 0, told["end"])
        t.test("copies: every function has its weight",
               functions(told) == times(functions(first), rounds))
        t.test("copies: memory does not grow with the file", most < MOST, most)


def cookies(t):
    """Of the kernel's own deferral, with more of an index than it may have."""
    golden = os.path.join(sys.argv[2], "sig.data")
    path = os.path.join(t.folder, "cookies.data")
    one, _ = report(t, golden)
    rounds = dense(Golden(golden), path, DENSE)
    with t.limited(LIMIT // 2) as is_limited:
        if not is_limited:
            t.skip("cookies, limited", "no cgroup for it can be made here")
        told, most = report(t, path)
        t.test("cookies: each sample has its stack",
               told["samples"] == rounds * one["samples"] and
               told["stacks"] == rounds * one["stacks"] and
               not told["user_half"]["missing"] and not told["unused"] and
               not told["damaged"], told["user_half"])
        t.test("cookies: every function has its weight",
               functions(told) == times(functions(one), rounds))
        t.test("cookies: memory does not grow with the file", most < MOST,
               most)
    print("# %d samples" % told["samples"])


def times_each(counts, n):
    return {name: n * count for name, count in counts.items()}


sys.exit(measured.run(sys.argv[1], large, copies, cookies))
