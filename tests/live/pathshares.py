# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How many of a program's stacks may be of which kind.

Each of them is a right one, but a stack that lost its innermost frames, or
all of the program's, looks like one of a program that is just on its way, or
that starts or ends. Few are, so the whole of the stacks tells.

Shares are in per cent of the stacks that could be had. Some stacks more or
fewer are nothing, however few there are: a program starts but once, which is
seen some twenty times, and twice as often where page faults are slow.
"""

import collections

# What tests/progs/*.expect says else, it says by these words: least full 75.
# Which part of its time a program spends on its way is the machine's, too: of
# one it was 10 % here and 20 % there. Some more is left for another one.
DEFAULT = {
    ("least", "full"): 70,
    ("most", "start"): 2,
    ("most", "excused"): 0,
    # Of all: some engines cannot have every stack.
    ("most", "ends-as-it-may"): 50,
}
KIND = {"full": "full", "start": "start or end", "excused": "excused",
        "ends-as-it-may": "ends as it may"}
SLACK = collections.defaultdict(lambda: 10, start=60)


def faults(count, said, slow_start=None):
    """What is wrong with so many stacks of each kind, as sentences. said: other
    limits than the default. slow_start: what part at most may be of the start
    and the end where these are slow."""
    limits = dict(DEFAULT)
    limits.update(said)
    if slow_start is not None:
        limits["most", "start"] = max(limits["most", "start"], slow_start)
    for (word, what), percent in limits.items():
        kind, base = KIND[what], count["wanted"]
        if kind != "ends as it may":
            base -= count["ends as it may"]
        n, limit = count[kind], base * percent / 100
        slack = SLACK[what]
        if n < limit - slack if word == "least" else n > limit + slack:
            yield "%s: %d of %d, where it is to be at %s %g %%" % (
                kind, n, base, word, percent)
