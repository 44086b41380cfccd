# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A little-endian recording as a big-endian machine would have written it.

swap(bytes) -> bytes. Features and records of perf's own that are not known
here are left out; what the fields of a record are is that of
perf_event_open(2), not of seam's reader.
"""
import struct

from zstd import Deflate, Inflate

IP, TID, TIME, ADDR = 1, 2, 4, 8
READ, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW = 16, 32, 64, 128, 256, 512, 1024
REGS_USER, STACK_USER, DATA_SRC = 1 << 12, 1 << 13, 1 << 15
IDENTIFIER = 1 << 16
KNOWN = IP | TID | TIME | ADDR | READ | CALLCHAIN | ID | CPU | PERIOD | \
    STREAM | REGS_USER | STACK_USER | DATA_SRC | IDENTIFIER
SAMPLE_ID_ALL = 1 << 18

# u32, u64 or the rest of a record's own fields, as bytes.
BODIES = {
    1: "IIQQQ*", 2: "QQ", 3: "II*", 4: "IIIIQ", 5: "QQQ", 6: "QQQ",
    7: "IIIIQ", 10: "IIQQQIIQQII*", 13: "Q", 17: "QIHH*", 18: "HHI8",
    22: "chain",
}


def words(data, letters):
    """Each letter's value turned round; * is the rest, a digit that many
    bytes as they are."""
    out, at = b"", 0
    for c in letters:
        size = {"H": 2, "I": 4, "Q": 8}.get(c)
        if c == "*":
            return out + data[at:]
        if c.isdigit():
            out += data[at:at + int(c)]
            at += int(c)
            continue
        if at + size > len(data):
            raise ValueError("a record is too short for its fields")
        out += data[at:at + size][::-1]
        at += size
    return out + data[at:]


def all_words(data):
    return words(data, "Q" * (len(data) // 8))


def bits(flags):
    """Bit fields from the other end of each byte. precise_ip is 0 here."""
    return bytes(int(f"{b:08b}"[::-1], 2) for b in flags)


def attribute(a):
    letters = "IIQQQQ8IIQQQQIIQIHHII" + "Q" * 16  # those of later kernels
    out, at = b"", 0
    for c in letters:
        if at >= len(a):
            break
        size = {"H": 2, "I": 4, "Q": 8, "8": 8}[c]
        part = a[at:at + size]
        out += bits(part) if c == "8" else part[::-1]
        at += size
    return out


class Event:
    def __init__(self, attr):
        self.type = struct.unpack_from("<Q", attr, 24)[0]
        self.flags = struct.unpack_from("<Q", attr, 40)[0]
        self.n_regs = struct.unpack_from("<Q", attr, 80)[0].bit_count() \
            if self.type & REGS_USER else 0
        if self.type & ~KNOWN:
            raise ValueError(f"sample_type {self.type:#x} is not known here")
        if self.type & READ and self.type & STACK_USER:
            raise ValueError("counts before a copy are not known here")

    def tail(self):
        if not self.flags & SAMPLE_ID_ALL:
            return ""
        return "".join(letters for bit, letters in
                       ((TID, "II"), (TIME, "Q"), (ID, "Q"), (STREAM, "Q"),
                        (CPU, "II"), (IDENTIFIER, "Q")) if self.type & bit)

    def sample(self):
        return "".join(letters for bit, letters in
                       ((IDENTIFIER, "Q"), (IP, "Q"), (TID, "II"), (TIME, "Q"),
                        (ADDR, "Q"), (ID, "Q"), (STREAM, "Q"), (CPU, "II"),
                        (PERIOD, "Q")) if self.type & bit)


    def copy(self, body, at):
        """Where in a sample's body the copy of the stack is, as (begin, end)
        of its bytes; what a sample has behind its fixed part starts at at."""
        if not self.type & STACK_USER:
            return len(body), len(body)
        if self.type & CALLCHAIN:
            at += 8 + 8 * struct.unpack_from("<Q", body, at)[0]
        if self.type & REGS_USER:
            at += 8 + 8 * self.n_regs * any(body[at:at + 8])
        return at + 8, at + 8 + struct.unpack_from("<Q", body, at)[0]


def size_of(letters):
    return sum({"I": 4, "Q": 8}[c] for c in letters)


def kernel_record(kind, body, event):
    if kind == 9:
        letters = event.sample()
        fixed = size_of(letters)
        begin, end = event.copy(body, fixed)
        return words(body[:fixed], letters) + all_words(body[fixed:begin]) + \
            body[begin:end] + all_words(body[end:])
    if kind not in BODIES:
        return None
    own = len(body) - size_of(event.tail())
    tail = words(body[own:], event.tail())
    if BODIES[kind] == "chain":
        return all_words(body[:own]) + tail
    letters = BODIES[kind]
    if kind == 10 and Records.misc & 1 << 14:  # a build-id, bytes
        letters = "IIQQQ888II*"
    return words(body[:own], letters) + tail


def strings(data, n):
    """n strings, each behind its length."""
    out = b""
    for _ in range(n):
        size = struct.unpack_from("<I", data)[0]
        out += data[:4][::-1] + data[4:4 + size]
        data = data[4 + size:]
    return out, data


def feature(bit, data):
    """None: not known here."""
    if bit in (3, 4, 5, 6, 8, 9):
        return strings(data, 1)[0]
    if bit == 7:
        return words(data, "II")
    if bit == 10 or bit == 23:
        return words(data, "Q")
    if bit == 11:
        return data[:4][::-1] + strings(data[4:],
                                        struct.unpack_from("<I", data)[0])[0]
    if bit == 12:
        return event_names(data)
    if bit == 21:
        return words(data, "QQ")
    if bit == 27:
        return words(data, "IIIII")
    if bit == 29:
        return words(data, "IIQQ")
    return None


def event_names(data):
    n, size = struct.unpack_from("<II", data)
    out, data = words(data[:8], "II"), data[8:]
    for _ in range(n):
        ids = struct.unpack_from("<I", data, size)[0]
        out += attribute(data[:size]) + data[size:size + 4][::-1]
        name, data = strings(data[size + 4:], 1)
        out += name + all_words(data[:8 * ids])
        data = data[8 * ids:]
    return out


class Records:
    misc = 0

    def __init__(self, events):
        self.events = events
        self.inflate, self.deflate = Inflate(), Deflate()
        self.rest = b""  # of what was decompressed: a record's beginning

    def compressed(self, kind, body):
        if kind == 83:
            body = body[8:8 + struct.unpack_from("<Q", body)[0]]
        plain = self.rest + self.inflate.take(body)
        at = 0
        while at + 8 <= len(plain):
            size = struct.unpack_from("<H", plain, at + 6)[0]
            if size > len(plain) - at:
                break
            at += size
        self.rest = plain[at:]
        body = self.deflate.take(self.swap(plain[:at]))
        if kind == 83:
            body = struct.pack(">Q", len(body)) + body
            body += bytes(-len(body) % 8)
        return body

    def swap(self, data):
        out, at = b"", 0
        while at + 8 <= len(data):
            kind, misc, size = struct.unpack_from("<IHH", data, at)
            Records.misc = misc
            body = self.body(kind, data[at + 8:at + size])
            if body is not None:
                out += struct.pack(">IHH", kind, misc, len(body) + 8) + body
            at += size
        return out

    def body(self, kind, body):
        if kind < 64:
            return kernel_record(kind, body, self.events[0])
        if kind == 64:
            size = struct.unpack_from("<I", body, 4)[0]
            self.events.append(Event(body[:size]))
            return attribute(body[:size]) + all_words(body[size:])
        if kind in (68, 82):
            return body
        if kind in (81, 83):
            return self.compressed(kind, body)
        if kind == 80:
            bit = struct.unpack_from("<Q", body)[0]
            known = feature(bit, body[8:])
            return known if known is None else body[:8][::-1] + known
        return None


def swap_file(data):
    header = struct.unpack_from("<8s12Q", data)
    attr_size, attrs_at, attrs_len, data_at, data_len = header[2:7]
    out_attrs, out_ids, events = b"", b"", []
    n = attrs_len // attr_size
    ids_at = 104 + attr_size * n
    for i in range(n):
        entry = data[attrs_at + i * attr_size:][:attr_size]
        at, size = struct.unpack_from("<QQ", entry, attr_size - 16)
        out_attrs += attribute(entry[:-16]) + \
            struct.pack(">QQ", ids_at + len(out_ids), size)
        out_ids += all_words(data[at:at + size])
        events.append(Event(entry))
    front = out_attrs + out_ids
    records = Records(events).swap(data[data_at:data_at + data_len])
    data_out = 104 + len(front)
    bitmap, bodies, table = 0, [], data_at + data_len
    for bit in range(64):
        if header[9] >> bit & 1:
            at, size = struct.unpack_from("<QQ", data, table)
            table += 16
            known = feature(bit, data[at:at + size])
            if known is not None:
                bitmap |= 1 << bit
                bodies.append(known)
    at = data_out + len(records) + 16 * len(bodies)
    sections = b""
    for body in bodies:
        sections += struct.pack(">QQ", at, len(body))
        at += len(body)
    return data[:8][::-1] + struct.pack(
        ">12Q", 104, attr_size, 104, attr_size * n, data_out, len(records),
        0, 0, bitmap, 0, 0, 0) + front + records + sections + b"".join(bodies)


def swap(data):
    if struct.unpack_from("<Q", data, 8)[0] == 16:
        return data[:8][::-1] + struct.pack(">Q", 16) + \
            Records([]).swap(data[16:])
    return swap_file(data)
