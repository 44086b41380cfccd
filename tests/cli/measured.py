# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""TAP about commands of seam and the most memory that they had."""

import contextlib
import os
import shutil
import sys
import tempfile

# Where a process's memory can be limited, and by which file.
CGROUPS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
           ("/sys/fs/cgroup", "memory.max"))


class Test:
    def __init__(self, seam, folder):
        self.seam, self.folder = os.path.abspath(seam), folder
        self.n, self.bad = 0, 0
        self.cgroup = None
        self.env = dict(os.environ, TMPDIR=folder, XDG_CACHE_HOME=folder)

    def test(self, what, good, why=""):
        self.n += 1
        self.bad += not good
        print("%sok %d - %s" % ("" if good else "not ", self.n, what))
        for line in str(why).splitlines()[:20] if not good else ():
            print("# " + line[:300])
        sys.stdout.flush()

    def skip(self, what, why):
        self.n += 1
        print("ok %d - %s # SKIP %s" % (self.n, what, why))

    @contextlib.contextmanager
    def limited(self, most):
        """So many bytes of memory for what is run there, the files' that it
        reads included. Gives whether that can be had."""
        for top, name in CGROUPS:
            group = "%s/seam-measured-%d" % (top, os.getpid())
            try:
                os.mkdir(group)
                with open(os.path.join(group, name), "w") as f:
                    f.write(str(most))
                self.cgroup = group
                break
            except OSError:
                with contextlib.suppress(OSError):
                    os.rmdir(group)
        try:
            yield bool(self.cgroup)
        finally:
            if self.cgroup:
                os.rmdir(self.cgroup)
            self.cgroup = None

    def most(self, *command, out=os.devnull, stdin=None):
        """In bytes. What it prints is in out."""
        words = [self.seam, *command]
        if self.cgroup:
            words = ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"',
                     self.cgroup + "/cgroup.procs", *words]
        with open(out, "wb") as f:
            pid = os.posix_spawn(
                words[0], words, self.env,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in
                              ((stdin, 0), (f.fileno(), 1))
                              if fd is not None])
            _, status, usage = os.wait4(pid, 0)
        print("# %s: %.1f s, %d MiB" % (command[0], usage.ru_utime +
                                        usage.ru_stime, usage.ru_maxrss >> 10))
        if status:
            raise RuntimeError("%s: status %d" % (command, status))
        return usage.ru_maxrss << 10


def run(seam, *parts):
    """Each part with the same Test, whose folder goes. Return: exit status."""
    t = Test(seam, tempfile.mkdtemp(prefix="seam-measured-",
                                    dir=os.environ.get("TMPDIR", "/var/tmp")))
    try:
        for part in parts:
            part(t)
    finally:
        shutil.rmtree(t.folder)
    print("1..%d" % t.n)
    return 1 if t.bad else 0
