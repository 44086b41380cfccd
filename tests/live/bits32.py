#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: 32-bit programs on a 64-bit kernel have whole stacks through
the code that the kernel gives them: the vDSO's __kernel_vsyscall, where they
enter the kernel, and what signal handlers of both kinds return to, and by. No frame in
it is taken for one of the 64-bit vDSO, by its rules or its names.

A kernel may run no such programs (ia32_emulation=0), or give them no code
(vdso32=0).
"""

import bisect
import collections
import subprocess
import sys

import livetest

# Calls the kernel by AT_SYSINFO, as a C library does, and sends itself signals
# whose handlers have no restorer of their own; until a count wraps. With an
# argument it ends at once; with two it makes fewer calls between the signals.
# Without AT_SYSINFO it ends with 77.
SOURCE = r"""
	.bss
vsys:	.long 0
rounds:	.long 0
calls:	.long 0
	.text
.globl _start
_start:	movl %esp, %ebp
	movl (%ebp), %ecx
	leal 8(%ebp,%ecx,4), %edi
1:	movl (%edi), %eax
	addl $4, %edi
	testl %eax, %eax
	jnz 1b
2:	movl $77, %ebx
	cmpl $0, (%edi)
	je 4f
	cmpl $32, (%edi)
	je 3f
	addl $8, %edi
	jmp 2b
3:	movl 4(%edi), %eax
	movl %eax, vsys
	xorl %ebx, %ebx
	movl $4000, calls
	cmpl $1, %ecx
	je 5f
	movl $10, calls
	cmpl $2, %ecx
	je 4f
5:
	xorl %ebp, %ebp
	call main
	xorl %ebx, %ebx
4:	movl $1, %eax
	int $0x80
main:	pushl %ebp
	movl %esp, %ebp
	movl $67, %eax
	movl $10, %ebx
	movl $plain, %ecx
	xorl %edx, %edx
	int $0x80
	movl $174, %eax
	movl $12, %ebx
	movl $info, %ecx
	xorl %edx, %edx
	movl $8, %esi
	int $0x80
1:	call middle
	incl rounds
	jnz 1b
	popl %ebp
	ret
middle:	pushl %ebp
	movl %esp, %ebp
	movl calls, %esi
1:	movl $20, %eax
	call *vsys
	decl %esi
	jnz 1b
	movl $10, %ecx
	call send
	movl $12, %ecx
	call send
	popl %ebp
	ret
send:	movl $20, %eax
	call *vsys
	movl %eax, %ebx
	movl $37, %eax
	call *vsys
	ret
on_plain: movl $4000000, %ecx
1:	decl %ecx
	jnz 1b
	ret
on_info: pushl %ebp
	movl %esp, %ebp
	movl $4000000, %ecx
1:	decl %ecx
	jnz 1b
	popl %ebp
	ret
	.data
plain:	.long on_plain, 0, 0, 0
info:	.long on_info, 4, 0, 0, 0
"""
WHOLE = {" ".join(path.split()) for path in """
    _start main
    _start main middle
    _start main middle [vdso]
    _start main middle send
    _start main middle send [vdso]
    _start main middle send [vdso] [vdso]
    _start main middle send [vdso] [vdso] on_plain
    _start main middle send [vdso] [vdso] on_info
    """.strip().splitlines()}
# Of the last two, and of system calls.
OFTEN = ("_start main middle [vdso]",
         "_start main middle send [vdso] [vdso] on_plain",
         "_start main middle send [vdso] [vdso] on_info")
# Of what handlers return by, at its system call.
RETURN = "_start main middle send [vdso] [vdso]"

# The program's exit status.
NO_CODE = 77


def programs(bench):
    return bench.compile(SOURCE, "kernels32", "-m32", "-nostdlib", "-static",
                         "-no-pie", "-Wl,--build-id=none",
                         language="assembler")


class Names:
    def __init__(self, program):
        lines = subprocess.run(["nm", program], stdout=subprocess.PIPE,
                               encoding="utf-8", check=True).stdout
        self.all = sorted((int(words[0], 16), words[2]) for words in map(
            str.split, lines.splitlines()) if words[1] in "tT")

    def of(self, frame):
        if frame.get("dso") == "[vdso]":
            return "[vdso]" + (":" + frame["sym"] if "sym" in frame else "")
        at = bisect.bisect_right(self.all, (int(frame["ip"], 16), "~")) - 1
        return self.all[at][1] if at >= 0 else frame["ip"]


def recorded(bench, what, options, *arguments):
    """The samples of what the program does in a second, each with the path
    that it shows, and whether the program runs on; None: it cannot."""
    try:
        program = programs(bench)
        found = subprocess.run([program, "probe"]).returncode
        names = Names(program)
    except (OSError, subprocess.CalledProcessError):
        return bench.skip(what, "such programs cannot be made or run here")
    if found == NO_CODE:
        return bench.skip(what, "this kernel gives such programs no code")
    target = bench.start([program, *arguments])
    recorder = bench.recorder(*options, "-p", str(target.pid)).ready()
    livetest.burn(1, target.pid)
    recording = recorder.interrupt()
    ended = target.poll()
    target.kill()
    samples = [(s, " ".join(map(names.of, livetest.user_frames(s))))
               for s in recording.kept(recording.samples())
               if s["end"] not in bench.may_end]
    return samples, ended is None


def judge(bench, what, samples, runs, wrong, most):
    return bench.test(what, runs and len(wrong) <= 0.01 * len(samples) and
                      most, "%d of %d\n%s" % (
                          len(wrong), len(samples), "\n".join(
                              map(livetest.show, wrong[:10]))))


def kernels_code(bench):
    what = "32-bit: through the kernel's code"
    found = recorded(bench, what, ["-e", "cpu-clock", "-F", "1999"])
    if not found:
        return
    samples, runs = found
    paths = collections.Counter(path for _, path in samples)
    bench.note(paths)
    # Signals come while a stack is taken, too.
    wrong = [s for s, path in samples if s["end"] != "regs-differ" and not (
        s["end"] == "unproven" and path in WHOLE)]
    judge(bench, what, samples, runs, wrong, len(samples) > 500 and all(
        paths[path] > 50 for path in OFTEN))


def sigreturn(bench):
    """Both calls that handlers return by raise sp and leave the stack as it
    was."""
    what = "32-bit: at the return from signal handlers"
    found = recorded(bench, what, ["-e", "raw_syscalls:sys_enter", "-c", "1"],
                     "few", "calls")
    if not found:
        return
    samples, runs = found
    bench.note(collections.Counter((s["end"], path) for s, path in samples))
    returns = collections.Counter(
        livetest.user_frames(s)[-1]["ip"] for s, path in samples
        if path == RETURN)
    bench.note(returns)
    wrong = [s for s, path in samples if s["end"] != "unproven" or
             path not in WHOLE]
    judge(bench, what, samples, runs, wrong, len(returns) == 2 and
          min(returns.values()) > 10)


if __name__ == "__main__":
    sys.exit(livetest.main(kernels_code, sigreturn, programs=programs, only={
        "the kernel's own unwinder knows frame pointers alone":
            ("deferred immediate dump", (kernels_code, sigreturn))}))
