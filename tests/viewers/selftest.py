#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: viewers that are there are found, where tools/peers.sh unpacks
them too; one whose package is there and whose program is not found is a
failure, and only one whose package is not there is skipped.

    selftest.py
"""

import os
import shutil
import tempfile

import files
import missing

results = []


def test(what, good):
    results.append(good)
    print("%sok %d - %s" % ("" if good else "not ", len(results), what))


def raised(call, *args, **options):
    try:
        call(*args, **options)
    except (OSError, missing.Missing) as why:
        return type(why)
    return None


def put(*path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii"):
        pass
    return path


test("a package that nobody has is not installed",
     not missing.installed("seam-has-no-such-package"))
test("Debian's own is", missing.installed("dpkg") ==
     bool(shutil.which("dpkg-query")))
with tempfile.TemporaryDirectory() as folder:
    os.environ["SEAM_PERF"] = put(folder, "bin", "perf")
    os.environ["PATH"] = folder
    test("without peers a script is skipped",
         raised(files.perf_script, "none.py") is missing.Missing)
    script = put(folder, "perf", files.SCRIPTS, "new.py")
    test("a script of the peers' perf is found",
         files.perf_script("new.py") == script)
    test("one that they should have is a failure",
         raised(files.perf_script, "none.py") is OSError)
    test("a program that is not there is skipped",
         raised(missing.program, "none", folder + "/*/none")
         is missing.Missing)
    test("one whose package is there is a failure",
         raised(missing.program, "none", there=True) is OSError)
    test("the first pattern that matches finds it", missing.program(
        "none", folder + "/*/none", folder + "/*/perf") ==
        os.environ["SEAM_PERF"])
print("1..%d" % len(results))
raise SystemExit(0 if all(results) else 1)
