#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: bench/scale.py fails for what does not hold, for what nobody can
tell in a minute, for stacks that grow dearer however much they differ, and for
processes that are fewer for the recorder.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "bench"))
sys.dont_write_bytecode = True
import scale  # noqa: E402

SAID = "1 processes, %d a second of 1000 asked for"
results = []


def test(name, holds):
    results.append(bool(holds))
    print("%sok %d - %s" % ("" if holds else "not ", len(results), name))


def rows(costs):
    """As Watch has them, where a stack of each costs so much."""
    ns, found = 0, [(0, 0, 0, 0, (0, 0, 0, 0), 0)]
    for i, cost in enumerate(costs, 1):
        ns += 100 * cost
        found.append((i, 0, 0, 0, (100 * i, 0, ns, 500 * i), 0))
    return found


def main():
    test("what holds is good", scale.is_good({"a": True}, 60))
    test("what does not is not", not scale.is_good({"a": True, "b": False}, 1))
    test("in a minute nothing is unknown",
         not scale.is_good({"a": True, "b": None}, 60))
    test("in less it may be", scale.is_good({"a": True, "b": None}, 20))
    test("as dear as before", scale.is_flat(rows([4000] * 40), 10))
    test("a tenth more is nothing",
         scale.is_flat(rows([4000] * 20 + [4400] * 20), 10))
    test("within what its stacks differ by",
         scale.is_flat(rows([4000, 5000] * 10 + [4800, 5200] * 10), 10))
    test("but no more than so much, whatever they differ by",
         not scale.is_flat(rows([4000, 9000, 4000] * 7 +
                                [8000, 9000, 8000] * 7), 10))
    test("of no stacks it is not known", scale.is_flat(rows([]), 1) is None)
    test("as many as asked for", scale.is_fast(SAID % 1000, None))
    test("as many as the machine starts",
         scale.is_fast(SAID % 500, SAID % 600))
    test("fewer for the recorder", not scale.is_fast(SAID % 500, SAID % 900))
    test("fewer, and nobody knows for what",
         not scale.is_fast(SAID % 500, None))
    test("other loads have no rate", scale.rates_of("9 threads, 9 rounds")
         is None)
    print("1..%d" % len(results))
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
