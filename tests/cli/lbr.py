#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""lbr.py SEAM
Description: of perf record --call-graph lbr the user half is the processor's
stack of calls, in recordings of either byte order, merged or not; the chain's
where it has none, or the branches are others; a count of branches that are not
there makes a malformed record."""
import os, struct, subprocess, sys

from each import each

SEAM = sys.argv[1]
TYPE = 1 | 2 | 4 | 32 | 2048  # IP, TID, TIME, CALLCHAIN, BRANCH_STACK
KERNEL, USER = 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFFFE00
CALLS = 1 | 1 << 11  # of user space, as a stack
HW_INDEX = 1 << 17


class Recording:
    def __init__(self, order, branches):
        self.order, self.branches, self.data = order, branches, b''

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def sample(self, time, chain, calls, count=None):
        body = self.pack('QIIQQ', chain[0], 5, 5, time, len(chain))
        body += self.pack(f'{len(chain)}Q', *chain)
        body += self.pack('Q', len(calls) if count is None else count)
        if self.branches & HW_INDEX:
            body += self.pack('Q', 0)
        for call in calls:
            body += self.pack('QQQ', *call, 0)
        self.data += self.pack('IHH', 9, 2, 8 + len(body)) + body

    def whole(self):
        attr = self.pack('IIQQQQQIIQQQ', 1, 128, 0, 1, TYPE, 0, 0, 0, 0, 0, 0,
                         self.branches) + bytes(48)
        at = 104 + len(attr) + 16
        head = self.pack('Q', 0x32454c4946524550) + self.pack(
            '9Q', 104, len(attr) + 16, 104, len(attr) + 16, at,
            len(self.data), 0, 0, 0) + bytes(24)
        return head + attr + self.pack('QQ', 0, 0) + self.data


def made(order, branches):
    r = Recording(order, branches)
    chain = [USER, 0x1234, 0x9000]
    calls = [(0x2010, 0x1200), (0x3020, 0x2000)]
    r.sample(10, [KERNEL, 0xffffffff81000000] + chain, calls)
    r.sample(11, chain, calls)
    r.sample(12, chain, [])
    return r


def stacks(path):
    done = subprocess.run([SEAM, 'script', '-i', path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode()
    return [[int(line.split()[0], 16) for line in block.splitlines()[1:]]
            for block in text.strip().split('\n\n')], done.stderr.decode()


CALLED, OWN = [0x1234, 0x2010, 0x3020], [0x1234, 0x9000]
TOP = 0xffffffff81000000


def same(folder, recording, wanted, says=''):
    path = os.path.join(folder, 'perf.data')
    with open(path, 'wb') as f:
        f.write(recording.whole())
    got, err = stacks(path)
    ok = got == wanted and says in err
    if ok and not says:
        merged = path + '.merged'
        subprocess.run([SEAM, 'inject', '-i', path, '-o', merged], check=True,
                       stderr=subprocess.PIPE)
        got, err = stacks(merged)
        ok = got == wanted
    return ok, f'{got} {err}'


def main():
    whole = [[TOP] + CALLED, CALLED, OWN]
    cut = made('<', CALLS)
    cut.sample(13, [USER, 0x1234], [(1, 2)], 1 << 61)
    tests = [('little endian', made('<', CALLS), whole, ''),
             ('with an index', made('<', CALLS | HW_INDEX), whole, ''),
             ('big endian', made('>', CALLS), whole, ''),
             ('other branches', made('<', 1), [[TOP] + OWN, OWN, OWN], ''),
             ('too many', cut, whole, 'malformed')]
    return each(tests, same)


if __name__ == '__main__':
    sys.exit(main())
