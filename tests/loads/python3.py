# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A bit of everything that makes the interpreter's stacks deep."""

import hashlib
import json
import re
import sys
import zlib

sys.setrecursionlimit(5000)


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(2)] if depth else []

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child

    def __lt__(self, other):
        return id(self) < id(other)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n):
    return sorted([n], key=lambda x: deep(x - 1))[0] if n else 0


def main():
    text = json.dumps({str(i): [i, str(i) * 3, {"x": i / 7}]
                       for i in range(4000)})
    for _ in range(120):
        json.loads(text)
        re.findall(r"(\d+)(?:[^\d]+)(\d+)", text)
        re.sub(r"\d+", lambda m: str(len(m[0])), text)
        sorted(Node(10), reverse=True)
        hashlib.sha256(zlib.compress(text.encode())).hexdigest()
        fib(18)
        deep(300)
        eval("+".join(str(i) for i in range(800)))


main()
