#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tools whose own programs ask for stacks are killed at any
moment, mostly as they begin, and so is the daemon that keeps the tables, either
of its two processes or both.

Nobody waits for what a dead one was to do: the next tool has the stacks of the
very tasks that it was asked for, whole, under counts that add up, and what the
dead one had in the kernel is gone by then. One records all the while, and has
no wrong stack. Then all are dead, and the next that comes removes what they
left.
"""

import collections
import os
import random
import signal
import subprocess
import sys
import time

import asks
import clients
import livetest
import pins
import requests
import serve

# Those that asks.py's tool is attached to, until it is told to end; its last
# rounds are for who has come by then.
SOURCE = "#include <signal.h>\n" + asks.SOURCE.partition("int main")[0] + r"""
static volatile sig_atomic_t left = -1;
static void finish(int signum) { (void)signum; left = ROUNDS; }
int main(void)
{
	signal(SIGTERM, finish);
	while (left) {
		outer();
		if (left > 0)
			left = left - 1;
	}
	return 0;
}
"""
SPINS, ROUNDS = 400000, 20
PRCTL = 157
EVENT = clients.EVENT
A_WHILE = 0.03 # seconds of a target's CPU time
AT_WORK_S = 0.1 # about as long as a tool works that has begun


def compiled(bench):
    return bench.compile(SOURCE, "target", "-no-pie", "-DSPINS=%d" % (
        SPINS // bench.args.slower), "-DROUNDS=%d" % ROUNDS)


def begin(bench):
    seed = random.randrange(1 << 32)
    bench.note("seed %d" % seed)
    random.seed(seed)
    return compiled(bench)


# --- both ---

def maps_of(pid):
    """None, where it has ended."""
    try:
        return pins.maps_of(pid)
    except (FileNotFoundError, ProcessLookupError):
        return set()


def kill(*pids):
    """Return: the maps that they had. They are stopped before, so that these
    are all."""
    for signum in (signal.SIGSTOP, signal.SIGKILL):
        found = set()
        for pid in pids:
            found |= maps_of(pid)
        for pid in pids:
            try:
                os.kill(pid, signum)
            except ProcessLookupError:
                pass # the other's end was its own
    return found


def await_gone(maps, target):
    """Which of these there still are, when that has been waited for: the kernel
    frees them when it comes to it."""
    patience = serve.Patience(target)
    left = maps & pins.maps_by_id().keys()
    while left and not patience.is_over():
        time.sleep(0.05)
        left = maps & pins.maps_by_id().keys()
    return left


def takes_to_begin(start):
    """Seconds, of the second: the first makes the cache."""
    for _ in range(2):
        began = time.monotonic()
        end = start()
        took = time.monotonic() - began
        end()
    return took


def some_moment(longest):
    """Mostly as one begins; in a quarter it is at work by then."""
    return random.choice((random.uniform(0, longest),) * 3 +
                         (longest + random.uniform(0, AT_WORK_S),))


# --- tools ---

class Tool:
    """One that asks in a target."""

    def __init__(self, bench, command):
        self.out, self.err = bench.path("tool.out"), bench.path("tool.err")
        self.process = bench.start(command, stdout=open(self.out, "w"),
                                   stderr=open(self.err, "w"), env=bench.env)
        self.pid = self.process.pid

    def said(self):
        with open(self.out) as out, open(self.err) as err:
            return out.read(), err.read()

    def ready(self):
        while self.process.poll() is None and \
                "ready" not in "".join(self.said()):
            time.sleep(0.01)
        return self

    def end(self):
        self.process.kill()
        self.process.wait()


def slow_calls(bench, pid):
    return Tool(bench, [requests.tool_of(bench), str(pid), "0"])


def all_types(bench, pid):
    return Tool(bench, [asks.tool(bench), str(pid)])


TOOLS = slow_calls, all_types


def check_next(bench, what, exe, target):
    """A tool that comes next has the stacks of the target, to its end. Return:
    its maps, and how many stacks."""
    tool = slow_calls(bench, target.pid).ready()
    numbers = pins.rings_of("client_states")
    bench.test(what + ": rings are those of who lives",
               len(numbers) == 2 and 0 in numbers, numbers)
    found = maps_of(tool.pid)
    target.terminate()
    target.wait()
    status = tool.process.wait()
    out, said = tool.said()
    count = requests.COUNT.search(said)
    if not bench.test(what + ": the next traces", status == 0 and count, said):
        return found, 0
    asked, filtered, none, _, _, stacks, copies, untold = map(int,
                                                              count.groups())
    calls = requests.calls_of(out, exe)
    bench.test(what + ": what it asks is delivered or counted",
               asked == len(calls) + filtered + none + untold and
               len(calls) == len({c[4] for c in calls}) and
               stacks + copies == untold + sum(c[3] == "lost" for c in calls),
               said)
    known = [c for c in calls if c[0] == PRCTL and c[3] != "lost"]
    wrong = [c for c in known if c[3] != "outermost" or
             not asks.fits(c[2][::-1], [])]
    bench.test(what + ": each stack is the known path, whole",
               len(known) + stacks + copies >= ROUNDS and not wrong,
               wrong[:3] or "%d stacks\n%s" % (len(known), said))
    return found, len(known)


def askers(bench):
    exe = begin(bench)
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    witness = bench.recorder("-a", *EVENT).ready()
    longest = {start: takes_to_begin(
        lambda start=start: start(bench, spin.pid).ready().end)
               for start in TOOLS}
    bench.note("ready after %s s" % ", ".join("%.3f" % took for took in
                                              longest.values()))
    its, targets, n, n_ready = set(), [], 0, 0
    for i in range(int(bench.args.times)):
        target = bench.start([exe])
        start = TOOLS[i % len(TOOLS)]
        tool = start(bench, target.pid)
        moment = some_moment(longest[start])
        time.sleep(moment)
        n_ready += "ready" in "".join(tool.said())
        its |= kill(tool.pid)
        tool.process.wait()
        livetest.burn(A_WHILE, target.pid) # or it waits for ever
        what = "%s, killed after %.3f s" % (start.__name__, moment)
        more, stacks = check_next(bench, what, exe, target)
        its |= more
        n += stacks
        targets.append(target.pid)
        if not bench.test(what + ": nobody else ends",
                          witness.process.poll() is None):
            break
    bench.note("%d of %d were ready; the next had %d stacks" % (
        n_ready, len(targets), n))
    left = await_gone(its - maps_of(witness.process.pid), spin)
    bench.test("nothing in the kernel is left of them", its and not left, left)
    check_witness(bench, witness.interrupt(), spin, targets)


def check_witness(bench, recording, spin, targets):
    clients.check_file(bench, "who records all the while", recording, spin.pid,
                       512)
    of, wrong = collections.Counter(), []
    for sample in recording.samples():
        if sample["pid"] in targets and clients.of_target([sample],
                                                          sample["pid"]):
            of[sample["pid"]] += 1
            if not serve.in_exec(sample) and \
                    not clients.fits(livetest.user_path(sample), 512):
                wrong.append(livetest.show(sample))
    bench.test("it has stacks of each target, and no wrong one",
               set(of) == set(targets) and not wrong,
               "\n".join(wrong[:5]) or "%d of %d" % (len(of), len(targets)))
    spin.kill()
    spin.wait()
    bench.test("nothing is pinned any more", not clients.groups(),
               clients.groups())


# --- the daemon ---

def opener_of(server):
    """Beside it; 0: not yet."""
    try:
        return serve.opener(server)
    except OSError:
        return 0


def kill_server(server):
    """Either of its processes, or both. Return: how, and its maps."""
    helper = opener_of(server)
    how = random.choice(("it", "what opens its files", "both")) if helper \
        else "it, alone yet"
    pids = {"what opens its files": (helper,),
            "both": (server.pid, helper)}.get(how, (server.pid,))
    its = maps_of(server.pid) | kill(*pids)
    return how, its


def servers(bench):
    """Both processes of all that there are."""
    wanted = ("%s\0serve\0" % bench.seam).encode()
    return [int(name) for name in os.listdir("/proc")
            if name.isdigit() and serve.cmdline(int(name))[0] == wanted]


def check_server_gone(bench, what, server, target):
    """Where one of two is killed the other ends."""
    patience = serve.Patience(target)
    while (server.poll() is None or servers(bench)) and \
            not patience.is_over():
        time.sleep(0.01)
    bench.test(what + ": both of its processes have ended",
               server.poll() is not None and not servers(bench),
               "%s %s" % (server.poll(), servers(bench)))


def start_server(bench):
    return bench.start([bench.seam, "serve"], env=bench.env,
                       stderr=open(bench.path("serve.log"), "w"))


def daemon_begins(bench):
    server, _ = serve.serve(bench)

    def end():
        serve.end(server, signal.SIGTERM)
    return end


def kill_daemons(bench, exe, longest, witness):
    """Return: the targets."""
    its, targets, ways = set(), [], collections.Counter()
    for i in range(int(bench.args.times)):
        server = start_server(bench)
        target = bench.start([exe])
        moment = some_moment(longest)
        time.sleep(moment)
        how, more = kill_server(server)
        ways[how] += 1
        its |= more
        what = "%s killed after %.3f s" % (how, moment)
        check_server_gone(bench, what, server, target)
        recorder = bench.recorder("-p", str(target.pid), *EVENT,
                                  name="next.data").ready()
        its |= maps_of(recorder.process.pid)
        livetest.burn(A_WHILE, target.pid)
        clients.check_file(bench, what, recorder.interrupt(), target.pid, 512)
        targets.append(target.pid)
        if witness:
            bench.test(what + ": nobody else ends",
                       witness.process.poll() is None)
        else:
            bench.test(what + ": nothing is left pinned", not clients.groups(),
                       clients.groups())
        serve.end(target)
    bench.note("killed: %s" % dict(ways))
    return its, targets


def daemons(bench):
    exe = begin(bench)
    spin = bench.start([bench.compile(clients.SOURCE, "known")])
    longest = takes_to_begin(lambda: daemon_begins(bench))
    bench.note("at work after %.3f s" % longest)
    its, _ = kill_daemons(bench, exe, longest, None)
    witness = bench.recorder("-a", *EVENT).ready()
    more, targets = kill_daemons(bench, exe, longest, witness)
    left = await_gone((its | more) - maps_of(witness.process.pid), spin)
    bench.test("nothing in the kernel is left of them", more and not left,
               left)
    check_witness(bench, witness.interrupt(), spin, targets)


def programs(bench):
    compiled(bench)
    bench.compile(clients.SOURCE, "known")


if __name__ == "__main__":
    clients.private()
    clients.private_tracefs()
    sys.exit(livetest.main(
        askers, daemons, programs=programs, of="deferred",
        options=(("--times", "8"),), tools=(
            ("--tool", "build/examples/example-slow-calls"),
            ("--since-tool", "build/tests/since/since-slow-calls"),
            ("--asks", "build/tests/asks/asks"),
            ("--since", "build/tests/asks/asks-since"))))
