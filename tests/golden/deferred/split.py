# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A recording as perf record --threads would have left it: a folder with
data, which has the header and what is not of one CPU, and data.0 and data.1
with samples and stacks, three of them here and three there."""
import os
import struct

DIR_FORMAT = 24


def split(data, folder):
    header = list(struct.unpack_from("<8s12Q", data))
    at, end = header[5], header[5] + header[6]
    table = end
    files, n = [b"", b"", b""], 0
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        record = data[at:at + size]
        to = 0
        if kind in (9, 22):  # a sample and its stack may part
            to = 1 + n // 3 % 2
            n += 1
        files[to] += record
        at += size
    bitmap, sections = header[9], []
    for bit in range(64):
        if bitmap >> bit & 1:
            start, size = struct.unpack_from("<QQ", data, table)
            table += 16
            sections.append((bit, data[start:start + size]))
    sections.append((DIR_FORMAT, struct.pack("<Q", 1)))
    sections.sort()
    header[9] |= 1 << DIR_FORMAT
    header[6] = len(files[0])
    main = struct.pack("<8s12Q", *header) + data[104:header[5]] + files[0]
    at = len(main) + 16 * len(sections)
    for _, body in sections:
        main += struct.pack("<QQ", at, len(body))
        at += len(body)
    os.mkdir(folder)
    for name, content in (("data", main + b"".join(b for _, b in sections)),
                          ("data.0", files[1]), ("data.1", files[2])):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
