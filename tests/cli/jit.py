#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""jit.py SEAM
Description: code that is in no file has the names that its process wrote in
/tmp/perf-PID.map, in every view: its own ones, by address, in each of several
mappings; a forked process those of its parent; one without such a file none."""
import os, struct, subprocess, sys, tempfile

SEAM = sys.argv[1]
# Above all that the kernel gives.
PID = 5000000 + 4 * os.getpid()
FORK, OTHER = PID + 1, PID + 2
IP, TID, TIME, CALLCHAIN = 1, 2, 4, 32
USER = 0xFFFFFFFFFFFFFE00


def record(kind, misc, body):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def mapped(pid, start, length, name):
    path = name.encode() + b'\0'
    path += bytes(-len(path) % 8)
    return record(1, 2, struct.pack('<IIQQQ', pid, pid, start, length, 0) + path)


def sample(pid, time, *ips):
    return record(9, 2, struct.pack('<QIIQQQ', ips[0], pid, pid, time,
                                    1 + len(ips), USER) + struct.pack(
                                        f'<{len(ips)}Q', *ips))


def recording():
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1, IP | TID | TIME | CALLCHAIN,
                       0, 0) + bytes(80)
    data = b''.join([
        mapped(PID, 0x7f0000001000, 0x1000, '//anon'),
        mapped(PID, 0x7f0000005000, 0x1000, '[anon:code]'),
        record(7, 0, struct.pack('<IIIIQ', FORK, PID, FORK, PID, 1)),
        mapped(OTHER, 0x7f0000001000, 0x1000, '//anon'),
        sample(PID, 10, 0x7f0000001006, 0x7f0000005010),
        sample(FORK, 11, 0x7f0000001006),
        sample(OTHER, 12, 0x7f0000001006),
        sample(PID, 13, 0x7f0000001800),
    ])
    at = 104 + len(attr) + 16
    head = b'PERFILE2' + struct.pack('<QQQQQQQQQ', 104, 128 + 16, 104, 144, at,
                                     len(data), 0, 0, 0) + bytes(24)
    return head + attr + struct.pack('<QQ', 0, 0) + data


def seam(*args):
    done = subprocess.run([SEAM, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.stdout.decode(), done.stderr.decode()


def stacks(text):
    return [[line.split(None, 1)[1] for line in block.splitlines()
             if line.startswith('\t') and len(line.split()) > 1]
            for block in text.strip().split('\n\n')]


def views(data, where):
    named = f'jitted function+0x6 ({where})'
    text, _ = seam('script', '-i', data)
    wanted = [[named, f'second+0x10 ({where})'], [named],
              ['[unknown] (//anon)'], ['[unknown] (//anon)']]
    yield 'script', stacks(text) == wanted, text
    text, _ = seam('report', '-i', data)
    yield 'report', 'jitted function' in text, text
    text, _ = seam('export', '-i', data, '--to', 'folded', '-o', '-')
    yield 'export', ';second;jitted function ' in text, text


def main():
    where = f'/tmp/perf-{PID}.map'
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, 'perf.data')
        with open(data, 'wb') as f:
            f.write(recording())
        try:
            with open(where, 'w', encoding='ascii') as f:
                f.write('7f0000001000 20 jitted function\n'
                        '7f0000005000 100 second\n')
            os.chmod(where, 0o644)
            tests = list(views(data, where))
            os.chmod(where, 0o666)
            text, err = seam('script', '-i', data)
            tests.append(('not of what everybody may write',
                          'jitted' not in text and where in err, text + err))
        finally:
            os.unlink(where)
    for i, (name, ok, text) in enumerate(tests, 1):
        print(f'{"ok" if ok else "not ok"} {i} - {name}')
        for line in [] if ok else text.splitlines():
            print('#', line)
    print(f'1..{len(tests)}')
    return not all(ok for _, ok, _ in tests)


sys.exit(main())
