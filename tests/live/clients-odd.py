#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: recordings that meet what is none of theirs, and one that does
not read: each says so in one line, and nobody else is disturbed.

Where they meet is a file; somebody has its lock and does not go on; what is
pinned is of another size, not all there, or not root's alone; so are the
counters of cookies; one of three does not read; one is the 17th; and one wants a
program that is gone.
"""

import contextlib
import fcntl
import os
import subprocess
import sys

import clients
import livetest
import serve


def make_map(path):
    """A map that is none of seam's, pinned."""
    subprocess.run(["bpftool", "map", "create", path, "type", "hash", "key",
                    "4", "value", "4", "entries", "1", "name", "other"],
                   check=True)


def alone(bench, what, why, recording):
    """It is whole, shares nothing, and says so in one line."""
    told = [line for line in recording.log.splitlines()
            if "shared with no other recording" in line]
    bench.test(what + ": records alone, and says so", recording.summary and
               recording.summary["samples"] and len(told) == 1 and
               why in told[0] and not recording.summary["by_others"],
               recording.log)


def serves_nobody(bench, what, why):
    run = subprocess.run([bench.seam, "serve"], env=bench.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, encoding="utf-8")
    lines = run.stderr.splitlines()
    bench.test(what + ": who would serve says why not, and ends",
               run.returncode == 1 and len(lines) == 1 and
               "nothing can be shared: " in lines[0] and why in lines[0],
               "%d %s" % (run.returncode, run.stderr))


def a_file(bench):
    make_map(clients.FOLDER)
    alone(bench, "where they meet is a file", "Not a directory",
          clients.spin(bench).wait())
    serves_nobody(bench, "where they meet is a file", "Not a directory")
    os.unlink(clients.FOLDER)


def counters(bench):
    """What cookies are made of is none of seam's, or another user's."""
    pin = os.path.join(clients.FOLDER, clients.COOKIES)
    clients.spin(bench).wait()
    os.unlink(pin)
    make_map(pin)
    alone(bench, "cookies of another's map", "is none of seam's",
          clients.spin(bench).wait())
    os.unlink(pin)
    clients.spin(bench).wait()
    os.chown(pin, 1, 0)
    recordings = []
    for name in ("one.data", "two.data"):
        recordings.append(clients.spin(bench, name=name).wait())
        alone(bench, "cookies of another user's map", "is of user 1",
              recordings[-1])
    counts = [[clients.count_of(s["cookie"]) for s in r.samples()
               if s.get("cookie")] for r in recordings]
    bench.test("and counts from anywhere", min(counts[0]) > max(counts[1]) or
               max(counts[0]) < min(counts[1]),
               [(min(c), max(c)) for c in counts])
    os.unlink(pin)


def a_lock(bench):
    os.makedirs(clients.FOLDER, mode=0o700, exist_ok=True)
    fd = os.open(clients.FOLDER, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    recording = clients.spin(bench).wait()
    os.close(fd)
    alone(bench, "the lock is another's", "is locked", recording)


def beside(bench, what, disturb, why):
    """One records, what is pinned changes, and another comes."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    first = bench.recorder("-p", str(target.pid), *clients.EVENT,
                           name="first.data").ready()
    group, = clients.groups()
    pin = os.path.join(clients.FOLDER, group, "elements")
    disturb(pin)
    late = bench.recorder("-p", str(target.pid), *clients.EVENT,
                          name="late.data").ready()
    livetest.burn(clients.ENOUGH, target.pid)
    late = late.interrupt()
    alone(bench, what, why, late)
    for name, recording in (("late", late), ("first", first.interrupt())):
        clients.check_file(bench, what + ", " + name, recording, target.pid,
                           512)
    target.kill()
    target.wait()
    bench.test(what + ": nothing is pinned any more",
               not clients.groups(), clients.groups())


def pins(bench):
    def other(pin):
        os.unlink(pin)
        make_map(pin)

    beside(bench, "a pin of another size", other, "is not seam's")
    beside(bench, "a pin that is gone", os.unlink, "is not seam's")


def owners(bench):
    """Who else may change what is shared? Doctor says so too."""
    def as_told(change, why):
        def disturb(pin):
            change(pin)
            told = clients.obstacle(bench)
            bench.test("doctor: %s, nobody can share" % why, why in told, told)
        return disturb

    for what, change, why in (
            ("a pin of another user's", lambda pin: os.chown(pin, 1000, 0),
             "elements is of user 1000 "),
            ("a pin open to others", lambda pin: os.chmod(pin, 0o666),
             "elements is of user 0 with mode 0666"),
            ("a group's folder of another user's",
             lambda pin: os.chown(os.path.dirname(pin), 1000, 0),
             " is of user 1000 with mode 0700"),
            ("a group's folder open to others",
             lambda pin: os.chmod(os.path.dirname(pin), 0o755),
             " is of user 0 with mode 0755")):
        beside(bench, what, as_told(change, why), why)


MOST, PARTS = 16, 16 # clients that share, and groups that are one
REQUESTS = 512 << 10 # bytes of a ring that is read all the same


def seventeenth(bench):
    """One shares with fifteen, as far as locks tell, and two others come, who
    share with each other."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = str(target.pid)
    first = bench.recorder("-p", pid, *clients.EVENT, name="first.data").ready()
    group, = clients.groups()
    locks = []
    for number in range(1, MOST):
        folder = os.path.join(clients.FOLDER, group, str(number))
        os.mkdir(folder, 0o700)
        locks.append(os.open(folder, os.O_RDONLY))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
    served = subprocess.run([bench.seam, "serve", "--idle", "1"],
                            stderr=subprocess.PIPE, encoding="utf-8",
                            env=bench.env, check=False)
    bench.test("who serves the first has no place with others",
               served.returncode == 1 and "room for no more: end one" in
               served.stderr, served.stderr)
    more = [bench.recorder("-p", pid, *clients.EVENT, name=name).ready()
            for name in ("17.data", "18.data")]
    livetest.burn(clients.ENOUGH, target.pid)
    found = {g["group"]: len(g["clients"]) for g in clients.doctor(bench)}
    bench.test("doctor: two groups", found == {group: MOST, group + "-2": 2},
               found)
    more = [r.interrupt() for r in more]
    bench.test("a 17th and an 18th share with each other",
               [r.summary["clients"] for r in more] == [0, 1] and
               all("shared with no other" not in r.log for r in more),
               more[1].log)
    # When one ends, there is room.
    os.close(locks.pop())
    late = bench.recorder("-p", pid, *clients.EVENT, name="late.data").ready()
    livetest.burn(clients.ENOUGH, target.pid)
    late = late.interrupt()
    bench.test("one that comes when another has ended shares with the first",
               late.summary["clients"] == MOST - 1, late.log)
    for lock in locks:
        os.close(lock)
    entries = [clients.check_file(bench, name, recording, target.pid, 512)
               for name, recording in (
                   ("the 17th", more[0]), ("the 18th", more[1]),
                   ("who comes late", late), ("the first", first.interrupt()))]
    clients.compare(bench, "the 17th and the 18th", *entries[:2], 512)
    target.kill()
    target.wait()
    bench.test("a 17th: nothing is pinned any more", not clients.groups(),
               clients.groups())


def no_room(bench):
    """Nor in any of the groups that there may be, for whoever comes."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    first = bench.recorder("-p", str(target.pid), *clients.EVENT,
                           name="first.data").ready()
    group, = clients.groups()
    locks = []
    for part in range(1, PARTS + 1):
        top = os.path.join(clients.FOLDER, group + (
            "-%d" % part if part > 1 else ""))
        for folder in (top, *(os.path.join(top, str(number))
                              for number in range(MOST))):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        for number in range(MOST):
            folder = os.path.join(top, str(number))
            locks.append(os.open(folder, os.O_RDONLY))
            if number or part > 1:
                fcntl.flock(locks[-1], fcntl.LOCK_EX)
    late = bench.recorder("-p", str(target.pid), *clients.EVENT,
                          name="late.data").ready()
    livetest.burn(clients.ENOUGH, target.pid)
    late = late.interrupt()
    alone(bench, "no room", "room for no more: end one", late)
    for lock in locks:
        os.close(lock)
    for name, recording in (("no room, late", late),
                            ("no room, first", first.interrupt())):
        clients.check_file(bench, name, recording, target.pid, 512)
    target.kill()
    target.wait()
    bench.test("no room: nothing is pinned any more", not clients.groups(),
               clients.groups())


def check_doctor(bench, one, others, group):
    """What it says, while one does not read and the target stands still."""
    page = os.sysconf("SC_PAGESIZE")
    told, recording = one
    bench.test("doctor: the rings of who does not read are full",
               told["ring_bytes"] == 2 * page + REQUESTS and
               page / 2 < told["ring_used"] <= 2 * page, told)
    for told, recording in (one, *others):
        lost = recording.summary["lost"]
        bench.test("doctor: what it has lost, as it says itself",
                   all(told["lost_" + what] == lost[what] for what in
                       ("samples", "stacks", "copies", "requests")) and
                   told["unwinds"] == recording.summary["unwinds"] and
                   told["by_others"] == recording.summary["by_others"],
                   "%s %s" % (told, recording.log))
    bench.test("doctor: the rings of who does are not",
               all(t["ring_bytes"] > 16 * page and t["ring_used"] <
                   t["ring_bytes"] / 2 for t, _ in others), others[0][0])
    owner = next(r for t, r in (one, *others) if t["owns_tables"])
    # An element is some 2 KiB; a last stack for each of 256 slots.
    bench.test("doctor: the memory of tables, tasks and the arena",
               group["table_bytes"] == owner.summary["table_bytes"] and
               2048 <= group["element_bytes"] < 64 << 20 and
               (1 << 20) + group["table_bytes"] <= group["arena_bytes"] <
               (2 << 20) + group["table_bytes"] +
               sum(c["made_bytes"] for c in group["clients"]), group)


def unread(bench):
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = str(target.pid)
    one = bench.recorder("-p", pid, *clients.EVENT, "-m", "1",
                         name="unread.data").ready()
    others = [bench.recorder("-p", pid, *clients.EVENT, *more,
                             name="other-%d.data" % len(more)).ready()
              for more in ([], ["--max-stack", "3"])]
    # No table comes from now on.
    serve.await_doctor(bench, target, lambda d: d["tables"] > 1 and
                       not d["tables_asked"])
    one.stop()
    livetest.burn(1, target.pid)
    gone = bench.start(["true"])
    gone.wait()
    done = subprocess.run([bench.seam, "record", "-p", str(gone.pid), "-o",
                           bench.path("gone.data")], env=bench.env,
                          stderr=subprocess.PIPE, encoding="utf-8")
    clients.freeze(target)
    told = clients.clients_of(bench)
    bench.test("a program that is gone: one line says so",
               done.returncode and done.stderr.count("\n") == 1 and
               str(gone.pid) in done.stderr, done.stderr)
    one_told = told[one.process.pid]
    others_told = [told[r.process.pid] for r in others]
    group, = clients.doctor(bench)
    one.go()
    read = [r.interrupt() for r in others]
    one = one.interrupt()
    target.kill()
    target.wait()
    check_doctor(bench, (one_told, one), list(zip(others_told, read)), group)
    lost = one.summary["lost"]
    bench.test("who does not read has lost, and says what",
               lost["samples"] + lost["stacks"], one.log)
    clients.check_file(bench, "who does not read", one, target.pid, 512)
    for recording, depth in zip(read, (512, clients.SHALLOW)):
        clients.check_file(bench, "who does", recording, target.pid, depth)
        bench.test("who does: shared, and lost nothing",
                   recording.summary["clients"] and
                   not recording.summary["end"]["lost"] and
                   not recording.summary["lost"]["samples"], recording.log)


if __name__ == "__main__":
    clients.private()
    sys.exit(livetest.main(a_file, counters, a_lock, pins, owners, seventeenth,
                           no_room, unread))
