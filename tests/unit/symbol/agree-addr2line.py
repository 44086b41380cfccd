#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Description: at every address of programs in C, C++ and Rust, by gcc and clang
and in DWARF 4 and 5, the inlined functions, files and lines are those that
LLVM's addr2line prints, and as many as gdb sees.
So it is when the sections are packed or in a debug file; of split DWARF the
lines are right, and what is missing is said.

    agree-addr2line.py DUMP_SOURCE

binutils' addr2line is asked as well, and what it says is counted: version
2.40 takes the wrong file of DWARF 5, and no ranges of clang's.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

C = r"""
#include <stdlib.h>
static volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
	for (int i = 0; i < 5; i++)
		x = x * 1664525u +
			1013904223u;
	return x;
}
static inline __attribute__((always_inline)) unsigned middle(unsigned x)
{
	sink = inner(x) ^
		inner(x + 1);
	return sink;
}
__attribute__((noinline)) unsigned outer(unsigned x)
{
	if (x == 77)
		abort();
	return middle(x) + middle(x + 2);
}
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
int main(int argc, char **argv)
{
	int v[4] = {4, argc, 2, argv[0][0]};

	qsort(v, 4, sizeof(*v), compare);
	return (int)outer((unsigned)v[1]);
}
"""

CXX = r"""
#include <algorithm>
#include <vector>
namespace one {
namespace {
volatile int sink;
}
template <class T> struct box {
	T v;
	explicit box(T x) : v(x) {}
	__attribute__((always_inline)) inline T twice(T x)
	{
		return v * x + helper(x);
	}
	__attribute__((noinline)) T helper(T x)
	{
		sink = static_cast<int>(x);
		return x + 3;
	}
};
struct base {
	virtual ~base() {}
	virtual int call(int x) { return box<int>(x).twice(x); }
};
}
static inline int second(int x)
{
	one::box<long> s{x};
	return static_cast<int>(s.twice(x)) + 1;
}
template <class F> static inline int apply(F f, int x) { return f(x) + f(1); }
__attribute__((noinline)) int run(int x)
{
	struct local : one::base {
		int y;
		int call(int z) override { return second(z) + y; }
	} l;
	l.y = x;
	auto twist = [&](int z) { return second(z) * l.y; };
	one::base *b = &l;
	try {
		return apply(twist, x) + b->call(x);
	} catch (...) {
		return second(x);
	}
}
int main(int argc, char **)
{
	std::vector<int> q;
	for (int i = 0; i < 100; i++)
		q.push_back(run(i + argc));
	std::sort(q.begin(), q.end());
	return q[3];
}
"""

RUST = r"""
mod deep {
    pub struct Counter { pub total: u64 }
    impl Counter {
        #[inline(always)]
        pub fn add(&mut self, x: u64) { self.total += mix(x); }
        #[inline(never)]
        pub fn many(&mut self, v: &[u64]) { for x in v { self.add(*x); } }
    }
    #[inline(always)]
    fn mix(x: u64) -> u64 { x.wrapping_mul(0x9e3779b97f4a7c15) >> 7 }
}
fn main() {
    let v: Vec<u64> = std::env::args().map(|a| a.len() as u64).collect();
    let mut c = deep::Counter { total: 0 };
    c.many(&v);
    std::process::exit((c.total % 7) as i32);
}
"""

NO_INLINED = "its functions are in .dwo files"
LLVM = "llvm-addr2line-19"


class Tap:
    count = failed = 0

    def test(self, name, good, note=""):
        self.count += 1
        self.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", self.count, name))
        for line in note.splitlines()[:5] if not good else ():
            print("#", line[:400])
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why))


def shell(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          encoding="utf-8", errors="replace", **more).stdout


def code_of(path):
    """Every address of .text and its like that is in a function."""
    addresses = set()
    for line in shell("readelf", "-sW", path).splitlines():
        word = line.split()
        if len(word) > 7 and word[3] == "FUNC" and word[6].isdigit():
            start = int(word[1], 16)
            size = min(int(word[2], 0), 3000)
            addresses.update(range(start, start + size))
    return sorted(addresses)


def parse(text):
    """address -> [(function, file, line)], innermost first"""
    answers, lines, i = {}, text.splitlines(), 0
    while i < len(lines):
        if re.match(r"0x[0-9a-f]+$", lines[i]):
            here = answers.setdefault(int(lines[i], 16), [])
            i += 1
            continue
        path, _, line = re.sub(r" \(discriminator \d+\)", "",
                               lines[i + 1]).rpartition(":")
        line = int(line) if line.isdigit() else 0
        here.append((lines[i].replace(" ", ""), os.path.normpath(path), line))
        i += 2
    return answers


def ask(command, addresses):
    return parse(shell(*command, stderr=subprocess.DEVNULL,
                       input="".join("%x\n" % a for a in addresses)))


def known(answer):
    """Not of the symbol table alone."""
    return len(answer) > 1 or answer[0][2] != 0


def plain(answer):
    """Without the function's own name, which the symbol table knows."""
    return answer[:-1] + [("-",) + answer[-1][1:]]


def same(ours, theirs, names=True):
    return len(ours) == len(theirs) and all(
        a[1:] == b[1:] and (not names or a[0] == b[0] or b[0].startswith("_Z"))
        for a, b in zip(ours, plain(theirs)))


GDB = r"""
import gdb
for text in open(ADDRESSES):
    block, depth = gdb.block_for_pc(int(text, 16)), 0
    while block and block.superblock:
        above = block.superblock
        depth += block.function is not None
        if block.start < above.start or block.end > above.end:
            break    # a function of a class that is declared in another
        block = above
    print("%s %d" % (text.strip(), depth))
"""


def gdb_says(path, addresses, folder):
    """address -> how many functions are there; 0: gdb knows none"""
    listing = os.path.join(folder, "addresses")
    script = os.path.join(folder, "ask.py")
    with open(listing, "w") as out:
        out.writelines("%x\n" % a for a in addresses)
    with open(script, "w") as out:
        out.write(GDB.replace("ADDRESSES", repr(listing)))
    text = shell("gdb", "-nx", "-batch", "-x", script, path,
                 stderr=subprocess.DEVNULL)
    return dict((int(a, 16), int(n)) for a, n in
                re.findall(r"^([0-9a-f]+) (\d+)$", text, re.M))


class Checker:
    def __init__(self, tap, dump, folder):
        self.tap, self.dump, self.folder = tap, dump, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, text, *command):
        with open(self.path(name), "w") as out:
            out.write(text)
        program = self.path("program")
        shell(*command, name, "-o", program, cwd=self.folder)
        return program

    def ours(self, program, addresses):
        """And what is said on standard error."""
        done = subprocess.run(
            [self.dump, program, self.folder], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8", check=True,
            input="".join("%x\n" % a for a in addresses))
        return parse(done.stdout), done.stderr

    def compare(self, what, program, least, names=True, step=1):
        addresses = code_of(program)[::step]
        ours, complaint = self.ours(program, addresses)
        theirs = ask([LLVM, "-a", "-i", "-f", "-C", "-e", program], addresses)
        wrong, inlined, right = [], 0, 0
        for a in addresses:
            if not known(theirs[a]):
                continue
            if same(ours[a], theirs[a], names):
                right += 1
                inlined += len(theirs[a]) > 1
            else:
                wrong.append("%#x: %s, not %s" % (a, ours[a], theirs[a]))
        self.tap.test("%s: as LLVM's addr2line, and without a word" % what,
                      not wrong and not complaint and right > least and
                      inlined, "%d right, %d of them inlined, %d wrong\n%s" % (
                          right, inlined, len(wrong), complaint + "\n".join(
                              wrong)))
        print("# %d addresses, %d with inlined functions" % (right, inlined))
        return addresses, ours

    def with_gdb(self, what, program, addresses, ours):
        if not shutil.which("gdb"):
            return self.tap.skip(what + ": as gdb", "no gdb")
        theirs, wrong, right = gdb_says(program, addresses, self.folder), [], 0
        for a, depth in theirs.items():
            if depth == len(ours[a]):
                right += 1
            elif depth:
                wrong.append("%#x: %s, gdb %d functions" % (a, ours[a], depth))
        self.tap.test("%s: as many functions as gdb sees" % what, right and not wrong,
                      "%d right, %d wrong\n%s" % (right, len(wrong),
                                                  "\n".join(wrong)))

    def with_binutils(self, program, addresses, ours):
        if not shutil.which("addr2line"):
            return
        theirs = ask(["addr2line", "-a", "-i", "-f", "-C", "-e", program],
                     addresses)
        told = [a for a in addresses if known(theirs[a])]
        print("# binutils' addr2line agrees at %d of %d addresses" % (
            sum(same(ours[a], theirs[a]) for a in told), len(told)))


def compilers(check):
    for compiler, cxx in (("gcc", "g++"), ("clang-14", "clang++-14")):
        for version in 4, 5:
            for name, text, command in (("c.c", C, compiler),
                                        ("cxx.cc", CXX, cxx)):
                what = "%s, DWARF %d" % (command, version)
                if not shutil.which(command):
                    check.tap.skip(what, "no " + command)
                    continue
                program = check.compile(name, text, command, "-O2",
                                        "-gdwarf-%d" % version)
                addresses, ours = check.compare(what, program, 100)
                check.with_gdb(what, program, addresses, ours)
                check.with_binutils(program, addresses, ours)


def rust(check):
    if not shutil.which("rustc"):
        return check.tap.skip("rustc", "no rustc")
    program = check.compile("main.rs", RUST, "rustc", "-O", "-g")
    # LLVM's demangler says more of Rust's older mangling, and less.
    check.compare("rustc", program, 1000, names=False, step=7)


MOVED = [
    ("packed by zlib", "objcopy --compress-debug-sections=zlib program"),
    ("packed the old way",
     "objcopy --compress-debug-sections=zlib-gnu program"),
    ("packed by zstd", "objcopy --compress-debug-sections=zstd program"),
    ("in a linked debug file",
     "objcopy --only-keep-debug program other && objcopy --strip-debug "
     "--add-gnu-debuglink=other program"),
    ("in a build-id's debug file",
     "id=$(readelf -n program | sed -n 's/.*Build ID: //p') && "
     "mkdir -p .build-id/${id%${id#??}} && objcopy --only-keep-debug program "
     ".build-id/${id%${id#??}}/${id#??}.debug && strip program"),
]


def moved(check):
    for what, command in MOVED:
        program = check.compile("cxx.cc", CXX, "g++", "-O2", "-g",
                                "-Wl,--build-id")
        addresses = code_of(program)
        before, _ = check.ours(program, addresses)
        done = subprocess.run(["sh", "-c", command], cwd=check.folder,
                              stderr=subprocess.PIPE, encoding="utf-8")
        if done.returncode:
            check.tap.skip(what, "objcopy: " + done.stderr.strip())
            continue
        after, complaint = check.ours(program, addresses)
        check.tap.test("the same when " + what,
                       before == after and not complaint and any(
                           len(a) > 1 for a in after.values()), complaint)


def split(check):
    program = check.compile("c.c", C, "gcc", "-O2", "-g", "-gsplit-dwarf")
    addresses = code_of(program)
    ours, complaint = check.ours(program, addresses)
    lines = ask([LLVM, "-a", "-i", "-f", "-e", program], addresses)
    check.tap.test("split DWARF: the innermost lines, and why no more",
                   NO_INLINED in complaint and all(
                       len(ours[a]) == 1 and ours[a][0][1:] == lines[a][0][1:]
                       for a in addresses if known(lines[a])), complaint)


def main():
    tap = Tap()
    if not shutil.which(LLVM) or not shutil.which("g++"):
        print("1..0 # SKIP no %s or g++" % LLVM)
        return 0
    for part in compilers, rust, moved, split:
        folder = tempfile.mkdtemp(prefix="seam-source-")
        try:
            part(Checker(tap, os.path.abspath(sys.argv[1]), folder))
        finally:
            shutil.rmtree(folder)
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
