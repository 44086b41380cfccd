#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: who owns the tables of files does not read, or does not go on,
and nobody else is disturbed.

Programs that are files of their own begin, and are recorded: alone; beside an
owner that never reads; beside one that is stopped, and goes on; beside one that
is stopped and killed; by two at once; beside `seam serve` that is idle, and then
stopped; and by one with little memory for tables. Each time as many stacks are
whole as alone, of those that were wanted, and no more come as copies.
"""

import os
import signal
import subprocess
import sys
import time

import clients
import livetest
import serve

PROGRAMS = 8
ROUNDS = 20 # of each, when it is told to go on
LITTLE = 1 << 20 # bytes for tables
TIMES = 10 # that it is told so
# Of the stacks, as long as a table takes; without one they all are.
MOST_COPIES = 0.5
IDLE = 3 # seconds, after which an owner that lived would be late
# As the known program, in rounds: for each byte that it reads, which it writes
# when they are over.
SOURCE = clients.SOURCE.replace("int main(void) { for (;;) outer(); }", r"""
static long call(long nr, long fd, char *byte)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(fd), "S"(byte),
			 "d"(1L) : "rcx", "r11", "memory");
	return ret;
}
int main(void)
{
	char byte;
	while (call(0, 0, &byte) == 1) {
		for (int i = 0; i < ROUNDS; i++) outer();
		call(1, 1, &byte);
	}
	return 0;
}
""")
# A program of files whose tables have no room in so little.
MANY = b"""
import ctypes, sqlite3, ssl
for _ in range(20):
    ssl.create_default_context()
    ctypes.CDLL(None).prctl(15, b"known")
print("x", flush=True)
"""
# What is recorded: it starts programs, each with a pipe from and to us.
SHELL = 'while read exe in out; do "$exe" <"$in" >"$out" & echo $!; done'


class Program:
    """One of a shell's, that nobody has seen before."""

    def __init__(self, bench, shell, name, exe=None):
        if not exe:
            exe = bench.path(name)
            subprocess.run(["cp", bench.path("rounds"), exe], check=True)
        ends = [bench.path(name + ".in"), bench.path(name + ".out")]
        for end in ends:
            os.mkfifo(end)
        shell.stdin.write(" ".join([exe, *ends]) + "\n")
        shell.stdin.flush()
        self.pid = int(shell.stdout.readline())
        self.to, self.back = open(ends[0], "wb", 0), open(ends[1], "rb", 0)
        self.wanted = 0

    def go(self):
        """Its rounds, to their end."""
        self.to.write(b"x")
        self.back.read(1)
        self.wanted += ROUNDS

    def close(self):
        self.to.close()
        self.back.close()


def one(found, pid):
    """What doctor says of a process."""
    for client in found["clients"]:
        if client["pid"] == pid:
            return client
    return {}


def is_served(found, known):
    """There are tables of all programs, by the owner."""
    return found["tables"] >= known + PROGRAMS and not found["tables_asked"]


def spin(bench):
    """By whose time it is judged how long a wait is."""
    serve.prepare(bench)
    bench.compile(SOURCE, "rounds", "-DROUNDS=%d" % ROUNDS)
    process = serve.target(bench, "spin")
    process.shell = bench.start(["sh", "-c", SHELL], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, encoding="utf-8")
    return process


def begin(bench, first, name):
    """Programs that are files of their own, each with a first run."""
    programs = [Program(bench, first.shell, "%s-%d" % (name, i))
                for i in range(PROGRAMS)]
    work(programs, 1)
    return programs


def work(programs, times=TIMES):
    for program in programs * times:
        program.go()


def end_all(programs, first):
    for program in programs:
        program.close()
    serve.end(first.shell)
    serve.end(first)


def record_all(bench, first, name, *options):
    """Of what that one's shell starts."""
    return bench.recorder("-p", str(first.shell.pid), *serve.EVENT, *options,
                          name=name + ".data").ready()


def check(bench, name, recording, programs):
    """Counts add up, nothing is lost, each stack of each program is whole."""
    if not bench.test(name + ": recorded", recording.summary, recording.log):
        return {}
    summary, samples = recording.summary, recording.samples()
    # Tables: of a child of the shell, which has become the program by then.
    lost = {place: n for place, n in summary["lost"].items() if n and
            place != "tables"}
    bench.note("%s: %d samples, %d unwinds, %d by others, %d copies, %d tables, "
               "%d own" % (name, summary["samples"], summary["unwinds"],
                           summary["by_others"], summary["copies"],
                           summary["tables"], summary["tables_own"]))
    bench.test(name + ": every event is a sample, or seam's own",
               summary["watched"] == summary["samples"] + summary["own"] and
               len(samples) == summary["samples"], summary)
    bench.test(name + ": nothing is lost",
               not summary["end"]["lost"] and not lost, lost)
    pids = {program.pid for program in programs}
    mine = [s for s in samples if s["pid"] in pids and not serve.in_exec(s)]
    whole = [s for s in mine if s["end"] == "outermost" and
             clients.fits(livetest.user_path(s), 512)]
    wanted = sum(program.wanted for program in programs)
    bench.test(name + ": every stack that was wanted is whole",
               len(whole) == len(mine) == wanted,
               "%d of %d, of %d wanted: %s" % (
                   len(whole), len(mine), wanted,
                   next((livetest.show(s) for s in mine if s not in whole),
                        "")))
    return {(s["tid"], s["cookie"]): s for s in whole}


def copied(recording):
    summary = recording.summary
    return summary["copies"] / max(1, summary["unwinds"] + summary["by_others"])


def few_copies(bench, name, recording):
    bench.test(name + ": few stacks come as copies",
               copied(recording) <= MOST_COPIES, "%d of %d" % (
                   recording.summary["copies"], recording.summary["unwinds"]))


def alone(bench):
    first = spin(bench)
    recorder = record_all(bench, first, "alone")
    programs = begin(bench, first, "cold")
    serve.await_doctor(bench, first, lambda d: is_served(d, 0))
    work(programs)
    recording = recorder.interrupt()
    check(bench, "alone", recording, programs)
    few_copies(bench, "alone", recording)
    bench.test("alone: none is its own", not recording.summary["tables_own"])
    end_all(programs, first)


def unread(bench):
    """The owner's rings have a page each, and it reads none of them."""
    first = spin(bench)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
             "encoding": "utf-8", "env": bench.env}
    owner = bench.start([bench.args.tool, str(first.pid), "0", "loses",
                         "deferred"], **pipes)
    said = [owner.stdout.readline(), owner.stdout.readline()]
    recorder = record_all(bench, first, "beside")
    known = serve.await_doctor(bench, first, lambda d: d["tables"] and
                               not d["tables_asked"])
    bench.test("unread: it owns the tables, and loads what is asked for",
               "shares" in said[0] and known["owner"] == owner.pid and
               known["tables"], "%s %s" % (said, known))
    programs = begin(bench, first, "cold")
    found = serve.await_doctor(bench, first,
                               lambda d: is_served(d, known["tables"]))
    bench.test("unread: it has those of new programs, too",
               is_served(found, known["tables"]) and
               found["owner"] == owner.pid, found)
    work(programs)
    told = one(serve.doctor(bench), owner.pid)
    recording = recorder.interrupt()
    check(bench, "beside one that does not read", recording, programs)
    few_copies(bench, "beside one that does not read", recording)
    bench.test("unread: the other loads none",
               not recording.summary["tables"] and
               not recording.summary["tables_own"], recording.summary)
    bench.test("unread: it has lost what is its own", told["lost_samples"] or
               told["lost_stacks"], told)
    owner.kill()
    owner.wait()
    end_all(programs, first)


def stopped_owner(bench):
    """One that has the tables of a program, and is stopped."""
    first = spin(bench)
    owner = bench.recorder("-p", str(first.pid), *serve.EVENT,
                           name="owner.data").ready()
    known = serve.await_doctor(bench, first, lambda d: d["tables"] > 1 and
                               not d["tables_asked"])
    owner.stop()
    return first, owner, known["tables"]


def late(bench, name, process, recorders):
    """Whether these find that they have to help themselves."""
    pids = [r.process.pid for r in recorders]
    found = serve.await_doctor(bench, process, lambda d: all(
        one(d, pid).get("loads_own") for pid in pids))
    bench.test(name + ": they load tables themselves", all(
        one(found, pid).get("loads_own") for pid in pids), found)


def again(bench, name, process, recorder, programs, known):
    """It has none of its own any more, and the owner has what it asks for."""
    pid = recorder.process.pid
    found = serve.await_doctor(bench, process, lambda d: not
                               one(d, pid).get("loads_own", True))
    bench.test(name + ": it has none of its own any more", not
               one(found, pid).get("loads_own", True), found)
    work(programs, 1)
    found = serve.await_doctor(bench, process, lambda d: is_served(d, known))
    bench.test(name + ": the owner loads them for all",
               is_served(found, known), found)


def stopped(bench):
    first, owner, known = stopped_owner(bench)
    recorder = record_all(bench, first, "beside")
    late(bench, "stopped", first, [recorder])
    text = subprocess.run([bench.seam, "doctor", "--clients"],
                          stdout=subprocess.PIPE, encoding="utf-8",
                          env=bench.env).stdout
    bench.test("stopped: doctor says so", "loads tables itself, since who owns "
               "them does not answer" in text, text)
    programs = begin(bench, first, "cold")
    work(programs, 3 * TIMES)
    found = serve.doctor(bench)
    bench.test("stopped: nobody else has the new ones",
               found["tables"] == known and found["owner"] ==
               owner.process.pid, found)
    owner.go()
    again(bench, "stopped", first, recorder, programs, known)
    work(programs)
    recording, owner = recorder.interrupt(), owner.interrupt()
    check(bench, "beside one that is stopped", recording, programs)
    few_copies(bench, "beside one that is stopped", recording)
    summary = recording.summary
    bench.test("stopped: the other had its own, and has none any more",
               summary["tables_own"] >= PROGRAMS and not summary["tables"],
               summary)
    bench.test("stopped: it says so", "%d tables loaded for this recording "
               "alone" % summary["tables_own"] in recording.log, recording.log)
    clients.check_file(bench, "who was stopped", owner, first.pid, 512)
    end_all(programs, first)


def killed(bench):
    first, owner, known = stopped_owner(bench)
    recorder = record_all(bench, first, "beside")
    late(bench, "killed", first, [recorder])
    programs = begin(bench, first, "cold")
    work(programs)
    owner.process.kill()
    owner.process.wait()
    owner.log.close()
    pid = recorder.process.pid
    again(bench, "killed", first, recorder, programs, known)
    bench.test("killed: the other has the tables of all",
               serve.doctor(bench)["owner"] == pid, serve.doctor(bench))
    later = begin(bench, first, "later")
    found = serve.await_doctor(bench, first,
                               lambda d: is_served(d, known + PROGRAMS))
    bench.test("killed: and loads what is asked for",
               is_served(found, known + PROGRAMS), found)
    work(programs + later)
    recording = recorder.interrupt()
    check(bench, "beside one that is killed", recording, programs + later)
    few_copies(bench, "beside one that is killed", recording)
    bench.test("killed: nothing is pinned any more", not clients.groups(),
               clients.groups())
    end_all(programs + later, first)


def two(bench):
    first, owner, _ = stopped_owner(bench)
    recorders = [record_all(bench, first, "deep"),
                 record_all(bench, first, "shallow", "--max-stack",
                            str(clients.SHALLOW))]
    late(bench, "two", first, recorders)
    programs = begin(bench, first, "cold")
    work(programs)
    deep, shallow = [r.interrupt() for r in recorders]
    entries = check(bench, "the one", deep, programs)
    few_copies(bench, "the one", deep)
    # Cut where it wants no more, a stack is not seen to its end.
    cut = {(s["tid"], s["cookie"]): s for s in shallow.samples()
           if s.get("cookie") and (s["tid"], s["cookie"]) in entries}
    lost = {place: n for place, n in shallow.summary["lost"].items() if n and
            place != "tables"}
    bench.test("the other: nothing is lost", not
               shallow.summary["end"]["lost"] and not lost, lost)
    few_copies(bench, "the other", shallow)
    clients.compare(bench, "both", entries, cut, clients.SHALLOW)
    # Who comes first at each event unwinds for both.
    told = [(r.summary["unwinds"], r.summary["tables_own"])
            for r in (deep, shallow)]
    bench.test("who unwinds has tables of its own",
               all(own for n, own in told if n) and any(n for n, _ in told),
               told)
    owner.go()
    clients.check_file(bench, "who was stopped", owner.interrupt(), first.pid,
                       512)
    end_all(programs, first)


def served(bench):
    """One that has nothing to do is not late."""
    first = spin(bench)
    server, log = serve.serve(bench)
    recorder = record_all(bench, first, "beside")
    pid = recorder.process.pid
    time.sleep(IDLE)
    known = serve.doctor(bench)
    bench.test("served: the idle owner is not late", known["owner"] ==
               server.pid and not one(known, pid)["loads_own"], known)
    server.send_signal(signal.SIGSTOP)
    late(bench, "served", first, [recorder])
    programs = begin(bench, first, "cold")
    work(programs)
    server.send_signal(signal.SIGCONT)
    again(bench, "served", first, recorder, programs, known["tables"])
    # What came before there were tables is little beside this.
    work(programs * 3)
    recording = recorder.interrupt()
    check(bench, "beside a stopped server", recording, programs)
    few_copies(bench, "beside a stopped server", recording)
    bench.test("served: it ends", serve.end(server, signal.SIGTERM) == 0,
               open(log).read())
    end_all(programs, first)


def little(bench):
    """What it loads for itself is bounded by its own memory for tables."""
    first, owner, _ = stopped_owner(bench)
    recorder = record_all(bench, first, "little", "--table-memory", str(LITTLE))
    late(bench, "little", first, [recorder])
    programs = begin(bench, first, "cold")
    python = Program(bench, first.shell, "python", sys.executable)
    python.to.write(MANY)
    python.to.close() # it reads its program to the end
    python.back.read(1)
    work(programs)
    told = one(serve.doctor(bench), recorder.process.pid)
    recording = recorder.interrupt()
    check(bench, "with little memory", recording, programs)
    bench.test("little: it has used no more", 0 < told["made_bytes"] <=
               LITTLE and 0 < recording.summary["table_bytes_max"] <= LITTLE,
               "%s %s" % (told, recording.summary))
    owner.go()
    owner.interrupt()
    end_all(programs + [python], first)


if __name__ == "__main__":
    clients.private()
    sys.exit(livetest.main(alone, unread, stopped, killed, two, served, little,
                           options=(("--tool", "build/tests/live/tracer"),)))
