# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A recording as perf record --threads would have left it: a folder with
data, which has the header and what is not of one CPU, and data.0 and data.1
with samples and stacks, three of them here and three there; each compressed by
itself where the recording is. Of either byte order."""
import os
import struct

from zstd import Deflate, Inflate

SAMPLE, DEFERRED = 9, 22
COMPRESSED, COMPRESSED2 = 81, 83
DIR_FORMAT = 24
SLICE = 3000  # of what is compressed: records go on in the next one


def records(data, order):
    """(kind, record) of each that is whole, and what is left of it."""
    at = 0
    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from(order + "IHH", data, at)
        if size > len(data) - at:
            break
        yield kind, data[at:at + size]
        at += size
    yield None, data[at:]


def inflated(data, order):
    """The records without compression, and the kind that had them."""
    inflate, rest, packing = Inflate(), b"", None
    for kind, record in records(data, order):
        if kind not in (COMPRESSED, COMPRESSED2):
            if kind is not None:
                yield kind, record, packing
            continue
        packing, body = kind, record[8:]
        if kind == COMPRESSED2:
            body = body[8:8 + struct.unpack_from(order + "Q", body)[0]]
        *whole, (_, rest) = records(rest + inflate.take(body), order)
        for inner, plain in whole:
            yield inner, plain, packing


def deflated(data, order, kind):
    deflate, out = Deflate(), b""
    for at in range(0, len(data), SLICE):
        body = deflate.take(data[at:at + SLICE])
        if kind == COMPRESSED2:
            body = struct.pack(order + "Q", len(body)) + body
            body += bytes(-len(body) % 8)
        out += struct.pack(order + "IHH", kind, 0, 8 + len(body)) + body
    return out


def parts(data, order):
    """The records of data, data.0 and data.1."""
    files, n, packing = [b"", b"", b""], 0, None
    for kind, record, packing in inflated(data, order):
        to = 0
        if kind in (SAMPLE, DEFERRED):  # a sample and its stack may part
            to = 1 + n // 3 % 2
            n += 1
        files[to] += record
    if packing:
        files[1:] = [deflated(f, order, packing) for f in files[1:]]
    return files


def split_files(data):
    """[(name, content)...]"""
    order = "<" if data.startswith(b"PERFILE2") else ">"
    header = list(struct.unpack_from(order + "8s12Q", data))
    at, end = header[5], header[5] + header[6]
    files = parts(data[at:end], order)
    table, bitmap, sections = end, header[9], []
    for bit in range(64):
        if bitmap >> bit & 1:
            start, size = struct.unpack_from(order + "QQ", data, table)
            table += 16
            sections.append((bit, data[start:start + size]))
    sections.append((DIR_FORMAT, struct.pack(order + "Q", 1)))
    sections.sort()
    header[9] |= 1 << DIR_FORMAT
    header[6] = len(files[0])
    main = struct.pack(order + "8s12Q", *header) + data[104:header[5]] + \
        files[0]
    at = len(main) + 16 * len(sections)
    for _, body in sections:
        main += struct.pack(order + "QQ", at, len(body))
        at += len(body)
    return [("data", main + b"".join(b for _, b in sections)),
            ("data.0", files[1]), ("data.1", files[2])]


def split(data, folder):
    os.mkdir(folder)
    for name, content in split_files(data):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
