# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A recording of a clock, as one of a precise event: of each sample the ip is
taken for that of an instruction, and the registers for those behind it. So it
can be had what reading such takes where no hardware has them. The stacks are not
true, but they are unwound as if they were."""

import struct

ATTR_SIZE, SAMPLE, IS_EXACT = 16, 9, 1 << 14
PRECISE = 2 << 15 # of an attr's flags
FLAGS = 40


def as_precise(source, to):
    with open(source, "rb") as f:
        data = bytearray(f.read())
    size, at, length, begin, n = struct.unpack_from("<5Q", data, ATTR_SIZE)
    for attr in range(at, at + length, size):
        struct.pack_into("<I", data, attr, 0) # a counter of the hardware's,
        struct.pack_into("<Q", data, attr + 8, 0) # cycles
        flags, = struct.unpack_from("<Q", data, attr + FLAGS)
        struct.pack_into("<Q", data, attr + FLAGS, flags | PRECISE)
    record = begin
    while record < begin + n:
        kind, misc, size = struct.unpack_from("<IHH", data, record)
        if kind == SAMPLE:
            struct.pack_into("<H", data, record + 4, misc | IS_EXACT)
        record += size
    # AMD's are of another moment, and nothing is taken back.
    with open(to, "wb") as f:
        f.write(data.replace(b"AuthenticAMD", b"GenuineIntel"))
    return to
