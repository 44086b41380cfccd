# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# pcrel.py IN OUT
# Makes of a file with SFrame 2 as binutils 2.44 write it one as 2.45 did,
# which no suite of Debian has: the section has a type of its own, a flag
# says that function starts are relative to themselves, and they are. In a
# relocatable file they are by their relocations.
import struct
import sys

SHT_PROGBITS, SHT_GNU_SFRAME = 1, 0x6ffffff4
ET_REL, HEADER, FDE, PCREL = 1, 28, 20, 4

data = bytearray(open(sys.argv[1], "rb").read())
order = "<" if data[5] == 1 else ">"
e_type, = struct.unpack_from(order + "H", data, 16)
shoff, = struct.unpack_from(order + "Q", data, 0x28)
entsize, num, strndx = struct.unpack_from(order + "HHH", data, 0x3a)


def section(i):
    return struct.unpack_from(order + "IIQQQQ", data, shoff + i * entsize)


names = section(strndx)[4]
for i in range(num):
    name, kind, flags, addr, off, size = section(i)
    if not data[names + name:].startswith(b".sframe\0"):
        continue
    assert kind == SHT_PROGBITS
    struct.pack_into(order + "I", data, shoff + i * entsize + 4,
                     SHT_GNU_SFRAME)
    magic, version, bits = struct.unpack_from(order + "HBB", data, off)
    assert (magic, version, bits & PCREL) == (0xdee2, 2, 0)
    data[off + 3] |= PCREL
    fdes, = struct.unpack_from(order + "I", data, off + 8)
    for k in range(0 if e_type == ET_REL else fdes):
        at = HEADER + k * FDE
        start, = struct.unpack_from(order + "i", data, off + at)
        struct.pack_into(order + "i", data, off + at, start - at)
    break
else:
    sys.exit(f"{sys.argv[1]}: no .sframe")
open(sys.argv[2], "wb").write(data)
