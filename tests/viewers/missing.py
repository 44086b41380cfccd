# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is not there to test with, and how it is looked for."""

import glob
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """The reason of a skip."""


def installed(package):
    """Whether Debian's package is there."""
    if not shutil.which("dpkg-query"):
        return False
    state = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
    return state.stdout == "installed"


def program(name, *elsewhere, there=False):
    """A program in PATH, or the last that matches one of the patterns. Where
    its package is there and it is not found, the patterns are wrong: that is
    a failure, no skip."""
    found = shutil.which(name)
    for pattern in elsewhere:
        found = found or max(glob.glob(pattern), default=None)
    if not found and there:
        raise OSError("%s is installed here, but is not at %s" % (
            name, " or ".join(elsewhere) or "PATH"))
    if not found:
        raise Missing("there is no " + name)
    return found


def newer_perf():
    """perf that tools/peers.sh fetched, or an empty string."""
    return os.environ.get("SEAM_PERF") or subprocess.run(
        [os.path.join(HERE, "..", "..", "tools", "peers.sh"), "--where"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        encoding="utf-8").stdout.strip()


def peers():
    """The folder that it was unpacked into, or None."""
    perf = newer_perf()
    folder = os.path.join(os.path.dirname(os.path.dirname(perf)), "perf")
    return folder if perf and os.path.isdir(folder) else None


def npm(name):
    """The folder of an npm package."""
    done = subprocess.run(
        [os.path.join(HERE, "..", "..", "tools", "viewers.sh"), name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode == 77:
        raise Missing(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise OSError(done.stderr)
    return done.stdout.strip()
