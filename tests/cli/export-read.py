# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads what seam export wrote, holds it to its format's rules, and gives it
back as folded stacks.

export-read.py FORMAT FILE [FOLDED]: prints them, or compares them with those
in FOLDED, and the weights with those of FOLDED.json, script's output.
"""
import collections
import decimal
import gzip
import json
import os
import re
import subprocess
import sys
import uuid


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


def protoc_text(lines):
    """What protoc --decode prints: a list of values for each field."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith(" {"):
            message[line[:-2]].append(protoc_text(lines))
            continue
        name, value = line.split(": ", 1)
        if value[0] == '"':
            value = re.sub(rb"\\(\d{3}|.)", lambda m: (
                bytes([int(m[1], 8)]) if len(m[1]) == 3 else
                {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m[1], m[1])),
                value[1:-1].encode()).decode("utf-8")
        elif value in ("true", "false"):
            value = value == "true"
        else:
            value = int(value)
        message[name].append(value)
    return message


def one(message, name):
    assert len(message[name]) <= 1, (name, message)
    return message[name][0] if message[name] else 0


def by_id(messages):
    ids = {one(m, "id"): m for m in messages}
    assert len(ids) == len(messages) and 0 not in ids
    return ids


def pprof_location(p, location):
    """Its frames, root first."""
    names = []
    mapping = one(location, "mapping_id")
    address = one(location, "address")
    unsigned(address)
    kernel = False
    if mapping:
        m = p["mapping"][mapping]
        start, limit = one(m, "memory_start"), one(m, "memory_limit")
        assert start <= limit
        assert not limit or start <= address < limit, (m, address)
        path = p["text"][one(m, "filename")]
        assert path
        build_id = p["text"][one(m, "build_id")]
        assert re.fullmatch("([0-9a-f]{2})*", build_id)
        kernel = path.startswith("[kernel.kallsyms]")
    lines = location["line"]
    assert lines
    for i, line in enumerate(lines):
        function = p["function"][one(line, "function_id")]
        name = p["text"][one(function, "name")]
        symbol = p["text"][one(function, "system_name")]
        assert name and (not symbol or name in (symbol, "? " + symbol))
        names.append(name + "_[k]" * kernel + "_[i]" * (i < len(lines) - 1))
    return names[::-1]


def pprof(path, stacks):
    proto = os.path.join(os.path.dirname(__file__),
                         "../../lib/export/profile.proto")
    with gzip.open(path) as f:
        done = subprocess.run(
            ["protoc", "--decode=seam.Profile", "-I",
             os.path.dirname(proto), proto], input=f.read(),
            capture_output=True, check=True)
    assert not done.stderr, done.stderr
    # Numbers for names: fields that it does not know.
    assert not re.search(rb"^ *\d+[: ]", done.stdout, re.M)
    p = protoc_text(iter(done.stdout.decode().splitlines()))
    p["text"] = p["string_table"]
    assert p["text"][0] == "" and len(set(p["text"])) == len(p["text"])
    for name in ("mapping", "location", "function"):
        p[name] = by_id(p[name])
    types = [(p["text"][one(t, "type")], p["text"][one(t, "unit")])
             for t in p["sample_type"]]
    assert types[0] == ("samples", "count")
    for sample in p["sample"]:
        assert len(sample["value"]) == len(types)
        labels = {p["text"][one(l, "key")]: p["text"][one(l, "str")]
                  for l in sample["label"]}
        assert len(labels) == len(sample["label"])
        event = labels["event"]
        names = []
        for at in reversed(sample["location_id"]):
            names += pprof_location(p, p["location"][at])
        whole = labels.get("end") in (None, "outermost", "no-user")
        assert whole or names[0] == f"[{labels['end']}]"
        at = [t[0] for t in types].index(event)
        assert all(i in (0, at) or not v
                   for i, v in enumerate(sample["value"]))
        stacks.add(labels["comm"], names, event, sample["value"][at],
                   sample["value"][0])


FIREFOX_TABLES = {
    "stackTable": {"frame", "prefix", "category", "subcategory"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func",
                   "nativeSymbol", "innerWindowID", "implementation", "line",
                   "column"},
    "funcTable": {"name", "isJS", "relevantForJS", "resource", "fileName",
                  "lineNumber", "columnNumber"},
    "resourceTable": {"lib", "name", "host", "type"},
    "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "markers": {"name", "data", "category", "startTime", "endTime", "phase"},
    "samples": {"stack", "time", "weight"},
}


def places(column, table, none=()):
    """All of a column are rows of a table, or none."""
    for i in column:
        assert i in none or (type(i) is int and 0 <= i < table), (i, table)


def firefox_rules(d, t):
    n = {}
    for name, columns in FIREFOX_TABLES.items():
        table = t[name]
        n[name] = table.pop("length")
        assert name == "samples" or set(table) == columns, set(table)
        for column in columns:
            assert len(table[column]) == n[name], (name, column)
    texts, stacks = len(t["stringArray"]), t["stackTable"]
    assert len(set(t["stringArray"])) == texts
    frames, funcs, marks = t["frameTable"], t["funcTable"], t["markers"]
    categories = d["meta"]["categories"]
    assert "grey" in [c["color"] for c in categories]
    places(t["samples"]["stack"], n["stackTable"], (None,))
    places(stacks["frame"], n["frameTable"])
    for i, prefix in enumerate(stacks["prefix"]):
        places([prefix], i, (None,))
    for table in stacks, frames:
        places(table["category"], len(categories))
        assert not any(table["subcategory"])
    places(frames["func"], n["funcTable"])
    places(funcs["name"], texts)
    places(funcs["fileName"], texts, (None,))
    places(funcs["resource"], n["resourceTable"], (-1,))
    places(t["resourceTable"]["lib"], len(d["libs"]))
    places(t["resourceTable"]["name"], texts)
    places(marks["name"], texts)
    assert {m["type"] for m in marks["data"]} <= \
        {s["name"] for s in d["meta"]["markerSchema"]}
    assert all(v >= 0 for v in marks["startTime"])
    assert all(v >= 0 for v in t["samples"]["time"])
    assert t["samples"]["weightType"] in ("samples", "tracing-ms")
    assert type(t["pid"]) is str and type(t["tid"]) is int


def firefox_stack(d, t, stack):
    names, depth = [], 0
    while stack is not None:
        frame = t["stackTable"]["frame"][stack]
        category = t["frameTable"]["category"][frame]
        assert category == t["stackTable"]["category"][stack]
        name = t["stringArray"][
            t["funcTable"]["name"][t["frameTable"]["func"][frame]]]
        # Inwards the depth goes up by one, or begins anew.
        inline = t["frameTable"]["inlineDepth"][frame]
        assert not depth or inline == depth - 1
        depth = inline
        kernel = d["meta"]["categories"][category]["name"] == "Kernel"
        names.append(name + "_[k]" * kernel + "_[i]" * (inline > 0))
        stack = t["stackTable"]["prefix"][stack]
    assert not depth
    return names[::-1]


def firefox(path, stacks):
    with open(path, encoding="utf-8") as f:
        # Numbers as they stand there: a float would lose some.
        d = json.load(f, parse_float=decimal.Decimal)
    assert d["meta"]["preprocessedProfileVersion"] == 48
    # Of a process's main threads the viewer shows the last alone.
    mains = [t["pid"] for t in d["threads"] if t["isMainThread"]]
    assert len(mains) == len(set(mains)), mains
    for lib in d["libs"]:
        assert set(lib) == {"arch", "name", "path", "debugName", "debugPath",
                            "breakpadId", "codeId"}
        code = lib["codeId"]
        assert code is None or re.fullmatch("([0-9a-f]{2})+", code)
        assert re.fullmatch("[0-9A-F]{32}0" if code else "",
                            lib["breakpadId"])
        if code:
            first = uuid.UUID(bytes_le=bytes.fromhex(code)[:16].ljust(16,
                                                                      b"\0"))
            assert lib["breakpadId"] == first.hex.upper() + "0"
    assert len({json.dumps(lib) for lib in d["libs"]}) == len(d["libs"])
    for t in d["threads"]:
        firefox_rules(d, t)
        comm = t["processName"]
        assert t["name"].startswith(comm + " ")
        event = t["name"][len(comm) + 1:]
        factor = 10**6 if t["samples"]["weightType"] == "tracing-ms" else 1
        for stack, weight in zip(t["samples"]["stack"],
                                 t["samples"]["weight"]):
            stacks.add(comm, firefox_stack(d, t, stack), event,
                       int(weight * factor))


def chrome_stack(frames, at):
    names = []
    while at:
        frame = frames[at]
        parent = frame.get("parent")
        assert parent is None or int(parent) < int(at)
        assert set(frame) <= {"name", "category", "parent", "file", "line"}
        names.append(frame["name"])
        at = parent
    return names[::-1]


def chrome(path, stacks):
    with open(path, encoding="utf-8") as f:
        d = json.load(f, parse_float=decimal.Decimal)
    frames = d["stackFrames"]
    named, moments = set(), collections.Counter()
    for e in d["traceEvents"]:
        who = e["pid"], e["tid"]
        if e["ph"] == "M":
            assert e["name"] in ("thread_name", "process_name")
            named.add(who)
            continue
        assert e["ph"] == "i" and e["s"] == "t" and who in named
        assert e["ts"] >= 0
        names = chrome_stack(frames, e.get("sf"))
        end = e["args"].get("end")
        if end not in (None, "outermost", "no-user"):
            assert names[0] == f"[{end}]"
        stacks.add(e["args"]["comm"], names, e["name"], e["args"]["period"])
        if names:
            moments[who, e["ts"], e["sf"], e["args"]["period"]] += 1
    for s in d["samples"]:
        moments[(s["pid"], s["tid"]), s["ts"], s["sf"], s["weight"]] -= 1
    assert not any(moments.values())
    for file in d["otherData"]["files"]:
        assert re.fullmatch("([0-9a-f]{2})+", file["build_id"])


READERS = {"speedscope": speedscope, "pprof": pprof, "firefox": firefox,
           "chrome": chrome}


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
