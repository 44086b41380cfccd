#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# dump.py SEAM
# Description: seam sframe dump prints tables of real assemblers and linkers
# as objdump --sframe does (NAME.dump beside each NAME), with JSON that holds
# the same, but for the known bugs of objdump that are named below.
import json
import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
seam = os.path.abspath(sys.argv[1])
count = failed = 0


def report(name, problem):
    global count, failed
    count += 1
    failed += bool(problem)
    print(f"{'not ok' if problem else 'ok'} {count} - {name}", flush=True)
    for line in (problem or "").splitlines():
        print("# " + line)


def run(folder, *args):
    done = subprocess.run([seam, "sframe", *args], text=True,
                          cwd=os.path.join(here, folder),
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr


def difference(ours, theirs):
    """The first line that differs, or None."""
    a, b = ours.splitlines(), theirs.splitlines()
    for i in range(max(len(a), len(b))):
        x = a[i] if i < len(a) else "(end)"
        y = b[i] if i < len(b) else "(end)"
        if x != y:
            return f"line {i + 1}\nours   {x}\ntheirs {y}"
    return None


# Known bugs of objdump. Each takes our text and gives what it would print.

def bug_no_fixed_ra(text):
    """2.40: amd64's RA is at CFA - 8 by the header, but shown as unsaved."""
    text = text.replace("    CFA fixed RA offset: -8\n", "")
    return re.sub(r"^(    [0-9a-f]{16}  .{20})f( {12})$", r"\1u\2", text,
                  flags=re.M)


def bug_not_relocated(text):
    """2.40 and 2.44: relocatable files have no relocations applied, so that
    every function begins at 0."""
    start = 0

    def head(m):
        nonlocal start
        start = int(m[2], 16)
        return f"{m[1]}0x0{m[3]}"

    out = []
    for line in text.splitlines(keepends=True):
        line = re.sub(r"(.*: pc = )0x([0-9a-f]+)(.*)", head, line)
        line = re.sub(r"^    ([0-9a-f]{16})  ",
                      lambda m: f"    {int(m[1], 16) - start:016x}  ", line)
        out.append(line)
    return "".join(out)


def bug_any_register(text):
    """All: a register that no machine has is printed as if it had."""
    return text.replace(
        "    malformed: row 2 at offset 0x39 has no meaning\n",
        "    0000000000000004  sp+16     (r536870911+0)U            \n"
        "    0000000000000006  sp+8      u         f            \n")


def bugs(folder, name):
    found = []
    if folder == "v1" and name.startswith("amd64-"):
        found.append(bug_no_fixed_ra)
    if folder in ("v1", "v2") and name.endswith(".o"):
        found.append(bug_not_relocated)
    if name == "amd64-gas-bug.o" and folder == "v3":
        found.append(bug_any_register)
    return found


# An independent rendering, from the words of the JSON's rows.

SP_FP = {"amd64": (7, 6), "aarch64-le": (31, 29), "aarch64-be": (31, 29),
         "s390x": (15, 11)}


def flex_value(sf, words, i, bits):
    control = words[i] & (1 << bits) - 1
    if not control:
        return None, i + 1
    base = "c"
    if control & 1:
        names = dict(zip(SP_FP[sf["abi"]], ("sp", "fp")))
        base = names.get(control >> 3, f"r{control >> 3}")
    off = words[i + 1]
    text = f"{base}{off:+}"
    return f"({text})" if control & 3 == 3 else text, i + 2


def scaled(sf, off):
    return off * 8 + 160 if sf["abi"] == "s390x" else off


def flex_row(sf, row):
    words = list(row["words"])
    words[1] = scaled(sf, words[1])
    values, i = [], 0
    for _ in range(3):
        value = None
        if i < len(words):
            value, i = flex_value(sf, words, i, 8 * row["word_size"])
        values.append(value)
    cfa, ra, fp = values
    fixed = "f" if sf["fixed_ra_offset"] else "u"
    return cfa, fp or "u", ra or ("U" if len(words) & 1 else fixed)


def default_row(sf, row):
    words = row["words"]
    base = "sp" if row["info"] & 1 else "fp"
    cfa = f"{base}{scaled(sf, words[0]):+}"
    slots = [f"c{w:+}" if w else "U" for w in words[1:]]
    if sf["fixed_ra_offset"]:
        return cfa, slots[0] if slots else "u", "f"
    slots += ["u"] * (2 - len(slots))
    return cfa, slots[1], slots[0]


def row_text(sf, func, row):
    at = row["start"] + (0 if func["pcmask"] else func["start"])
    if not row["words"]:
        return f"    {at:016x}  RA undefined\n"
    cfa, fp, ra = (flex_row if func["info2"] & 31 else default_row)(sf, row)
    if row["info"] & 0x80:
        ra += "[s]"
    return f"    {at:016x}  {cfa:10}{fp:10}{ra:13}\n"


def func_text(sf, func):
    attr = "S" * bool(func["info"] & 0x80) + "F" * bool(func["info2"] & 31)
    text = (f"\n    func idx [{func['index']}]: pc = {func['start']:#x}, "
            f"size = {func['size']} bytes")
    text += f', attr = "{attr}"' if attr else ""
    text += ", pauth = B key" if func["info"] & 0x20 else ""
    mark = "[m]" if func["info"] & 0x10 else "   "
    text += f"\n    STARTPC{mark}      CFA       FP        RA{'':11}\n"
    return text + "".join(row_text(sf, func, r) for r in func["rows"])


def functions_of(text):
    at = text.index("  Function Index :\n")
    return text[at + len("  Function Index :\n"):]


def compare(folder, name):
    status, ours, errors = run(folder, "dump", name)
    malformed = bug_any_register in bugs(folder, name)
    if status != malformed or bool(errors) != malformed:
        return f"exit status {status}\n{errors}"
    theirs = open(os.path.join(here, folder, name + ".dump")).read()
    expected = ours
    for bug in bugs(folder, name):
        expected = bug(expected)
        if expected == ours and bug is not bug_not_relocated:
            return f"{bug.__name__} is none here"
    return difference(expected, theirs)


def compare_json(folder, name):
    status, text, _ = run(folder, "dump", name)
    status2, out, _ = run(folder, "dump", "--json", name)
    sf = json.loads(out)
    assert status == status2, (status, status2)
    assert len(sf["functions"]) == sf["num_fdes"]
    if status == 0:
        rows = sum(len(f["rows"]) for f in sf["functions"])
        assert rows == sf["num_fres"], (rows, sf["num_fres"])
        return difference(
            "".join(func_text(sf, f) for f in sf["functions"]),
            functions_of(text))
    return None


def flags_aside(text):
    return re.sub(r"    Flags: .*", "", text)


def main():
    for folder in ("v1", "v2", "v2-pcrel", "v3"):
        names = sorted(n for n in os.listdir(os.path.join(here, folder))
                       if not n.endswith(".dump"))
        for name in names:
            report(f"{folder}/{name}", compare(folder, name))
            report(f"{folder}/{name} as JSON", compare_json(folder, name))
            # The same bytes, where only the flag says what they mean.
            if folder == "v2" and name.endswith(".o"):
                report(f"{folder}/{name} with and without the flag",
                       difference(flags_aside(run("v2", "dump", name)[1]),
                                  flags_aside(run("v2-pcrel", "dump",
                                                  name)[1])))
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
