# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Run inside gdb: single-step a known-path program and write the stack that
gdb finds at each instruction, in the form of `seam script --format json`.

    STEPS=20000 OUT=x.json gdb -nx -batch -x gdb-step.py --args PROG 1

FROM says where stepping begins: breakpoints to be reached one after the
other, with a semicolon between (main). With PLACES, "path@address" with
spaces between (the address as in the file), it does not step but stops at
those instructions, and writes the stack of each of the first STEPS stops.

It checks the programs, their .expect files and the checker without seam, and
shows at which instructions a file's own CFI is wrong.
"""

import json
import os

import gdb


def frame_of(frame, newer):
    pc = frame.pc()
    entry = {"ip": "%#x" % pc}
    kind = frame.type()
    lookup = pc
    if newer not in (None, gdb.SIGTRAMP_FRAME) and \
            kind != gdb.SIGTRAMP_FRAME:
        lookup = pc - 1
    text = gdb.execute("info symbol %#x" % lookup, to_string=True)
    if not text.startswith("No symbol"):
        words = text.split(" in section ")[0].rsplit(" + ", 1)
        off = int(words[1]) if len(words) > 1 else 0
        entry["sym"] = words[0]
        entry["off"] = off + (pc - lookup)
        section = text.split(" in section ")[1].split()[0]
        if ".plt" in section:
            entry["sym"] += "@plt" * (not words[0].endswith("@plt"))
    if kind == gdb.SIGTRAMP_FRAME:
        entry["sym"] = "__restore_rt"
    name = gdb.current_progspace().solib_name(pc)
    entry["dso"] = name or gdb.current_progspace().filename
    if name is None and in_vdso(pc):
        entry["dso"] = "[vdso]"
    return entry


def address(path, in_file):
    """Where an address of that file is in the process."""
    text = gdb.execute("info proc mappings", to_string=True)
    start = min(int(line.split()[0], 16) for line in text.splitlines()
                if line.endswith(path))
    in_file = int(in_file, 16)
    return in_file if in_file >= start else start + in_file


VDSO = []


def in_vdso(pc):
    if not VDSO:
        text = gdb.execute("info proc mappings", to_string=True)
        for line in text.splitlines():
            if line.endswith("[vdso]"):
                low, high = line.split()[:2]
                VDSO.append((int(low, 16), int(high, 16)))
    return any(low <= pc < high for low, high in VDSO)


cache = {}


def cached(frame, newer):
    key = (frame.pc(), frame.type(), newer)
    if key not in cache:
        cache[key] = frame_of(frame, newer)
    return cache[key]


def stack():
    frames, frame, newer = [], gdb.newest_frame(), None
    end = "outermost"
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            frames.append(cached(frame, newer))
            newer = frame.type()
        reason = frame.unwind_stop_reason()
        older = frame.older()
        if older is None and reason not in (gdb.FRAME_UNWIND_OUTERMOST,
                                            gdb.FRAME_UNWIND_NO_REASON):
            end = gdb.frame_stop_reason_string(reason)
        frame = older
    return frames, end


def prepare():
    for line in ("set pagination off", "set confirm off",
                 "set backtrace past-main on", "set backtrace past-entry on",
                 "set backtrace limit unlimited",
                 "set disable-randomization on", "set debuginfod enabled off",
                 "handle all nostop noprint pass", "set style enabled off",
                 "break main", "run", "set scheduler-locking step"):
        gdb.execute(line, to_string=True)
    for place in os.environ.get("FROM", "").split(";"):
        if place:
            gdb.execute("delete", to_string=True)
            gdb.execute("break " + place, to_string=True)
            gdb.execute("continue", to_string=True)
    gdb.execute("delete", to_string=True)


def main():
    prepare()
    steps = int(os.environ.get("STEPS", "20000"))
    places = os.environ.get("PLACES", "").split()
    for place in places:
        gdb.execute("break *%#x" % address(*place.rsplit("@", 1)),
                    to_string=True)
    forward = "continue" if places else "stepi"
    comm = os.path.basename(gdb.current_progspace().filename)[:15]
    with open(os.environ["OUT"], "w") as out:
        for step in range(steps):
            if places:
                gdb.execute(forward, to_string=True)
                if not gdb.selected_inferior().pid:
                    break
            frames, end = stack()
            tid = gdb.selected_thread().ptid[1]
            json.dump({"time_ns": step, "pid": 1, "tid": tid, "comm": comm,
                       "end": end, "frames": frames}, out)
            out.write("\n")
            if not places:
                gdb.execute(forward, to_string=True)
                if not gdb.selected_inferior().pid:
                    break


main()
