#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: recordings in several processes share unwinds and cookies.

Three at once of one program whose path is known: of the whole machine, of its
process, less deep, and of its first thread; the first is killed in the middle,
and another comes in its place. Cookies of two files that are the same have the
same stack. Then what may be in the way: a folder that is another's, or open to
others, and another order to unwind in. All in a BPF file system of its own.
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import livetest

FOLDER = "/sys/fs/bpf/seam"
COOKIES = "cookies-1"
PATH = ["main", "outer", "middle", "inner", "leaf"]
# Each round names the thread: an event that others do not have.
SOURCE = r"""
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
void leaf(void)
{
	for (int i = 0; i < 400000; i++)
		sink++;
	long ret; /* prctl(PR_SET_NAME), without a frame of libc's */
	__asm__ volatile("syscall" : "=a"(ret) : "0"(157L), "D"(15L),
			 "S"("known") : "rcx", "r11", "memory");
	STAY();
}
void inner(void) { leaf(); STAY(); }
void middle(void) { inner(); STAY(); }
void outer(void) { middle(); STAY(); }
int main(void) { for (;;) outer(); }
"""
EVENT = ("-e", "task:task_rename", "-c", "1")
SHALLOW = 3
BETWEEN = 4 # of one that is killed
ENOUGH = 0.2 # seconds of the target's CPU time, each with many samples


def only_compiles():
    return any(word.startswith("--prebuild=") or word == "--prebuild"
               for word in sys.argv)


def private():
    """Runs all this where mounts are nobody else's, with a folder of its
    own."""
    if only_compiles():
        return
    if os.environ.get("SEAM_TEST_CLIENTS"):
        subprocess.run(["mount", "-t", "bpf", "-o", "mode=0700", "bpf",
                        "/sys/fs/bpf"], check=False)
        return
    os.execvpe("unshare", ["unshare", "-m", "--propagation", "private",
                           sys.executable, *sys.argv],
               dict(os.environ, SEAM_TEST_CLIENTS="1"))


def private_tracefs():
    """Likewise, with tracefs, which libbpf wants for classic tracepoints."""
    if only_compiles():
        return
    if os.environ.get("SEAM_TEST_TRACEFS"):
        if not os.path.isdir("/sys/kernel/tracing/events"):
            subprocess.run(["mount", "-t", "tracefs", "nodev",
                            "/sys/kernel/tracing"], check=False)
        return
    os.execvpe("unshare", ["unshare", "-m", "--propagation", "private",
                           sys.executable, *sys.argv],
               dict(os.environ, SEAM_TEST_TRACEFS="1"))


def groups():
    """What is in the folder beside the counters of cookies, which stay."""
    return [name for name in os.listdir(FOLDER) if name != COOKIES]


def of_target(samples, pid):
    return [s for s in samples if s["pid"] == pid and s.get("cookie") and
            s["end"] not in ("lost", "pending")]


def check_file(bench, name, recording, pid, depth):
    """Its counts add up, and each stack is a known path."""
    if not bench.test(name + ": recorded", recording.summary, recording.log):
        return {}
    summary, samples = recording.summary, recording.samples()
    ends = {code: n for code, n in summary["end"].items() if n}
    found = collections.Counter(s.get("end") for s in samples)
    bench.note("%s: %d samples, %s, %d unwinds, %d by others" % (
        name, summary["samples"], ends, summary["unwinds"],
        summary["by_others"]))
    bench.test(name + ": each end code as often in the file as counted",
               dict(found) == ends, "%s %s" % (dict(found), ends))
    # What counts events is not what counts samples: a loss that nothing
    # tells is missing here.
    lost = summary["lost"]["samples"]
    bench.test(name + ": every event is a sample, seam's own, or lost",
               summary["watched"] == summary["samples"] + summary["own"] +
               lost and len(samples) == summary["samples"], summary)
    bench.test(name + ": every sample that wants a stack has an end code",
               summary["wanted"] == sum(n for code, n in ends.items() if
                                        code != "no-user"), summary)
    mine = of_target(samples, pid)
    wrong = [s for s in mine if not fits(livetest.user_path(s), depth)]
    bench.test(name + ": every stack is the known path",
               mine and not wrong,
               livetest.show(wrong[0]) if wrong else "no samples")
    return {(s["tid"], s["cookie"]): s for s in mine}


def fits(path, depth):
    if depth < len(PATH):
        return path == PATH[-depth:]
    return "main" in path and path[path.index("main"):] == PATH


def compare(bench, name, a, b, depth):
    """The stacks of the same cookies, cut to the less deep."""
    both = a.keys() & b.keys()
    wrong = [key for key in both if
             [f["ip"] for f in livetest.user_frames(a[key])][-depth:] !=
             [f["ip"] for f in livetest.user_frames(b[key])][-depth:]]
    bench.note("%s: %d and %d entries, %d of both" % (
        name, len(a), len(b), len(both)))
    bench.test(name + ": share cookies", both)
    bench.test(name + ": the same cookie has the same stack", not wrong,
               wrong and "%s\n%s" % (livetest.show(a[wrong[0]]),
                                     livetest.show(b[wrong[0]])))


def answer(bench):
    """What doctor says of clients, to programs."""
    return json.loads(subprocess.run(
        [bench.seam, "doctor", "--clients", "--json"],
        stdout=subprocess.PIPE, env=bench.env).stdout)


def doctor(bench):
    """Groups, as it has them."""
    return answer(bench).get("clients", [])


def obstacle(bench):
    """Why nobody can share, in all of its words alike; empty: one can."""
    why = answer(bench).get("cannot_share", "")
    line = "Who comes now shares with nobody: %s.\n" % why
    for options in ((), ("--clients",)):
        text = subprocess.run([bench.seam, "doctor", *options],
                              stdout=subprocess.PIPE, encoding="utf-8",
                              env=bench.env).stdout
        if (line in text) != bool(why) or "shares with nobody" in \
                text.replace(line, ""):
            return "not the same: %s%s" % (why, text)
    return why


def clients_of(bench):
    """What it says of each process."""
    return {c["pid"]: c for group in doctor(bench) for c in group["clients"]}


def freeze(process):
    """The stack of each entry of it is out then: a task takes it before it
    stops."""
    process.send_signal(signal.SIGSTOP)
    while livetest.state(process.pid) != "T":
        time.sleep(0.01)


def since(entries, time_ns):
    return {key for key, s in entries.items() if s["time_ns"] >= time_ns}


def check_before(bench, deep, shallow, began):
    """With one that was killed in the middle: what it unwound, the others have
    by it. began: theirs, deep first, when it was over."""
    first = min(shallow, key=lambda key: shallow[key]["time_ns"])
    bench.test("each entry has one cookie, in both that went on",
               first in deep and since(deep, deep[first]["time_ns"]) ==
               set(shallow), "%d and %d" % (len(deep), len(shallow)))
    for name, client, n in (("process", began[0], len(deep)),
                            ("less deep", began[1], len(shallow))):
        bench.test(name + ": each stack is of one unwind, its own or another's",
                   client["unwinds"] + client["by_others"] ==
                   n + client["again"], "%d entries, %s" % (n, client))
    by_killed = began[0]["by_others"] - began[1]["unwinds"]
    bench.note("%d entries, %d unwound by who was killed" % (
        len(deep), by_killed))
    bench.test("who was killed unwound some",
               0 < by_killed <= len(deep) - began[0]["unwinds"], began)


def check_killed(bench, recording, pid, deep):
    """What its file has to the last whole record: of each entry the cookie and
    the stack that who went on has, as deep as it wanted it."""
    mine = {(s["tid"], s["cookie"]): s
            for s in of_target(recording.samples(), pid)}
    wrong = [s for s in mine.values()
             if not fits(livetest.user_path(s), BETWEEN)]
    bench.test("killed: every stack that it had written is the known path",
               mine and not wrong,
               livetest.show(wrong[0]) if wrong else recording.complaint)
    compare(bench, "killed and process", deep, mine, BETWEEN)
    # From when the other one was there.
    first = min(s["time_ns"] for s in deep.values())
    bench.test("killed: under no cookie that the other has not",
               since(mine, first) <= deep.keys(),
               list(since(mine, first) - deep.keys())[:3])


def check_exact(bench, entries, recordings, began):
    """Of three that see the same: one cookie and one unwind for each."""
    n = len(entries[0])
    bench.test("the three have the same entries under the same cookies",
               n and entries[0] == entries[1] == entries[2],
               list(map(len, entries)))
    made = [r.summary["unwinds"] - b["unwinds"]
            for r, b in zip(recordings, began)]
    others = [r.summary["by_others"] - b["by_others"]
              for r, b in zip(recordings, began)]
    again = [r.summary["again"] - b["again"]
             for r, b in zip(recordings, began)]
    # That of the whole machine has others' programs, but nobody else has.
    made[2] = n - others[2] + again[2]
    bench.note("%d entries: %s unwinds, %s by others, %s again" % (
        n, made, others, again))
    bench.test("one unwind for each entry", sum(made) == n + sum(again))
    bench.test("which the others have of who made it", sum(again) or all(
        m + o == n for m, o in zip(made, others)))


def program(bench):
    return bench.compile(SOURCE, "known")


def three(bench):
    exe = program(bench)
    target = bench.start([exe])
    pid = target.pid
    killed = bench.recorder("-a", *EVENT, "--max-stack", str(BETWEEN),
                            name="killed.data").ready()
    deep = bench.recorder("-p", str(pid), *EVENT, name="deep.data").ready()
    shallow = bench.recorder("-t", str(pid), *EVENT, "--max-stack",
                             str(SHALLOW), name="shallow.data").ready()
    livetest.burn(ENOUGH, pid)
    listed = subprocess.run([bench.seam, "doctor"], stdout=subprocess.PIPE,
                            encoding="utf-8", env=bench.env).stdout
    pids = {str(r.process.pid) for r in (killed, deep, shallow)}
    bench.test("doctor lists all three, by their names",
               pids <= set(listed.split()) and listed.count(" record; ") >= 3,
               listed)
    killed.process.kill()
    killed.process.wait()
    killed.log.close()
    livetest.burn(ENOUGH, pid)
    freeze(target)
    began, now = clients_of(bench), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    began = [began[r.process.pid] for r in (deep, shallow)]
    late = bench.recorder("-a", *EVENT, name="late.data").ready()
    target.send_signal(signal.SIGCONT)
    livetest.burn(ENOUGH, pid)
    freeze(target)
    recordings = [r.interrupt() for r in (late, shallow, deep)]
    target.kill()
    target.wait()
    late, shallow, deep = recordings
    entries = [check_file(bench, name, recording, pid, depth)
               for name, recording, depth in (
                   ("process", deep, 512), ("less deep", shallow, SHALLOW),
                   ("whole machine", late, 512))]
    compare(bench, "process and less deep", entries[0], entries[1], SHALLOW)
    compare(bench, "process and whole machine", entries[0], entries[2], 512)
    check_killed(bench, livetest.Recording(bench, killed.data, None, "", None),
                 pid, entries[0])
    check_before(bench, *({key: s for key, s in e.items() if
                           s["time_ns"] < now} for e in entries[:2]), began)
    check_exact(bench, [since(e, now) for e in entries],
                (deep, shallow, late), began + [
                    {"unwinds": 0, "by_others": 0, "again": 0}])
    bench.test("the summary names with whom",
               late.summary["others"] == "record, record",
               late.summary["others"])
    bench.test("nobody stayed alone",
               not any(r.summary["alone"] for r in recordings))
    bench.test("the last has left nothing pinned", not groups(), groups())


def shows(bench, *functions):
    with open(bench.path("top.out")) as out:
        shown = out.read()
    return all(function in shown for function in functions)


def top(bench):
    """`seam top` is a client like a recording: of two that see the same, one
    unwinds each entry, and the other has its stacks of that."""
    target = bench.start([program(bench)])
    pid = target.pid
    watcher = bench.start(
        [bench.seam, "top", "-p", str(pid), *EVENT, "--tree", "-d", "0.2",
         "-n", "500"],
        env=bench.env, stdout=open(bench.path("top.out"), "w"),
        stderr=open(bench.path("top.err"), "w"))
    # It has a number before it is attached.
    while watcher.poll() is None and not any(
            c.get("unwinds") for c in clients_of(bench).values()):
        time.sleep(0.05)
    recording = bench.recorder("-p", str(pid), *EVENT).ready()
    freeze(target)
    began = clients_of(bench)
    target.send_signal(signal.SIGCONT)
    livetest.burn(ENOUGH, pid)
    freeze(target)
    ended = clients_of(bench)
    recording = recording.interrupt()
    # Tables come when they come; what is wrong in 500 is wrong.
    target.send_signal(signal.SIGCONT)
    while watcher.poll() is None and not shows(bench, "leaf", "main"):
        time.sleep(0.1)
    watcher.send_signal(signal.SIGINT)
    watcher.wait()
    target.kill()
    target.wait()
    made, others, again = ([ended[p][what] - began[p][what] for p in ended]
                           for what in ("unwinds", "by_others", "again"))
    entries = check_file(bench, "beside top", recording, pid, 512)
    bench.note("%d unwinds, %d by others, %d again" % tuple(
        map(sum, (made, others, again))))
    bench.test("top and the recording have one unwind for each entry",
               len(ended) == 2 and sum(made) > 0 and
               sum(made) - sum(again) == sum(others), "%s %s" % (began, ended))
    bench.test("of which the one has as many as the other makes",
               sum(again) or made == others[::-1], "%s %s" % (made, others))
    bench.test("what top runs is a recording", entries and
               recording.summary["others"] == "record", recording.summary)
    bench.test("and top shows the program's functions",
               shows(bench, "leaf", "main"), open(bench.path("top.out")).read())


def count_of(cookie):
    return int(cookie, 16) >> 16


def twice(a, b):
    """Entries of both recordings, one after the other from the first of both
    on. Return: how many, and how many are farther apart than half the way to
    the next one, as all are behind one that is missing."""
    a, b = (sorted(s["time_ns"] for s in e.values()) for e in (a, b))
    begin = max(a[0], b[0])
    at = [min(range(len(t)), key=lambda i: abs(t[i] - begin)) for t in (a, b)]
    a, b = a[at[0]:], b[at[1]:]
    return min(len(a), len(b)), sum(
        abs(x - y) > (after - x) / 2 for x, y, after in zip(a, b, a[1:]))


def orders(bench):
    """Two orders make two unwinds of an entry, under two cookies. All are of
    the same counters, those of a recording that shares with nobody too."""
    target = bench.start([program(bench)])
    pid = target.pid
    ways = {"usual": [], "tables alone": ["--unwind", "sframe"],
            "at the event": ["--engine", "immediate"]}
    recorders = [bench.recorder("-p", str(pid), *EVENT, *more,
                                name="order%d.data" % i).ready()
                 for i, more in enumerate(ways.values())]
    livetest.burn(ENOUGH, pid)
    recordings = [r.interrupt() for r in recorders]
    target.kill()
    target.wait()
    found = [check_file(bench, name, r, pid, 512)
             for name, r in zip(ways, recordings)]
    if not all(found):
        return
    for name, recording in zip(ways, recordings):
        summary, ends = recording.summary, recording.summary["end"]
        bench.test(name + ": an unwind for each entry, by itself",
                   summary["unwinds"] == summary["stacks"] and
                   not summary["by_others"],
                   recording.log)
        bench.test(name + ": whole", ends["outermost"] >=
                   0.9 * summary["wanted"], ends)
    cookies = [{key[1] for key in entries} for entries in found]
    bench.test("no cookie is of two recordings",
               len(set.union(*cookies)) == sum(map(len, cookies)),
               [len(c) for c in cookies])
    n, apart = twice(found[0], found[1])
    bench.note("%d entries of both, %d as if not" % (n, apart))
    bench.test("each entry is of both", n > 50 and apart < 0.02 * n,
               "%d of %d" % (apart, n))
    counts = [count_of(c) for c in set.union(*cookies)]
    bench.test("the counters are the machine's",
               max(counts) - min(counts) < 1 << 32 and
               os.path.exists(os.path.join(FOLDER, COOKIES)),
               "%x to %x" % (min(counts), max(counts)))


def check_told_apart(bench, seam, own, other):
    """What one of two builds says of both: its own group, and of the other
    whose it is, and nothing that it would have to know to read."""
    command = [seam, "doctor", "--clients"]
    found = {g["clients"][0]["pid"]: g for g in json.loads(subprocess.run(
        [*command, "--json"], stdout=subprocess.PIPE, env=bench.env).stdout)[
            "clients"]}
    own, other = (found[r.process.pid] for r in (own, other))
    bench.test("of its own a build says all", own["same_build"] and
               "tables" in own and "unwinds" in own["clients"][0], own)
    bench.test("of the other whose it is, alone", not other["same_build"] and
               set(other) == {"group", "owner", "clients", "same_build"} and
               set(other["clients"][0]) == {"pid", "name", "client",
                                            "owns_tables"} and
               other["clients"][0]["owns_tables"], other)
    text = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8",
                          env=bench.env).stdout
    bench.test("so it says to people", "  group %s: of another build of seam, "
               "whose own 'seam doctor' says the rest\n" % other["group"] in
               text and text.count("another build") == 1, text)


def changed(text, what, to):
    if what not in text:
        raise RuntimeError("there is no '%s' to change" % what)
    return text.replace(what, to, 1)


def with_another_layout(bench):
    """Builds one that shares memory of another layout: some of another size,
    and some that only means something else. Return: the command; None: it
    cannot be built."""
    root = os.path.join(livetest.HERE, "..", "..")
    tree, build = bench.path("tree"), bench.path("build")
    files = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z",
                            "--cached", "--others", "--exclude-standard"],
                           cwd=root, stdout=subprocess.PIPE,
                           check=True).stdout.split(b"\0")
    for name in filter(None, map(bytes.decode, files)):
        if os.path.exists(os.path.join(root, name)):
            os.makedirs(os.path.dirname(os.path.join(tree, name)),
                        exist_ok=True)
            shutil.copy(os.path.join(root, name), os.path.join(tree, name))
    wire = os.path.join(tree, "core", "wire.h")
    with open(wire) as f:
        text = f.read()
    # Each client's counts, all of their sizes; and what all share.
    text = changed(text, "\tSEAM_COUNT_UNWINDS,", "\tSEAM_COUNT_SWAPPED,")
    text = changed(text, "\tSEAM_COUNT_BY_OTHERS,", "\tSEAM_COUNT_UNWINDS,")
    text = changed(text, "\tSEAM_COUNT_SWAPPED,", "\tSEAM_COUNT_BY_OTHERS,")
    text = changed(text, "struct seam_common {", "struct seam_common {\n"
                   "\tuint64_t of_the_next_version[7];")
    with open(wire, "w") as f:
        f.write(text)
    with open(bench.path("build.log"), "w") as log:
        made = all(subprocess.run(command, stdout=log, stderr=log).returncode ==
                   0 for command in (["meson", "setup", build, tree],
                                     ["ninja", "-C", build, "seam"]))
    return os.path.join(build, "seam") if made else None


def layouts(bench):
    """The same with one of another layout, as after an upgrade."""
    other = with_another_layout(bench)
    with open(bench.path("build.log")) as log:
        bench.test("another layout is built", other, log.read()[-2000:])
    if other:
        bench.args.other = other
        builds(bench)


def builds(bench):
    """Another build of this version, of the same program at once: it shares
    nothing but the counters of cookies."""
    target = bench.start([program(bench)])
    pid = target.pid
    first = bench.recorder("-p", str(pid), *EVENT, name="one.data").ready()
    mine, bench.seam = bench.seam, os.path.abspath(bench.args.other)
    other = bench.recorder("-p", str(pid), *EVENT, name="other.data").ready()
    bench.seam = mine
    found = groups()
    bench.test("another build is another group", len(found) == 2, found)
    livetest.burn(ENOUGH, pid)
    check_told_apart(bench, bench.seam, first, other)
    check_told_apart(bench, os.path.abspath(bench.args.other), other, first)
    recordings = [r.interrupt() for r in (other, first)]
    target.kill()
    target.wait()
    entries = [check_file(bench, name, r, pid, 512) for name, r in
               zip(("other build", "this build"), recordings)]
    bench.test("each unwinds for itself", not any(
        r.summary["by_others"] or r.summary["clients"] or r.summary["alone"]
        for r in recordings))
    bench.test("under cookies of its own", all(entries) and not
               {key[1] for key in entries[0]} & {key[1] for key in entries[1]})
    bench.test("and the last has left nothing pinned", not groups(), groups())


def spin(bench, *options, name="perf.data", seconds="1"):
    exe = program(bench)
    return bench.recorder(*EVENT, *options, "--", "timeout", seconds, exe,
                          name=name)


def apart(bench):
    """Both until they have been looked at, however slowly they begin."""
    first = spin(bench, name="tables.data", seconds="inf").ready()
    second = spin(bench, "--stack-copy", "8192", name="copy.data",
                  seconds="inf").ready()
    found = groups()
    bench.test("another --stack-copy is another group", len(found) == 2,
               found)
    time.sleep(1)
    for recorder in (first, second):
        recording = recorder.interrupt()
        bench.test("and shares nothing",
                   recording.summary["samples"] and
                   not recording.summary["by_others"], recording.log)


def foreign(bench):
    for what, mode, owner in (("open to others", 0o755, 0),
                              ("another user's", 0o700, 1)):
        os.makedirs(FOLDER, exist_ok=True)
        os.chmod(FOLDER, mode)
        os.chown(FOLDER, owner, 0)
        recording = spin(bench).wait()
        told = obstacle(bench)
        bench.test("a folder %s: doctor says so" % what, told.startswith(
            "%s is of user %d with mode %04o" % (FOLDER, owner, mode)), told)
        bench.test("a folder %s: records alone, and says so" % what,
                   recording.summary and recording.summary["samples"] and
                   FOLDER in recording.summary["alone"] and
                   "shared with no other recording" in recording.log,
                   recording.log)
        os.chown(FOLDER, 0, 0)
        os.chmod(FOLDER, 0o700)
    told = obstacle(bench)
    bench.test("a folder of root's alone: doctor has nothing to say",
               not told, told)
    dead = FOLDER + "/0123456789abcdef"
    os.makedirs(dead + "/3")
    recording = spin(bench).wait()
    bench.test("what a dead version left is removed",
               not os.path.exists(dead) and not recording.summary["alone"],
               recording.log)


if __name__ == "__main__":
    private()
    sys.exit(livetest.main(
        three, top, orders, builds, layouts, apart, foreign, programs=program,
        of="deferred", options=(
            ("--other", "build/tests/asks/seam-other"),)))
