#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""off-cpu.py SEAM
Description: of perf record --off-cpu, from perf 6.15 on, a sample's thread, how
long it slept and its stack are those in the payload, in recordings of either
byte order, and whichever of thread and process comes first; a payload that is too
short makes a malformed record, and one of another event is none of this."""
import json, os, struct, subprocess, sys

from each import each

SEAM = sys.argv[1]
TYPE = 1 | 2 | 4 | 256 | 1024 | 1 << 16 # IP, TID, TIME, PERIOD, RAW, IDENTIFIER
CHAIN = 32
USER = 0xFFFFFFFFFFFFFE00
HOSTNAME, EVENT_DESC, ID = 3, 12, 77
STACK = [0x1234, 0x9000, 0xa000]


class Recording:
    def __init__(self, order, name='offcpu-time', chain=False):
        self.order, self.name, self.data = order, name, b''
        self.type = TYPE | (CHAIN if chain else 0)

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def sample(self, time, first, second, slept, stack, short=0):
        payload = self.pack('IIQQ', first, second, slept, len(stack) + 1)
        payload += self.pack('Q%dQ' % len(stack), USER, *stack)
        payload += self.pack('Q', 1) # the cgroup
        payload = payload[:len(payload) - short]
        # So that the next record is where a multiple of 8 is.
        payload += bytes(-(len(payload) + 4) % 8)
        # What was running, and not what slept.
        body = self.pack('QQIIQQ', ID, 0, 1, 1, time, 0)
        if self.type & CHAIN:
            body += self.pack('Q', 0)
        body += self.pack('I', len(payload)) + payload
        self.data += self.pack('IHH', 9, 1, 8 + len(body)) + body

    def whole(self):
        attr = self.pack('IIQQQQQ', 1, 128, 10, 1, self.type, 0, 0) + bytes(80)
        ids = 104 + len(attr) + 16
        at = ids + 8
        host = self.string('host')
        desc = self.pack('II', 1, len(attr)) + attr + self.pack(
            'I', 1) + self.string(self.name) + self.pack('Q', ID)
        end = at + len(self.data) + 32
        head = self.pack('Q', 0x32454c4946524550) + self.pack(
            '9Q', 104, len(attr) + 16, 104, len(attr) + 16, at,
            len(self.data), 0, 0, 1 << HOSTNAME | 1 << EVENT_DESC) + bytes(24)
        return (head + attr + self.pack('QQ', ids, 8) + self.pack('Q', ID) +
                self.data + self.pack('4Q', end, len(host), end + len(host),
                                      len(desc)) + host + desc)

    def string(self, text):
        return self.pack('I', 64) + text.encode() + bytes(64 - len(text))


def read(path):
    done = subprocess.run([SEAM, 'script', '--format', 'json', '-i', path],
                          check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding='utf-8')
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def told(path):
    samples, err = read(path)
    return [(s['pid'], s['tid'], s['period'],
             [int(f['ip'], 16) for f in s['frames']]) for s in samples], err


def made(order, **more):
    r = Recording(order, **more)
    r.sample(10, 500, 501, 1000, STACK) # as perf writes it at the end
    r.sample(11, 501, 500, 2000, STACK[1:]) # and as its program does
    r.sample(12, 500, 500, 3000, STACK[:1])
    return r


SLEPT = [(500, 501, 1000, STACK), (500, 501, 2000, STACK[1:]),
         (500, 500, 3000, STACK[:1])]


def check(folder, recording, wanted, says):
    path = os.path.join(folder, 'perf.data')
    with open(path, 'wb') as f:
        f.write(recording.whole())
    got, err = told(path)
    ok = got == wanted and says in err
    if ok and not says:
        parted = path + '.parted'
        subprocess.run([SEAM, 'inject', '--unmerge', '-i', path, '-o', parted],
                       check=True, stderr=subprocess.PIPE)
        got, err = told(parted)
        ok = got == wanted
    return ok, f'{got} {err}'


def main():
    short = made('<')
    short.sample(13, 500, 501, 4000, STACK, short=24)
    tests = [('little endian', made('<'), SLEPT, ''),
             ('big endian', made('>'), SLEPT, ''),
             ('a chain besides', made('<', chain=True), SLEPT, ''),
             ('a payload that is too short', short, SLEPT, 'malformed'),
             ('another event', made('<', name='bpf-output'),
              [(1, 1, 0, [0])] * 3, '')]
    return each(tests, check)


if __name__ == '__main__':
    sys.exit(main())
