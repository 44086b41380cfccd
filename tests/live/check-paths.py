#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Compare every sample of a known-path program with the paths it may show.

    seam script --format json | check-paths.py --exe BUILD/recurse-gcc-O2 \\
        --expect tests/progs/recurse.expect --set DEPTH=40

Prints TAP. A mismatch is printed once per distinct stack, with its addresses
and how often it came. Exit status 1 if any test failed.
"""

import argparse
import collections
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pathgrammar  # noqa: E402
import pathshares  # noqa: E402
import perffile  # noqa: E402

Frame = collections.namedtuple(
    "Frame", "names nameless sym raw off dso own")


class Code:
    """What a file's disassembly says: call sites and instructions."""

    def __init__(self, path):
        self.start = {}         # symbol, mangled and not -> address
        self.after_call = {}    # address behind a call -> [target or None]
        self.insns = []         # (address, symbol, text)
        self.plts = plt_ranges(path)
        self.bounds = {}        # symbol -> (address, end)
        function, call = None, None
        for line in output("objdump", "-d", "--no-show-raw-insn", path):
            head = re.match(r"^([0-9a-f]{8,}) <(.*)>:$", line)
            insn = re.match(r"^\s*([0-9a-f]+):\s+(.*?)\s*$", line)
            if not head and not insn:
                continue
            addr = int((head or insn)[1], 16)
            if call:
                self.after_call[addr] = call
                call = None
            if head:
                function = head[2]
                self.start.setdefault(function, addr)
                self.start.setdefault(demangled(function), addr)
                continue
            call = self.call_target(insn[2])
            self.insns.append((addr, function, insn[2]))
        for name, start, size in symbols_of(path):
            self.bounds.setdefault(name, (start, start + size))
            for spelt in (name, demangled(name), name.split("@")[0]):
                self.start.setdefault(spelt, start)

    def body(self, symbol):
        low, high = self.bounds[symbol]
        # Start-up code's symbols have no size: as far as objdump's label.
        return [(addr, text) for addr, label, text in self.insns
                if low <= addr < high or low == high and label == symbol]

    def in_plt(self, symbol, off):
        if symbol not in self.start:
            return False
        addr = self.start[symbol] + (off or 0)
        return any(low <= addr < high for low, high in self.plts)

    @staticmethod
    def call_target(text):
        """None for no call, else a list of one: the target's name or None."""
        if not re.match(r"(notrack |bnd |addr32 |data16 |rex.W )*call", text):
            return None
        direct = re.search(r"call[q]?\s+[0-9a-f]+ <(.*)>$", text)
        return [plain(demangled(direct[1])) if direct else None]


def symbols_of(path):
    """(name, address, size) of functions, from its debug file as well."""
    files = [path]
    for line in output("readelf", "-nW", path):
        build_id = re.search(r"Build ID: (..)(\w+)", line)
        if build_id:
            files.append("/usr/lib/debug/.build-id/%s/%s.debug" %
                         build_id.groups())
    for file in filter(os.path.exists, files):
        for line in output("readelf", "-sW", file):
            word = line.split()
            if len(word) >= 8 and word[3] in ("FUNC", "IFUNC") and \
                    word[6] not in ("UND", "ABS"):
                yield word[7], int(word[1], 16), int(word[2], 0)


@functools.lru_cache(maxsize=None)
def fde_ranges(path):
    """What .eh_frame covers, as readelf says."""
    return [(int(m[1], 16), int(m[2], 16)) for m in (
        re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        for line in output("readelf", "-wf", path)) if m]


def plt_ranges(path):
    """Where stubs are: some tools name them after the symbol before."""
    ranges = []
    for line in output("readelf", "-SW", path):
        section = re.match(r"\s*\[ *\d+\] (\.i?plt\S*)\s+\S+\s+([0-9a-f]+)"
                           r" [0-9a-f]+ ([0-9a-f]+)", line)
        if section:
            start = int(section[2], 16)
            ranges.append((start, start + int(section[3], 16)))
    return ranges


def output(*command):
    """Lines of a tool. readelf's status is 1 for mere oddities."""
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,
                          encoding="utf-8").stdout.splitlines()


@functools.lru_cache(maxsize=None)
def demangled(name):
    if not name.startswith("_Z"):
        return name
    name, at, version = name.partition("@")
    return output("c++filt", name)[0] + at + version


@functools.lru_cache(maxsize=None)
def code_of(path):
    return Code(path)


def plain(name):
    """A symbol's name as the .expect files spell it."""
    if name.endswith("@plt"):
        return name
    name = re.sub(r"^__GI_| \[clone .*\]|\[abi:\w+\]", "",
                  name.split("@")[0])
    name = re.sub(r"\(.*\)( const)?$", "", name)
    return pathgrammar.SUFFIX.sub("", name)


def short_dso(dso):
    base = os.path.basename(dso).strip("[]")
    if base != "libc" and base.startswith("lib") and \
            not base.startswith("libc."):
        base = base[3:]
    return re.split(r"(?<!\d)[-.]|-\d", base)[0]


class Checker:
    def __init__(self, args, expect):
        self.exe = os.path.realpath(args.exe)
        self.expect = expect
        self.static = is_static(self.exe)
        self.known_bad = KnownBad(args.known_bad, self.exe)
        self.cache = {}
        self.count = collections.Counter()
        data = getattr(args, "data", None)
        self.events = perffile.events_of(data) if data else None
        self.faults = collections.defaultdict(collections.Counter)
        self.may_end = getattr(args, "may_end", ())
        self.excused = collections.Counter()
        self.full_seen = collections.Counter()
        self.last_number = {}
        self.frames = {}

    def frame(self, raw):
        key = (raw.get("sym"), raw.get("dso"), raw.get("off"))
        if key not in self.frames:
            self.frames[key] = self.make_frame(*key)
        return self.frames[key]

    def make_frame(self, sym, dso, off):
        dso = dso or "?"
        name = plain(sym) if sym else ""
        path = os.path.realpath(dso)
        if self.is_ours(path) and code_of(path).in_plt(sym, off):
            name = "@plt"
        if path == self.exe:
            if not name or name.endswith("plt"):
                names = ("PLT!" + name,)
                if name and self.static:    # libc calls its own IFUNCs
                    names += ("libc!" + name,)
            elif self.static:
                # libc's functions are the program's own here
                names = (name, "libc!" + name, "ld!" + name)
            else:
                names = (name,)
        elif name.endswith("plt"):
            names = ("PLT!" + name,)
        else:
            names = (short_dso(dso) + "!" + name,)
            if not name:
                names += ("PLT!",)
        return Frame(names, not name, name, sym, off, path,
                     path == self.exe)

    def sample(self, raw):
        self.count["samples"] += 1
        if raw.get("end") == "no-user":
            self.count["no-user"] += 1
            return
        self.count["wanted"] += 1
        # Frames that inlining made up have no place of their own.
        user = [f for f in raw["frames"]
                if not f.get("kernel") and not f.get("inlined")]
        frames = tuple(self.frame(f) for f in reversed(user))
        verdict = self.cache.get((raw.get("end"), frames))
        if verdict is None:
            verdict = self.judge(raw.get("end"), frames)
            self.cache[(raw.get("end"), frames)] = verdict
        kind, detail, number = verdict
        self.count[kind] += 1
        self.own_leaf(raw, user)
        if kind == "full":
            self.full_seen[detail] += 1
        elif kind == "excused":
            self.excused[detail] += 1
        elif kind in ("not whole", "wrong path", "wrong call site"):
            self.fault(kind, detail, raw)
        self.kernel_half(raw, frames)
        if number is not None:
            self.grows(raw, number)

    def own_leaf(self, raw, user):
        """An event in user mode has its own ip for a leaf."""
        if self.events is None:
            return
        ip, in_user = self.events.get((raw["time_ns"], raw["tid"]),
                                      (None, True))
        self.count["in user mode"] += in_user
        if not user and raw.get("end") in self.may_end or not in_user:
            return
        if not user or int(user[0]["ip"], 16) != ip:
            self.fault("other leaf", "no event" if ip is None else
                       "the event was at %#x" % ip, raw)

    def fault(self, kind, detail, raw):
        stack = " ".join("%s:%s+%#x" % (
            f["ip"], f.get("sym", "?"), f.get("off", 0))
            for f in raw["frames"] if not f.get("kernel"))
        self.faults[kind]["%s | end=%s | %s" % (
            detail, raw.get("end"), stack)] += 1

    def judge(self, end, frames):
        """(kind, detail, the number that the path spells)"""
        bad = self.at_known_bad(frames)
        if end in self.may_end:
            return ("ends as it may", None, None)
        if end != "outermost":
            return ("excused", bad, None) if bad else \
                ("not whole", "ends early", None)
        kind, detail, number = self.match(frames)
        if self.has_called(frames):
            kind, detail = "wrong path", "a stub of a PLT has called"
        if kind == "wrong path":
            return ("excused", bad, None) if bad else (kind, detail, None)
        site = self.wrong_call_site(frames)
        if site and bad:
            return ("excused", bad, None)
        return ("wrong call site", site, None) if site else \
            (kind, detail, number)

    @staticmethod
    def has_called(frames):
        """A stub that is a caller: it jumps, and its caller is what is seen."""
        return any(caller.sym.endswith("plt") and
                   callee.sym not in ("", "__restore_rt")  # a signal's
                   for caller, callee in zip(frames, frames[1:]))

    def match(self, frames):
        furthest, prefix = 0, False
        for paths in self.expect.full:
            for path in paths:
                got = path.match(frames)
                if got == "full":
                    return "full", paths[0].text, self.number(frames)
                prefix |= got == "prefix"
                furthest = max(furthest, got if isinstance(got, int) else 0)
        for path in self.expect.also:
            got = path.match(frames)
            prefix |= not isinstance(got, int)
            furthest = max(furthest, got if isinstance(got, int) else 0)
        if prefix:
            return "on the way", None, None
        if self.is_startup(frames):
            return "start or end", None, None
        return "wrong path", "no path allows frame %d from the root" % \
            furthest, None

    def is_startup(self, frames):
        """Before main or after it: no function of ours, the root known."""
        if not frames or any(self.expect.is_own(f) for f in frames):
            return False
        root = frames[0]
        return root.names[0] == "_start" or (
            root.names[0].startswith("ld!") and not self.static and
            root.sym in ("_start", "_dl_start_user", "_dl_start", ""))

    def number(self, frames):
        if not self.expect.growing:
            return None
        pattern, count = self.expect.growing
        digits = [m[1] for m in (pattern.fullmatch(f.names[0])
                                 for f in frames) if m]
        return int("".join(digits)) if len(digits) == count else None

    def grows(self, raw, number):
        if number < self.last_number.get(raw["tid"], number):
            self.fault("out of order", "%d after %d" % (
                number, self.last_number[raw["tid"]]), raw)
        self.last_number[raw["tid"]] = number

    def kernel_half(self, raw, frames):
        for pattern, leaf in self.expect.kernel:
            inside = any(pattern.fullmatch(f.get("sym") or "")
                         for f in raw["frames"] if f.get("kernel"))
            if inside and raw.get("end") not in self.may_end:
                self.count["joined"] += 1
                if not frames or not leaf.matches(frames[-1]):
                    self.fault("kernel half of another stack",
                               pattern.pattern, raw)

    def at_known_bad(self, frames):
        """The entry that excuses this stack: its leaf, or what a signal
        interrupted, stands on a listed instruction."""
        for i, frame in enumerate(frames):
            top = i + 1 == len(frames) or frames[i + 1].sym == "__restore_rt"
            found = self.known_bad.find(frame, top)
            if found:
                return found
        return None

    def wrong_call_site(self, frames):
        for caller, callee in zip(frames, frames[1:]):
            # Without a name it might be the trampoline of a signal.
            if caller.sym == "" or caller.off is None or \
                    callee.sym in ("", "__restore_rt") or \
                    caller.sym == "__restore_rt" or \
                    not self.is_ours(caller.dso):
                continue
            code = code_of(caller.dso)
            if caller.raw not in code.start:
                continue
            addr = code.start[caller.raw] + caller.off
            if addr not in code.after_call:
                return "%s+%#x is not behind a call" % (caller.sym,
                                                        caller.off)
            target = code.after_call[addr][0]
            if target and not self.may_show(target, callee):
                return "%s+%#x calls %s, not %s" % (
                    caller.sym, caller.off, target, callee.names[0])
        return None

    def is_ours(self, path):
        return os.path.dirname(path) == os.path.dirname(self.exe)

    def may_show(self, target, callee):
        if target.endswith("@plt") or "plt" in target:
            return callee.dso != self.exe or \
                callee.names[0].startswith("PLT!") or \
                callee.sym == target[:-len("@plt")]
        if self.static and not self.expect.is_own(callee):
            return True     # libc's aliases and IFUNCs
        return callee.sym in [target] + self.expect.tails.get(target, [])


def is_static(exe):
    return not any("INTERP" in line for line in output("readelf", "-lW", exe))


def known_bad_entries(path):
    """The stanzas of known-bad-cfi.txt as dictionaries."""
    entries, key = [{}], None
    for line in open(path):
        line = line.rstrip()
        if line.startswith("#"):
            continue
        if not line:
            entries.append({})
        elif line.startswith(" "):
            entries[-1][key] += " " + line.strip()
        else:
            key, _, value = line.partition(": ")
            entries[-1][key] = value.strip()
    return [entry for entry in entries if entry]


class KnownBad:
    """tests/progs/known-bad-cfi.txt, resolved to places in a file."""

    def __init__(self, path, exe):
        self.entries = []
        self.files = {}
        if path and os.path.exists(path):
            name = os.path.basename(exe)
            self.entries = [
                entry for entry in known_bad_entries(path)
                if any(fnmatch.fnmatch(name, glob)
                       for glob in entry["programs"].split())]

    def in_file(self, path, dso):
        """{(symbol, offset): (text, counts for every frame)}"""
        if path not in self.files:
            self.files[path] = {}
            for entry in self.entries:
                where, _, function = entry["function"].rpartition("!")
                if re.fullmatch(where, dso):
                    self.resolve(path, function, entry)
        return self.files[path]

    def resolve(self, path, function, entry):
        code, kind = code_of(path), entry["instruction"]
        for symbol, (start, _) in code.bounds.items():
            if not re.fullmatch(function, plain(demangled(symbol))):
                continue
            body = code.body(symbol)
            if kind == "eh_return":
                found = self.eh_return(code, body)
            elif kind == "no-cfi":
                found = self.no_cfi(path, body)
            else:
                found = self.matching(body, kind, entry.get("after"))
            for addr, text in found:
                for name in (symbol, demangled(symbol), symbol.split("@")[0]):
                    self.files[path][(name, addr - start)] = (
                        "%s+%#x: %s" % (symbol, addr - start, text),
                        kind in ("eh_return", "no-cfi"))

    @staticmethod
    def no_cfi(path, body):
        for addr, text in body:
            if not any(low <= addr < high for low, high in fde_ranges(path)):
                yield addr, text

    @staticmethod
    def matching(body, pattern, before):
        for (_, old), (addr, text) in zip([(0, "")] + body, body):
            if re.fullmatch(pattern, text) and \
                    (not before or re.fullmatch(before, old)):
                yield addr, text

    @staticmethod
    def eh_return(code, body):
        last = [i for i, (_, text) in enumerate(body)
                if re.fullmatch(r"mov +%rcx,%rsp", text)]
        for i in last:
            calls = [j for j in range(1, i)
                     if body[j][0] in code.after_call]
            end = next(j for j in range(i, len(body))
                       if re.match("jmp|ret", body[j][1]))
            yield from body[calls[-2]:end + 1]

    def find(self, frame, top):
        where = "" if frame.own else short_dso(frame.dso)
        if not frame.raw or not any(
                re.fullmatch(entry["function"].rpartition("!")[0], where)
                for entry in self.entries):
            return None
        text, every = self.in_file(frame.dso, where).get(
            (frame.raw.split("@")[0], frame.off), (None, False))
        return text if top or every else None


def report(checker, args):
    count, faults = checker.count, checker.faults
    tests = [("at least %d wanted samples" % args.min,
              count["wanted"] >= args.min)]
    tests += [("every stack is whole", not faults["not whole"]),
              ("every stack is a path of the program",
               not faults["wrong path"]),
              ("every return address is behind the right call",
               not faults["wrong call site"])]
    missing = [paths[0].text for paths in checker.expect.full
               if not checker.full_seen[paths[0].text]]
    if not args.no_coverage:
        tests.append(("every path is seen", not missing))
    shares = [] if args.no_shares else list(pathshares.faults(
        count, checker.expect.shares, args.slow_start))
    if not args.no_shares:
        tests.append(("as many stacks are of each kind as may be",
                      not shares))
    if args.data:
        tests.append(("the leaf in user mode is the event's own ip",
                      (count["in user mode"] > 0 or args.no_coverage) and
                      not faults["other leaf"]))
    if checker.expect.growing:
        tests.append(("stacks belong to their samples",
                      not faults["out of order"]))
    if checker.expect.kernel and not args.no_kernel:
        tests.append(("kernel and user halves belong together",
                      count["joined"] > 0 and
                      not faults["kernel half of another stack"]))
    name = args.name or os.path.basename(args.exe)
    for number, (what, good) in enumerate(tests, 1):
        print("%sok %d - %s: %s" % ("" if good else "not ", number, name,
                                    what))
    print("1..%d" % len(tests))
    print("# " + ", ".join("%s %d" % item for item in count.items()))
    for kind, stacks in faults.items():
        for stack, times in stacks.most_common(args.show):
            print("# %s, %d times: %s" % (kind, times, stack))
        if len(stacks) > args.show:
            print("# %s: %d more kinds of stack" % (kind,
                                                    len(stacks) - args.show))
    for entry, times in checker.excused.items():
        print("# excused, %d times: wrong CFI at %s" % (times, entry))
    for text in shares:
        print("# " + text)
    for text in missing:
        print("# never seen: " + text)
    return 0 if all(good for _, good in tests) else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exe", required=True)
    parser.add_argument("--expect", required=True)
    parser.add_argument("--name")
    parser.add_argument("--json", help="default: standard input")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--known-bad")
    parser.add_argument("--min", type=int, default=100)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--may-end", action="append", default=[],
                        help="an end code that is no fault")
    parser.add_argument("--no-coverage", action="store_true")
    parser.add_argument("--no-shares", action="store_true",
                        help="how many are of which kind does not matter")
    parser.add_argument("--slow-start", type=float,
                        help="per cent that may be of start or end")
    parser.add_argument("--data", help="the recording, uncompressed, for "
                        "where its events came")
    parser.add_argument("--no-kernel", action="store_true")
    args = parser.parse_args()
    variables = dict(item.split("=", 1) for item in args.set)
    expect = pathgrammar.Expectation(args.expect, variables)
    checker = Checker(args, expect)
    comm = os.path.basename(args.exe)[:15]
    samples = []
    for line in open(args.json) if args.json else sys.stdin:
        raw = json.loads(line)
        if raw.get("comm", comm) == comm:
            samples.append(raw)
        else:
            checker.count["of another command"] += 1
    for raw in sorted(samples, key=lambda raw: raw.get("time_ns", 0)):
        checker.sample(raw)
    return report(checker, args)


if __name__ == "__main__":
    sys.exit(main())
