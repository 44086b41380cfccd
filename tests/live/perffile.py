# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a recording of seam's says of its events, read without seam."""

import struct

SAMPLE = 9
MODE, USER = 7, 2


def events_of(path):
    """(time, tid) -> (ip, in user mode?) of an uncompressed recording."""
    with open(path, "rb") as f:
        data = f.read()
    offset, size = struct.unpack_from("<QQ", data, 40)
    found, at = {}, offset
    while at < offset + size:
        kind, misc, length = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:      # id, ip, pid, tid, time
            ip, _, tid, time = struct.unpack_from("<QIIQ", data, at + 16)
            found[time, tid] = (ip, misc & MODE == USER)
        at += length
    return found
