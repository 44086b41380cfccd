#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: of recordings that share, one is killed at any moment, and
nobody else is disturbed.

Two record a program from the beginning to the end, while others come beside
them and are killed: as they begin, at an event, with a ring that is full, as
they end, and as another ends. Then all are killed, and the next that comes
removes what they left. So does who is there already, with what they wanted of others.
What a killed one has left in a task that sleeps is none of the business of whoever
has its number by then.
"""

import fcntl
import random
import subprocess
import sys
import termios
import time

import clients
import livetest
import made
import serve
from pins import (all_maps, all_programs, bits_of, dump, is_ring, map_id, maps_by_id, maps_of,
                  memory, pinned, programs_by_id, programs_of, rings_of, wishes)

A_WHILE = 0.05 # seconds of the target's CPU time


def victim(bench, name="victim.data"):
    return bench.recorder("-a", *clients.EVENT, "--max-stack",
                          str(clients.BETWEEN), name=name)


def kill(recorder):
    recorder.process.kill()
    recorder.process.wait()
    recorder.log.close()


def as_it_begins(bench, pid):
    recorder = victim(bench)
    time.sleep(random.uniform(0, 1))
    kill(recorder)


def at_an_event(bench, pid):
    recorder = victim(bench).ready()
    livetest.burn(A_WHILE, pid)
    time.sleep(random.uniform(0, 0.05))
    kill(recorder)


def with_a_full_ring(bench, pid):
    recorder = bench.recorder("-a", *clients.EVENT, "-m", "1",
                              name="victim.data").ready()
    recorder.stop()
    livetest.burn(A_WHILE, pid)
    kill(recorder)


def as_it_ends(bench, pid):
    recorder = victim(bench).ready()
    livetest.burn(A_WHILE, pid)
    recorder.process.terminate()
    time.sleep(random.uniform(0, 0.2))
    kill(recorder)


def as_another_ends(bench, pid):
    recorder = victim(bench).ready()
    another = victim(bench, "another.data").ready()
    livetest.burn(A_WHILE, pid)
    another.process.terminate()
    time.sleep(random.uniform(0, 0.05))
    kill(recorder)
    clients.check_file(bench, "the other that ended", another.wait(), pid,
                       clients.BETWEEN)


MOMENTS = (as_it_begins, at_an_event, with_a_full_ring, as_it_ends,
           as_another_ends)


def run(bench, two, pid):
    """Whether the target and the two are still at work after each."""
    for moment in MOMENTS * int(bench.args.times):
        moment(bench, pid)
        livetest.burn(A_WHILE, pid) # or it waits for ever
        if not bench.test("killed %s: nobody else ends" %
                          moment.__name__.replace("_", " "),
                          all(r.process.poll() is None for r in two)):
            return


def moments(bench):
    seed = random.randrange(1 << 32)
    bench.note("seed %d" % seed)
    random.seed(seed)
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = target.pid
    # The first's number is not given to another: it lives.
    deep = bench.recorder("-p", str(pid), *clients.EVENT,
                          name="deep.data").ready()
    shallow = bench.recorder("-t", str(pid), *clients.EVENT, "--max-stack",
                             str(clients.SHALLOW), name="shallow.data").ready()
    run(bench, (deep, shallow), pid)
    recordings = [r.interrupt() for r in (shallow, deep)]
    target.kill()
    target.wait()
    entries = [clients.check_file(bench, name, recording, pid, depth)
               for name, recording, depth in (
                   ("less deep", recordings[0], clients.SHALLOW),
                   ("process", recordings[1], 512))]
    clients.compare(bench, "process and less deep", entries[1], entries[0],
                    clients.SHALLOW)
    for name, recording in zip(("less deep", "process"), recordings):
        lost = recording.summary["lost"]
        bench.test(name + ": lost no more than it says",
                   recording.summary["end"]["lost"] <= lost["stacks"] +
                   lost["copies"], recording.log)
    bench.test("nothing is pinned any more", not clients.groups(),
               clients.groups())


def all_of_them(bench):
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    three = [victim(bench, "%d.data" % i).ready() for i in range(3)]
    livetest.burn(clients.ENOUGH, target.pid)
    ids = {map_id(path) for path in pinned()}
    bench.test("there are pins", ids and None not in ids, pinned())
    for recorder in three:
        kill(recorder)
    livetest.burn(A_WHILE, target.pid)
    bench.test("and still are", pinned())
    late = victim(bench, "late.data").ready()
    livetest.burn(A_WHILE, target.pid)
    bench.test("the next has pins of its own",
               pinned() and not ids & {map_id(path) for path in pinned()},
               pinned())
    clients.check_file(bench, "the next", late.interrupt(), target.pid,
                       clients.BETWEEN)
    bench.test("nothing is pinned any more", not clients.groups(),
               clients.groups())
    # Task work that a killed one asked for keeps them until it is done, and
    # the kernel frees them when it comes to it.
    patience = serve.Patience(target)
    while ids & all_maps() and not patience.is_over():
        time.sleep(0.1)
    bench.test("no map is left", not ids & all_maps(), ids & all_maps())
    target.kill()
    target.wait()


def forgotten(bench):
    """Two in one process want all stacks, and registers; they are killed and
    their numbers go to nobody. One that records clears away what they left."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = str(target.pid)
    one = bench.recorder("-p", pid, *clients.EVENT, name="one.data").ready()
    tool = bench.start([bench.args.tool, pid, "100000", "all", "deep"],
                       stdout=open(bench.path("tool"), "w"), env=bench.env)
    while tool.poll() is None:
        common, = dump("common")
        elements = dump("elements")
        if common["want_all"] and common["want_regs"] and \
                any(bits_of(e) & ~1 for e in elements):
            break
        time.sleep(0.05)
    if not bench.test("two share with it", wishes(common) == 7 and
                      rings_of("client_states") == {0, 1, 2}, common):
        return
    tool.kill()
    tool.wait()
    patience = serve.Patience(target)
    while wishes(dump("common")[0]) != 1 and not patience.is_over():
        time.sleep(0.05)
    common, = dump("common")
    bench.test("what the killed ones wanted is forgotten",
               wishes(common) == 1, common)
    tasks = [hex(bits_of(e)) for e in dump("elements")]
    bench.test("by every task", tasks and set(tasks) <= {"0x0", "0x1"}, tasks)
    bench.test("and nothing is kept for them",
               rings_of("client_states") == {0}, rings_of("client_states"))
    clients.check_file(bench, "who goes on", one.interrupt(), target.pid, 512)
    target.kill()
    target.wait()


def forgotten_asker(bench):
    """A tool whose own programs ask is killed: no task is known as one of the
    number's next client."""
    target = bench.start([bench.compile(clients.SOURCE, "known")])
    pid = str(target.pid)
    one = bench.recorder("-p", pid, *clients.EVENT, name="one.data").ready()
    tool = bench.start([bench.args.asker, pid, "0"], env=bench.env,
                       stdout=open(bench.path("asker"), "w"))
    while tool.poll() is None and \
            not any(e["state"]["known"] & ~1 for e in dump("elements")):
        time.sleep(0.05)
    if not bench.test("its programs ask", tool.poll() is None):
        return
    tool.kill()
    tool.wait()
    patience = serve.Patience(target)
    tasks = {2}
    while tasks - {0, 1} and not patience.is_over():
        time.sleep(0.05)
        tasks = {bits_of(e) for e in dump("elements")}
    bench.test("the killed one is forgotten by every task",
               not tasks - {0, 1}, sorted(map(hex, tasks)))
    clients.check_file(bench, "who goes on", one.interrupt(), target.pid, 512)
    target.kill()
    target.wait()


LITTLE = 64 << 10 # bytes, of maps that are kept for a program
CODE = 256 << 10 # of that

# Sleeps in each read until a byte comes.
SLEEPER = r"""
#include <unistd.h>
int main(void) { char c; while (read(0, &c, 1) == 1); }
"""


def in_read(pid):
    with open("/proc/%d/syscall" % pid) as syscall:
        return syscall.read().startswith("0 ")


def is_asked_for(sleeper):
    """Whether somebody's program is to run in it when it wakes."""
    return any(e["state"]["entry"]["cookie"] for e in dump("elements")
               if e["state"]["entry"]["tid"] == sleeper.pid)


def asleep(bench):
    """One is killed that was asked for the stack of a task that sleeps, which
    its program is to take when that wakes. What it has of any size does not wait
    for that."""
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    sleeper = bench.start([bench.compile(SLEEPER, "sleeper")],
                          stdin=subprocess.PIPE)
    one = bench.recorder("-p", "%d,%d" % (spin.pid, sleeper.pid),
                         *clients.EVENT, name="one.data").ready()
    before = set(maps_by_id())
    killed = bench.recorder("-p", str(sleeper.pid), "-e",
                            "raw_syscalls:sys_enter", "-c", "1",
                            name="killed.data").ready()
    its = maps_of(killed.process.pid) - before
    progs = programs_of(killed.process.pid)
    # Out of the read that nobody saw it begin, and into one that is seen.
    sleeper.stdin.write(b".")
    sleeper.stdin.flush()
    patience = serve.Patience(spin)
    while not is_asked_for(sleeper) and not patience.is_over():
        time.sleep(0.01)
    had = [m for i, m in maps_by_id().items() if i in its]
    kill(killed)
    left = had
    while memory(left) > LITTLE and not patience.is_over():
        time.sleep(0.05)
        left = [m for i, m in maps_by_id().items() if i in its]
    code = [p for i, p in programs_by_id().items() if i in progs]
    bench.note("%d of %d KiB are kept, and %d KiB of programs" % (
        memory(left) >> 10, memory(had) >> 10, memory(code) >> 10))
    bench.test("it had rings", any(map(is_ring, had)), had)
    bench.test("the task sleeps, and its program is kept for it",
               in_read(sleeper.pid) and left and len(code) == 1, code)
    bench.test("but nothing that is large", memory(left) <= LITTLE and
               memory(code) <= CODE and
               not any(map(is_ring, left)), left)
    sleeper.stdin.write(b".")
    sleeper.stdin.flush()
    patience = serve.Patience(spin)
    while its & set(maps_by_id()) and not patience.is_over():
        time.sleep(0.05)
    left = [m for i, m in maps_by_id().items() if i in its]
    bench.test("when it has woken nothing is left", not left, left)
    clients.check_file(bench, "who goes on", one.interrupt(), spin.pid, 512)
    for process in (spin, sleeper):
        process.kill()
        process.wait()


def all_asleep(bench):
    """All are killed, while a task sleeps that each was asked for. The next
    that comes leaves nothing of theirs, though the task sleeps on."""
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    sleeper = bench.start([bench.compile(SLEEPER, "sleeper")],
                          stdin=subprocess.PIPE)
    two = [bench.recorder("-p", str(sleeper.pid), "-e",
                          "raw_syscalls:sys_" + event, "-c", "1",
                          name=event + ".data").ready()
           for event in ("exit", "enter")]
    maps, progs = (set().union(*(ids(r.process.pid) for r in two))
                   for ids in (maps_of, programs_of))
    maps -= {i for i, m in maps_by_id().items() if m.get("name") == "cookies"}
    sleeper.stdin.write(b".")
    sleeper.stdin.flush()
    patience = serve.Patience(spin)
    while not is_asked_for(sleeper) and not patience.is_over():
        time.sleep(0.01)
    for recorder in two:
        kill(recorder)
    livetest.burn(A_WHILE, spin.pid)
    bench.test("all: the task sleeps, and a program is to run in it",
               in_read(sleeper.pid) and is_asked_for(sleeper) and
               maps & all_maps() and progs & all_programs())
    bench.recorder("-p", str(spin.pid), *clients.EVENT,
                   name="next.data").ready().interrupt()
    patience = serve.Patience(spin)
    while (maps & all_maps() or progs & all_programs()) and \
            not patience.is_over():
        time.sleep(0.05)
    bench.test("all: behind the next nothing is left",
               not maps & all_maps() and not progs & all_programs(),
               maps & all_maps())
    bench.test("all: while the task sleeps on", in_read(sleeper.pid))
    for process in (spin, sleeper):
        process.kill()
        process.wait()


def unread_of(bench, recorder):
    """The bytes in its rings that it has not read."""
    return clients.clients_of(bench)[recorder.process.pid]["ring_used"]


def same_number(bench):
    """One is killed whose program is yet to run in a task that sleeps, and
    another gets its number. When the task wakes a third has asked too, so
    that the program takes the stack, in a file that nobody has a table of:
    what it asks for then is not for who has the number now."""
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    sleeper = bench.start([bench.compile(SLEEPER, "sleeper")],
                          stdin=subprocess.PIPE)
    still = bench.start(["sleep", "infinity"])
    keeps = bench.recorder("-p", str(spin.pid), *clients.EVENT,
                           name="keeps.data").ready()
    killed = bench.recorder("-p", str(sleeper.pid), "-e",
                            "raw_syscalls:sys_enter", "-c", "1",
                            name="killed.data").ready()
    numbers = rings_of("client_states")
    # Out of the read that nobody saw it begin, and into one that is seen.
    sleeper.stdin.write(b".")
    sleeper.stdin.flush()
    patience = serve.Patience(spin)
    while not is_asked_for(sleeper) and not patience.is_over():
        time.sleep(0.01)
    kill(killed)
    heir = bench.recorder("-p", str(still.pid), "-e", "raw_syscalls:sys_enter",
                          "-c", "1", name="heir.data").ready()
    asks = bench.recorder("-p", str(sleeper.pid), "-e",
                          "raw_syscalls:sys_exit", "-c", "1",
                          name="asks.data").ready()
    heir.settle()
    heir.stop()
    before = unread_of(bench, heir)
    bench.test("another has the number of the one that was killed",
               numbers == {0, 1} and rings_of("client_states") == {0, 1, 2},
               "%s, then %s" % (numbers, rings_of("client_states")))
    bench.test("the task sleeps, and is yet to run its program",
               in_read(sleeper.pid) and is_asked_for(sleeper))
    sleeper.stdin.write(b".")
    sleeper.stdin.close()
    sleeper.wait()
    after = unread_of(bench, heir)
    heir.go()
    bench.test("it has nothing of the other's", after == before,
               "%s, then %s" % (before, after))
    recordings = [r.interrupt() for r in (asks, heir, keeps)]
    check_woken(bench, recordings[0], sleeper.pid)
    summary = recordings[1].summary
    bench.test("nor does it count or keep any",
               not summary["samples"] and not sum(summary["end"].values()) and
               not summary["by_others"] and not summary["unwinds"] and
               not any(summary["lost"].values()), summary)
    clients.check_file(bench, "who goes on", recordings[2], spin.pid, 512)
    for process in (spin, still):
        process.kill()
        process.wait()


def check_woken(bench, recording, pid):
    """The stack that the program of the killed one took, for another."""
    summary, samples = recording.summary, recording.samples()
    mine = [s for s in samples if s["pid"] == pid]
    wrong = [s for s in mine if s["end"] != "outermost" or
             "main" not in livetest.user_path(s)]
    bench.test("the one that asked has the stack, whole",
               mine and not wrong,
               livetest.show(wrong[0]) if wrong else recording.log)
    bench.test("of who was killed", summary["by_others"] and
               len(samples) == summary["samples"] == summary["watched"] and
               not any(summary["lost"].values()), summary)


# Sleeps in each read until a byte comes, in code that it made, whose frame is of
# the size that it is told. With a rule for frames that are larger by one, the
# function that calls that code is passed over.
MADE = r"""
__attribute__((noipa)) static void read_byte(long unused)
{
	long ret;
	char c;

	(void)unused;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(0L), "D"(0L), "S"(&c),
			 "d"(1L) : "rcx", "r11", "memory");
	if (ret != 1) _exit(0);
	sink++;
}
__attribute__((noipa)) static int run(int argc, char **argv)
{
	void (*target)(long) = read_byte;

	start(-1);
	add(0, atoi(argv[argc - 1]));
	memcpy(code + 6, &target, sizeof(target));
	for (;;) enter(0, 0);
}
"""


def is_made_path(sample):
    path, frames = livetest.user_path(sample), livetest.user_frames(sample)
    return len(path) > 4 and path[-5:-2] == ["main", "run", "enter"] and \
        made.is_made(frames[-2]) and path[-1] == "read_byte"


def pass_bytes(target, times, patience, is_seen=is_asked_for):
    """Each is read, and the next read begins, and is seen, before another
    comes."""
    for _ in range(times):
        target.stdin.write(b".")
        target.stdin.flush()
        while not patience.is_over():
            left = fcntl.ioctl(target.stdin.fileno(), termios.FIONREAD, b"    ")
            if not any(left) and in_read(target.pid) and is_seen(target):
                break
            time.sleep(0.01)


def feed(recorder, target, patience):
    """Reads that come of the first two ask for a table; it is there then."""
    pass_bytes(target, 2, patience)
    recorder.settle()
    pass_bytes(target, 4, patience)


def same_number_made(bench):
    """The same, in code that the program made: the dead one's table of it is
    where its heir has one of another program, whose code lies there too."""
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    exe = made.build(bench, "sleeper-made", MADE)
    sleeper, its_heirs = (bench.start([exe, frame], stdin=subprocess.PIPE)
                          for frame in "12")
    keeps = bench.recorder("-p", str(spin.pid), *clients.EVENT,
                           name="keeps.data").ready()
    calls = ("-e", "raw_syscalls:sys_enter", "-c", "1")
    killed = bench.recorder("-p", str(sleeper.pid), *calls,
                            name="killed.data").ready()
    patience = serve.Patience(spin)
    feed(killed, sleeper, patience)
    had = clients.clients_of(bench)[killed.process.pid]
    bench.test("made code: the one that is killed has a table, and uses it",
               had["made_bytes"] and had["unwinds"] and
               is_asked_for(sleeper) and in_read(sleeper.pid), had)
    kill(killed)
    heir = bench.recorder("-p", str(its_heirs.pid), *calls,
                          name="heir.data").ready()
    asks = bench.recorder("-p", str(sleeper.pid), "-e",
                          "raw_syscalls:sys_exit", "-c", "1",
                          name="asks.data").ready()
    feed(heir, its_heirs, patience)
    bench.test("made code: another has its number, and the task is yet to run "
               "its program", rings_of("client_states") == {0, 1, 2} and
               is_asked_for(sleeper) and in_read(sleeper.pid),
               rings_of("client_states"))
    # Who has asked sees no read begin.
    pass_bytes(sleeper, 1, patience, lambda target: True)
    asks, heir, keeps = (r.interrupt() for r in (asks, heir, keeps))
    bench.test("made code: the heir has tables of its own",
               heir.summary["made"] == 1 and
               heir.summary["copies"] < heir.summary["unwinds"], heir.log)
    for name, recording in (("who has asked", asks), ("the heir", heir)):
        samples = [s for s in recording.samples()
                   if s["end"] not in ("lost", "pending")]
        wrong = [s for s in samples if s["end"] != "outermost" or
                 not is_made_path(s)]
        bench.test("made code: %s has the known path" % name,
                   samples and not wrong, livetest.show(wrong[0]) if wrong
                   else recording.log)
    bench.test("made code: of who was killed", asks.summary["by_others"] >= 1,
               asks.summary)
    clients.check_file(bench, "who goes on", keeps, spin.pid, 512)
    for process in (spin, sleeper, its_heirs):
        process.kill()
        process.wait()



if __name__ == "__main__":
    clients.private()
    sys.exit(livetest.main(
        moments, all_of_them, forgotten, forgotten_asker, asleep, all_asleep,
        same_number, same_number_made, options=(
            ("--times", "2"), ("--tool", "build/tests/live/tracer"),
            ("--asker", "build/examples/example-slow-calls"))))
