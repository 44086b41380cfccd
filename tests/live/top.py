#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: seam top shows what a program of a known path does, while it
does it: tables line after line where there is no terminal, and in a terminal a
screen that keys change and that is given back.
"""

import os
import pty
import re
import select
import signal
import subprocess

import livetest

HEAD = re.compile(r"seam top: (\d+) samples in [\d.]+ s; (\d+) want a user "
                  r"stack(?:, ([\d.]+)% whole)?(.*); lost (\d+)\n")
PATH = livetest.SPIN_PATH[::-1]


def spinner(bench):
    return bench.start([bench.compile(livetest.SPIN, "spin"), "100000"])


def top(bench, *options, **more):
    return subprocess.run([bench.seam, "top", *options], env=bench.env,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **more)


def adds_up(head):
    """Whole and each other end code, named, are all that was wanted."""
    wanted, share, rest = int(head[1]), float(head[2] or 0), head[3]
    others = sum(int(n) for n in re.findall(r", [\w -]+ (\d+)", rest))
    return abs(wanted * share / 100 + others - wanted) <= 1e-4 * wanted + 0.01


def plain(bench):
    target = spinner(bench)
    done = top(bench, "-p", str(target.pid), "-e", "cpu-clock", "-F", "997",
               "-n", "3", "-d", "0.5")
    heads = [m.groups() for m in HEAD.finditer(done.stdout)]
    # (samples, wanted, whole, rest, lost)
    seen = [h for h in heads if int(h[1])]
    bench.test("so many tables, and what each wanted adds up",
               not done.returncode and len(heads) == 3 and seen and all(
                   adds_up((None, h[1], h[2], h[3])) for h in seen),
               done.stdout + done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    leaves = [r for r in rows if len(r) == 5 and r[4] == PATH[-1]]
    own = [float(r[0][:-1]) for r in leaves]
    samples = [int(r[2]) for r in leaves]
    # What else it does is to ask for the time, which is a fifth of it where
    # system calls are dear.
    bench.test("the program's leaf has most of it",
               own and max(samples) > 50 and
               own[samples.index(max(samples))] > 60, done.stdout)
    bench.test("the recorder's summary comes last, and no colour",
               "wanted" in done.stderr and "engine" in done.stderr and
               "\033" not in done.stdout, done.stderr)
    done = top(bench, "-p", str(target.pid), "-e", "cpu-clock", "--tree", "-n",
               "2", "-d", "0.5")
    tree = [line.split("%")[-1].strip(" ├└─│|`-") for line in
            done.stdout.splitlines()]
    bench.test("--tree: from the outermost function in", not done.returncode and
               any(tree[i:i + len(PATH)] == PATH for i in range(len(tree))),
               done.stdout)


def refusals(bench):
    for options, status, words in (
            (["-d", "no"], 2, "--delay takes a number"),
            (["-n", "0"], 2, "--count takes a number"),
            (["-o", "x"], 2, "writes no recording"),
            (["true"], 2, "takes no command"),
            (["-e", "nonsense"], None, "'nonsense' is no event")):
        done = top(bench, *options)
        bench.test("top %s: %s" % (" ".join(options), words),
                   words in done.stderr and not done.stdout and
                   (done.returncode == status if status is not None
                    else done.returncode), "%d\n%s%s" % (
                        done.returncode, done.stderr, done.stdout))


class Terminal:
    """seam top in a terminal of its own."""

    def __init__(self, bench, *options, command=None):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            command = command or [bench.seam, "top", *options]
            os.execve(command[0], command,
                      {**bench.env, "LC_ALL": "C", "TERM": "xterm"})

    def until(self, pattern):
        """What was shown until then; its end ends it as well."""
        seen = ""
        while not re.search(pattern, seen):
            if not select.select([self.fd], [], [], 60)[0]:
                break
            try:
                more = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                break
            seen += more
        self.text += seen
        return seen

    def key(self, key):
        os.write(self.fd, key.encode())

    def status(self):
        self.until("(?!)")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def in_terminal(bench):
    target = spinner(bench)
    screen = Terminal(bench, "-p", str(target.pid), "-e", "cpu-clock", "-d",
                      "0.3")
    table = screen.until(r"Functions by their own weight[^H]*\033\[J")
    screen.key("t")
    tree = screen.until(r"Call tree[^H]*\033\[J")
    screen.key("q")
    status = screen.status()
    bench.test("a screen of its own, a table, a tree by the key t",
               "\033[?1049h" in table and "Functions by" in table and
               "Call tree" in tree, repr(screen.text[:3000]))
    bench.test("q ends it, and the screen is given back before the summary",
               status == 0 and
               "wanted" in screen.text.split("\033[?1049l")[-1],
               "%d\n%s" % (status, repr(screen.text[-3000:])))
    screen = Terminal(bench, "-p", str(target.pid), "-e", "cpu-clock", "-d",
                      "0.3")
    screen.until(r"\033\[J")
    os.kill(screen.pid, signal.SIGTERM)
    status = screen.status()
    bench.test("a signal ends it likewise", status == 0 and
               "wanted" in screen.text.split("\033[?1049l")[-1],
               "%d\n%s" % (status, repr(screen.text[-3000:])))


# A shell with jobs, as a user's: what Ctrl-Z stops, fg brings back.
JOBS = """set -m
"$0" "$@"
echo "stopped: $?."
stty -a
fg
echo "ended: $?."
"""


def stopped(bench):
    target = spinner(bench)
    screen = Terminal(bench, command=[
        "/bin/bash", "-c", JOBS, os.path.abspath(bench.seam), "top", "-p",
        str(target.pid), "-e", "cpu-clock", "-d", "0.3"])
    screen.until(r"Functions by their own weight[^H]*\033\[J")
    screen.key("\x1a")
    seen = screen.until(r"stopped: \d+\.")
    bench.test("Ctrl-Z gives the screen back",
               re.search(r"\033\[\?1049l(.|\n)*stopped: 148\.", seen),
               repr(seen))
    screen.until(r"Functions by their own weight[^H]*\033\[J")
    seen = screen.text.split("stopped: ")[-1]
    bench.test("and the terminal's settings; fg takes it again",
               re.search(r" icanon (.|\n)* echo (.|\n)*\033\[\?1049h"
                         r"(.|\n)*Functions by", seen), repr(seen))
    screen.key("q")
    screen.until(r"ended: \d+\.")
    screen.status()
    bench.test("and its keys", re.search(
        r"\033\[\?1049l(.|\n)*wanted(.|\n)*ended: 0\.",
        screen.text.split("stopped: ")[-1]), repr(screen.text[-3000:]))


def target_ends(bench):
    target = spinner(bench)
    with subprocess.Popen([bench.seam, "top", "-p", str(target.pid), "-e",
                           "cpu-clock", "-d", "0.3"], env=bench.env,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as running:
        for line in running.stdout:
            if PATH[-1] in line:
                break
        target.kill()
        target.wait()
        rest, errors = running.communicate()
    bench.test("it ends with the last of its targets", not running.returncode
               and "wanted" in errors, errors + rest)


livetest.main(plain, refusals, in_terminal, stopped, target_ends)
