# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What has to be set right on the machine when a test ends, however it does."""

import contextlib
import os
import signal


@contextlib.contextmanager
def afterwards(does):
    """Calls it by a process that lives on for it if this one is killed. It returns
    whether it could do it."""
    ours, its = os.pipe()
    process = os.fork()
    if not process:
        status = 1
        try:
            os.setsid()
            os.close(its)
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(signum, signal.SIG_IGN)
            os.read(ours, 1)
            status = 0 if does() else 1
        finally:
            os._exit(status)
    os.close(ours)
    try:
        yield
    finally:
        os.close(its)
        if os.waitpid(process, 0)[1]:
            raise RuntimeError("what the test has changed is not set right")
