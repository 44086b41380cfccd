# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The language of tests/progs/*.expect: which call paths a program may show.

A path is written root first, one item a frame:

    name        a function of the program (a regular expression)
    dso!name    one in another file: libc!qsort, ld!.*, vdso!.*
    PLT!.*      a stub of a PLT, which has no symbol of its own
    (a b){3}    a group; {N}, {LO,HI} and {LO,} repeat; N may be $VAR/2
    ^           what follows may come after any prefix of what precedes

and START, THREAD, SIGNAL and STUB stand for what the C library puts below
main, below a thread's function, between a handler and what it interrupted,
and for a PLT stub or the loader resolving it.

A sample may be any prefix of a path, as the program may just be on its way
there; it is "full" if it is the whole of it. One frame missing or too many
inside is neither.
"""

import re

import pathshares

MACROS = {
    "START": r"(_start libc!__libc_start_main.* libc!__libc_start_call_main)",
    "THREAD": r"(libc!(__)?clone3? libc!start_thread)",
    "SIGNAL": r"libc!__restore_rt",
    "STUB": r"((PLT!.*|ld!.*) ld!.*{0,})",
}
QUANTIFIER = re.compile(r"\{([^{}]*)\}$")
SUFFIX = re.compile(r"\.(cold|part\.\d+|isra\.\d+|constprop\.\d+)(\.\d+)*$")


def split_top(text, at):
    """Splits at a character class outside of parentheses and braces."""
    parts, depth, cur = [], 0, ""
    for char in text:
        depth += char in "([{"
        depth -= char in ")]}"
        if depth == 0 and re.match(at, char):
            parts.append(cur)
            cur = ""
        else:
            cur += char
    return [p for p in parts + [cur] if p]


def nameless(pattern):
    """The pattern with each name after a '!' replaced by an empty one."""
    out, i = "", 0
    while i < len(pattern):
        out += pattern[i]
        if pattern[i] != "!":
            i += 1
            continue
        depth = 0
        i += 1
        while i < len(pattern):
            if depth == 0 and pattern[i] in "|)":
                break
            depth += pattern[i] in "(["
            depth -= pattern[i] in ")]"
            i += 1
    return out


class Atom:
    """One frame. A frame without a symbol matches by its file alone."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.full = re.compile(pattern)
        self.bare = re.compile(nameless(pattern)) if "!" in pattern else None
        self.seen = {}

    def matches(self, frame):
        hit = self.seen.get(frame)
        if hit is None:
            hit = any(self.full.fullmatch(name) for name in frame.names)
            if not hit and frame.nameless and self.bare:
                hit = self.bare.fullmatch(frame.names[0]) is not None
            self.seen[frame] = hit
        return hit


class Path:
    """A non-deterministic automaton over frames, root first."""

    def __init__(self, text, variables):
        self.text = text
        self.variables = variables
        self.edges = [[]]   # per state: (atom, next)
        self.free = [[]]    # per state: states reached without a frame
        self.atoms = {}
        self.end = self.sequence(self.expand(text), 0)

    @staticmethod
    def expand(text):
        for macro, means in MACROS.items():
            text = re.sub(r"(?<![\w!])%s(?!\w)" % macro, lambda _: means, text)
        return text

    def state(self):
        self.edges.append([])
        self.free.append([])
        return len(self.edges) - 1

    def number(self, text):
        text = re.sub(r"\$(\w+)", lambda m: str(self.variables[m[1]]), text)
        value, *divisors = [int(n) for n in text.split("/")]
        for divisor in divisors:
            value //= divisor
        return value

    def sequence(self, text, start):
        at = start
        for item in split_top(text, r"\s"):
            if item == "^":
                # The text itself says which states come before: all of them.
                new = self.state()
                for old in range(start, new):
                    self.free[old].append(new)
                at = new
            else:
                at = self.item(item, at)
        return at

    def item(self, item, at):
        low, high = 1, 1
        quantifier = QUANTIFIER.search(item)
        if quantifier:
            item = item[:quantifier.start()]
            bounds = quantifier[1].split(",")
            low = self.number(bounds[0])
            high = low
            if len(bounds) > 1:
                high = self.number(bounds[1]) if bounds[1] else None
        for _ in range(low):
            at = self.once(item, at)
        if high is None:
            self.free[self.once(item, at)].append(at)
            return at
        done = [at]
        for _ in range(high - low):
            at = self.once(item, at)
            done.append(at)
        for state in done[:-1]:
            self.free[state].append(at)
        return at

    def once(self, item, at):
        if item.startswith("(") and re.search(r"\s", item):
            return self.sequence(item[1:-1], at)
        atom = self.atoms.setdefault(item, Atom(item))
        new = self.state()
        self.edges[at].append((atom, new))
        return new

    def closure(self, states):
        todo, seen = list(states), set(states)
        while todo:
            for nxt in self.free[todo.pop()]:
                if nxt not in seen:
                    seen.add(nxt)
                    todo.append(nxt)
        return seen

    def match(self, frames):
        """'full', 'prefix', or the number of frames that still matched."""
        states = self.closure({0})
        for depth, frame in enumerate(frames):
            states = {nxt for state in states for atom, nxt in
                      self.edges[state] if atom.matches(frame)}
            if not states:
                return depth
            states = self.closure(states)
        return "full" if self.end in states else "prefix"


class Expectation:
    """One .expect file."""

    def __init__(self, path, variables):
        self.full = []      # lists of alternatives, one of each to be seen
        self.also = []
        self.kernel = []    # (regex of a kernel frame, atom of the leaf)
        self.tails = {}     # a call to the key may show any of the values
        self.growing = None
        self.shares = {}        # (least or most, of what): per cent
        self.settings = {}
        self.own = [Atom("main"), Atom("path_(begin|more|cpu_ns)")]
        for number, line in enumerate(open(path), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                try:
                    self.line(line, variables)
                except (KeyError, ValueError, re.error) as error:
                    raise SystemExit("%s:%d: %r" % (path, number, error))
        for text in (r"START main path_more",
                     r"START main path_begin libc!.*{0,} STUB{0,1}",
                     r"START main path_begin STUB"):
            self.also.append(Path(text, variables))

    def line(self, line, variables):
        word, _, rest = line.partition(" ")
        if word in ("full", "or", "also"):
            path = Path(rest, variables)
            self.own += [atom for text, atom in path.atoms.items()
                         if "!" not in text and text != "_start"]
            if word == "full":
                self.full.append([path])
            elif word == "or":
                self.full[-1].append(path)
            else:
                self.also.append(path)
        elif word == "kernel":
            kernel, leaf = rest.split()
            self.kernel.append((re.compile(kernel), Atom(leaf)))
        elif word == "tail":
            first, *more = rest.split()
            self.tails[first] = more
        elif word == "growing":
            pattern, count = rest.split()
            self.growing = (re.compile(pattern), int(count))
        elif word in ("least", "most"):
            what, percent = rest.split()
            if (word, what) not in pathshares.DEFAULT:
                raise ValueError("no share of " + what)
            self.shares[word, what] = float(percent)
        elif word in ("args", "vary", "record"):
            self.settings.setdefault(word, []).append(rest)
        else:
            raise ValueError("unknown word " + word)

    def is_own(self, frame):
        return any(atom.matches(frame) for atom in self.own)
