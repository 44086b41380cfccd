# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is not there to test with, and how it is looked for."""

import glob
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """The reason of a skip."""


def program(name, *elsewhere):
    """A program in PATH, or the last that matches one of the patterns."""
    found = shutil.which(name)
    for pattern in elsewhere:
        found = found or max(glob.glob(pattern), default=None)
    if not found:
        raise Missing("there is no " + name)
    return found


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
