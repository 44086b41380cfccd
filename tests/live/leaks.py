# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Addresses of the kernel in a recording, judged by what each byte is.

Two numbers that lie side by side, a thread's and the low half of a time, may
look like an address: of 10,000 samples one in ten recordings had such a pair.
So a word of a record is judged as the word that it is; a tracepoint's payload
as its words are, and at any byte by where the kernel has memory and code;
and anything at any byte by which addresses another recording has.
"""

import os
import struct

KERNEL = 0xffff800000000000
# Of 64 bits: perf's markers in chains, error numbers, and what a process has
# mapped there.
MARKERS = 2 ** 64 - 4095
VSYSCALL = range(0xffffffffff600000, 0xffffffffff601000)
# The kernel, its modules and all else that is not memory are above it.
TOP = 0xffffff0000000000
MODULES_END = 0xffffffffff000000
SAMPLE, RAW = 9, 1 << 10
# The id, ip, thread, time, CPU and period of a sample of seam's come before
# its chain, whose length says where the payload is.
ID, TID, TIME, CHAIN = 8, 24, 32, 56


def is_address(word):
    # A short number below 0 behind a 0 is none.
    return KERNEL <= word < MARKERS and word not in VSYSCALL and \
        word & 0xffffffff


def words_of(data, at=0):
    n = (len(data) - at) // 8
    return struct.unpack_from("<%dQ" % n, data, at)


def types(data):
    """id -> sample_type of the event."""
    size, at, length = struct.unpack_from("<3Q", data, 16)
    found = {}
    for entry in range(at, at + length, size):
        kind = struct.unpack_from("<Q", data, entry + 24)[0]
        ids, n = struct.unpack_from("<QQ", data, entry + size - 16)
        found.update((i, kind) for i in struct.unpack_from(
            "<%dQ" % (n // 8), data, ids))
    return found


def samples(data):
    """Where each is, and the size of its payload, if it has one."""
    known = types(data)
    at, length = struct.unpack_from("<QQ", data, 40)
    end = at + length
    while at < end:
        kind, size = struct.unpack_from("<I2xH", data, at)
        if kind == SAMPLE:
            raw = None
            if known[struct.unpack_from("<Q", data, at + ID)[0]] & RAW:
                n = struct.unpack_from("<Q", data, at + CHAIN)[0]
                raw = at + CHAIN + 8 + 8 * n
            yield at, raw
        at += size


def at_any_byte(data, good):
    """Words of which good() holds. They end with 16 ones, which hardly
    anything else does, and have no more behind them."""
    at = data.find(b"\xff\xff", 6)
    while at >= 0:
        word = struct.unpack_from("<Q", data, at - 6)[0]
        if data[at + 2:at + 3] != b"\xff" and good(word):
            yield word
        at = data.find(b"\xff\xff", at + 1)


def kernel_text():
    """From the kernel's own code to where its modules' ends."""
    with open("/proc/kallsyms") as f:
        named = {name: int(at, 16) for at, _, name, *_ in
                 map(str.split, f) if name == "_text"}
    return range(named.get("_text", MODULES_END), MODULES_END)


class Known:
    """Addresses of this kernel, as a recording of kmem:kmalloc tells that may
    have them."""

    def __init__(self, found):
        self.text = kernel_text()
        fields = found.in_fields()
        given = [w for w in fields if w < TOP]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        # All memory is one range of addresses, and this is in it.
        self.memory = range(min(given, default=memory) - memory,
                            max(given, default=-memory) + memory)
        self.addresses = {*found.words(), *fields}

    def is_one(self, word):
        return word in self.addresses

    def is_likely(self, word):
        return word in self.text or word in self.memory


class Recording:
    """One without compression."""

    def __init__(self, data):
        self.data = data
        self.samples = list(samples(data))
        self.payloads = [
            (raw + 4, raw + 4 + struct.unpack_from("<I", data, raw)[0])
            for _, raw in self.samples if raw]

    def words(self, cookies=()):
        """Of all but payloads."""
        rest = bytearray(self.data)
        for at, end in self.payloads:
            rest[at:end] = bytes(end - at)
        return [w for w in words_of(rest) if is_address(w) and
                w not in cookies]

    def in_fields(self):
        """Fields of 64 bits lie at multiples of these."""
        return [w for at, end in self.payloads
                for w in words_of(self.data[at:end]) if is_address(w)]

    def in_payloads(self, known):
        return [w for at, end in self.payloads
                for w in at_any_byte(self.data[at:end], known.is_likely)]

    def anywhere(self, known):
        return list(at_any_byte(self.data, known.is_one))

    def all(self, known, cookies=()):
        """kind of place -> what is there."""
        return {"words": self.words(cookies), "fields": self.in_fields(),
                "payloads": self.in_payloads(known),
                "anywhere": self.anywhere(known)}

    def changed(self, *changes):
        """A copy with these bytes at these places."""
        data = bytearray(self.data)
        for at, put in changes:
            data[at:at + len(put)] = put
        return Recording(bytes(data))


def read(path):
    with open(path, "rb") as f:
        return Recording(f.read())
