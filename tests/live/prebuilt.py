# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Programs under test for machines without a compiler.

`--prebuild DIR` makes all that a test file compiles and records nothing;
`--prebuilt DIR` takes them from there. Each is kept under what it was made of,
so that another program of the same name is never taken for it. Tools that come
with the build are kept under their names.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess


def key(command, source):
    """A program's name in the folder: of all that decides what it is."""
    said = "\0".join([*command, source]).encode()
    return hashlib.sha256(said).hexdigest()[:24]


def make(args, out, command, paths, source):
    """Compiles, or takes what was compiled before. paths are options that
    differ from machine to machine, and are no part of what it is."""
    name = key(command, source)
    if args.prebuilt:
        kept = os.path.join(args.prebuilt, name)
        if not os.path.exists(kept):
            raise RuntimeError("%s is not prebuilt: the test's programs() "
                               "lacks it" % os.path.basename(out))
        # One that runs cannot be written to, as a compiler does not either.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(out)
        shutil.copy(kept, out)
        return
    if args.prebuild:
        out = os.path.join(args.prebuild, name)
    subprocess.run([*command, "-o", out, *paths], input=source,
                   encoding="utf-8", check=True)


def tool(args, path):
    """Where a program of the build is; one of build/ is of the one that has
    the seam that is tested."""
    if args.prebuilt:
        return os.path.join(args.prebuilt, os.path.basename(path))
    folder, _, name = path.partition("/")
    if folder == "build":
        path = os.path.join(os.path.dirname(os.path.abspath(args.seam)), name)
    if args.prebuild:
        shutil.copy(path, args.prebuild)
    return path
