#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# agree.py SEAM
# Description: tables of real assemblers and linkers are well, and say at
# every boundary of a row what seam's CFI evaluator finds in the .eh_frame
# beside them, but for the bugs of binutils that are named below; what seam
# makes of the same CFI is no larger.
import collections
import json
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
seam = os.path.abspath(sys.argv[1])

# How many bytes of code each bug makes wrong in a file.
# 2.40 and 2.44: .cfi_undefined of RA is left out, the rows say it is saved.
UNDEFINED = {"aarch64-plain": 16, "aarch64-static": 16, "amd64-plain": 31,
             "amd64-outermost": 6, "amd64-pie": 37, "amd64-static": 31}
# 2.46 and later: RA stays undefined when .cfi_offset saves it again.
STICKY = {"amd64-outermost": 2, "amd64-r.r": 2, "amd64-pie": 2}
# 2.40 and 2.44: .cfi_offset and .cfi_register of RA are left out.
RA_MOVED = {("v1", "amd64-flex"): 22, ("v2", "amd64-flex"): 18}
# All ld: .plt.got's CFA is said to be sp + 16, and is sp + 8. 2.40 has none.
PLT_GOT = {"amd64-so.so": 8, "amd64-ibt.so": 16}
# Version 1 has masks for blocks, which cannot say what linkage tables need.
MASKS = ("amd64-so.so", "amd64-ibt.so")
# Rules that only version 3 can hold: the assembler leaves functions out.
LEFT_OUT = {("v1", "amd64-flex.o"): 37, ("v2", "amd64-flex.o"): 44,
            ("v1", "amd64-gas-bug.o"): 7, ("v2", "amd64-gas-bug.o"): 7,
            ("v1", "amd64-signal.o"): 7, ("v2", "amd64-signal.o"): 7,
            ("v1", "amd64-static.exe"): 7, ("v2", "amd64-static.exe"): 7,
            # The rows from its unreadable one on.
            ("v3", "amd64-gas-bug.o"): 2}
# A signal trampoline without rows is smaller than one with the rule.
LARGER = ("amd64-signal.o", "amd64-static.exe")


def wrong_bytes(version, name):
    stem = name.rsplit(".", 1)[0].replace("-be", "")
    bugs = UNDEFINED if version != "v3" else STICKY
    return (bugs.get(stem, 0) + RA_MOVED.get((version, stem), 0) +
            PLT_GOT.get(name, 0))


def problem(folder, name):
    version = folder[:2]
    path = os.path.join(here, folder, name)
    done = subprocess.run([seam, "sframe", "check", "--json", path],
                          text=True, capture_output=True)
    well = json.loads(done.stdout)["well"]
    if well != (name != "amd64-gas-bug.o" or version != "v3"):
        return done.stdout
    done = subprocess.run([seam, "sframe", "stat", "--json", path],
                          text=True, capture_output=True)
    if done.returncode or done.stderr:
        return done.stderr
    s = json.loads(done.stdout)
    if version == "v1" and name in MASKS:
        return None
    causes = collections.Counter(s["holes"])
    left_out = causes.pop("left-out")
    if left_out != LEFT_OUT.get((version, name), 0):
        return f"left out: {left_out}"
    if s["differ"] != wrong_bytes(version, name):
        return f"differ: {s['differ']} bytes, from {s['first_differ']:#x} on"
    if not s["boundaries"]:
        return "nothing was compared"
    if version == "v3" and name not in LARGER and \
            s["bytes"]["made"] > s["bytes"]["sframe"]:
        return f"made: {s['bytes']}"
    return None


def main():
    count = failed = 0
    for folder in ("v1", "v2", "v2-pcrel", "v3"):
        for name in sorted(os.listdir(os.path.join(here, folder))):
            # Code that has no bytes in the file has no CFI that is read.
            if name.endswith(".dump") or "-wide" in name:
                continue
            found = problem(folder, name)
            count += 1
            failed += bool(found)
            print(f"{'not ok' if found else 'ok'} {count} - {folder}/{name}")
            for line in (found or "").splitlines():
                print("# " + line)
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
