#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Description: for every architecture, form of CFI and kind of file, the rows
that we read are those that binutils' readelf prints, at every address where
either has a new one; and the SFrame made of them says the same.

    agree-readelf.py DUMP_ROWS [--convert PROGRAM] [--clang CLANG] [FILE...]

Files are compiled here, by a clang that knows all three architectures, and
some real ones of this machine are taken; or those named are.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = r"""
int g(int);
int h(int, int, int);
void big(char *);
int leaf(int a) { return a + 1; }
int calls(int a, int b)
{
	char buf[5000];

	big(buf);
	return g(a) + h(a, b, buf[3]);
}
int alloca_(int n)
{
	char *x = __builtin_alloca(n);

	big(x);
	return x[0];
}
int many(int a, int b, int c)
{
	int r = 0;

	for (int i = 0; i < a; i++)
		r += h(a, b, c + i) + g(i);
	if (r > 7)
		return g(b) + many(r, h(1, 2, 3), c);
	return r;
}
__attribute__((aligned(64))) int aligned(int a)
{
	int v[16] __attribute__((aligned(64)));

	big((char *)v);
	return v[a];
}
"""

# What no compiler writes for every architecture, with its registers.
ASSEMBLY = r"""
	.text
	.globl	odd
	.type	odd, %function
odd:
	.cfi_startproc
	NOP
	.cfi_remember_state
	.cfi_def_cfa A, 48
	.cfi_offset B, -16
	.cfi_remember_state
	NOP
	.cfi_same_value B
	.cfi_undefined A
	NOP
	.cfi_restore_state
	NOP
	.cfi_register B, A
	.cfi_adjust_cfa_offset 8
	.cfi_escape 0x15, A, 3
	NOP
	.cfi_restore B
	.cfi_restore_state
	NOP
	.cfi_escape 0x0f, 3, BREG_A, 8, 6
	.cfi_escape 0x10, B, 2, BREG_A, 0x78
	.cfi_escape 0x16, A, 2, BREG_A, 0x10
	NOP
	.cfi_def_cfa A, 1000000
	.cfi_undefined RA
	NOP
	.cfi_endproc
	.size	odd, .-odd
	.section .text.other, "ax", %progbits
	.type	other, %function
other:
	.cfi_startproc
	.cfi_signal_frame
	NOP
	PAC
	.cfi_def_cfa_offset 64
	.rept	300
	NOP
	.endr
	.cfi_def_cfa_offset 640
	NOP
	.cfi_endproc
	.size	other, .-other
"""

NAMES = {
    "x86-64": ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"]
    + ["r%d" % i for i in range(8, 16)] + ["rip"],
    "aarch64": ["x%d" % i for i in range(31)] + ["sp"],
    "s390x": ["r%d" % i for i in range(16)]
    + ["f%d" % i for i in (0, 2, 4, 6, 1, 3, 5, 7,
                           8, 10, 12, 14, 9, 11, 13, 15)],
}

TARGETS = [
    ("x86-64", "x86_64-linux-gnu", [],
     {"A": "12", "B": "3", "RA": "16", "BREG_A": "0x7c", "PAC": ""}),
    ("aarch64", "aarch64-linux-gnu", [],
     {"A": "20", "B": "29", "RA": "30", "BREG_A": "0x84",
      "PAC": ".cfi_negate_ra_state\n"}),
    ("aarch64", "aarch64_be-linux-gnu", [],
     {"A": "20", "B": "29", "RA": "30", "BREG_A": "0x84",
      "PAC": ".cfi_b_key_frame\n.cfi_negate_ra_state\n"}),
    ("aarch64", "aarch64-linux-gnu", ["-mbranch-protection=pac-ret+b-key"],
     {"A": "20", "B": "29", "RA": "30", "BREG_A": "0x84",
      "PAC": ".cfi_b_key_frame\n.cfi_negate_ra_state\n"}),
    ("s390x", "s390x-linux-gnu", [],
     {"A": "12", "B": "11", "RA": "14", "BREG_A": "0x7c", "PAC": ""}),
]

FORMS = [
    ("eh_frame", ["-fasynchronous-unwind-tables"]),
    ("debug_frame", ["-fno-asynchronous-unwind-tables", "-g",
                     "-gdwarf-4"]),
    ("debug_frame, 64-bit DWARF", ["-fno-asynchronous-unwind-tables", "-g",
                                   "-gdwarf-5", "-gdwarf64"]),
    ("debug_frame, DWARF 2, compressed",
     ["-fno-asynchronous-unwind-tables", "-g", "-gdwarf-2", "-gz"]),
    ("sections of functions", ["-fasynchronous-unwind-tables",
                               "-ffunction-sections"]),
]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True).stdout


class Function:
    """Rows are (distance from start, {column: rule})."""

    def __init__(self, start, end):
        self.start, self.end, self.rows = start, end, []

    def add(self, address, row):
        self.rows.append((address - self.start, row))

    def at(self, distance):
        found = None
        for at, row in self.rows:
            if at <= distance:
                found = row
        return found


def ours(dump, path):
    """Functions in the file's order, and complaints."""
    functions, bad = [], []
    for line in run(dump, path).splitlines():
        word, *rest = line.split()
        if word == "F":
            functions.append(Function(int(rest[0], 16), int(rest[1], 16)))
        elif word in "BE":
            bad.append(line)
        else:
            row = dict(part.split("=") for part in rest[1:])
            row["cfa"] = rest[0]
            functions[-1].add(int(word, 16), row)
    return functions, bad


def number(machine, name, ra):
    """A register's number by readelf's name; None: not one that we follow."""
    if name == "ra":
        return ra
    if name == "r15" and machine == "s390x":
        return 15
    return NAMES[machine].index(name) if name in NAMES[machine] else None


def rule(machine, column, text, ra):
    if column == "cfa":
        base, sign, off = re.match(r"(\w+?)([+-])(\d+)$", text).groups() \
            if text != "exp" else (None, None, None)
        if base is None:
            return "exp"
        return "%d%s%s" % (number(machine, base, ra), sign, off)
    if text in ("u", "s"):
        return "u"
    if re.match(r"[cv][+-]", text) or text in ("exp", "vexp"):
        return text
    return str(number(machine, text, ra))


def machine_of(path):
    text = run("readelf", "-h", path)
    for machine, name in (("x86-64", "X86-64"), ("aarch64", "AArch64"),
                          ("s390x", "IBM S/390")):
        if name in text:
            return machine
    return None


def theirs(machine, path):
    functions, cies, columns, function, section = [], {}, [], None, ""
    text = run("readelf", "-W", "--debug-dump=frames-interp", path)
    for line in text.splitlines():
        if line.startswith("Contents of the"):
            section = line
        entry = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)", line)
        words = line.split()
        if entry and entry.group(2) == "CIE":
            cie, function = (section, int(entry.group(1), 16)), None
            ra = int(re.search(r"ra=(\d+)", line).group(1))
            cies[cie] = {}, ra
        elif entry:
            of, start, end = (int(g, 16) for g in re.search(
                r"cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)",
                line).groups())
            function = Function(start, end)
            # Its rows follow if it has any of its own.
            row, ra = cies[section, of]
            function.add(start, row)
            functions.append(function)
        elif words and words[0] == "LOC":
            columns = ["cfa"] + words[2:]
        elif words and re.match(r"[0-9a-f]{16}$", words[0]) and columns:
            # A register is named twice: "r20 (x20)".
            rules = re.sub(r"\S+ \((\w+)\)", r"\1", line).split()[1:]
            row = dict((str(c if c == "cfa" else number(machine, c, ra)),
                        rule(machine, c, t, ra))
                       for c, t in zip(columns, rules))
            if function:
                function.add(int(words[0], 16), row)
            else:
                cies[cie] = row, ra
    return [f for f in functions if f.end > f.start]


def same(a, b):
    """Registers that only one of them mentions have no rule there."""
    return all(a.get(column, "u") == b.get(column, "u")
               for column in set(a) | set(b) if column not in ("pac", "None"))


def symbols(path):
    """Where the functions of a relocatable file lie when its sections are
    laid out one behind the other."""
    bases, at = {}, 0
    for line in run("readelf", "-SW", path).splitlines():
        found = re.match(r" +\[ *(\d+)\] \S+ +(\S+) +[0-9a-f]+ [0-9a-f]+ "
                         r"([0-9a-f]+) [0-9a-f]+ +([WAXMSILGTEop]*) +\d+ "
                         r"+\d+ +(\d+)$", line)
        if found and "A" in found.group(4) and found.group(2) != "NOBITS":
            align = max(int(found.group(5)), 1)
            at = (at + align - 1) // align * align
            bases[found.group(1)] = at
            at += int(found.group(3), 16)
    places = set()
    for line in run("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) > 7 and words[3] == "FUNC" and words[6] in bases:
            start = bases[words[6]] + int(words[1], 16)
            places.add((start, start + int(words[2], 0)))
    return places


def compare_function(ours, theirs, is_placed):
    count, wrong = 0, []
    size = ours.end - ours.start
    if size != theirs.end - theirs.start or \
            (is_placed and ours.start != theirs.start):
        wrong.append("%#x-%#x, readelf: %#x-%#x" % (
            ours.start, ours.end, theirs.start, theirs.end))
    for at in set(a for a, _ in ours.rows + theirs.rows if a < size):
        count += 1
        a, b = ours.at(at), theirs.at(at)
        if not a or not b or not same(a, b):
            wrong.append("%#x: %s, readelf: %s" % (ours.start + at, a, b))
    return count, wrong


def compare(dump, machine, path):
    """Return: the number of addresses compared, and what differs."""
    (we, wrong), they = ours(dump, path), theirs(machine, path)
    is_rel = "REL (" in run("readelf", "-h", path)
    count = 0
    if len(we) != len(they):
        wrong.append("%d functions, readelf: %d" % (len(we), len(they)))
    if is_rel and set((f.start, f.end) for f in we) != symbols(path):
        wrong.append("functions are not where their symbols are")
    for a, b in zip(we, they):
        n, differ = compare_function(a, b, not is_rel)
        count += n
        wrong += differ
    return count, wrong


class Report:
    def __init__(self):
        self.n, self.failed = 0, False

    def say(self, name, wrong, count):
        self.n += 1
        if count == 0 and not wrong:
            wrong = ["nothing was compared"]
        print("%s %d - %s: %d addresses" % ("not ok" if wrong else "ok",
                                            self.n, name, count))
        for line in wrong[:10]:
            print("# " + line)
        self.failed |= bool(wrong)


def converted(program, path):
    """What is wrong with the SFrame made of a file: see test-distribution."""
    done = subprocess.run([program, path], stdout=subprocess.PIPE, text=True,
                          check=False)
    return done.stdout.splitlines() if done.returncode else []


def compiled(report, dump, program, clang, folder):
    c, s = os.path.join(folder, "t.c"), os.path.join(folder, "odd.S")
    with open(c, "w") as f:
        f.write(SOURCE)
    for machine, target, flags, names in TARGETS:
        what = " ".join([target] + flags)
        for form, options in FORMS:
            out = os.path.join(folder, "t.o")
            run(clang, "--target=" + target, "-O2", "-w", *options, *flags,
                "-c", "-o", out, c)
            count, wrong = compare(dump, machine, out)
            if program:
                wrong += converted(program, out)
            report.say("%s, %s" % (what, form), wrong, count)
        text = ASSEMBLY
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(r"\b%s\b" % name, names[name], text)
        nop = "nopr\n" if machine == "s390x" else "nop\n"
        text = re.sub(r"\bNOP\b", nop, text)
        for section in (".eh_frame", ".debug_frame"):
            with open(s, "w") as f:
                f.write("\t.cfi_sections %s\n" % section + text)
            out = os.path.join(folder, "odd.o")
            run(clang, "--target=" + target, "-c", "-o", out, s)
            count, wrong = compare(dump, machine, out)
            report.say("%s, odd %s" % (what, section), wrong, count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("--convert", help="test-table-distribution")
    parser.add_argument("--clang", default="clang-14")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    if not args.files and not shutil.which(args.clang):
        print("1..0 # SKIP %s is not installed" % args.clang)
        return 0
    report = Report()
    for path in args.files:
        count, wrong = compare(args.dump, machine_of(path), path)
        report.say(path, wrong, count)
    if not args.files:
        with tempfile.TemporaryDirectory(prefix="seam-cfi-") as folder:
            compiled(report, args.dump, args.convert, args.clang, folder)
    print("1..%d" % report.n)
    return report.failed


sys.exit(main())
