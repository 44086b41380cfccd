# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A stream of zstd, piece by piece, by libzstd: what perf record -z has in its
compressed records one after the other."""
import ctypes

LIB = ctypes.CDLL("libzstd.so.1")
FLUSH = 1


class Buffer(ctypes.Structure):
    """ZSTD_inBuffer, and ZSTD_outBuffer."""
    _fields_ = [("p", ctypes.c_void_p), ("size", ctypes.c_size_t),
                ("pos", ctypes.c_size_t)]


def buffer(data):
    return Buffer(ctypes.cast(data, ctypes.c_void_p), len(data), 0)


class Stream:
    def __init__(self, kind):
        make = getattr(LIB, "ZSTD_create%sStream" % kind)
        make.restype = ctypes.c_void_p
        self.stream = ctypes.c_void_p(make())

    def all(self, data, step):
        source, out = buffer(ctypes.create_string_buffer(data, len(data))), b""
        while True:
            room = ctypes.create_string_buffer(1 << 17)
            to = buffer(room)
            left = step(self.stream, ctypes.byref(to), ctypes.byref(source))
            if LIB.ZSTD_isError(ctypes.c_size_t(left)):
                raise ValueError("libzstd refuses it")
            out += room.raw[:to.pos]
            if to.pos < to.size and source.pos == source.size:
                return out


class Inflate(Stream):
    def __init__(self):
        super().__init__("D")

    def take(self, data):
        LIB.ZSTD_decompressStream.restype = ctypes.c_size_t
        return self.all(data, LIB.ZSTD_decompressStream)


class Deflate(Stream):
    def __init__(self):
        super().__init__("C")

    def take(self, data):
        LIB.ZSTD_compressStream2.restype = ctypes.c_size_t
        return self.all(data, lambda stream, to, source:
                        LIB.ZSTD_compressStream2(stream, to, source, FLUSH))
