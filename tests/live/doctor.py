#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: what seam doctor lists of clients, rings, losses, tables and memory
is what there is: two recordings with other filters, one of which does not read,
and a tool whose BPF programs ask for stacks. The kernel says what maps there are
and what is in them, by bpftool; the recordings and the tool what they have lost.
A library without any CFI is a file without a table.
"""

import collections
import json
import os
import subprocess
import sys
import time

import clients
import livetest
import requests

# A library of nothing but this: there is no rule of how to unwind it, nor can
# one be derived, since nobody knows where it jumps.
BARE = r"""
__asm__(
	".globl spin\n"
	".type spin, @function\n"
	"spin:\n"
	"	mov $2000000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	mov $157, %eax\n" /* prctl(PR_SET_NAME) */
	"	mov $15, %edi\n"
	"	lea name(%rip), %rsi\n"
	"	syscall\n"
	"	lea spin(%rip), %rax\n"
	"	jmp *%rax\n"
	"name:	.asciz \"bare\"\n");
"""
FLAGS = ("-shared", "-nostdlib", "-Wl,-Bsymbolic")
LOADER = r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void (*spin)(void) = dlsym(dlopen(argv[1], RTLD_NOW), "spin");

	if (spin)
		spin();
	return argc > 1;
}
"""
STATES = {1: "tables_asked", 2: "tables", 3: "tables_none", 4: "tables_mapped"}
MAX_CLIENTS = 16
MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")
REQUESTS = 512 << 10 # of the ring that is read all the same


def bpftool(*words):
    return json.loads(subprocess.run(["bpftool", "-j", *words], check=True,
                                     stdout=subprocess.PIPE).stdout)


def member(value, name):
    """Of a structure; what is in an anonymous one has no place of its own."""
    if name in value:
        return value[name]
    return next(filter(None, (member(inner, name) for inner in value.values()
                              if isinstance(inner, dict))), None)


def tables_of(group):
    """How many there are of each state, and the bytes of those loaded."""
    pin = os.path.join(clients.FOLDER, group, "tables")
    refs = [row["formatted"]["value"]
            for row in bpftool("map", "dump", "pinned", pin)]
    states = collections.Counter(STATES[ref["state"]] for ref in refs)
    return {name: states[name] for name in STATES.values()}, sum(
        member(ref, "lookup")["size"] for ref in refs
        if STATES[ref["state"]] == "tables")


def ring_bytes(group):
    """Of each client, of the rings that others find by its number."""
    rings, sizes = os.path.join(clients.FOLDER, group, "client_rings"), {}
    for row in bpftool("map", "dump", "pinned", rings):
        at, ring = (int.from_bytes(bytes(int(byte, 16) for byte in row[name]),
                                   "little") for name in ("key", "value"))
        sizes[at % MAX_CLIENTS] = sizes.get(at % MAX_CLIENTS, 0) + bpftool(
            "map", "show", "id", str(ring))["max_entries"]
    return sizes


def number_of(group, pid):
    """Of the client, by the folder whose lock it holds."""
    with open("/proc/locks") as locks:
        held = {(words[5].split(":")[-1]) for words in map(str.split, locks)
                if words[1] == "FLOCK" and words[4] == str(pid)}
    folder = os.path.join(clients.FOLDER, group)
    return next(int(n) for n in os.listdir(folder) if n.isdigit() and
                str(os.stat(os.path.join(folder, n)).st_ino) in held)


def check_text(bench, group, listed):
    """The lines for people say the same."""
    text = subprocess.run([bench.seam, "doctor", "--clients"],
                          stdout=subprocess.PIPE, encoding="utf-8",
                          env=bench.env).stdout
    head = ("group %(group)s: %(tables)d tables, " % group +
            "%.1f MiB; " % (group["table_bytes"] / MIB) +
            "%(tables_asked)d asked for, %(tables_mapped)d read where they are "
            "mapped, %(tables_none)d files have none; %(tables_far)d requests "
            "refused, of file systems that others serve; " % group +
            "tasks %.1f MiB, arena %.1f MiB, %.1f MiB in all; "
            "%d of 16 clients\n" % (
                group["element_bytes"] / MIB, group["arena_bytes"] / MIB,
                group["memory"] / MIB, len(listed)))
    bench.test("the group's line says the same", head in text, text)
    bench.test("and the next what makes it one", head +
               "    --unwind %(unwind)s --stack-copy %(stack_copy)d --tables "
               "%(tables_from)s\n" % group in text, text)
    for client in listed.values():
        line = next((l for l in text.splitlines()
                     if l.split()[:1] == [str(client["pid"])]), "")
        losses = {name: client["lost_" + name] for name in (
            "samples", "stacks", "copies", "requests", "untold")}
        told = ", ".join("%d %s" % (n, name) for name, n in losses.items() if n)
        bench.test("%(client)s: its line says the same" % client,
                   "%(name)s" % client in line and
                   (" %(client)s; " % client) in line and
                   ("owns the tables; " in line) == client["owns_tables"] and
                   "rings %.1f MiB, " % (client["ring_bytes"] / MIB) in line and
                   "made code %.1f MiB; %.1f MiB in all; " % (
                       client["made_bytes"] / MIB, client["memory"] / MIB) in
                   line and
                   "%(unwinds)d unwinds, %(by_others)d by others; " % client
                   in line and line.endswith("lost: " + (told or "nothing")),
                   line)


def check_group(bench, group):
    tables, table_bytes = tables_of(group["group"])
    bench.test("tables, those asked for, mapped and none are the map's",
               {name: group[name] for name in tables} == tables and
               group["table_bytes"] == table_bytes, "%s %s" % (group, tables))
    bench.test("a file without CFI is one without a table, alone",
               tables["tables_none"] == 1 and not group["tables_far"], group)
    elements = bpftool("map", "show", "pinned", os.path.join(
        clients.FOLDER, group["group"], "elements"))
    bench.test("the memory of tasks is the map's", group["element_bytes"] ==
               int(elements["bytes_memlock"]) > 0, elements)
    bench.test("the arena has the tables", group["arena_bytes"] >=
               MIB + table_bytes, group)


def check_memory(bench, group, listed):
    """Of what is pinned, and what each client's numbers lead to."""
    shared, own = group["arena_bytes"], dict.fromkeys(range(MAX_CLIENTS), 0)
    folder = os.path.join(clients.FOLDER, group["group"])
    for pin in os.listdir(folder):
        path = os.path.join(folder, pin)
        if not os.path.isfile(path):
            continue
        shown = bpftool("map", "show", "pinned", path)
        shared += int(shown["bytes_memlock"])
        for row in bpftool("map", "dump", "pinned", path) \
                if shown["type"] == "array_of_maps" else ():
            at, inner = (int.from_bytes(
                bytes(int(byte, 16) for byte in row[name]), "little")
                for name in ("key", "value"))
            own[at % MAX_CLIENTS] += int(
                bpftool("map", "show", "id", str(inner))["bytes_memlock"])
    bench.test("the memory in all is the maps'", group["memory"] == shared,
               "%d %d" % (group["memory"], shared))
    told = {number_of(group["group"], pid): c["memory"]
            for pid, c in listed.items()}
    bench.test("and each client's is its maps'", told and all(
        own[number] == memory > 1 << 20 for number, memory in told.items()),
               "%s %s" % (told, own))


def alone(bench):
    """Who shares with nobody is listed: of an engine that cannot, and where the
    folder is a file. Who shares is not."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    of = ("-p", str(target.pid), *clients.EVENT)
    two = [bench.recorder(*of, "--engine", engine, name=engine).ready()
           for engine in ("immediate", "deferred")]
    told = clients.answer(bench)
    bench.test("who is of immediate is alone",
               [a["pid"] for a in told["alone"]] == [two[0].process.pid] and
               [c["pid"] for g in told["clients"] for c in g["clients"]] ==
               [two[1].process.pid], told)
    text = subprocess.run([bench.seam, "doctor", "--clients"],
                          stdout=subprocess.PIPE, encoding="utf-8",
                          env=bench.env).stdout
    bench.test("and a line for people", "Who shares with nobody that is seen "
               "from here:\n    %7d  seam\n" % two[0].process.pid in text, text)
    for recorder in two:
        recorder.interrupt()
    target.kill()
    target.wait()
    bench.test("nobody is, when they have ended",
               "alone" not in clients.answer(bench))


def check_way(bench, group):
    bench.test("the group is of this build, with the usual options",
               (group["same_build"], group.get("unwind"),
                group.get("stack_copy"), group.get("tables_from")) ==
               (True, "sframe,fp", 65536, "auto"), group)


def two_ways(bench):
    """Recordings with other options are two groups, and each says why."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = str(target.pid)
    recorders = [bench.recorder("-p", pid, *clients.EVENT, *options,
                                name="%d.data" % i).ready()
                 for i, options in enumerate((
                     ("--unwind", "fp,sframe,guess"),
                     ("--stack-copy", "5000", "--tables", "mapped")))]
    ways = {(g["unwind"], g["stack_copy"], g["tables_from"])
            for g in clients.doctor(bench) if g["same_build"]}
    bench.test("each group says what it does", ways == {
        ("fp,sframe,guess", 65536, "auto"), ("sframe,fp", 5000, "mapped")},
        ways)
    for recorder in recorders:
        recorder.interrupt()
    target.kill()
    target.wait()


def check_clients(bench, group, listed, processes):
    names = {processes["reads"].pid: "record", processes["unread"].pid: "record",
             processes["tool"].pid: "slow-calls"}
    bench.test("the clients are those that run, by their names",
               {pid: c["client"] for pid, c in listed.items()} == names and
               all(c["name"] == open("/proc/%d/comm" % pid).read().strip()
                   for pid, c in listed.items()), listed)
    bench.test("the first of them owns the tables, as the group says",
               [c["pid"] for c in listed.values() if c["owns_tables"]] ==
               [group["owner"]] == [processes["reads"].pid], group)
    sizes = ring_bytes(group["group"])
    bench.test("the memory of their rings is the maps'", len(sizes) == 3 and all(
        c["ring_bytes"] == sizes[number_of(group["group"], pid)]
        for pid, c in listed.items()), "%s %s" % (sizes, listed))
    unread = listed[processes["unread"].pid]
    bench.test("the rings of who does not read are full", unread["ring_bytes"] ==
               2 * PAGE + REQUESTS and
               PAGE / 2 < unread["ring_used"] <= 2 * PAGE, unread)


def check_losses(bench, listed, recordings, said):
    for name, recording in recordings.items():
        client = listed[recording.pid]
        summary = recording.summary
        bench.test(name + ": what it has lost and unwound is what it says itself",
                   all(client["lost_" + what] == summary["lost"][what] for what
                       in ("samples", "stacks", "copies", "requests")) and
                   not client["lost_untold"] and all(
                       client[what] == summary[what] for what in
                       ("unwinds", "by_others", "again")),
                   "%s %s" % (client, recording.log))
    bench.test("who does not read has lost", sum(
        listed[recordings["unread"].pid]["lost_" + what]
        for what in ("samples", "stacks")))
    count = requests.COUNT.search(said)
    tool = next(c for c in listed.values() if c["client"] == "slow-calls")
    bench.test("the tool's unwinds are what it says itself", count and
               [int(n) for n in count.groups()[3:5]] ==
               [tool["unwinds"], tool["by_others"]], "%s %s" % (tool, said))


def what_there_is(bench):
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    bare = bench.start([bench.compile(LOADER, "loader"),
                        bench.compile(BARE, "bare.so", *FLAGS)])
    pid = str(target.pid)
    reads = bench.recorder("-p", "%s,%d" % (pid, bare.pid), *clients.EVENT,
                           name="reads.data").ready()
    unread = bench.recorder("-t", pid, *clients.EVENT, "-m", "1",
                            name="unread.data").ready()
    err = bench.path("tool.err")
    tool = bench.start([bench.args.tool, pid, "0"], env=bench.env,
                       stdout=subprocess.DEVNULL, stderr=open(err, "w"))
    while tool.poll() is None and "ready" not in open(err).read():
        time.sleep(0.01)
    unread.stop()
    for process in (target, bare):
        livetest.burn(clients.ENOUGH, process.pid)
    # Until each file that they met has its answer.
    while clients.doctor(bench)[0]["tables_asked"]:
        time.sleep(0.05)
    for process in (target, bare):
        clients.freeze(process)
    group, = clients.doctor(bench)
    listed = {c["pid"]: c for c in group["clients"]}
    processes = {"reads": reads.process, "unread": unread.process, "tool": tool}
    check_clients(bench, group, listed, processes)
    check_group(bench, group)
    check_memory(bench, group, listed)
    check_way(bench, group)
    check_text(bench, group, listed)
    unread.go()
    recordings = {"reads": reads.interrupt(), "unread": unread.interrupt()}
    for name in recordings:
        recordings[name].pid = processes[name].pid
    bench.test("those that have ended are none any more", set(
        clients.clients_of(bench)) == {tool.pid}, clients.doctor(bench))
    for process in (target, bare):
        process.kill()
        process.wait()
    tool.wait()
    check_losses(bench, listed, recordings, open(err).read())
    bench.test("reads: says itself how many files have no table",
               recordings["reads"].summary["tables_none"] ==
               group["tables_none"], recordings["reads"].summary)
    bench.test("there is nobody any more", not clients.doctor(bench))


if __name__ == "__main__":
    clients.private()
    sys.exit(livetest.main(what_there_is, two_ways, alone, options=(
        ("--tool", "build/examples/example-slow-calls"),)))
