# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Something for `make run` to record: computes, recurses, sorts, writes.

About three seconds of one CPU. Nothing here knows of seam, and the python3
that runs it is Debian's own, built without frame pointers.
"""
import json
import os
import re
import sys
import tempfile


def place(row, columns, left, right, size):
    """Counts the ways to place the remaining queens."""
    if row == size:
        return 1
    ways = 0
    for column in range(size):
        if (column not in columns and row + column not in left
                and row - column not in right):
            ways += place(row + 1, columns | {column}, left | {row + column},
                          right | {row - column}, size)
    return ways


def words(count):
    """A text of made-up words, the same every time."""
    seed, out = 12345, []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        out.append("".join(chr(97 + (seed >> shift) % 26)
                           for shift in (3, 8, 13, 18)))
    return " ".join(out)


def count_words(text):
    table = {}
    for word in re.findall(r"\b[a-m]\w+\b", text):
        table[word] = table.get(word, 0) + 1
    return table


def by_count(item):
    return -item[1], item[0]


def store(table, out):
    """Writes each entry by itself: many short system calls."""
    for word, count in sorted(table.items(), key=by_count):
        os.write(out, json.dumps({"word": word, "count": count}).encode())


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    with tempfile.TemporaryFile() as out:
        for _ in range(rounds):
            place(0, frozenset(), frozenset(), frozenset(), 8)
            store(count_words(words(60000)), out.fileno())


main()
