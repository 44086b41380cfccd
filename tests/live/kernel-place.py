#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: the kernel's mapping in a recording is where /proc/kallsyms has
its code, whether the kernel side says so or that file was read.
"""

import struct
import sys

import livetest

NAME = b"[kernel.kallsyms]_text\0"
# How far behind a record's header its name is, by the record's type: MMAP, and
# MMAP2, which has the build-id.
NAME_AT = {1: 32, 10: 64}


def from_kallsyms():
    found = {}
    with open("/proc/kallsyms") as f:
        for line in f:
            address, _, name = line.split()[:3]
            if name in ("_text", "_etext"):
                found[name] = int(address, 16)
    return found["_text"], found["_etext"]


def mapped(data):
    """Of each mapping of the kernel: pid, start and end."""
    found, at = [], data.find(NAME)
    while at >= 0:
        for kind, far in NAME_AT.items():
            named, _, _, pid, _, start, size, _ = struct.unpack_from(
                "<IHHiIQQQ", data, at - far - 8)
            if named == kind:
                found.append((pid, start, start + size))
        at = data.find(NAME, at + 1)
    return found


def place(bench):
    start, end = from_kallsyms()
    for engine in "deferred", "dump":
        recording = bench.record("--engine", engine, "-z", "0", "--", "true",
                                 name=engine + ".data")
        with open(recording.data, "rb") as f:
            found = mapped(f.read())
        bench.test(engine + ": the kernel is where it is",
                   recording.status == 0 and found == [(-1, start, end)],
                   "%s, not %s\n%s" % (found, (start, end), recording.log))


if __name__ == "__main__":
    sys.exit(livetest.main(place))
