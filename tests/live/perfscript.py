# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Recordings of perf record, as seam's script and perf's own print them."""

import json
import os
import subprocess

import livetest


def perf(bench, *command):
    return subprocess.run(command, env=dict(bench.env, LC_ALL="C",
                                            DEBUGINFOD_URLS=""),
                          encoding="utf-8", errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def ours(bench, data):
    """{(tid, us): (functions, leaf first, and the end code)}"""
    done = perf(bench, bench.seam, "script", "--format", "json",
                "--no-inline", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    result = {}
    for sample in map(json.loads, done.stdout.splitlines()):
        result[sample["tid"], sample["time_ns"] // 1000] = (
            livetest.user_path(sample)[::-1], sample["end"])
    return result


def theirs(bench, tool, data):
    """The same without an end; what is in the kernel is left out."""
    done = perf(bench, tool, "script", "--no-inline", "-F",
                "tid,time,ip,sym", "--max-stack", "4096", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {key: [words[1].split("@")[0].split("+")[0] for words in frames
                  if not int(words[0], 16) >> 63]
            for key, frames in blocks(done.stdout)}


def blocks(text):
    """((tid, us), [the words of a frame]) for each sample."""
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if not lines:
            continue
        tid, time = lines[0].split()[:2]
        seconds, micros = time.rstrip(":").split(".")
        yield ((int(tid), int(seconds) * 1000000 + int(micros)),
               [line.split() for line in lines[1:]])


def addresses(bench, tool, data):
    """{(tid, us): addresses, leaf first, the kernel's too} by perf."""
    done = perf(bench, tool, "script", "--no-inline", "-F", "tid,time,ip",
                "--max-stack", "4096", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {key: [int(words[0], 16) for words in frames]
            for key, frames in blocks(done.stdout)}


def our_addresses(bench, data):
    """The same by seam, and what it said."""
    done = perf(bench, bench.seam, "script", "--format", "json",
                "--no-inline", "-i", data)
    if done.returncode:
        raise RuntimeError(done.stderr)
    samples = map(json.loads, done.stdout.splitlines())
    return {(s["tid"], s["time_ns"] // 1000):
            [int(f["ip"], 16) for f in s["frames"]] for s in samples}, \
        done.stderr


def known(stacks):
    """Samples of the program's own functions: right ones, such as say that
    they are not whole, and wrong ones."""
    good, short, bad = 0, 0, []
    for names, end in stacks.values():
        if not set(names) & set(livetest.SPIN_PATH):
            continue
        if end != "outermost":
            short += 1
        elif livetest.is_spin(names):
            good += 1
        else:
            bad.append(names)
    return good, short, bad[:3]


def differing(mine, other):
    """Stacks that perf has whole and that differ; how many were compared."""
    n, bad = 0, []
    for key, names in other.items():
        if "main" not in names or key not in mine:
            continue
        n += 1
        own, way = mine[key][0], names[:names.index("main") + 1]
        if way != own[:len(way)]:
            bad.append((key, names, own))
    return n, bad
