# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Viewers that read a file without a window: perf's scripts, hotspot's reader,
Google's pprof. Each gives (names from the root, times) for stacks."""

import json
import os
import struct
import subprocess

from missing import Missing, installed, peers, program

SCRIPTS = "usr/lib/perf-core/scripts/python"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding="utf-8",
                          stdin=subprocess.DEVNULL).stdout


def perf_script(name):
    """perf's own, or, where it is too old for that script, its peer's."""
    places = ["/%s/%s" % (SCRIPTS, name),
              "/usr/libexec/perf-core/scripts/python/" + name]
    folder = peers()
    if folder:
        places.append(os.path.join(folder, SCRIPTS, name))
    return program(name, *places, there=folder is not None)


def run_script(path, name, *arguments):
    perf = program("perf", there=installed("linux-perf"))
    return output(perf, "script", "-i", path, "-s", perf_script(name), "--",
                  *arguments)


def stackcollapse(path, _folder):
    for line in run_script(path, "stackcollapse.py").splitlines():
        names, times = line.rsplit(" ", 1)
        yield names.split(";"), int(times)


def flamegraph(path, folder):
    out = os.path.join(folder, "flamegraph.json")
    run_script(path, "flamegraph.py", "-f", "json", "-o", out)
    with open(out, encoding="utf-8") as tree:
        todo = [([], json.load(tree))]
    while todo:
        above, node = todo.pop()
        names = above + [node["n"]]
        yield names, node["v"]
        todo += [(names, child) for child in node["c"]]


def gecko_file(path, folder):
    out = os.path.join(folder, "gecko.json")
    run_script(path, "gecko.py", "--save-only", out)
    return out


def gecko(path, folder):
    with open(gecko_file(path, folder), encoding="utf-8") as profile:
        threads = json.load(profile)["threads"]
    for thread in threads:
        at = thread["stackTable"]["schema"]
        stacks = thread["stackTable"]["data"]
        location = thread["frameTable"]["schema"]["location"]
        for sample in thread["samples"]["data"]:
            names, i = [], sample[thread["samples"]["schema"]["stack"]]
            while i is not None:
                frame = thread["frameTable"]["data"][stacks[i][at["frame"]]]
                name = thread["stringTable"][frame[location]]
                names.insert(0, name.rsplit(" (in ", 1)[0])
                i = stacks[i][at["prefix"]]
            yield names, 1


def pprof(path, _folder):
    tool = program("pprof", "/usr/lib/go*/pkg/tool/*/pprof",
                   there=installed("golang-1.19-go"))
    text = output(tool, "-traces", "-sample_index=samples", path)
    # A rule above each; then labels, "name:  text"; the count and the leaf.
    for block in text.split("-----------+")[1:]:
        names = [line.strip() for line in block.splitlines()[1:]
                 if line.strip() and ":  " not in line]
        if names:
            times, names[0] = names[0].split(None, 1)
            yield names[::-1], int(times)


STRING, LOCATION, SYMBOL, SAMPLE = 5, 3, 4, 13


def hotspot(path, folder):
    """hotspot shows what this reader of its makes of a recording: messages of
    Qt's QDataStream, behind 16 bytes of head, each behind its size."""
    reader = program("hotspot-perfparser",
                     "/usr/lib/*/libexec/hotspot-perfparser",
                     there=installed("hotspot"))
    out = os.path.join(folder, "hotspot.out")
    output(reader, "--input", path, "--output", out)
    strings, callers, symbols = {-1: ""}, {}, {}
    for kind, body in messages(open(out, "rb").read()):
        if kind == STRING:
            number, size = struct.unpack_from(">iI", body)
            strings[number] = body[8:8 + size].decode()
        elif kind == LOCATION: # number, address, file, pid, line, column, up
            number, *_, up = struct.unpack_from(">iQiIiii", body)
            callers[number] = up
        elif kind == SYMBOL:
            number, name = struct.unpack_from(">ii", body)
            symbols[number] = strings[name]
        elif kind == SAMPLE: # pid, tid, time, cpu, frames
            n, = struct.unpack_from(">I", body, 20)
            yield names_of(struct.unpack_from(">%di" % n, body, 24),
                           callers, symbols), 1


def messages(data):
    if data[:12] != b"QPERFSTREAM\0":
        raise Missing("hotspot's reader has another format")
    at = 16
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        yield data[at + 4], data[at + 5:at + 4 + size]
        at += 4 + size


def names_of(frames, callers, symbols):
    """Root first. A location's callers are those it was inlined into; the
    last of them has the function's name."""
    names = []
    for at in frames:
        while at != -1:
            if symbols.get(at):
                names.insert(0, symbols[at])
            at = callers[at]
    return names
