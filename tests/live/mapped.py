#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a file's own .sframe is read where its process has it mapped,
with --tables mapped or where --table-memory is spent, and stacks are the same
as by tables in the kernel. A section that lies costs its own process's stacks,
and nobody else's.
"""

import os
import random
import struct
import subprocess
import sys

import livetest
from livetest import SPIN, SPIN_PATH, user_path

MS = 400
LIARS = 16
LIAR_MS = 60
# Its section is in no memory of its own, time and again.
COLD = r"""
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif
static int forget(struct dl_phdr_info *info, size_t size, void *ctx)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_GNU_SFRAME)
			madvise((void *)(at & -4096ul), (at & 4095) +
				info->dlpi_phdr[i].p_memsz, MADV_DONTNEED);
	}
	return 0;
}
""" + SPIN.replace("outer();\n\treturn",
                   "dl_iterate_phdr(forget, 0), outer();\n\treturn")


def with_section(bench, exe, out, *options):
    subprocess.run([bench.seam, "sframe", "make", exe, "-o", out, *options],
                   check=True, stdout=subprocess.DEVNULL, env=bench.env)
    return out


def section_of(exe):
    """(offset in the file, size), by PT_GNU_SFRAME."""
    with open(exe, "rb") as f:
        head = f.read(64)
        at, = struct.unpack_from("<Q", head, 32)
        size, n = struct.unpack_from("<HH", head, 54)
        for i in range(n):
            f.seek(at + i * size)
            kind, _, off, _, _, filesz = struct.unpack_from(
                "<IIQQQQ", f.read(size))
            if kind == 0x6474e554:
                return off, filesz
    return None


def record(bench, *options):
    return bench.record("-e", "cpu-clock", "-F", "2999", *options)


def paths(recording, comm):
    """Each once, from outer in."""
    found = set()
    for sample in recording.samples():
        names = user_path(sample)
        if sample["comm"] == comm and "outer" in names:
            found.add(tuple(names[names.index("outer") - 1:]))
    return found


def is_whole(recording):
    summary = recording.summary
    return summary["end"]["outermost"] == summary["wanted"] > 50


def check(bench, what, recording, is_mapped):
    """Recorded, whole, by the right tables, with the paths there are."""
    if not bench.test("%s: recorded" % what, recording.status == 0 and
                      recording.summary, recording.log):
        return
    summary = recording.summary
    bench.note("%(tables)d tables, %(tables_mapped)d mapped; %(frames)d frames,"
               " %(mapped_frames)d mapped; %(copies)d copies, %(faulted)d "
               "faulted" % summary)
    bench.test("%s: stacks are whole" % what, is_whole(recording),
               summary["end"])
    bench.test("%s: %s section is read" % (what, "its" if is_mapped else "no"),
               bool(summary["mapped_frames"]) == is_mapped and
               bool(summary["tables_mapped"]) == is_mapped, summary)
    known = tuple(reversed(SPIN_PATH))
    found = paths(recording, "large")
    bench.test("%s: paths are its program's" % what, known in found and
               all(path == known[:len(path)] for path in found), found)


def same_stacks(bench):
    exe = bench.path("plain")
    # All of it: what is in a library would be copied where no table fits.
    bench.compile(SPIN, "plain", "-static")
    own = with_section(bench, exe, bench.path("large"))
    run = ("--", own, str(MS))
    check(bench, "mapped", record(bench, "--tables", "mapped", *run), True)
    check(bench, "kernel", record(bench, "--tables", "kernel", *run), False)
    spent = record(bench, "--table-memory", "4096", *run)
    check(bench, "auto in 4 KiB", spent, True)
    bench.test("auto in 4 KiB: the budget is kept",
               spent.summary["table_bytes_max"] <= 4096, spent.summary)


def faults(bench):
    assert "forget, 0" in COLD
    os.mkdir(bench.path("cold"))
    own = with_section(bench, bench.compile(COLD, "forgets", "-static"),
                       bench.path("cold", "large"))
    recording = record(bench, "--tables", "mapped", "--", own, str(MS))
    check(bench, "a section that is not there", recording, True)
    bench.test("a section that is not there: its pages are brought in",
               recording.summary["faulted"] > 0, recording.summary)


def other_versions(bench):
    """What the kernel side does not read has a table."""
    own = with_section(bench, bench.path("plain"), bench.path("two", "large"),
                       "--format", "2")
    check(bench, "SFrame V2", record(bench, "--tables", "mapped", "--", own,
                                     str(MS)), False)


def lie(rng, own, out):
    """A copy whose functions or rows say something else; the header holds."""
    off, size = section_of(own)
    with open(own, "rb") as f:
        data = bytearray(f.read())
    for _ in range(rng.choice((3, 30, 300, 3000))):
        data[off + rng.randrange(28, size)] = rng.choice(
            (0, 0xff, 0x7f, 0x80, rng.randrange(256)))
    with open(out, "wb") as f:
        f.write(data)
    os.chmod(out, 0o755)


def liars(bench):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    bench.note("seed %d" % seed)
    own = with_section(bench, bench.compile(SPIN, "honest"),
                       bench.path("liars", "large"))
    names = [bench.path("liar%d" % i) for i in range(LIARS)]
    for name in names:
        lie(rng, own, name)
    script = "%s %d & %s; wait" % (own, LIARS * LIAR_MS, "; ".join(
        "%s %d" % (name, LIAR_MS) for name in names))
    recording = record(bench, "--tables", "mapped", "--", "/bin/sh", "-c",
                       script)
    if not bench.test("liars: recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return
    summary = recording.summary
    bench.note("%s, %d by mapped sections" % (
        {end: n for end, n in summary["end"].items() if n},
        summary["mapped_frames"]))
    bench.test("liars: their sections are read",
               summary["tables_mapped"] > LIARS, summary)
    bench.test("liars: what became of each sample is known", sum(
        n for end, n in summary["end"].items() if end != "no-user") ==
        summary["wanted"], summary["end"])
    honest = [s for s in recording.kept(recording.samples())
              if s["comm"] == "large"]
    bench.test("liars: another program's stacks are whole",
               len(honest) > 50 and all(s["end"] == "outermost"
                                        for s in honest),
               {s["end"] for s in honest})


def mapped(bench):
    os.mkdir(bench.path("two"))
    os.mkdir(bench.path("liars"))
    same_stacks(bench)
    faults(bench)
    other_versions(bench)
    liars(bench)


if __name__ == "__main__":
    sys.exit(livetest.main(mapped))
