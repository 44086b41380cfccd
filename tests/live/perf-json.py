#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Turn perf's stacks into the form of `seam script --format json`.

    perf record --call-graph dwarf ... ; perf-json.py perf.data --dwarf

With --dwarf, perf has unwound copies of the stack itself, and gives a
caller's address as one less than the return address.

So that the programs with known paths can be checked against a peer, and
seam's stacks compared with perf's. perf does not say whether a stack is
whole: every end is "outermost" here.
"""

import json
import re
import subprocess
import sys

HEAD = re.compile(r"^(.*?)\s+(\d+)/(\d+)\s+(\d+)\.(\d+):\s+(\S+):")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)( \(inlined\))?$")


def samples(lines, dwarf):
    sample = None
    for line in lines:
        line = line.rstrip("\n")
        head = HEAD.match(line)
        frame = FRAME.match(line)
        if head:
            sample = {
                "time_ns": int(head[4]) * 10**9 + int(head[5].ljust(9, "0")),
                "pid": int(head[2]), "tid": int(head[3]),
                "comm": head[1].strip(), "event": head[6],
                "end": "outermost", "frames": []}
        elif frame and sample:
            newer = sample["frames"][-1:]
            sample["frames"].append(frame_of(*frame.groups()))
            if dwarf and newer and not newer[0].get("kernel") and \
                    newer[0].get("sym") != "__restore_rt":
                add_one(sample["frames"][-1])
        elif not line and sample:
            yield sample
            sample = None
    if sample:
        yield sample


def frame_of(ip, symbol, dso, inlined):
    frame = {"ip": "0x" + ip, "dso": dso}
    name, plus, off = symbol.rpartition("+0x")
    if plus:
        frame["sym"], frame["off"] = name, int(off, 16)
    elif symbol != "[unknown]":
        frame["sym"] = symbol
    if int(ip, 16) >> 63:
        frame["kernel"] = True
    if inlined:
        frame["inlined"] = True
    return frame


def add_one(frame):
    frame["ip"] = "%#x" % (int(frame["ip"], 16) + 1)
    if "off" in frame:
        frame["off"] += 1


def main():
    dwarf = "--dwarf" in sys.argv
    command = ["perf", "script", "--ns", "--max-stack", "4096", "--no-inline",
               "-F", "comm,pid,tid,time,event,ip,sym,symoff,dso",
               "-i", sys.argv[1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          encoding="utf-8") as perf:
        for sample in samples(perf.stdout, dwarf):
            print(json.dumps(sample))


if __name__ == "__main__":
    main()
