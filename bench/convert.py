#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Measures the conversion of .eh_frame to SFrame beside elfutils' enumeration of
the same rows, in one run, and prints a table: libc and the largest libraries
of this machine. Nothing passes or fails by time.

    convert.py BUILD [--rounds N] [FILE...]
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def largest(count):
    paths = {os.path.realpath(p)
             for p in glob.glob("/usr/lib/x86_64-linux-gnu/*.so*")}
    return sorted((p for p in paths if os.path.isfile(p)),
                  key=os.path.getsize, reverse=True)[:count]


def spread(values):
    lower, median, upper = statistics.quantiles(values, n=4)
    return "%.2f [%.2f %.2f]" % (median, lower, upper), median


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("files", nargs="*")
    args = parser.parse_intermixed_args()
    files = args.files or [LIBC] + largest(2)
    lines = subprocess.run(
        [os.path.join(args.build, "bench", "convert"), str(args.rounds),
         *files], check=True, stdout=subprocess.PIPE, text=True).stdout
    runs = {}
    for line in lines.splitlines():
        run = json.loads(line)
        runs.setdefault(run["file"], []).append(run)
    print("| file | .eh_frame | rows | SFrame | of .eh_frame | seam, ms "
          "| MB/s | elfutils, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path, all_runs in runs.items():
        one = all_runs[0]
        ours, median = spread([r["convert_ns"] / 1e6 for r in all_runs])
        theirs, other = spread([r["elfutils_ns"] / 1e6 for r in all_runs])
        print("| %s | %d | %d | %d | %.2f | %s | %.0f | %s | %.1f |" % (
            os.path.basename(path), one["eh_frame"], one["rows"],
            one["table"], one["table"] / one["eh_frame"], ours,
            one["eh_frame"] / 1e3 / median, theirs, other / median))
    return 0


sys.exit(main())
