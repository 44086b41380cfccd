#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a file's own .sframe is read where its process has it mapped,
with --tables mapped or where --table-memory is spent, and stacks are the same
as by tables in the kernel. A section that lies costs its own process's stacks,
and nobody else's.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import fuse
import livetest
from livetest import SPIN, SPIN_PATH, user_path

MS = 400
ENOUGH_GONE = 1000 # of its section, time and again, that some are brought in
LIARS = 16
LIAR_MS = 60
PAGE = 4096
PCREL = 4  # SFRAME_F_FDE_FUNC_START_PCREL
# Its section is in no memory of its own, time and again.
COLD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif
static unsigned long gone; /* pages that had no memory, time and again */
static void tell(void)
{
	char path[4096];
	FILE *f;
	snprintf(path, sizeof(path), "%s.gone", program_invocation_name);
	f = fopen(path, "w");
	if (f) { fprintf(f, "%lu", gone); fclose(f); }
}
static void page_out(char *at, size_t size)
{
	unsigned char there[256];
	static int is_told;
	if (!is_told++) atexit(tell);
	madvise(at, size, MADV_PAGEOUT);
	if ((size + 4095) / 4096 > sizeof(there) || mincore(at, size, there))
		return;
	for (size_t i = 0; i < (size + 4095) / 4096; i++)
		gone += !(there[i] & 1);
}
static int forget(struct dl_phdr_info *info, size_t size, void *ctx)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_GNU_SFRAME)
			page_out((void *)(at & -4096ul), (at & 4095) +
				 info->dlpi_phdr[i].p_memsz);
	}
	return 0;
}
""" + SPIN.replace("outer();\n\treturn",
                   "dl_iterate_phdr(forget, 0), outer();\n\treturn")
# The file's last pages, which say the same, are where its section was.
SHIFTED = COLD.replace("#include <sys/mman.h>", """#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
static void shift(char *at, size_t size)
{
	static int fd = -1;
	off_t off;

	if (fd >= 0)
		return;
	fd = open("/proc/self/exe", O_RDONLY);
	size = (size + 4095) & -4096ul;
	off = lseek(fd, 0, SEEK_END) - size;
	if (mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, off) != at)
		exit(9);
}""").replace("page_out((void *)(", "shift((void *)(")


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
               bool(summary["tables_mapped"]) == is_mapped and
               summary["mapped_frames"] <= summary["frames"], summary)
    known = tuple(reversed(SPIN_PATH))
    found = paths(recording, "large")
    bench.test("%s: paths are its program's" % what, known in found and
               all(path == known[:len(path)] for path in found), found)


def plain(bench):
    """All of it: what is in a library would be copied where no table fits."""
    return bench.compile(SPIN, "plain", "-static")


def forgetting(bench):
    return bench.compile(COLD, "forgets", "-static")


def shifting(bench):
    return bench.compile(SHIFTED, "shifts", "-static")


def honest(bench):
    return bench.compile(SPIN, "honest")


def programs(bench):
    for compiled in plain, forgetting, shifting, honest, fuse.fused:
        compiled(bench)


def same_stacks(bench):
    exe = plain(bench)
    own = with_section(bench, exe, bench.path("large"))
    run = ("--", own, str(MS))
    check(bench, "mapped", record(bench, "--tables", "mapped", *run), True)
    check(bench, "kernel", record(bench, "--tables", "kernel", *run), False)
    spent = record(bench, "--table-memory", "4096", *run)
    check(bench, "auto in 4 KiB", spent, True)
    bench.test("auto in 4 KiB: the budget is kept",
               spent.summary["table_bytes_max"] <= 4096, spent.summary)


def has_own_disk(folder):
    """Not so in memory, on several disks, or on one that lies on others: no
    page is brought in from there."""
    device = os.stat(folder).st_dev
    at = "/sys/dev/block/%d:%d/" % (os.major(device), os.minor(device))
    return os.path.exists(at) and not any(
        os.path.exists(at + kind) for kind in ("dm", "md", "loop", "bcache"))


def faults(bench):
    assert "forget, 0" in COLD
    # On a disk, and there: memory that is the file's only place stays.
    if not has_own_disk("/var/tmp"):
        bench.skip("a section that is not there", "/var/tmp is on no disk of "
                   "its own")
        return
    folder = tempfile.mkdtemp(dir="/var/tmp")
    own = with_section(bench, forgetting(bench),
                       os.path.join(folder, "large"))
    # The kernel may keep most of the pages, now and then.
    for _ in range(5):
        os.sync()
        recording = record(bench, "--tables", "mapped", "--", own, str(MS))
        check(bench, "a section that is not there", recording, True)
        with open(own + ".gone") as f:
            gone = int(f.read())
        bench.note("%d pages had no memory" % gone)
        if gone > ENOUGH_GONE:
            break
    shutil.rmtree(folder)
    bench.test("a section that is not there: no memory had it",
               gone > ENOUGH_GONE, gone)
    bench.test("a section that is not there: its pages are brought in",
               recording.summary["faulted"] > 0, recording.summary)


def shifted(bench):
    """Whatever a file has elsewhere is not its section."""
    assert "MAP_FIXED" in SHIFTED and "page_out((void" not in SHIFTED
    os.mkdir(bench.path("shifted"))
    own = with_section(bench, shifting(bench),
                       bench.path("shifted", "large"))
    off, size = section_of(own)
    with open(own, "r+b") as f:
        f.seek(off & -PAGE)
        pages = f.read((off & (PAGE - 1)) + size)
        f.seek(-(-f.seek(0, os.SEEK_END) // PAGE) * PAGE)
        f.write(pages + bytes(-len(pages) % PAGE))
    recording = record(bench, "--tables", "mapped", "--", own, str(MS))
    if not bench.test("another part of the file: recorded",
                      recording.status == 0 and recording.summary,
                      recording.log):
        return
    bench.test("another part of the file: stacks are whole",
               is_whole(recording), recording.summary["end"])
    # Until it is there the section is read.
    bench.test("another part of the file: it is not read",
               recording.summary["copies"] >
               recording.summary["mapped_frames"], recording.summary)


def far(bench):
    """Pages of FUSE are not brought in: the file gets a table."""
    daemon = fuse.Daemon(bench, bench.path("large"))
    if daemon.line != "mounted\n":
        bench.skip("a section in FUSE", "no FUSE: " + daemon.end())
        return
    try:
        recording = record(bench, "--tables", "mapped", "--", os.path.join(
            daemon.folder, "prog"), str(MS))
    finally:
        daemon.end()
    if bench.test("a section in FUSE: recorded", recording.status == 0 and
                  recording.summary, recording.log):
        bench.test("a section in FUSE: stacks are whole", is_whole(recording),
                   recording.summary["end"])
        bench.test("a section in FUSE: no section is read",
                   not recording.summary["tables_mapped"] and
                   recording.summary["frames"] > 100, recording.summary)


def other_versions(bench):
    """What the kernel side does not read has a table."""
    own = with_section(bench, bench.path("plain"), bench.path("two", "large"),
                       "--format", "2")
    check(bench, "SFrame V2", record(bench, "--tables", "mapped", "--", own,
                                     str(MS)), False)
    # Places that do not count from themselves: the same, with wrong rules.
    off, _ = section_of(bench.path("large"))
    with open(bench.path("large"), "rb") as f:
        data = bytearray(f.read())
    data[off + 3] &= ~PCREL
    with open(bench.path("absolute"), "wb") as f:
        f.write(data)
    os.chmod(bench.path("absolute"), 0o755)
    summary = record(bench, "--tables", "mapped", "--",
                     bench.path("absolute"), str(MS)).summary
    bench.test("a section of absolute places: no section is read", summary and
               not summary["tables_mapped"] and not summary["mapped_frames"],
               summary)


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
    own = with_section(bench, honest(bench),
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
    others = [s for s in recording.kept(recording.samples())
              if s["comm"] == "large"]
    bench.test("liars: another program's stacks are whole",
               len(others) > 50 and all(s["end"] == "outermost"
                                        for s in others),
               {s["end"] for s in others})


def mapped(bench):
    os.mkdir(bench.path("two"))
    os.mkdir(bench.path("liars"))
    same_stacks(bench)
    faults(bench)
    shifted(bench)
    far(bench)
    other_versions(bench)
    liars(bench)


if __name__ == "__main__":
    sys.exit(livetest.main(mapped, programs=programs, of="deferred"))
