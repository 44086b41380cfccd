# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""When this machine gave a CPU to nobody: a virtual one whose host is busy
stands still for as long as it likes, and all that runs on it.

What a program does not leave behind when it ends can only be read in time, so
that there are promises that such a machine cannot keep. Whether it was one is
seen from outside of what is tested: a process on each CPU sleeps for a moment,
again and again, and says when it was woken far too late. It cannot say who kept
the CPU: what seam itself does so for long enough to fail a test does it again.
"""

import os
import struct
import time

STEP = 0.01
# So late is nobody woken by a few programs that run as well.
LATE = 0.02
RECORD = struct.Struct("d")


def tell(cpu, out, parent):
    os.sched_setaffinity(0, {cpu})
    last = time.monotonic()
    while os.getppid() == parent:
        time.sleep(STEP)
        now = time.monotonic()
        if now - last > STEP + LATE:
            os.write(out, RECORD.pack(now - last - STEP))
        last = now


class Watch:
    """Begins when made, and ends with its process."""

    def __init__(self):
        self.out, to = os.pipe()
        os.set_blocking(self.out, False)
        self.pids = [self.begin(cpu, to) for cpu in os.sched_getaffinity(0)]
        os.close(to)

    def begin(self, cpu, to):
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            os.close(self.out)
            try:
                tell(cpu, to, parent)
            finally:
                os._exit(0)
        return pid

    def worst(self):
        """The longest that a CPU has stood still since this was asked last, in
        seconds; 0: none did."""
        # One that stands still has not said so yet.
        time.sleep(2 * STEP)
        worst = 0
        while True:
            try:
                record = os.read(self.out, RECORD.size)
            except BlockingIOError:
                return worst
            if not record:
                return worst
            worst = max(worst, RECORD.unpack(record)[0])

    def end(self):
        for pid in self.pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        os.close(self.out)
