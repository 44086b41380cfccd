# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What clients have in the kernel, as bpftool shows it: what is pinned, and
maps by their numbers."""

import json
import os
import subprocess

import clients


def pinned():
    """Paths of all pins of groups."""
    return [os.path.join(at, name) for group in clients.groups()
            for at, _, names in os.walk(os.path.join(clients.FOLDER, group))
            for name in names]


def map_id(path):
    """Of what is pinned; None: it has no number that bpftool knows."""
    done = subprocess.run(["bpftool", "-j", "map", "show", "pinned", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["id"] if done.returncode == 0 else None


def all_maps():
    return {m["id"] for m in json.loads(subprocess.run(
        ["bpftool", "-j", "map", "list"], stdout=subprocess.PIPE,
        check=True).stdout)}


def dump(name):
    """What is pinned under this name, as its types say."""
    group, = clients.groups()
    entries = json.loads(subprocess.run(
        ["bpftool", "-j", "map", "dump", "pinned",
         os.path.join(clients.FOLDER, group, name)],
        stdout=subprocess.PIPE, check=True).stdout)
    # One that goes meanwhile has no value.
    return [entry["formatted"]["value"] for entry in entries
            if "value" in entry.get("formatted", {})]


def bits_of(element):
    """Clients that this task is known to."""
    state = element["state"]
    return (state["entry"]["who"] | state["entry"]["who"] >> 16 |
            state["entry"]["served_who"] | state["asked"] |
            state["known"]) & 0xffff


def rings_of(name):
    """Numbers of those that have one."""
    group, = clients.groups()
    return {int(entry["key"][0], 16) for entry in json.loads(subprocess.run(
        ["bpftool", "-j", "map", "dump", "pinned",
         os.path.join(clients.FOLDER, group, name)],
        stdout=subprocess.PIPE).stdout) if entry.get("value")}


def wishes(common):
    """Clients that something is done for."""
    named = sum(1 << i for i, name in enumerate(common["names"])
                if any(name) and name != "\0")
    return (common["want_all"] | common["want_regs"] | common["serving"] |
            common["there"] | named)


def maps_by_id():
    return {m["id"]: m for m in json.loads(subprocess.run(
        ["bpftool", "-j", "map", "list"], stdout=subprocess.PIPE,
        check=True).stdout)}


def programs_by_id():
    return {p["id"]: p for p in json.loads(subprocess.run(
        ["bpftool", "-j", "prog", "list"], stdout=subprocess.PIPE,
        check=True).stdout)}


def all_programs():
    return set(programs_by_id())


def ids_of(pid, name):
    """The numbers of what it holds."""
    folder, found = "/proc/%d/fdinfo" % pid, set()
    for fd in os.listdir(folder):
        try:
            with open(os.path.join(folder, fd)) as info:
                found |= {int(line.split()[1]) for line in info
                          if line.startswith(name)}
        except FileNotFoundError: # closed meanwhile
            continue
    return found


def maps_of(pid):
    return ids_of(pid, "map_id:")


def programs_of(pid):
    return ids_of(pid, "prog_id:")


def memory(maps):
    return sum(int(m["bytes_memlock"]) for m in maps)


def is_ring(one):
    return one["type"] == "ringbuf"
