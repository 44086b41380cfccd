#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: viewers that people use show of what seam export writes which
frames are the kernel's, inlined or guessed, why a stack is not whole, and the
files' build-ids, as far as the format says it.

    frames.py WRITE-PLAIN

Nothing is recorded. A viewer that is not there is skipped, with the reason.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import traceback

import files
import firefox
import speedscope
from missing import Missing

# Root first; what marks a function that was inlined and one of the kernel.
def wanted(inlined, kernel):
    user = ("? perhaps", "outer", "middle" + inlined, "inner" + inlined)
    return collections.Counter({
        ("main",) + user + ("do_call" + kernel,): 2,
        ("[no-table]", "main") + user: 1})


def shown(stacks):
    """Of a tree, the stacks that are some sample's."""
    found = collections.Counter()
    for names, times in stacks:
        found[tuple(names)] += round(times)
    return +found


def of_speedscope(path, folder):
    return shown(speedscope.stacks(path, folder)), wanted("_[i]", "_[k]")


def of_firefox(path, folder):
    stacks = firefox.stacks(path, folder) # which have a root of its own
    return shown((names[1:], times) for names, times in stacks), wanted("", "")


def of_pprof(path, folder):
    return shown(files.pprof(path, folder)), wanted(" (inline)", "")


def build_ids(path, _folder):
    """As pprof lists mappings: number, range and offset, file, build-id."""
    tool = files.program("pprof", "/usr/lib/go*/pkg/tool/*/pprof",
                         there=files.installed("golang-1.19-go"))
    text = files.output(tool, "-raw", path).split("\nMappings\n")[1]
    found = dict(re.findall(r"^\d+: \S+ (\S+) ([0-9a-f]+)", text, re.M))
    made = "abcd010203" + 30 * "0"
    return found, {"/bin/plain": made, "[kernel.kallsyms]": made}


CHECKS = {
    "speedscope in chromium": (1, of_speedscope),
    "Google's pprof": (2, of_pprof),
    "Google's pprof, build-ids": (2, build_ids),
    "the Firefox Profiler's reader": (3, of_firefox),
}


def one(write, form, check, folder):
    """None, or what is wrong."""
    path = os.path.join(folder, "plain")
    with open(path, "wb") as out:
        subprocess.run([write, str(form)], check=True, stdout=out)
    got, want = check(path, folder)
    return None if got == want else "shown: %s\nwanted: %s" % (got, want)


def main():
    failed = 0
    for n, (name, (form, check)) in enumerate(CHECKS.items(), 1):
        with tempfile.TemporaryDirectory(prefix="frames-") as folder:
            try:
                wrong = one(sys.argv[1], form, check, folder)
            except Missing as why:
                print("ok %d - %s # SKIP %s" % (n, name, why), flush=True)
                continue
            except (OSError, ValueError, KeyError, IndexError, AssertionError,
                    subprocess.SubprocessError):
                wrong = traceback.format_exc()
        failed += wrong is not None
        print("%sok %d - %s" % ("not " if wrong else "", n, name))
        if wrong:
            print("# " + wrong.replace("\n", "\n# "))
        sys.stdout.flush()
    print("1..%d" % len(CHECKS))
    return 1 if failed else 0


sys.exit(main())
