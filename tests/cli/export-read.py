# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads what seam export wrote, holds it to its format's rules, and gives it
back as folded stacks.

export-read.py FORMAT FILE [FOLDED]: prints them, or compares them with those
in FOLDED, and the weights with those of FOLDED.json, script's output.
"""
import collections
import json
import sys


def plain(name):
    """A name as folded stacks have it."""
    return name.replace(";", ":").replace("\n", " ")


def unsigned(*values):
    for v in values:
        assert type(v) is int and 0 <= v < 2**64, v


class Stacks:
    """Counts of folded stacks, and weights by event."""

    def __init__(self):
        self.count = collections.Counter()
        self.weight = collections.Counter()

    def add(self, comm, names, event, weight, n=1):
        self.count[";".join(plain(s) for s in [comm, *names])] += n
        self.weight[event] += weight


def speedscope(path, stacks):
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    assert d["$schema"] == \
        "https://www.speedscope.app/file-format-schema.json"
    assert set(d) <= {"$schema", "exporter", "name", "shared", "profiles"}
    frames = d["shared"]["frames"]
    seen = set()
    for f in frames:
        assert isinstance(f["name"], str) and f["name"]
        assert set(f) <= {"name", "file", "line"}
        unsigned(f.get("line", 0))
    for p in d["profiles"]:
        assert p["type"] == "sampled" and p["name"] not in seen
        seen.add(p["name"])
        assert p["unit"] in ("nanoseconds", "none")
        assert len(p["samples"]) == len(p["weights"]) > 0
        assert p["startValue"] == 0
        unsigned(*p["weights"])
        assert p["endValue"] == min(sum(p["weights"]), 2**64 - 1)
        comm, _, event = p["name"].rsplit(" ", 2)
        for stack, weight in zip(p["samples"], p["weights"]):
            unsigned(*stack)
            stacks.add(comm, [frames[i]["name"] for i in stack], event, weight)


READERS = {"speedscope": speedscope}


def wanted(path):
    stacks = Stacks()
    with open(path) as f:
        for line in f:
            stack, n = line.rsplit(" ", 1)
            stacks.count[stack] += int(n)
    with open(path + ".json") as f:
        for sample in map(json.loads, f):
            stacks.weight[sample["event"]] += max(sample["period"], 1)
    return stacks


def main():
    stacks = Stacks()
    READERS[sys.argv[1]](sys.argv[2], stacks)
    if len(sys.argv) < 4:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        for stack, n in sorted(stacks.count.items()):
            print(stack, n)
        return
    want = wanted(sys.argv[3])
    assert stacks.count == want.count, (stacks.count - want.count,
                                        want.count - stacks.count)
    assert stacks.weight == want.weight, (stacks.weight, want.weight)


main()
