#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Description: no function takes more bytes in the V3 table that seam makes of a
linked file's .eh_frame than in the one that binutils' assembler and linker
made beside it: its index entry, attributes and rows. What is longer for a
reason is named, with the bytes.

    sizes.py SEAM               the files in v3/, as TAP
    sizes.py SEAM --sums FILE   one file, larger and smaller functions counted
"""

import glob
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# file, function's start: (bytes of binutils, bytes of seam, why)
LONGER = {
    ("amd64-pie.exe", 0x25a):
        (28, 29, "binutils has the return address undefined to the end,"
         " where it is saved again"),
    ("amd64-static.exe", 0x40017b):
        (21, 27, "binutils has no row for a trampoline's expressions"),
}


def section(path):
    """The bytes of .sframe, and its address."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[5] == 1 else ">"
    shoff = struct.unpack_from(order + "Q", data, 0x28)[0]
    size, num, names = struct.unpack_from(order + "HHH", data, 0x3a)
    headers = [struct.unpack_from(order + "IIQQQQ", data, shoff + i * size)
               for i in range(num)]
    for name, _, _, addr, off, length in headers:
        at = headers[names][4] + name
        if data[at:data.index(0, at)] == b".sframe":
            return data[off:off + length], addr
    raise ValueError(path + " has no .sframe")


def sizes(table, addr):
    """Bytes of each function, by its start."""
    order = "<" if table[:2] == b"\xe2\xde" else ">"
    version, aux = table[2], table[7]
    num, _, _, index, rows = struct.unpack_from(order + "IIIII", table, 8)
    if version != 3:
        raise ValueError("not version 3")
    found = {}
    for i in range(num):
        at = 28 + aux + index + 16 * i
        start, _, off = struct.unpack_from(order + "qII", table, at)
        p = first = 28 + aux + rows + off
        count, info = struct.unpack_from(order + "HB", table, p)
        p += 5
        for _ in range(count):
            p += 1 << (info & 15)
            row = table[p]
            p += 1 + ((row >> 1 & 15) << (row >> 5 & 3))
        found[(addr + at + start) % 2 ** 64] = 16 + p - first
    return found


def both(seam, path):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "table")
        subprocess.run([seam, "sframe", "make", "--detached", "-o", out, path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(out, "rb") as f:
            ours = f.read()
    theirs, addr = section(path)
    return sizes(theirs, addr), sizes(ours, 0)


def wrong(name, theirs, ours):
    """Each function that is longer, and not for a reason that is known."""
    for start in sorted(theirs.keys() & ours.keys()):
        longer = theirs[start], ours[start]
        if LONGER.get((name, start), longer)[:2] != longer:
            yield "%#x: not %d and %d bytes any more" % (start, *longer)
        elif longer[1] > longer[0] and (name, start) not in LONGER:
            yield "%#x: %d bytes, of binutils %d" % (start, longer[1],
                                                     longer[0])


def test(seam):
    files = sorted(glob.glob(os.path.join(HERE, "v3", "*.so")) +
                   glob.glob(os.path.join(HERE, "v3", "*.exe")))
    print("1..%d" % len(files))
    failed = False
    for i, path in enumerate(files, 1):
        name = os.path.basename(path)
        theirs, ours = both(seam, path)
        found = list(wrong(name, theirs, ours))
        if not theirs.keys() & ours.keys():
            found.append("no function is in both")
        for line in found:
            print("# " + line)
        failed |= bool(found)
        print("%sok %d - %s: %d functions" % ("not " if found else "", i, name,
                                              len(theirs.keys() & ours.keys())))
    return failed


def sums(seam, path):
    theirs, ours = both(seam, path)
    common = theirs.keys() & ours.keys()
    print("%d functions in both, %d of binutils and %d of seam alone: "
          "%d bytes of binutils, %d of seam; larger %d, smaller %d" % (
              len(common), len(theirs) - len(common), len(ours) - len(common),
              sum(theirs[s] for s in common), sum(ours[s] for s in common),
              sum(ours[s] > theirs[s] for s in common),
              sum(ours[s] < theirs[s] for s in common)))
    return any(ours[s] > theirs[s] for s in common)


if len(sys.argv) == 4 and sys.argv[2] == "--sums":
    sys.exit(sums(sys.argv[1], sys.argv[3]))
sys.exit(test(sys.argv[1]))
