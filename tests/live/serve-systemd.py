#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: systemd starts `seam serve` as its units say.

They are installed where root is a test's own. A manager of root's listens, and
starts the service for the first recording; it has the tables, and no more
rights and files than the units leave it. It ends when it is told to and when it
is idle, and whoever comes when it was killed has it again, however often that
was. A systemd that is process 1 takes the units too, and has the service begin
with the same rights; it cannot serve there, which has pids of its own, and says
so.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import types

import clients
import container
import livetest
import serve

SOCKET, SERVICE = "seam-serve.socket", "seam-serve.service"
DEATHS = 6 # more than systemd starts in ten seconds, if a unit says nothing
# Beside the cache and the pins: /tmp is its own, and a terminal nobody's.
WRITABLE = {"/sys/fs/bpf", "/var/cache/seam", "/tmp", "/var/tmp", "/dev/pts"}
RIGHTS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
          "Seccomp")


@contextlib.contextmanager
def booted(bench, kind):
    """It, and a program that is busy until it ends."""
    serve.prepare(bench)
    before = container.settings()
    systemd = container.Systemd(bench, kind)
    try:
        if bench.test(kind + ": systemd is up", systemd.is_up(),
                      systemd.log()):
            listens(bench, systemd, kind)
        yield systemd, serve.target(bench, "spin")
        bench.test(kind + ": systemd has gone on",
                   systemd.process.poll() is None, systemd.log())
        bench.test(kind + ": and changed nothing of the machine",
                   container.settings() == before, container.settings())
    finally:
        bench.end()
        for path in ("/run/systemd", "/run/seam", bench.path("spin")):
            subprocess.run(["rm", "-rf", path], check=True)


def listens(bench, systemd, kind):
    if kind == "user": # what the machine's has not in its environment
        systemd.ask("unset-environment", "HOME", "XDG_CACHE_HOME",
                    "XDG_RUNTIME_DIR")
    done = subprocess.run(
        systemd.command("systemd-analyze", "--" + kind, "verify", SOCKET,
                        SERVICE),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        env=systemd.words_env())
    bench.test(kind + ": it has nothing against the units",
               done.returncode == 0 and not done.stdout, done.stdout)
    done = systemd.ask("enable", "--now", SOCKET)
    states = [systemd.ask("is-active", unit).stdout.strip()
              for unit in (SOCKET, SERVICE)]
    bench.test(kind + ": it listens, and nothing runs", done.returncode == 0
               and states == ["active", "inactive"], "%s %s %s" % (
                   done.stdout, states, systemd.log()))


def drop_in(systemd, text):
    folder = "/etc/systemd/%s/%s.d" % (systemd.kind, SERVICE)
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/test.conf", "w") as f:
        f.write("[Service]\n" + text)
    systemd.ask("daemon-reload")


def knock():
    """As a recording does that begins."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        try:
            knocking.connect(serve.SOCKET)
            return True
        except (ConnectionRefusedError, FileNotFoundError):
            return False


def await_unit(systemd, spin, *states):
    """Until the service is so, or for long enough. Return: its process."""
    patience = serve.Patience(spin)
    while True:
        state, pid = systemd.tells(SERVICE, "ActiveState", "MainPID")
        if state in states or patience.is_over():
            return types.SimpleNamespace(pid=int(pid), state=state)
        time.sleep(0.02)


def how_it_ended(systemd):
    return systemd.tells(SERVICE, "Result", "ExecMainStatus")


def writable(mountinfo):
    """What is mounted for writing, and not hidden by what is mounted there
    later."""
    last = {}
    for line in mountinfo.splitlines():
        words = line.split()
        last[words[4]] = words[5].split(",")[0]
    return {path for path, mode in last.items() if mode == "rw"}


def check_files(bench, name, mountinfo):
    bench.test(name + ": files are read-only but the cache's and the pins",
               {"/sys/fs/bpf", "/var/cache/seam"} <= writable(mountinfo) <=
               WRITABLE, mountinfo)


def serves(bench, systemd, spin):
    """Waits until the service owns the tables of a program. Return: it."""
    server = await_unit(systemd, spin, "active")
    found = serve.await_doctor(bench, spin, lambda d: d["owner"] == server.pid)
    bench.test("it owns the tables", server.pid and
               found["owner"] == server.pid, "%s %s" % (found, systemd.log()))
    return server


def record(bench, name, program):
    """A recording, of a program that nobody has seen before it."""
    spin = serve.target(bench, program, serve.NOBODY)
    recorder = bench.recorder("-p", str(spin.pid), *serve.EVENT,
                              name=name + ".data").ready()
    serve.await_doctor(bench, spin, lambda d: d["tables"] > 1 and
                       not d["tables_asked"])
    livetest.burn(serve.ENOUGH, spin.pid)
    recording = recorder.interrupt()
    clients.check_file(bench, name, recording, spin.pid, 512)
    serve.end(spin)
    return recording


def check_rights(bench, server):
    helper = serve.opener(server)
    rights = serve.status(server.pid, *RIGHTS)
    bench.test("what serves has no right left",
               rights == ["%016x" % 0] * 5 + ["1", "2"], rights)
    three = "%016x" % sum(1 << serve.CAPABILITIES[name] for name in (
        "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE"))
    rights = serve.status(helper, "CapPrm", "CapEff", "CapBnd", *RIGHTS[4:]) \
        if helper else []
    bench.test("what opens its files has three",
               rights == [three] * 3 + ["%016x" % 0, "1", "2"], rights)
    for pid in filter(None, (server.pid, helper)):
        with open("/proc/%d/mountinfo" % pid) as f:
            check_files(bench, "at work", f.read())
    return helper


def stopped(bench, systemd, spin, helper):
    done = systemd.ask("stop", SERVICE)
    bench.test("it ends when it is told to", done.returncode == 0 and
               how_it_ended(systemd) == ["success", "0"],
               "%s %s" % (how_it_ended(systemd), systemd.log()))
    bench.test("and what opens its files with it", helper and
               serve.await_end(helper, spin))
    bench.test("nothing is left pinned", not clients.groups(),
               clients.groups())


def killed(bench, systemd, spin):
    """In a row: systemd is not to give up the socket for it."""
    for _ in range(DEATHS):
        came = knock()
        server = await_unit(systemd, spin, "active")
        if not came or not server.pid:
            break
        os.kill(server.pid, signal.SIGKILL)
        await_unit(systemd, spin, "failed", "inactive")
    bench.test("killed %d times: it was there each time" % DEATHS,
               came and server.pid and
               how_it_ended(systemd) == ["signal", "9"],
               "%s %s" % (vars(server), systemd.log()))


def blind(bench, systemd, spin):
    knock()
    server = await_unit(systemd, spin, "active")
    helper = serve.opener(server)
    if not bench.test("something opens its files", helper):
        return
    os.kill(helper, signal.SIGKILL)
    await_unit(systemd, spin, "failed")
    bench.test("it fails where that is killed, and says why",
               how_it_ended(systemd) == ["exit-code", "1"] and
               "what opens its files has ended" in systemd.log(),
               "%s %s" % (how_it_ended(systemd), systemd.log()))


def idle(bench, systemd, spin):
    """And with a unit for which a refused system call is the end."""
    drop_in(systemd, "SystemCallErrorNumber=\nExecStart=\nExecStart="
            "%s serve --quiet --idle 1\n" % bench.seam)
    for name in ("strict", "strict-again"):
        record(bench, name, name)
        server = await_unit(systemd, spin, "inactive", "failed")
        bench.test(name + ": it ends when nobody records",
                   [server.state, *how_it_ended(systemd)] ==
                   ["inactive", "success", "0"],
                   "%s %s" % (vars(server), systemd.log()))


def user(bench):
    """Root's own manager, that sees the machine's processes."""
    shutil.copytree(bench.args.units,
                    os.path.dirname(bench.args.units) + "/user",
                    dirs_exist_ok=True)
    with booted(bench, "user") as (systemd, spin):
        shared(bench, systemd, spin)
        killed(bench, systemd, spin)
        blind(bench, systemd, spin)
        record(bench, "third", "others-again")
        serves(bench, systemd, spin)
        systemd.ask("stop", SERVICE)
        idle(bench, systemd, spin)


def shared(bench, systemd, spin):
    """It comes for the first recording, and is there for the second."""
    record(bench, "first", "others")
    server = serves(bench, systemd, spin)
    kept = serve.doctor(bench)["tables"]
    second = record(bench, "second", "others-too")
    bench.test("the second loads no table", second.summary and
               not second.summary["tables"], second.summary)
    found = serve.doctor(bench)
    bench.test("the service does, and keeps those of the first",
               found["tables"] > kept > 0 and found["owner"] == server.pid,
               "%s %s" % (kept, found))
    bench.test("tables are kept on disk", os.listdir("/var/cache/seam") and
               os.stat("/var/cache/seam").st_mode & 0o777 == 0o700)
    helper = check_rights(bench, server)
    stopped(bench, systemd, spin, helper)


def started(bench, systemd):
    """What another program is left in its place."""
    drop_in(systemd, "Type=oneshot\nExecStart=\nExecStart=/bin/sh -c '"
            "cd /var/cache/seam; cat /proc/self/status >status; "
            "cat /proc/self/mountinfo >mountinfo'\n")
    done = systemd.ask("start", SERVICE)
    if not bench.test("the service begins", done.returncode == 0,
                      done.stdout + systemd.log()):
        return
    with open("/var/cache/seam/status") as f:
        found = dict(line.split(":\t", 1) for line in f)
    rights = [found[name].split()[0] for name in RIGHTS]
    left = "%016x" % sum(1 << n for n in serve.bounding_set())
    none = "%016x" % 0
    bench.test("it begins with the rights that its unit names", rights == [
        none, left, left, left, none, "1", "2"], rights)
    with open("/var/cache/seam/mountinfo") as f:
        check_files(bench, "at its start", f.read())
    shutil.rmtree("/etc/systemd/system/%s.d" % SERVICE)
    systemd.ask("daemon-reload")


def system(bench):
    """Process 1."""
    with booted(bench, "system") as (systemd, spin):
        started(bench, systemd)
        for _ in range(DEATHS):
            came = knock()
            await_unit(systemd, spin, "failed")
            ended = how_it_ended(systemd)
            systemd.ask("stop", SERVICE)
        bench.test("with pids of its own it cannot serve, and says so",
                   ended == ["exit-code", "1"] and
                   "this is a pid namespace" in systemd.log(),
                   "%s %s" % (ended, systemd.log()))
        bench.test("and however many came, it listens", came and
                   systemd.ask("is-active", SOCKET).stdout.strip() ==
                   "active", systemd.log())


def installed(args):
    """What `meson install` puts where."""
    seam = os.path.abspath(args[args.index("--seam") + 1])
    build = os.path.dirname(seam)
    files = json.loads(subprocess.run(
        ["meson", "introspect", "--installed", build], check=True,
        stdout=subprocess.PIPE).stdout)
    unit, = (path for path in files.values() if path.endswith(SERVICE))
    return build, files[seam], os.path.dirname(unit)


def outside():
    """Return: the exit status."""
    args = sys.argv
    build, seam, units = installed(args)

    def install(root):
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild"],
                       check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, DESTDIR=root))

    def why_not():
        return livetest.why_not(types.SimpleNamespace(
            seam=args[args.index("--seam") + 1], engine=None), None) or (
                None if os.path.exists("/lib/systemd/systemd") else
                "there is no systemd")

    rest = [word for i, word in enumerate(args[1:], 1)
            if "--seam" not in (word, args[i - 1])]
    return container.run(why_not, install, [
        sys.executable, os.path.abspath(args[0]), "--seam", seam,
        "--units", units, *rest])


if __name__ == "__main__":
    if container.is_inside():
        sys.exit(livetest.main(user, system, options=(("--units", ""),)))
    sys.exit(outside())
