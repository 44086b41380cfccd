#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""precise.py SEAM
Description: who reads a recording of stack copies is told what became of its
precise samples: of how many the instruction was taken back, and which could
not be, by their names; and how many samples in the kernel had the registers of
another moment. None of these has a caller."""
import json, os, shutil, struct, subprocess, sys, tempfile

SEAM = sys.argv[1]
TYPE = 1 | 2 | 4 | 32 | 4096 | 8192  # IP, TID, TIME, CALLCHAIN, REGS, STACK
ORDER = ['ax', 'bx', 'cx', 'dx', 'si', 'di', 'bp', 'sp', 'ip']
MASK = 0xff0000 | (1 << len(ORDER)) - 1  # and r8 to r15
STACK = 0x7ffe00001000
KERNEL, USER, EXACT = 1, 2, 1 << 14
TOP = 0xffffffff81000000  # of the kernel

# Each is called from _start; rules are by rsp, so that where an instruction
# has overwritten that there is no caller.
FUNCTION = """
.type {0}, @function
{0}:
	.cfi_startproc
	{1}
	ret
	.cfi_endproc
.size {0}, . - {0}
"""
INSNS = {'push': 'push %rbx\n\t.cfi_def_cfa_offset 16\n\tpop %rbx\n\t'
                 '.cfi_def_cfa_offset 8',
         'align': 'and $-32, %rsp', 'move': 'mov %rbp, %rsp',
         'exchange': 'xchg %rax, %rsp', 'return': 'ret',
         'first': 'call push', 'second': 'nop'}
START = """
.globl _start
_start:
	.cfi_startproc
	.cfi_undefined rip
	call push
.globl behind
behind:
	call second
.globl other
other:
	hlt
	.cfi_endproc
"""


def build(folder):
    source, path = os.path.join(folder, 'p.S'), os.path.join(folder, 'p')
    with open(source, 'w', encoding='ascii') as f:
        f.write('.text\n')
        for name, text in INSNS.items():
            f.write(FUNCTION.format(name, text))
        f.write(START)
    subprocess.run(['gcc', '-nostdlib', '-static', '-o', path, source],
                   check=True)
    text = subprocess.run(['nm', path], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    return path, {line.split()[2]: int(line.split()[0], 16)
                  for line in text.splitlines()}


def record(kind, misc, body):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def code_of(path):
    with open(path, 'rb') as f:
        data = f.read()
    at, size, n = struct.unpack_from('<Q', data, 32)[0], 56, data[56]
    for i in range(n):
        kind, flags, off, start, _, length = struct.unpack_from(
            '<IIQQQQ', data, at + i * size)
        if kind == 1 and flags & 1:
            return start, length, off
    raise ValueError('no code')


def mapped(path):
    start, length, off = code_of(path)
    name = path.encode() + b'\0'
    name += bytes(-len(name) % 8)
    return record(1, USER, struct.pack('<IIQQQ', 5, 5, start & -4096,
                                       (length + 4095 + start % 4096) & -4096,
                                       off & -4096) + name)


def sample(time, misc, ip, words):
    regs = dict.fromkeys(ORDER, 0x11) | {'sp': STACK, 'ip': ip}
    if misc & KERNEL:
        regs['ip'], ip = ip, TOP
    body = struct.pack('<QIIQQQ', ip, 5, 5, time, 0, 2)
    body += struct.pack('<9Q', *(regs[name] for name in ORDER)) + bytes(64)
    body += struct.pack('<Q', 8 * len(words))
    body += struct.pack(f'<{len(words)}Q', *words)
    body += struct.pack('<Q', 8 * len(words))
    return record(9, misc & 0xffff, body)


def recording(path, at):
    """Words from rsp on; what is below is not copied."""
    exact = USER | EXACT
    back = at['behind']
    data = mapped(path) + b''.join([
        sample(10, exact, at['push'], [0x11, back]),
        sample(11, exact, at['align'], [0, back]),
        sample(12, exact, at['move'], [back]),
        sample(13, exact, at['exchange'], [back]),
        sample(14, exact, at['align'], [0, 0, back]),
        sample(15, exact, at['return'], [0]),
        sample(16, exact, at['first'], [back, back]),
        sample(17, KERNEL, at['second'], [back]),
        sample(18, KERNEL, at['second'], [at['other']]),
    ])
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1, TYPE, 0, 2 << 15)
    attr += bytes(32) + struct.pack('<QI', MASK, 8192)
    attr += bytes(128 - len(attr))
    start = 104 + len(attr) + 16
    head = b'PERFILE2' + struct.pack('<9Q', 104, 144, 104, 144, start,
                                     len(data), 0, 0, 0) + bytes(24)
    return head + attr + struct.pack('<QQ', 0, 0) + data


def read(folder, *args):
    done = subprocess.run([SEAM, *args, '-i', os.path.join(folder, 'data')],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=True)
    return done.stdout.decode(), done.stderr.decode()


def stacks(text):
    frames = [json.loads(line)['frames'] for line in text.splitlines()]
    return [[int(f['ip'], 16) if isinstance(f['ip'], str) else f['ip']
             for f in sample] for sample in frames]


def main():
    if not shutil.which('gcc') or not shutil.which('nm'):
        print('1..0 # SKIP no compiler')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path, at = build(folder)
        with open(os.path.join(folder, 'data'), 'wb') as f:
            f.write(recording(path, at))
        counts = json.loads(read(folder, 'report', '--json')[0])
        text, err = read(folder, 'script', '--format', 'json')
    got = stacks(text)
    tests = [
        ('what was taken back is counted, and what cannot be, by name',
         counts['precise'] ==
         {'same': 0, 'undone': 1, 'behind': 0,
          'irreversible': {'and-sp': 2, 'mov-sp': 1, 'xchg-sp': 1},
          'below-sp': {'ret': 1}, 'skid-moment': {'call': 1}},
         counts['precise']),
        ('it is said which cannot be',
         ": 4 precise samples' instructions cannot be taken back: "
         '2 and-sp, 1 mov-sp, 1 xchg-sp\n' in err, err),
        ('none of these has a caller',
         got[:7] == [[at['push'], at['behind']], [at['align']], [at['move']],
                     [at['exchange']], [at['align']], [at['return']],
                     [at['first']]], got),
        ('a stack of another moment is counted, and there is none of it',
         counts['end']['unsure'] == 1 and
         got[7:] == [[TOP], [at['second'], at['other']]], (counts['end'], got)),
    ]
    print(f'1..{len(tests)}')
    for i, (name, ok, why) in enumerate(tests, 1):
        print(f'{"ok" if ok else "not ok"} {i} - {name}')
        if not ok:
            print('#', str(why).replace('\n', '\n# '))
    return not all(ok for _, ok, _ in tests)


if __name__ == '__main__':
    sys.exit(main())
