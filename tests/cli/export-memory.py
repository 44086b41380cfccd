#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""export-memory.py SEAM [whole]

Description: what export and report have in memory beyond what script has is
bounded, however many different stacks a recording has, and every sample is
exported; of a million samples, with "whole", it is no more than script may have,
and neither is what script and report have of a recording as seam makes it, with
as many user stacks in records of their own, compressed.
"""

import ctypes
import json
import os
import random
import struct
import sys

import measured

FORMATS = "folded", "speedscope", "pprof", "firefox", "chrome"
TIDS = range(1, 9)
SHORT, LONG, WHOLE = 40000, 120000, 1000000 # samples, of other stacks each
FRAMES = 30
CODE, CODE_SIZE = 0x10000000, 0x100000
CONTEXT = 2**64 - 512 # the user's half
DEFERRED = 2**64 - 640 # it comes in a record, of the cookie behind this
ATTR_DEFER = 3 << 38 # defer_callchain, defer_output
CHUNK = 48 << 10 # of records that are compressed together: it always fits
MIB = 1 << 20
GROWS = 24 * MIB # between those: of nodes it would be twice that at least
MOST = 300 * 10**6


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def begin(f, flags=0):
    """A pipe's recording of one event: address, task, time and chain. There
    are no symbols: each address of a file that is not there has its name."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 100, 1 | 2 | 4 | 32, 0,
                       1 << 18 | flags).ljust(128, b"\0")
    f.write(b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr))
    for tid in TIDS:
        f.write(record(1, struct.pack("<IIQQQ", tid, tid, CODE, CODE_SIZE, 0) +
                       b"/no/such/file\0\0\0" +
                       struct.pack("<IIQ", tid, tid, 1), 2))


def stacks(n):
    """(tid, time, addresses) of each sample."""
    rnd = random.Random(n)
    code = [CODE + rnd.randrange(CODE_SIZE) for _ in range(20000)]
    for i in range(n):
        yield (TIDS[i % len(TIDS)], 10**9 + i * 1000,
               rnd.choices(code, k=FRAMES))


def write(path, n):
    body = struct.Struct("<QIIQQQ%dQ" % FRAMES)
    with open(path, "wb") as f:
        begin(f)
        for tid, time, ips in stacks(n):
            f.write(record(9, body.pack(ips[0], tid, tid, time, FRAMES + 1,
                                        CONTEXT, *ips), 2))


class Compressed:
    """Records in compressed ones, as seam's writer has them."""

    def __init__(self, f):
        self.f, self.held = f, bytearray()
        self.zstd = ctypes.CDLL("libzstd.so.1")
        self.zstd.ZSTD_compress.restype = ctypes.c_size_t
        self.to = ctypes.create_string_buffer(65536 - 8)

    def write(self, data):
        self.held += data
        if len(self.held) >= CHUNK:
            self.flush()

    def flush(self):
        size = self.zstd.ZSTD_compress(
            self.to, ctypes.c_size_t(len(self.to)), bytes(self.held),
            ctypes.c_size_t(len(self.held)), 1)
        if size > len(self.to):
            raise ValueError("what is compressed has no room")
        self.f.write(record(81, self.to.raw[:size]))
        self.held.clear()


def write_ours(path, n):
    """Each sample has a cookie, and a record behind it the user stack."""
    sample = struct.Struct("<QIIQQQQ")
    stack = struct.Struct("<QQ%dQIIQ" % FRAMES)
    with open(path, "wb") as f:
        begin(f, ATTR_DEFER)
        out = Compressed(f)
        for i, (tid, time, ips) in enumerate(stacks(n), 1):
            cookie = i << 16
            out.write(record(9, sample.pack(ips[0], tid, tid, time, 2,
                                            DEFERRED, cookie), 2))
            out.write(record(22, stack.pack(cookie, FRAMES, *ips, tid, tid,
                                            time + 500), 2))
        out.flush()


def export(t, form, path):
    """And whether all samples were exported."""
    out, counts = path + ".out", path + ".counts"
    most = t.most("export", "--to", form, "-i", path, "-o", out,
                  "--json-summary", counts)
    os.unlink(out)
    with open(counts, encoding="ascii") as f:
        return most, json.load(f)["exported"]["samples"]


def bounded(t):
    """The file's pages that are in memory are so for script as well."""
    paths = {n: os.path.join(t.folder, str(n)) for n in (SHORT, LONG)}
    more = {}
    for n, path in paths.items():
        write(path, n)
        script = t.most("script", "--format", "json", "-i", path)
        for form in FORMATS:
            most, exported = export(t, form, path)
            more[form, n] = most - script
            t.test("%s: all of %d samples" % (form, n), exported == n,
                   exported)
    for form in FORMATS:
        short, long = more[form, SHORT], more[form, LONG]
        print("# %s: %d and %d MiB more than script" % (
            form, short // MIB, long // MIB))
        t.test("%s: memory does not grow with the stacks" % form,
               long - short < GROWS, "%d, then %d" % (short, long))


def reports(t):
    """Report has its call tree in parts."""
    more = {}
    for n in (SHORT, LONG):
        path = os.path.join(t.folder, str(n))
        script = t.most("script", "--format", "json", "-i", path)
        for how in ("--stdio", "--json"):
            more[how, n] = t.most("report", how, "-i", path) - script
    for how in ("--stdio", "--json"):
        short, long = more[how, SHORT], more[how, LONG]
        print("# report %s: %d and %d MiB more than script" % (
            how, short // MIB, long // MIB))
        t.test("report %s: memory does not grow with the stacks" % how,
               long - short < GROWS, "%d, then %d" % (short, long))


def whole(t):
    path = os.path.join(t.folder, "whole")
    write(path, WHOLE)
    for form in FORMATS:
        most, exported = export(t, form, path)
        print("# %s: %d MB" % (form, most // 10**6))
        t.test("%s: memory of %d samples" % (form, WHOLE),
               exported == WHOLE and most < MOST, "%d of %d" % (most, exported))
    for how in ("--stdio", "--json"):
        most = t.most("report", how, "-i", path)
        print("# report %s: %d MB" % (how, most // 10**6))
        t.test("report %s: memory of %d samples" % (how, WHOLE), most < MOST,
               most)


def whole_ours(t):
    """What reads our recordings, with all stacks joined."""
    path, counts = (os.path.join(t.folder, n) for n in ("ours", "counts"))
    write_ours(path, WHOLE)
    for command in (["script"], ["script", "--format", "json"],
                    ["report", "--stdio"], ["report", "--json"]):
        most = t.most(*command, "-i", path, "--json-summary", counts)
        with open(counts, encoding="ascii") as f:
            told = json.load(f)
        what = " ".join(command)
        print("# %s of ours: %d MB" % (what, most // 10**6))
        t.test("%s: every stack of %d samples of ours" % (what, WHOLE),
               told["samples"] == told["stacks"] == WHOLE and
               told["user_half"]["joined"] == WHOLE and not told["unused"],
               told)
        t.test("%s: memory of %d samples of ours" % (what, WHOLE), most < MOST,
               most)


sys.exit(measured.run(sys.argv[1], *([whole, whole_ours] if sys.argv[2:] else
                                     [bounded, reports])))
