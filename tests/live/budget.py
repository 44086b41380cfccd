#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: tables in the kernel keep to --table-memory, the least used
one goes first, and a stack whose table is not there is whole all the same.

The load is the machine's python3 with many libraries, and a shell that runs
several programs, so that one table has to make room for the next.
"""

import sys

import livetest

PYTHON = ["/usr/bin/python3", "-c",
          "import json, re, decimal, sqlite3, ssl, ctypes\n"
          "for i in range(12000):\n"
          "    json.dumps([str(i)] * 500); re.compile('a%d(b|c)*' % i)\n"]
SHELL = ["/bin/sh", "-c",
         "for i in $(seq 40); do /usr/bin/python3 -S -c 1; perl -e 1;"
         " sort /dev/null; xz --version; done >/dev/null"]
KIB = 1024
# So many that one more or fewer is not what decides.
LEAST = 1000


def one(bench, what, memory, command, evicts):
    recording = bench.record("-e", "cpu-clock", "-F", "2999",
                             "--table-memory", str(memory), "--", *command)
    summary = recording.summary
    if not bench.test("%s in %d KiB: recorded" % (what, memory // KIB),
                      recording.status == 0 and summary, recording.log):
        return
    bench.note("%d wanted, %s" % (summary["wanted"], {
        end: n for end, n in summary["end"].items() if n}))
    bench.note("tables %(tables)d, at most %(table_bytes_max)d bytes, "
               "%(tables_evicted)d taken out, %(copies)d copies" % summary)
    bench.test("%s in %d KiB: the budget is kept" % (what, memory // KIB),
               summary["table_bytes_max"] <= memory, summary)
    whole = summary["end"]["outermost"]
    # Hardly any stack is longer than a copy, which the one in 1,000 is not for.
    short = summary["end"]["copy-short"]
    bench.test("%s in %d KiB: stacks are whole" % (what, memory // KIB),
               summary["wanted"] >= LEAST and
               whole + short >= 0.999 * summary["wanted"] and
               short <= 0.01 * summary["wanted"] and
               not summary["end"]["exec"], summary["end"])
    bench.test("%s in %d KiB: tables %s" % (
        what, memory // KIB, "make room" if evicts else "all fit"),
        (summary["tables_evicted"] > 0) == evicts, summary)


def budgets(bench):
    one(bench, "python3", 64 * KIB * KIB, PYTHON, False)
    one(bench, "python3", 700 * KIB, PYTHON, True)
    one(bench, "a shell", 700 * KIB, SHELL, True)


if __name__ == "__main__":
    sys.exit(livetest.main(budgets))
