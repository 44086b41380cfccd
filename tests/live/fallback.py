#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Code that no table describes: every sample of it has its known path.

JIT code in anonymous memory, with frame pointers and without; such code whose
pages are not there; assembly without CFI; a static program without tables, as
Go's linker makes them; a 32-bit one. A path is checked by addresses, since some
of it has no symbols.
"""

import collections
import subprocess
import sys

from livetest import CPU_MS, main, show, user_frames

ROOT = ["_start", "__libc_start_main", "__libc_start_call_main", "main"]

# Three functions made at run time; each calls the next through a register,
# the last one calls C. Prints where each begins, and the end of the last.
JIT = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
volatile unsigned long sink;
""" + CPU_MS + r"""
__attribute__((noinline)) void c_leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}
static uint8_t *at;
static void bytes(const char *hex)
{
	unsigned v;
	int n;
	while (sscanf(hex, " %2x%n", &v, &n) == 1) {
		*at++ = v;
		hex += n;
	}
}
static void *make(int fp, void *callee)
{
	void *f;
	while ((uintptr_t)at & 15)
		*at++ = 0xcc;
	f = at;
	/* push rbp; mov rsp, rbp; push rbx; sub 24, rsp; or without rbp */
	bytes(fp ? "55 48 89 e5 53 48 83 ec 18" : "53 48 83 ec 20");
	bytes("48 89 fb b9 10 00 00 00 ff c9 75 fc 48 b8");
	memcpy(at, &callee, 8);
	at += 8;
	bytes("ff d0 48 89 df b9 10 00 00 00 ff c9 75 fc");
	bytes(fp ? "48 83 c4 18 5b 5d c3" : "48 83 c4 20 5b c3");
	printf("%lx ", (unsigned long)f);
	return f;
}
int main(int argc, char **argv)
{
	int fp = !strcmp(argv[1], "fp");
	/* In text, and behind no call. */
	void *volatile planted = (char *)main + 1;
	void *f;
	at = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f = make(fp, make(fp, make(fp, (void *)c_leaf)));
	printf("%lx\n", (unsigned long)at);
	fflush(stdout);
	for (unsigned i = 0; cpu_ms() < 1200; i++)
		for (int j = 0; j < 100; j++)
			((void (*)(unsigned long))f)(i & 1 ? 1 : 100);
	return !planted;
}
"""

# As in libraries of long numbers: pushes, no CFI, rbp for something else.
ASM = r"""
	.text
	.globl outer
	.type outer, @function
outer:	push %r12
	push %rbp
	push %rbx
	sub $40, %rsp
	xor %ebp, %ebp
	mov $20, %ecx
1:	add %rcx, %rbp
	dec %ecx
	jnz 1b
	call inner
	lea 1(%rbp), %r12
	test %rbp, %rbp
	js 2f
	add $40, %rsp
	pop %rbx
	pop %rbp
	pop %r12
	ret
2:	jmp *%rax
	.size outer, . - outer
	.globl inner
	.type inner, @function
inner:	push %rbp
	mov $30, %ebp
1:	dec %ebp
	jnz 1b
	pop %rbp
	mov $20, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size inner, . - inner
	.section .note.GNU-stack, "", @progbits
"""

ASM_MAIN = r"""
#include <time.h>
""" + CPU_MS + r"""
void outer(void);
int main(void)
{
	while (cpu_ms() < 1200)
		for (int j = 0; j < 1000; j++)
			outer();
	return 0;
}
"""

# With no library and no tables, for 64 and for 32 bits.
BARE = r"""
volatile unsigned long sink, spin;
__attribute__((noinline)) void third(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) void second(unsigned long n)
{
	volatile char room[200];
	room[n & 7] = 1;
	third(n);
	sink += room[n & 7];
}
__attribute__((noinline)) void first(unsigned long n)
{
	if (n & 1)
		second(n);
	else
		third(n);
	sink++;
}
__attribute__((noinline)) int run(void)
{
	for (unsigned long i = 0; i < ROUNDS; i++)
		first(i & 3 ? 3 : 40);
	return 0;
}
#ifdef __i386__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call run\n"
	"mov %eax, %ebx\n mov $1, %eax\n int $0x80\n hlt\n");
#else
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call run\n"
	"mov %eax, %edi\n mov $60, %eax\n syscall\n hlt\n");
#endif
"""


# JIT code whose pages are taken away while it waits for its callee. They lie
# far apart, since a fault brings in what is near.
AWAY = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define FAR (1L << 20)
volatile unsigned long sink;
static uint8_t *code;
""" + CPU_MS + r"""
__attribute__((noinline)) void c_leaf(void)
{
	madvise(code, 3 * FAR, MADV_DONTNEED);
	for (unsigned long i = 0; i < 400000; i++)
		sink += i;
}
/* push rbp; mov rsp, rbp; mov callee, rax; call rax; pop rbp; ret. Without
 * rbp: sub 24, rsp and add 24, rsp. */
static void make(uint8_t *at, int fp, void *callee)
{
	static const uint8_t with[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8},
			     without[] = {0x48, 0x83, 0xec, 24, 0x48, 0xb8},
			     end[] = {0xff, 0xd0, 0x5d, 0xc3},
			     end_without[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 24,
					      0xc3};
	memcpy(at, fp ? with : without, 6);
	memcpy(at + 6, &callee, 8);
	memcpy(at + 14, fp ? end : end_without,
	       fp ? sizeof(end) : sizeof(end_without));
}
int main(int argc, char **argv)
{
	int fp = !strcmp(argv[1], "fp"), fd = memfd_create("code", 0);
	if (ftruncate(fd, 3 * FAR))
		return 1;
	code = mmap(NULL, 3 * FAR, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_SHARED, fd, 0);
	make(code, fp, code + FAR);
	make(code + FAR, fp, code + 2 * FAR);
	make(code + 2 * FAR, fp, (void *)c_leaf);
	printf("%lx\n", (unsigned long)code);
	fflush(stdout);
	while (cpu_ms() < 400)
		((void (*)(void))code)();
	return 0;
}
"""


# A function whose way out is not to be seen: it jumps to an address in a
# register. main has a frame pointer; this has none, or has a local below it.
UNSEEN = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
volatile unsigned long sink;
""" + CPU_MS + r"""
__attribute__((noinline)) void c_leaf(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sink += i;
}
static const uint8_t with[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 16, 0x48, 0xb8, 0, 0, 0, 0,
	0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0x6d, 0xf8, 1,
	0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0, 0xc9, 0xc3,
}, without[] = {
	0x48, 0x83, 0xec, 24, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0,
	0x48, 0x8d, 0x05, 2, 0, 0, 0, 0xff, 0xe0, 0x48, 0x83, 0xc4, 24, 0xc3,
};
__attribute__((noinline)) int middle(uint8_t *code)
{
	((void (*)(void))code)();
	return sink & 1;
}
int main(int argc, char **argv)
{
	int fp = !strcmp(argv[1], "fp");
	void (*callee)(void) = c_leaf;
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, fp ? with : without, fp ? sizeof(with) : sizeof(without));
	memcpy(code + (fp ? 10 : 6), &callee, 8);
	printf("%lx\n", (unsigned long)code);
	fflush(stdout);
	while (cpu_ms() < 500)
		sink += middle(code);
	return 0;
}
"""

# Functions with frames of all sizes, one after the other in the same place.
REUSE = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
volatile unsigned long sink;
""" + CPU_MS + r"""
__attribute__((noinline)) void c_leaf(void)
{
	for (unsigned long i = 0; i < 60000; i++)
		sink += i;
}
static uint8_t bytes[] = {
	0x48, 0x83, 0xec, 0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0,
	0x48, 0x83, 0xc4, 0, 0xc3,
};
__attribute__((noinline)) int middle(uint8_t *code)
{
	((void (*)(void))code)();
	return sink & 1;
}
int main(void)
{
	void (*callee)(void) = c_leaf;
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%lx\n", (unsigned long)code);
	fflush(stdout);
	memcpy(bytes + 6, &callee, 8);
	for (int i = 0; cpu_ms() < 600; i++) {
		bytes[3] = bytes[19] = i * 5 % 7 * 16 + 8;
		memcpy(code, bytes, sizeof(bytes));
		sink += middle(code);
	}
	return 0;
}
"""


class Names:
    """From addresses to functions: by nm, and by ranges of one's own."""

    def __init__(self, path=None):
        self.ranges = []
        if path:
            text = subprocess.run(["nm", "-n", path], check=True,
                                  stdout=subprocess.PIPE,
                                  encoding="utf-8").stdout
            found = [(int(line.split()[0], 16), line.split()[2])
                     for line in text.splitlines()
                     if line.split()[-2] in "tT"]
            ends = [start for start, _ in found[1:]] + [1 << 64]
            self.ranges = [(start, end, name) for (start, name), end
                           in zip(found, ends)]

    def of(self, frame, exact):
        ip = int(frame["ip"], 16) - (not exact)
        for start, end, name in self.ranges:
            if start <= ip < end:
                return name
        return frame.get("sym", "?").split("@")[0]

    def path(self, sample):
        frames = user_frames(sample)
        return [self.of(frame, i == len(frames) - 1)
                for i, frame in enumerate(frames)]


def is_cut(path, end, chains):
    """A stack that ends too early, as it says, and is true as far as it goes:
    whether a table comes was not known yet."""
    return end == "no-table" and any(path == chain[-len(path):]
                                     for chain in chains)


def judge(bench, what, recording, names, chains, within, least):
    """Every sample with a function of `within` has one of the chains."""
    samples = recording.samples()
    seen, wrong, places = collections.Counter(), [], set()
    copies = recording.summary["copies"]
    for sample in samples:
        path = names.path(sample)
        if not within & set(path):
            continue
        leaf = user_frames(sample)[-1]
        places.add(leaf["ip"])
        if path in chains and sample["end"] == "unproven":
            seen[tuple(path)] += 1
        elif copies and is_cut(path, sample["end"], chains):
            copies -= 1
        else:
            wrong.append(sample)
    total = sum(seen.values())
    bench.test("%s: each sample has its path" % what,
               total >= least and not wrong,
               "%d right, %d wrong\n%s" % (
                   total, len(wrong), "\n".join(map(show, wrong[:8])) +
                   "\n" + recording.log))
    bench.test("%s: every path is there, at many instructions" % what,
               len(seen) == len(chains) and len(places) >= 2 * len(chains),
               "%s, %d places" % (seen, len(places)))
    bench.note("%s: %d samples, %d places" % (what, total, len(places)))
    return samples


def methods(samples):
    return collections.Counter(
        frame.get("method") for sample in samples
        for frame in user_frames(sample)[:-1])


def prefixes(root, *chain):
    return [root + list(chain[:n + 1]) for n in range(len(chain))]


def programs(bench):
    bench.compile(JIT, "jit")
    bench.compile(AWAY, "away")
    compiled_unseen(bench)
    compiled_reuse(bench)
    compiled_assembly(bench)


def jit(bench):
    exe = bench.compile(JIT, "jit")
    # Its table is made here, so that no copy below is for want of it.
    bench.record("--", exe, "fp", stdout=subprocess.DEVNULL)
    for kind in ("fp", "nofp"):
        with open(bench.path("at"), "w+") as out:
            recording = bench.record("-F", "4999", "--", exe, kind,
                                     stdout=out)
            out.seek(0)
            third, second, first, end = [int(word, 16)
                                         for word in out.read().split()]
        names = Names()
        names.ranges = [(third, second, "third"), (second, first, "second"),
                        (first, end, "first")]
        samples = judge(
            bench, "JIT code, " + kind, recording, names,
            prefixes(ROOT, "first", "second", "third", "c_leaf"),
            {"first", "second", "third", "c_leaf"}, 1000)
        bench.test("JIT code, %s: no copy was needed" % kind,
                   recording.summary["copies"] <= 20 * bench.args.slower,
                   recording.log)
        found = methods(samples)
        bench.test("JIT code, %s: each frame says how it was found" % kind,
                   found["fp"] > 1000 and found["sframe"] > 1000 and
                   set(found) <= {"fp", "sframe", "cfi", None}, found)


def away(bench):
    """Code that is not in memory is brought in, as stacks are."""
    exe = bench.compile(AWAY, "away")
    for kind in ("fp", "nofp"):
        with open(bench.path("at"), "w+") as out:
            recording = bench.record("-F", "999", "--", exe, kind, stdout=out)
            out.seek(0)
            start = int(out.read(), 16)
        names = Names()
        names.ranges = [(start + (i << 20), start + (i << 20) + 64, name)
                        for i, name in enumerate(("first", "second", "third"))]
        seen = collections.Counter(
            (tuple(f for f in names.path(s) if "madvise" not in f), s["end"])
            for s in recording.samples() if "c_leaf" in names.path(s))
        chain = ROOT + ["first", "second", "third", "c_leaf"]
        others = [(path, end) for path, end in seen
                  if (list(path), end) != (chain, "unproven")]
        bench.test("code that is not there, %s: every stack is whole" % kind,
                   seen[tuple(chain), "unproven"] > 100 and
                   all(is_cut(list(path), end, [chain])
                       for path, end in others) and
                   sum(map(seen.get, others)) <= recording.summary["copies"],
                   "%s\n%s" % (seen, recording.log))
        bench.test("code that is not there, %s: it was faulted in" % kind,
                   recording.summary["faulted"] > 100, recording.summary)


def record_made(bench, exe, *options, argv=()):
    """Of a program that prints where it makes one function."""
    with open(bench.path("at"), "w+") as out:
        recording = bench.record("-F", "4999", *options, "--", exe, *argv,
                                 stdout=out)
        out.seek(0)
        start = int(out.read(), 16)
    names = Names()
    names.ranges = [(start, start + 4096, "made")]
    samples = [s for s in recording.samples() if "c_leaf" in names.path(s)]
    return recording, collections.Counter(
        (tuple(names.path(s)), s["end"]) for s in samples)


def compiled_unseen(bench):
    return bench.compile(UNSEEN, "unseen", "-O2", "-fno-omit-frame-pointer",
                         "-fno-optimize-sibling-calls")


def unseen(bench):
    """The frame pointer alone is main's, and middle would be left out: it is
    not believed, unless the code uses it for its own frame, or asked for."""
    exe = compiled_unseen(bench)
    chain = tuple(ROOT + ["middle", "made", "c_leaf"])
    cut = chain[-2:], "no-table"
    recording, seen = record_made(bench, exe, argv=["nofp"])
    bench.test("no way out, no frame pointer: ends there",
               seen[cut] > 500 and set(seen) == {cut}, seen)
    recording, seen = record_made(bench, exe, argv=["fp"])
    n = seen.pop(cut, 0)
    bench.test("no way out, but a frame pointer in use: goes on",
               seen[chain, "unproven"] > 500 and len(seen) == 1 and
               n <= recording.summary["copies"], (n, seen))


def compiled_reuse(bench):
    return bench.compile(REUSE, "reuse", "-O2", "-fno-optimize-sibling-calls")


def reuse(bench):
    """What is no more at a place says nothing of a stack from before."""
    exe = compiled_reuse(bench)
    chain = tuple(ROOT + ["middle", "made", "c_leaf"])
    allowed = {(chain, "unproven"), (chain[-2:], "no-table")}
    for options in ((), ("--engine", "dump")):
        recording, seen = record_made(bench, exe, *options)
        what = recording.summary["engine"]
        bench.test("other code in its place, %s: no stack is wrong" % what,
                   sum(seen.values()) > 500 and set(seen) <= allowed, seen)
        bench.test("other code in its place, %s: followed where it can be" %
                   what, what == "dump" or seen[chain, "unproven"] > 500, seen)


def compiled_assembly(bench):
    with open(bench.path("asm.S"), "w") as f:
        f.write(ASM)
    return bench.compile(ASM_MAIN, "asm", "-x", "assembler",
                         paths=[bench.path("asm.S")])


def assembly(bench):
    recording = bench.record("-F", "4999", "--", compiled_assembly(bench))
    judge(bench, "assembly without CFI", recording, Names(),
          prefixes(ROOT, "outer", "inner"), {"outer", "inner"}, 1000)


def build_bare(bench, bits, level, rounds):
    source, exe = bench.path("bare.c"), bench.path("bare")
    with open(source, "w") as f:
        f.write(BARE)
    subprocess.run(
        ["gcc", "-m%d" % bits, level, "-ffreestanding", "-fno-pic",
         "-fno-pie", "-fno-stack-protector",
         "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
         "-fno-omit-frame-pointer", "-fno-ipa-icf",
         "-fno-optimize-sibling-calls", "-DROUNDS=%d" % rounds, "-c", source,
         "-o", exe + ".o"], check=True)
    subprocess.run(["ld", "-m", {64: "elf_x86_64", 32: "elf_i386"}[bits],
                    "-static", "-o", exe, exe + ".o"], check=True)
    return exe


def why_not_bits(bench, bits):
    """Why no such program runs here, or None: a kernel may have none of 32
    bits, nor the machine below it."""
    try:
        status = subprocess.run([build_bare(bench, bits, "-O2", 1)]).returncode
    except OSError as e:
        return "no such program runs here: %s" % e.strerror
    return "such a program ends with %d here" % status if status else None


def bare(bench):
    for bits in (64, 32):
        why = why_not_bits(bench, bits) if bits == 32 else None
        for level in ("-O0", "-O2"):
            what = "static, %d bits, %s" % (bits, level)
            if why:
                bench.skip(what, why)
                continue
            exe = build_bare(bench, bits, level,
                             24000000 if level == "-O2" else 18000000)
            recording = bench.record("-F", "4999", "--", exe)
            root = ["_start", "run"]
            judge(bench, what, recording, Names(exe),
                  [root, root + ["first"],
                   root + ["first", "second"],
                   root + ["first", "third"],
                   root + ["first", "second", "third"]],
                  {"run"}, 500)


if __name__ == "__main__":
    sys.exit(main(jit, away, unseen, reuse, assembly, bare,
                  programs=programs, only={
                      "code that is not in memory is brought in by one alone":
                          ("deferred", (away,)),
                      "a copy of the stack has no copy of such code": (
                          "deferred immediate", (jit, unseen))}))
