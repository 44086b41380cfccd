#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: seam_uprobe, which another task may preempt and run on the same
CPU and stack, has nothing there while it can be.

By the objects' instructions, as the compiler puts them in its own order. Those
for kernels that can be asked turn preemption off first and on last; the other
makes the tail call for which the kernel gives a program no stack per CPU.
"""

import re
import struct
import subprocess
import sys

NAME = "uprobe"
CALL, EXIT, TAIL_CALL = 0x85, 0x95, 12
MEMORY = 1, 2, 3  # the classes LDX, ST, STX


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout


def instructions(path):
    """Of the program: (opcode, registers, immediate)."""
    at, size = re.search(r"\] %s +PROGBITS +\w+ (\w+) (\w+)" % NAME,
                         readelf("-S", path)).groups()
    with open(path, "rb") as f:
        f.seek(int(at, 16))
        code = f.read(int(size, 16))
    return [(i[0], i[1], i[3]) for i in struct.iter_unpack("<BBhi", code)]


def externs(path):
    """Of the program: the name that each instruction's number is linked to."""
    part = readelf("-r", path).split("'.rel%s'" % NAME)[1].split("\n\n")[0]
    return {int(line.split()[0], 16) // 8: line.split()[4]
            for line in part.splitlines() if re.match(r"[0-9a-f]{16} ", line)}


def holds(path):
    """Return: what is against it, or nothing."""
    code, names = instructions(path), externs(path)
    calls = [i for i, insn in enumerate(code) if insn[0] == CALL]
    if "at-once" in path:
        tails = [i for i in calls if code[i][1:] == (0, TAIL_CALL)]
        return "" if tails else "it makes no tail call"
    off = [i for i in calls if names.get(i) == "bpf_preempt_disable"]
    on = [i for i in calls if names.get(i) == "bpf_preempt_enable"]
    if off != calls[:1] or not on:
        return "calls %s, preemption off at %s, on at %s" % (calls, off, on)
    early = [i for i in range(off[0]) if code[i][0] & 7 in MEMORY]
    late = [i for start in on for i in range(start + 1, len(code))
            if code[i][0] & 7 in MEMORY and not any(
                insn[0] == EXIT for insn in code[start:i])]
    return "memory is used at %s" % (early + late) if early + late else ""


def main():
    failed = 0
    for n, path in enumerate(sys.argv[1:], 1):
        against = holds(path)
        failed += bool(against)
        print("%sok %d - seam_uprobe of %s has nothing on its stack while it "
              "may be preempted" % ("not " if against else "", n,
                                    path.split("/")[-1]))
        if against:
            print("# " + against)
    print("1..%d" % len(sys.argv[1:]))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
