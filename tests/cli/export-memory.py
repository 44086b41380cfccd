#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""export-memory.py SEAM [whole]

Description: what export and report have in memory beyond what script has is
bounded, however many different stacks a recording has, and every sample is
exported; of a million samples, with "whole", it is no more than script may have.
"""

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
MIB = 1 << 20
GROWS = 24 * MIB # between those: of nodes it would be twice that at least
MOST = 300 * 10**6


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write(path, n):
    """A pipe's recording of one event: address, task, time and chain. There
    are no symbols: each address of a file that is not there has its name."""
    rnd = random.Random(n)
    code = [CODE + rnd.randrange(CODE_SIZE) for _ in range(20000)]
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 100, 1 | 2 | 4 | 32, 0,
                       1 << 18).ljust(128, b"\0")
    body = struct.Struct("<QIIQQQ%dQ" % FRAMES)
    with open(path, "wb") as f:
        f.write(b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr))
        for tid in TIDS:
            f.write(record(1, struct.pack("<IIQQQ", tid, tid, CODE, CODE_SIZE,
                                          0) + b"/no/such/file\0\0\0" +
                           struct.pack("<IIQ", tid, tid, 1), 2))
        for i in range(n):
            tid = TIDS[i % len(TIDS)]
            ips = rnd.choices(code, k=FRAMES)
            f.write(record(9, body.pack(ips[0], tid, tid, 10**9 + i * 1000,
                                        FRAMES + 1, CONTEXT, *ips), 2))


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


sys.exit(measured.run(sys.argv[1],
                      *([whole] if sys.argv[2:] else [bounded, reports])))
