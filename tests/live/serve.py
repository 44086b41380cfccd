#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tables have one owner, of whose death nothing is lost.

`seam serve` loads what a recording asks for, of other users' programs too, and
has it for the next, which asks for nothing. It is killed while two recordings
run, which go on, and one of them loads the tables of a program that nobody has
seen before; that one is killed, and the other does. Counts add up, and each
stack is the known path. Then it is killed at any moment. What a daemon serves it
leaves alone. All in a BPF file
system of its own.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import clients
import fuse
import livetest

NOBODY = 65534
EVENT = clients.EVENT
# Events so far apart that recordings of a minute stay small.
SOURCE = clients.SOURCE.replace("i < 400000", "i < 4000000")
# Seconds of a target's CPU time.
ENOUGH = 0.1 # each with many samples
LONGEST_S = 0.3 # about as long as a table takes, on a machine that is busy
UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../cli/systemd/seam-serve.service.in")
PR_CAPBSET_DROP = 24
CLONE_NEWNS = 0x20000
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
MS_REC, MS_SLAVE = 1 << 14, 1 << 19
CAPABILITIES = {"CAP_DAC_READ_SEARCH": 2, "CAP_SETPCAP": 8,
                "CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39,
                "CAP_CHECKPOINT_RESTORE": 40}
PATIENCE = 20 # owners are looked for each second
SOCKET = "/run/seam/serve.socket"
KNOCKS_S = 60 # it should end after six, and a slow start


def doctor(bench):
    """The one group's clients, as doctor has them."""
    answer = subprocess.run([bench.seam, "doctor", "--clients", "--json"],
                            stdout=subprocess.PIPE, env=bench.env).stdout
    groups = json.loads(answer).get("clients", [])
    return groups[0] if groups else {"owner": 0, "clients": [], "tables": 0,
                                     "tables_asked": 0}


def owner():
    """Who holds the lock of the tables, also before it has sent a word."""
    groups = clients.groups()
    ino = os.stat(os.path.join(clients.FOLDER, groups[0], "owner")).st_ino
    with open("/proc/locks") as locks:
        for line in locks:
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(":%d" % ino):
                return int(words[4])
    return 0


def bounding_set():
    """What the unit leaves it, by number."""
    with open(UNIT) as lines:
        line, = [line for line in lines
                 if line.startswith("CapabilityBoundingSet=")]
    return {CAPABILITIES[name] for name in line.split("=")[1].split()}


def as_by_unit(bench):
    """To be called where the program is about to run: as the unit has it, files
    are read-only but the cache's, those of others are hidden, and rights are
    few."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source, target, kind, flags):
        if libc.mount(source.encode(), target.encode(), kind, flags, None):
            raise OSError(ctypes.get_errno(), target)

    cache = bench.env["XDG_CACHE_HOME"]
    libc.unshare(CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_SLAVE)
    kept = os.open(cache, os.O_PATH)
    mount("tmpfs", bench.folder, b"tmpfs", 0)
    os.mkdir(cache)
    mount("/proc/self/fd/%d" % kept, cache, None, MS_BIND)
    for folder in (bench.folder, "/"):
        mount("none", folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    left = bounding_set()
    for number in range(64):
        if number not in left:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)


class Patience:
    """Ends when a target has used more CPU time than takes all that is waited
    for: a machine that is busy gives it that later, so that a wait that is in
    vain fails, and one for a slow machine does not."""

    def __init__(self, target):
        self.pid = target.pid
        self.end = (livetest.cpu_ticks(target.pid) +
                    PATIENCE * os.sysconf("SC_CLK_TCK"))

    def is_over(self):
        return livetest.cpu_ticks(self.pid) >= self.end


def await_owner(recorders, spin):
    patience = Patience(spin)
    while owner() not in recorders and not patience.is_over():
        time.sleep(0.01)
        if all(r.process.poll() is not None for r in recorders.values()):
            break


def await_doctor(bench, spin, good):
    """Until it says so, as far as those that run let it."""
    patience = Patience(spin)
    while True:
        found = doctor(bench)
        if good(found) or not found["clients"] or patience.is_over():
            return found
        time.sleep(0.05)


def serve(bench, *options, **popen):
    log = bench.path("serve.log")
    process = bench.start([bench.seam, "serve", *options],
                          stderr=open(log, "w"), env=bench.env, **popen)
    while process.poll() is None and "at work" not in open(log).read():
        time.sleep(0.01)
    return process, log


def status(pid, *names):
    """What /proc/PID/status has for these."""
    with open("/proc/%d/status" % pid) as lines:
        found = dict(line.split(":\t", 1) for line in lines)
    return [found[name].split()[0] for name in names]


def cmdline(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read(), os.getpgid(pid)
    except (FileNotFoundError, ProcessLookupError):
        return b"", 0


def opener(server):
    """The process that opens files for it: no child of its, nor of ours."""
    wanted = cmdline(server.pid)
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = [pid for pid in pids
             if pid != server.pid and cmdline(pid) == wanted]
    return found[0] if len(found) == 1 else 0


def await_end(pid, spin):
    """Whether a process that is not ours to reap has ended."""
    patience = Patience(spin)
    while cmdline(pid)[0] and not patience.is_over():
        time.sleep(0.01)
    return not cmdline(pid)[0]


def target(bench, name, user=0):
    """A program that is a file of its own: no table of another fits it."""
    exe = bench.path(name)
    shutil.copy(bench.path("known"), exe)
    os.chown(exe, user, user)
    os.chmod(exe, 0o700)
    return bench.start([exe], user=user, group=user, extra_groups=[])


def end(process, signum=signal.SIGKILL):
    process.send_signal(signum)
    return process.wait()


def in_exec(sample):
    """Of the fork that became the program."""
    return any("exec" in str(frame) for frame in
               livetest.kernel_frames(sample))


def check_paths(bench, name, samples, pid):
    mine = [s for s in clients.of_target(samples, pid) if not in_exec(s)]
    wrong = [s for s in mine if not clients.fits(livetest.user_path(s), 512)]
    bench.test(name + ": every stack is the known path", mine and not wrong,
               livetest.show(wrong[0]) if wrong else "no samples")


def prepare(bench):
    bench.compile(SOURCE, "known")
    os.chmod(bench.folder, 0o755)


def warm(bench):
    prepare(bench)
    server, log = serve(bench)
    spin = target(bench, "others", NOBODY)
    first = bench.recorder("-p", str(spin.pid), *EVENT,
                           name="first.data").ready()
    # The program's own, and that of what called main.
    await_doctor(bench, spin, lambda d: d["tables"] > 1 and not d["tables_asked"])
    livetest.burn(ENOUGH, spin.pid)
    first = first.interrupt()
    clients.check_file(bench, "first", first, spin.pid, 512)
    bench.test("the first loads none itself", not first.summary["tables"],
               first.summary)
    kept = doctor(bench)
    bench.test("its tables are kept", kept["tables"] and
               kept["owner"] == server.pid, kept)
    second = bench.recorder("-p", str(spin.pid), *EVENT,
                            name="second.data").ready()
    livetest.burn(ENOUGH, spin.pid)
    second = second.interrupt()
    clients.check_file(bench, "second", second, spin.pid, 512)
    bench.test("the second asks for no table, and has each stack whole",
               second.summary and not second.summary["tables_asked"] and
               not second.summary["tables"] and
               not second.summary["copies"] and second.summary["stacks"],
               second.summary)
    bench.test("and for no more are there",
               doctor(bench)["tables"] == kept["tables"], doctor(bench))
    names = ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb", "NoNewPrivs",
             "Seccomp")
    rights, helper = status(server.pid, *names), opener(server)
    bench.test("what serves has no right left",
               rights == ["%016x" % 0] * 5 + ["1", "2"], rights)
    # sys_ptrace, dac_read_search, checkpoint_restore
    three = "%016x" % (1 << 19 | 1 << 2 | 1 << 40)
    rights = status(helper, *names) if helper else []
    bench.test("what opens its files has three",
               rights == [three] * 3 + ["%016x" % 0] * 2 + ["1", "2"], rights)
    bench.test("and ends when it is told to", end(server, signal.SIGTERM) == 0,
               open(log).read())
    bench.test("and that one with it", await_end(helper, spin))
    end(spin)
    bench.test("nothing is left pinned", not clients.groups(),
               clients.groups())


def blind(bench):
    """What opens its files is killed."""
    prepare(bench)
    server, log = serve(bench)
    old = target(bench, "old")
    one = bench.recorder("-a", *EVENT, name="one.data").ready()
    await_doctor(bench, old, lambda d: d["tables"] > 1)
    known = doctor(bench)["tables"]
    helper = opener(server)
    if not bench.test("something opens its files", helper):
        return
    os.kill(helper, signal.SIGKILL)
    new = target(bench, "new")
    bench.test("it ends, and says why", server.wait() == 1 and
               "what opens its files has ended" in open(log).read(),
               open(log).read())
    found = await_doctor(bench, new, lambda d: d["tables"] > known and
                         d["owner"] == one.process.pid)
    bench.test("the recording has the tables, with the new one",
               found["owner"] == one.process.pid and found["tables"] > known,
               found)
    livetest.burn(ENOUGH, new.pid)
    one = one.interrupt()
    check_paths(bench, "blind", one.samples(), new.pid)
    for process in (old, new):
        end(process)


def bounded(bench):
    """With no more rights and files than the unit gives it."""
    prepare(bench)
    os.makedirs(bench.env["XDG_CACHE_HOME"], 0o700, exist_ok=True)
    server, log = serve(bench, preexec_fn=lambda: as_by_unit(bench))
    spin = target(bench, "others", NOBODY)
    seen = ["/proc/%d/root%s" % (server.pid, path)
            for path in (bench.path("others"), bench.env["XDG_CACHE_HOME"])]
    bench.test("bounded: it sees no path to the program, but its cache",
               [os.path.exists(path) for path in seen] == [False, True], seen)
    one = bench.recorder("-p", str(spin.pid), *EVENT).ready()
    found = await_doctor(bench, spin, lambda d: d["tables"] > 1)
    bench.test("bounded: it loads tables", found["owner"] == server.pid and
               found["tables"] > 1, "%s %s" % (found, open(log).read()))
    livetest.burn(ENOUGH, spin.pid)
    one = one.interrupt()
    clients.check_file(bench, "bounded", one, spin.pid, 512)
    bench.test("bounded: the recording loads none itself",
               not one.summary["tables"], one.summary)
    bench.test("bounded: tables are kept on disk",
               os.listdir(bench.env["XDG_CACHE_HOME"] + "/seam"))
    bench.test("bounded: it ends", end(server, signal.SIGTERM) == 0)
    end(spin)


def notified(bench):
    """systemd is told when it is at work, and when it is about to end."""
    for kind, name in (("a file", bench.path("notify")),
                       ("abstract", "\0seam-test-%d" % os.getpid())):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name)
            server = bench.start(
                [bench.seam, "serve", "--quiet"],
                env=dict(bench.env, NOTIFY_SOCKET=name.replace("\0", "@")))
            words = heard(manager, server)
            bench.test(kind + ": it says that it is at work",
                       words == ["READY=1"], words)
            end(server, signal.SIGTERM)
            words = heard(manager, server)
            bench.test(kind + ": and that it is about to end",
                       words == ["STOPPING=1"], words)


def heard(manager, server):
    """What was said, once there is something or the server has ended."""
    words, manager_fd = [], manager.fileno()
    while not words:
        has_ended = server.poll() is not None
        while select.select([manager_fd], [], [], 0.1)[0]:
            words.append(manager.recv(64).decode())
        if has_ended:
            break
    return words


def killed(bench):
    prepare(bench)
    server, _ = serve(bench)
    old = target(bench, "old")
    one = bench.recorder("-a", *EVENT, name="one.data").ready()
    two = bench.recorder("-a", *EVENT, name="two.data").ready()
    await_doctor(bench, old, lambda d: d["tables"] > 1)
    livetest.burn(ENOUGH, old.pid)
    before = doctor(bench)
    recorders = {one.process.pid: one, two.process.pid: two}
    helper = opener(server)
    end(server)
    bench.test("what opened its files ends with it", helper and
               await_end(helper, old), helper)
    await_owner(recorders, old)
    new = target(bench, "new")
    found = await_doctor(bench, new,
                         lambda d: d["tables"] > before["tables"])
    bench.test("a recording takes the tables over",
               found["owner"] in recorders, found)
    bench.test("with all that were loaded, and loads more",
               found["tables"] > before["tables"], found)
    livetest.burn(ENOUGH, new.pid)
    end(recorders.pop(found["owner"]).process)
    await_owner(recorders, old)
    newer = target(bench, "newer")
    found = await_doctor(bench, newer,
                         lambda d: d["tables"] > before["tables"] + 1)
    (pid, left), = recorders.items()
    bench.test("and the other when that is killed", found["owner"] == pid,
               found)
    for process in (old, new, newer):
        livetest.burn(ENOUGH, process.pid)
    left = left.interrupt()
    clients.check_file(bench, "of before", left, old.pid, 512)
    samples = left.samples()
    check_paths(bench, "of the first death", samples, new.pid)
    check_paths(bench, "of the second", samples, newer.pid)
    for process in (old, new, newer):
        end(process)


def moment(bench, number):
    """The owner is killed while it may be about to answer, and another file
    comes when it is dead."""
    server, _ = serve(bench)
    old = target(bench, "old%d" % number)
    one = bench.recorder("-a", *EVENT, name="moment.data").ready()
    await_doctor(bench, old, lambda d: d["tables"] > 1)
    known = doctor(bench)["tables"]
    before = target(bench, "before%d" % number)
    time.sleep(random.uniform(0, LONGEST_S))
    end(server)
    after = target(bench, "after%d" % number)
    found = await_doctor(bench, after, lambda d: d["tables"] >= known + 2 and
                         d["owner"] == one.process.pid)
    bench.test("moment %d: the recording has the tables, with both new ones" %
               number, found["owner"] == one.process.pid and
               found["tables"] >= known + 2, found)
    programs = (old, before, after)
    for process in programs:
        livetest.burn(ENOUGH, process.pid)
    one = one.interrupt()
    clients.check_file(bench, "moment %d" % number, one, old.pid, 512)
    samples = one.samples()
    for process in programs[1:]:
        check_paths(bench, "moment %d" % number, samples, process.pid)
    for process in programs:
        end(process)
    bench.test("moment %d: nothing is left pinned" % number,
               not clients.groups(), clients.groups())


def moments(bench):
    seed = random.randrange(1 << 32)
    bench.note("seed %d" % seed)
    random.seed(seed)
    prepare(bench)
    for number in range(int(bench.args.times)):
        moment(bench, number)


@contextlib.contextmanager
def listening():
    """As systemd does for it. The socket; None: somebody does so here."""
    if os.path.exists(SOCKET):
        yield None
        return
    folder = os.path.dirname(SOCKET)
    made = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(SOCKET)
        listener.listen()
        listener.settimeout(0)
        yield listener
    finally:
        listener.close()
        os.unlink(SOCKET)
        if made:
            os.rmdir(folder)


def start_woken(bench, listener):
    script = 'exec 3<&%d; export LISTEN_PID=$$; exec "$0" serve --idle 1'
    return bench.start(
        ["sh", "-c", script % listener.fileno(), bench.seam],
        pass_fds=[listener.fileno()], env=dict(bench.env, LISTEN_FDS="1"))


def woken(bench):
    """As systemd does it: listens, and starts it when the first comes."""
    with listening() as listener:
        if not listener:
            bench.skip("is started by a recording", SOCKET + " is in use here")
            return
        prepare(bench)
        spin = target(bench, "spin")
        first = bench.recorder("-p", str(spin.pid), *EVENT).ready()
        bench.test("a recording says that it comes", came(listener))
        server = start_woken(bench, listener)
        await_doctor(bench, spin, lambda d: len(d["clients"]) == 2)
        first = first.interrupt()
        bench.test("it ends when nobody has come for a second",
                   server.wait() == 0)
        clients.check_file(bench, "first", first, spin.pid, 512)
        end(spin)


def knocked(bench):
    """Others than those whom it serves knock, as another build's recordings do,
    and none comes."""
    with listening() as listener:
        if not listener:
            bench.skip("knocks of others", SOCKET + " is in use here")
            return
        server, knocks = start_woken(bench, listener), 0
        until = time.monotonic() + KNOCKS_S
        while server.poll() is None and time.monotonic() < until:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
                knock.settimeout(1)
                try:
                    knock.connect(SOCKET)
                    knocks += 1
                except (BlockingIOError, TimeoutError):
                    pass  # those that wait for a slow start fill the queue
            time.sleep(0.1)
        bench.note("%d knocks" % knocks)
        bench.test("it ends though others knock", server.poll() == 0,
                   server.poll())
        if server.poll() is None:
            end(server)


def idle(bench):
    """Two that keep each other company are nobody to be served."""
    servers = [serve(bench, "--idle", "1")[0] for _ in range(2)]
    bench.test("both end when nobody records",
               [server.wait() for server in servers] == [0, 0])
    bench.test("and leave nothing pinned", not clients.groups(),
               clients.groups())


def far(bench):
    """It opens no file that a daemon serves: that is refused, counted, and the
    recording has the stacks by copies."""
    prepare(bench)
    daemon = fuse.Daemon(bench, bench.path("known"))
    if daemon.line != "mounted\n":
        bench.skip("far", "no FUSE: " + daemon.end())
        return
    try:
        refused(bench, os.path.join(daemon.folder, "prog"))
    finally:
        daemon.end()


def refused(bench, program):
    server, _ = serve(bench)
    spin = bench.start([program])
    one = bench.recorder("-p", str(spin.pid), *EVENT).ready()
    found = await_doctor(bench, spin, lambda d: d.get("tables_far"))
    livetest.burn(ENOUGH, spin.pid)
    later = doctor(bench)
    text = subprocess.run([bench.seam, "doctor", "--clients"],
                          stdout=subprocess.PIPE, encoding="utf-8",
                          env=bench.env).stdout
    one = one.interrupt()
    end(spin)
    end(server, signal.SIGTERM)
    bench.test("far: its one file is refused, by who owns the tables, and once",
               found["owner"] == server.pid and found.get("tables_far") == 1 ==
               later["tables_far"], "%s %s" % (found, later))
    bench.test("far: and stays asked for", later["tables_asked"] >= 1, later)
    bench.test("far: so says the line for people", "; 1 requests refused, of "
               "file systems that others serve; " in text, text)
    clients.check_file(bench, "far", one, spin.pid, 512)
    bench.test("far: the stacks come by copies", one.summary and
               one.summary["copies"], one.log)


def has_open(pid, path):
    for number in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.readlink("/proc/%d/fd/%s" % (pid, number)) == path:
                return True
        except FileNotFoundError:
            pass
    return False


def told(bench):
    """While it waits for another that keeps the folder."""
    os.makedirs(clients.FOLDER, 0o700, exist_ok=True)
    folder = os.open(clients.FOLDER, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    server = bench.start([bench.seam, "serve"], env=bench.env)
    while server.poll() is None and not has_open(server.pid, clients.FOLDER):
        time.sleep(0.01)
    bench.test("it ends when it is told to before it has begun",
               end(server, signal.SIGTERM) == 0, server.returncode)
    os.close(folder)


def came(listener):
    try:
        listener.accept()[0].close()
        return True
    except BlockingIOError:
        return False


if __name__ == "__main__":
    clients.private()
    subprocess.run(["mount", "-t", "bpf", "-o", "mode=0700", "bpf",
                    "/sys/fs/bpf"], check=False)
    sys.exit(livetest.main(warm, bounded, notified, killed, blind, moments, woken, knocked, idle, told, far,
                           options=(("--times", "2"),)))
