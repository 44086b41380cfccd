# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What Python does to a stack, again and again: for truth.c."""

import json
import re


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def squares(n):
    for i in range(n):
        yield i * i


class Item:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


while True:
    fib(8)
    sorted([Item(i * 7 % 13) for i in range(20)])
    sorted(range(30), key=lambda x: -x)
    json.loads(json.dumps({"a": list(squares(10)), "b": None}))
    re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world " * 5)
    try:
        fib("x")
    except TypeError:
        pass
