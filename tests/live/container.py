# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A root of its own, which is this machine's until something is written there,
for a test that boots systemd; all of it is gone when the test is, however that
ends.

It has the pids of the machine, since no others share tables. systemd is a
machine's manager only where it is process 1, so there it has pids of its own;
or it is root's own manager, which does by a unit what the machine's does.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import livetest
from afterwards import afterwards

INSIDE = "SEAM_TEST_CONTAINER"
SOURCES = os.path.realpath(os.path.join(livetest.HERE, "../.."))
PR_SET_PDEATHSIG, PR_CAPBSET_DROP = 1, 24
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
APART = ("unshare", "--mount", "--uts", "--ipc", "--net", "--cgroup",
         "--propagation", "private")
# module, boot, time: what a container has not.
WITHOUT = (16, 22, 25)
RUN = "/run"

# The machine's settings, to systemd too, which as process 1 would change some.
CLOSE = r"""
for closed in sys sysrq-trigger; do
	[ ! -e "$closed" ] || mount --bind "$closed" "$closed"
	[ ! -e "$closed" ] || mount -o remount,bind,ro "$closed"
done
"""

# Of pids of its own.
PROC = r"""
set -e
mount -t proc proc /proc
cd /proc
""" + CLOSE + r"""cd /
"""

MAKE = r"""
set -e
top=$1
mount -t tmpfs -o mode=0755 tmpfs "$top"
cd "$top"
mkdir upper work root cgroup system user
mount -t cgroup2 cgroup2 cgroup
# No other units: those that set up a machine would set up this one.
for unit in basic shutdown sockets sysinit umount; do
	for kind in system user; do
		from=/usr/lib/systemd/$kind/$unit.target
		[ ! -e "$from" ] || cp "$from" "$kind"
	done
done
mount -t overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" \
	overlay root
cd root
for empty in run tmp dev var/cache etc/systemd \
	     usr/lib/systemd/system usr/lib/systemd/user \
	     usr/lib/systemd/system-generators \
	     usr/lib/systemd/user-generators; do
	mkdir -p "$empty"
	mount -t tmpfs -o mode=0755 tmpfs "$empty"
done
chmod 1777 tmp
cp ../system/* usr/lib/systemd/system
cp ../user/* usr/lib/systemd/user
mount --bind /proc proc
cd proc
""" + CLOSE + r"""cd ..
mount --bind /sys sys
mount -t bpf -o mode=0700 bpf sys/fs/bpf
mount -t tracefs tracefs sys/kernel/tracing || :
for device in null zero full random urandom tty; do
	: >"dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
: >dev/console
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
"""

ENTER = r"""
set -e
cd "$1"
shift
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir outside
pivot_root . outside
umount -l /outside
rmdir /outside
exec "$@"
"""


def prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def private():
    """Makes mounts nobody else's. Return: why that cannot be; else None."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(
            b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return "no mounts of its own: " + os.strerror(ctypes.get_errno())
    done = subprocess.run([*APART, "true"], encoding="utf-8",
                          stderr=subprocess.PIPE)
    return done.stderr.strip() if done.returncode else None


def is_inside():
    """Where all may be changed: not by the word of a variable alone."""
    return bool(os.environ.get(INSIDE)) and any(
        line.split()[4] == "/" and " - overlay " in line
        for line in lines("/proc/self/mountinfo"))


def settings():
    """Those of the machine that systemd likes to change."""
    return [lines("/proc/sys/" + name) for name in (
        "fs/file-max", "fs/nr_open", "kernel/core_pattern")]


def lines(path):
    with open(path) as f:
        return f.read().splitlines()


def own_group():
    """Of the hierarchy that systemd knows alone, if there are others."""
    return [line[len("0::"):] for line in lines("/proc/self/cgroup")
            if line.startswith("0::")]


def clean(top, group):
    """Ends what still runs there. Return: whether all of it is gone."""
    with contextlib.suppress(OSError):
        with open(group + "/cgroup.kill", "w") as kill:
            kill.write("1")
        while "populated 1" in lines(group + "/cgroup.events"):
            time.sleep(0.01)
    for at, _, _ in list(os.walk(group, topdown=False)):
        os.rmdir(at)
    subprocess.run(["umount", "--recursive", "--lazy", top], check=False,
                   stderr=subprocess.DEVNULL)
    os.rmdir(top)
    return not os.path.exists(top)


def make(top, group):
    """Return: why there can be none; else None."""
    done = subprocess.run(["sh", "-c", MAKE, "sh", top], encoding="utf-8",
                          stderr=subprocess.PIPE)
    if done.returncode:
        return "no root for it can be made here: " + done.stderr.strip()
    root = top + "/root"
    with open(root + "/etc/machine-id", "w") as f:
        f.write(uuid.uuid4().hex + "\n")
    os.makedirs(root + SOURCES, exist_ok=True)
    subprocess.run(["mount", "--bind", SOURCES, root + SOURCES], check=True)
    try:
        os.mkdir(group)
    except OSError as why:
        return "no cgroup can be made here: %s" % why
    if not os.path.exists(group + "/cgroup.kill"):
        return "this kernel cannot end a cgroup"
    if not os.path.exists(root + sys.executable):
        return "%s is on another file system than /" % sys.executable
    return None


def run(why_not, install, command):
    """Runs install(root), and command there. Return: its exit status."""
    own = own_group()
    reason = why_not() or private() or (
        None if own else "this kernel has no cgroup2")
    if reason:
        print("1..0 # SKIP " + reason)
        return 0
    top = tempfile.mkdtemp(prefix="seam-live-")
    group = os.path.normpath("%s/cgroup/%s/seam-test-%d" % (
        top, own[0], os.getpid()))
    with afterwards(lambda: clean(top, group)):
        reason = make(top, group)
        if reason:
            print("1..0 # SKIP " + " ".join(reason.split()))
            return 0
        install(top + "/root")

        def begin():
            with open(group + "/cgroup.procs", "w") as procs:
                procs.write("0")
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        sys.stdout.flush()
        return subprocess.run(
            [*APART, "sh", "-c", ENTER, "sh", top + "/root", *command],
            preexec_fn=begin,
            env=dict(os.environ, **{INSIDE: "1"})).returncode


class Systemd:
    """Begun, and what it has said. kind: system, with pids of its own; user."""

    def __init__(self, bench, kind):
        self.said, self.kind = b"", kind
        self.console, terminal = os.openpty()
        subprocess.run(["mount", "--bind", os.ttyname(terminal),
                        "/dev/console"], check=True)
        with open("/etc/systemd/%s.conf" % kind, "w") as f:
            f.write("[Manager]\nDefaultStandardOutput=tty\n"
                    "DefaultStandardError=tty\n")
        os.makedirs("/run/systemd/system", exist_ok=True)
        of_kind = {"user": [], "system": [
            "unshare", "--pid", "--mount", "--fork", "--kill-child",
            "sh", "-c", PROC + 'exec "$@"', "sh"]}
        self.process = bench.start(
            [*of_kind[kind], "/lib/systemd/systemd", "--" + kind,
             "--unit=basic.target", "--log-target=console",
             "--show-status=0"], preexec_fn=self.begin, stdin=terminal,
            stdout=terminal, stderr=terminal, env=self.env(bench))

    def env(self, bench):
        home = {"HOME": bench.folder, "XDG_RUNTIME_DIR": RUN,
                "XDG_CACHE_HOME": "/var/cache"}
        return {"PATH": os.environ["PATH"], "TERM": "dumb",
                **(home if self.kind == "user" else
                   {"container": "seam-test"})}

    def begin(self):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in WITHOUT:
            prctl(PR_CAPBSET_DROP, number)

    def log(self):
        """All that was said up to now, its services' words too."""
        while select.select([self.console], [], [], 0)[0]:
            self.said += os.read(self.console, 65536)
        return self.said.decode(errors="replace").replace("\r", "")

    def is_up(self):
        """Waits until it has started what it begins with, or has ended."""
        while self.process.poll() is None:
            if self.ask("is-system-running").stdout.strip() in (
                    "running", "degraded"):
                return self.process.poll() is None
            self.log()
            time.sleep(0.05)
        return False

    def command(self, *words):
        """To be run where it is known."""
        if self.kind == "user":
            return list(words)
        pids = lines("/proc/%d/task/%d/children" % (
            self.process.pid, self.process.pid))
        return ["nsenter", "--pid", "--mount", "--target",
                "".join(pids).strip() or "0", *words]

    def ask(self, *words):
        return subprocess.run(
            self.command("systemctl", "--" + self.kind, *words),
            encoding="utf-8", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env=self.words_env())

    @staticmethod
    def words_env():
        """To speak to it. The machine's process 1 has another root than we:
        systemctl thinks of a chroot."""
        return dict(os.environ, SYSTEMD_IGNORE_CHROOT="1",
                    XDG_RUNTIME_DIR=RUN, SYSTEMD_PAGER="",
                    SYSTEMD_COLORS="0")

    def tells(self, unit, *names):
        """What it has for these properties of a unit."""
        said = self.ask("show", unit, *("--property=" + n for n in names))
        found = dict(line.split("=", 1) for line in said.stdout.splitlines())
        return [found.get(name) for name in names]
