#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: stacks are asked for in NMIs, in user code and in the kernel, by
two recordings and by a tool whose own program asks, while a clock of a third
ticks often: each NMI has one cookie, in all three, and one stack, the known path.

No counter of the hardware is needed. The kernel says with an NMI what each CPU
does when it finds that a task hangs, if it is told to, and looks once a second.
The task that hangs has asked a FUSE daemon something, which never answers.
"""

import collections
import contextlib
import os
import subprocess
import sys
import time

import asks
import clients
import fuse
import livetest
import requests
import serve
from afterwards import afterwards

EVENT = ("-e", "nmi:nmi_handler/name=watchdog/", "-c", "1")
# The kernel's, and how they stand while a task is to be found that hangs. The
# last begins it.
KERNEL = "/proc/sys/kernel/"
SETTINGS = (("hung_task_warnings", "-1"),
            ("hung_task_all_cpu_backtrace", "1"),
            ("hung_task_check_interval_secs", "1"),
            ("hung_task_timeout_secs", "1"))
# As long in user code as in the kernel.
SOURCE = r"""
#include <fcntl.h>
#include <sys/syscall.h>
#define STAY() __asm__ volatile("" ::: "memory")
static volatile unsigned long sink;
static char room[16 << 20];
static long fd;
void leaf(void)
{
	for (int i = 0; i < 1000000; i++)
		sink++;
	long ret; /* read(), without a frame of libc's */
	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_read), "D"(fd),
			 "S"(room), "d"(sizeof(room)) : "rcx", "r11", "memory");
	STAY();
}
/* What the tool's other programs want. */
void probed(void) { STAY(); }
void slept(void) { STAY(); }
void returned(void) { STAY(); }
void inner(void) { leaf(); STAY(); }
void middle(void) { inner(); STAY(); }
void outer(void) { middle(); STAY(); }
int main(void) { fd = open("/dev/zero", O_RDONLY); for (;;) outer(); }
"""


def setting(name, value=None):
    with open(KERNEL + name, "r" if value is None else "w") as f:
        return f.read().strip() if value is None else f.write(value)


def why_none():
    """Why no NMI can be had here, or None."""
    if not all(os.access(KERNEL + name, os.W_OK) for name, _ in SETTINGS):
        return "this kernel looks for no task that hangs"
    if setting("hung_task_panic") != "0":
        return "this kernel panics where a task hangs"
    if len(os.sched_getaffinity(0)) < 2:
        return "one CPU, to which none is sent"
    return None


def nmis(cpu):
    """Taken by a CPU since the machine began."""
    with open("/proc/interrupts") as f:
        cpus = f.readline().split()
        for line in f:
            words = line.split()
            if words[0] == "NMI:":
                return int(words[1 + cpus.index("CPU%d" % cpu)])
    return 0


@contextlib.contextmanager
def settings():
    before = [(name, setting(name)) for name, _ in SETTINGS]

    def restore():
        for name, value in reversed(before):
            setting(name, value)
        return True

    with afterwards(restore):
        for name, value in SETTINGS:
            setting(name, value)
        yield


def hang(bench, daemon):
    """A task that nothing wakes but the daemon, whose request it has taken."""
    daemon.command("s")
    task = bench.start(["stat", "-f", daemon.folder],
                       stdout=subprocess.DEVNULL)
    while task.poll() is None and daemon.command("?") == "0\n":
        time.sleep(0.01)
    task.kill()
    while livetest.state(task.pid) not in "DZ":
        time.sleep(0.01)
    return livetest.state(task.pid) == "D"


class Target:
    """The program, on a CPU of its own, so that who finds what hangs runs on
    another and sends it the NMI."""

    def __init__(self, bench):
        self.cpu = max(os.sched_getaffinity(0))
        self.exe = bench.compile(SOURCE, "known", "-no-pie")
        self.process = bench.start(
            [self.exe], preexec_fn=lambda: os.sched_setaffinity(0, {self.cpu}))
        self.pid = self.process.pid

    def take(self, n):
        """So many NMIs, or fewer, where they do not come."""
        first, last = nmis(self.cpu), 0
        with settings():
            while last < n:
                patience, before = serve.Patience(self.process), last
                while last == before and not patience.is_over():
                    time.sleep(0.1)
                    last = nmis(self.cpu) - first
                if last == before:
                    break
        return last


class Tool:
    def __init__(self, bench, pid):
        self.out, self.err = bench.path("out"), bench.path("err")
        self.process = bench.start(
            ["unshare", "-m", "sh", "-c", asks.TRACEFS, "sh",
             asks.tool(bench), str(pid), "0", "0", "nmi"],
            stdout=open(self.out, "w"), stderr=open(self.err, "w"),
            env=bench.env)
        while self.process.poll() is None and \
                "ready" not in open(self.out).read():
            time.sleep(0.01)

    def wait(self):
        self.status = self.process.wait()
        with open(self.out) as out, open(self.err) as err:
            return [line.split() for line in out], err.read()


def ask_in_nmis(bench):
    what = "NMIs"
    if why_none():
        bench.skip(what, why_none())
        return
    fuse.with_daemon(bench, what, "int main(void) { return 0; }", run)


def run(bench, what, daemon, _):
    if not bench.test(what + ": a task hangs", hang(bench, daemon)):
        return
    target = Target(bench)
    of = ("-p", str(target.pid))
    deep = bench.recorder(*of, *EVENT, name="deep.data").ready()
    shallow = bench.recorder("-a", *EVENT, "--max-stack", str(clients.SHALLOW),
                             name="shallow.data").ready()
    clock = bench.recorder(*of, "-e", "cpu-clock", "-F", "4999",
                           name="clock.data").ready()
    tool = Tool(bench, target.pid)
    n = target.take(int(bench.args.nmis))
    deep, shallow, clock = (r.interrupt() for r in (deep, shallow, clock))
    target.process.kill()
    target.process.wait()
    lines, said = tool.wait()
    daemon.command("g")
    bench.note("%d NMIs at the program's CPU" % n)
    if not bench.test(what + ": they come", n >= int(bench.args.nmis), n):
        return
    check_clock(bench, clock, target.pid)
    deep = of_nmis(bench, "deep", deep, target, 512)
    shallow = of_nmis(bench, "shallow", shallow, target, clients.SHALLOW)
    clients.compare(bench, "deep and shallow", deep, shallow, clients.SHALLOW)
    cookies = check_tool(bench, target, tool.status, lines, said)
    # The interrupt's own count is of the CPU, whoever runs there.
    bench.test(what + ": nearly each met the program",
               len(cookies) > n / 2, "%d of %d" % (len(cookies), n))
    bench.test(what + ": each has one cookie, whoever asks",
               cookies_of(deep) == cookies_of(shallow) == cookies,
               "%s\n%s\n%s" % tuple(sorted(map(hex, c)) for c in (
                   cookies_of(deep), cookies_of(shallow), cookies)))


def check_clock(bench, recording, pid):
    """It meets the functions on their way, too."""
    mine = clients.of_target(recording.samples(), pid)
    wrong = [s for s in mine if s["end"] != "outermost" or
             not begins(livetest.user_path(s))]
    bench.test("clock: every stack is of the known path, and whole",
               mine and not wrong,
               livetest.show(wrong[0]) if wrong else recording.log)


def begins(path):
    path = path[path.index("main"):] if "main" in path else []
    return path and path == clients.PATH[:len(path)]


def cookies_of(samples):
    return {int(cookie, 16) for _, cookie in samples}


def is_in_call(sample):
    return any("sys_read" in f.get("sym", "")
               for f in livetest.kernel_frames(sample))


def of_nmis(bench, name, recording, target, depth):
    samples = clients.check_file(bench, name, recording, target.pid, depth)
    found = samples.values()
    where = collections.Counter(map(is_in_call, found))
    ends = collections.Counter(s["end"] for s in found)
    bench.test(name + ": in user code, and in the kernel",
               where[False] and where[True], where)
    bench.test(name + ": whole", depth < len(clients.PATH) or
               set(ends) == {"outermost"}, ends)
    return samples


def check_tool(bench, target, status, lines, said):
    """Return: the cookies that its program was given."""
    if not bench.test("tool: its program asks", status == 0, said):
        return set()
    given, stacks, missing, counts = asks.parse(lines, target.exe)
    if "nmi" in missing:
        bench.test("tool: can be attached", False, missing)
        return set()
    total, filtered, none, seen, unseen, *_ = counts
    bench.test("tool: every request was seen, and answered",
               total - filtered == seen == len(given["nmi"]) and
               not unseen and not none, counts)
    found = [stacks.get(c, []) for c in set(given["nmi"])]
    wrong = [s for s in found if len(s) != 1 or s[0][0] != "outermost" or
             not asks.fits(s[0][1], [])]
    bench.test("tool: each cookie has one stack, the known path, whole",
               found and not wrong, wrong[:3])
    return {int(c, 16) for c in given["nmi"]}


if __name__ == "__main__":
    clients.private_tracefs()
    sys.exit(livetest.main(ask_in_nmis, of="deferred", options=(
        ("--nmis", "16"),), tools=(
        ("--asks", "build/tests/asks/asks"),
        ("--since", "build/tests/asks/asks-since"))))
