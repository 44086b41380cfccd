#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""jit.py SEAM
Description: code that is in no file has the names that its process wrote in
/tmp/perf-PID.map, in every view: its own ones, by address, in each of several
mappings; a forked process those of its parent; one without such a file none,
and one that began, or ran another program, when that was written already."""
import os, struct, subprocess, sys, tempfile
from time import time_ns

SEAM = sys.argv[1]
# Above all that the kernel gives.
PID = 5000000 + 4 * os.getpid()
FORK, OTHER, LATE = PID + 1, PID + 2, PID + 3
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


# Times in the recording are after that, on the clock of files.
CLOCK_BEGAN = time_ns() - 10**12
CLOCK_DATA = 29


def timed(pid, at, kind, misc, body):
    return record(kind, misc, body + struct.pack('<IIQ', pid, pid, at))


def recording(*records, clock=False):
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1, IP | TID | TIME | CALLCHAIN,
                       0, clock << 18) + bytes(80)
    data = b''.join(records)
    at = 104 + len(attr) + 16
    head = b'PERFILE2' + struct.pack('<QQQQQQQQQ', 104, 128 + 16, 104, 144, at,
                                     len(data), 0, 0, clock << CLOCK_DATA)
    feature = struct.pack('<IIQQ', 1, 1, CLOCK_BEGAN, 0) if clock else b''
    where = struct.pack('<QQ', at + len(data) + 16,
                        len(feature)) if clock else b''
    return (head + bytes(24) + attr + struct.pack('<QQ', 0, 0) + data + where +
            feature)


def usual():
    return recording(
        mapped(PID, 0x7f0000001000, 0x1000, '//anon'),
        mapped(PID, 0x7f0000005000, 0x1000, '[anon:code]'),
        record(7, 0, struct.pack('<IIIIQ', FORK, PID, FORK, PID, 1)),
        mapped(OTHER, 0x7f0000001000, 0x1000, '//anon'),
        sample(PID, 10, 0x7f0000001006, 0x7f0000005010),
        sample(FORK, 11, 0x7f0000001006),
        sample(OTHER, 12, 0x7f0000001006),
        sample(PID, 13, 0x7f0000001800))


def reused(code):
    """A process that was forked after 10 s, and ran another program at 20 s."""
    pids = struct.pack('<II', LATE, LATE)
    anon = pids + struct.pack('<QQQ', code, 0x1000, 0) + b'//anon\0\0'
    second = 10**9
    return recording(
        timed(LATE, 10 * second, 7, 0,
              struct.pack('<IIIIQ', LATE, OTHER, LATE, OTHER, 10 * second)),
        timed(LATE, 11 * second, 1, 2, anon),
        sample(LATE, 12 * second, code + 6),
        timed(LATE, 20 * second, 3, 0x2000, pids + b'program\0'),
        timed(LATE, 21 * second, 1, 2, anon),
        sample(LATE, 22 * second, code + 6), clock=True)


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


def ages(data, where):
    """What was written after 5, 15 and 25 s."""
    code = 0x7f0000001000
    with open(data, 'wb') as f:
        f.write(reused(code))
    with open(where, 'w', encoding='ascii') as f:
        f.write(f'{code:x} 20 jitted function\n')
    os.chmod(where, 0o644)
    own = [f'jitted function+0x6 ({where})']
    none = ['[unknown] (//anon)']
    for at, wanted, name in [(5, [none, none], 'before the process'),
                             (15, [own, none], 'before its program'),
                             (25, [own, own], 'by it')]:
        ns = CLOCK_BEGAN + at * 10**9
        os.utime(where, ns=(ns, ns))
        text, err = seam('script', '-i', data)
        is_said = f'{where}: it was written before the process began' in err
        yield (f'names that were written {name}', stacks(text) == wanted and
               is_said == (none in wanted), text + err)


def main():
    where = f'/tmp/perf-{PID}.map'
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, 'perf.data')
        with open(data, 'wb') as f:
            f.write(usual())
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
            tests += ages(data, f'/tmp/perf-{LATE}.map')
        finally:
            os.unlink(where)
            if os.path.exists(f'/tmp/perf-{LATE}.map'):
                os.unlink(f'/tmp/perf-{LATE}.map')
    for i, (name, ok, text) in enumerate(tests, 1):
        print(f'{"ok" if ok else "not ok"} {i} - {name}')
        for line in [] if ok else text.splitlines():
            print('#', line)
    print(f'1..{len(tests)}')
    return not all(ok for _, ok, _ in tests)


sys.exit(main())
