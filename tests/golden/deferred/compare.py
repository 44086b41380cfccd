#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: seam script gives what perf 7.3.4 printed of a folder's
recordings, as the kernel's own deferred ones: each sample's head, addresses and
files, and the names of functions: the kernel's, by its own symbols where the
folder has them, else told where they begin; and those of programs that it has.
Where perf printed a cookie seam must join the late stack, or say why
there is none. The same recordings as a machine of the other byte order would
have written them (swap.py), and as a folder of perf record --threads
(split.py) of either, give the same text from seam; perf is not asked about
those. Of one that is cut off nobody knows which tasks slept at its end.

usage: compare.py SEAM FOLDER
"""
import collections
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from split import split
from swap import swap

# What becomes of the samples of which perf prints the cookie.
COOKIES = {
    "lost-m1-pf": ["lost"],
    "pending": ["pending"],
    "two-events": ["joined"],
}
# Of another kernel than the folder's symbols.
OTHER_KERNEL = {"zstd-6.1"}
# perf forgets a task's name at its exit; samples after it have its number.
FORGOTTEN = {"two-events-a": 1}


def put_programs(folder, home):
    """Where perf would have kept them: by their build-ids. Return: their
    names."""
    names = [f[:-3] for f in os.listdir(folder)
             if f.startswith("w-") and f.endswith(".gz")]
    for name in names:
        path = os.path.join(home, name)
        with gzip.open(os.path.join(folder, name + ".gz")) as f, \
                open(path, "wb") as to:
            to.write(f.read())
        notes = subprocess.run(["readelf", "-n", path], check=True,
                               stdout=subprocess.PIPE, encoding="utf-8").stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        at = os.path.join(home, ".debug", ".build-id", build_id[:2],
                          build_id[2:])
        os.makedirs(at)
        os.rename(path, os.path.join(at, "elf"))
    return names


def name_of(dso, text, programs):
    """Of other programs nobody knows the functions."""
    is_known = dso.startswith("[kernel") or os.path.basename(dso) in programs
    return text if is_known else None


def parse(text, programs):
    """[(head, [(ip, file, name)...])...] in the order of time and thread."""
    samples = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if not line.startswith("\t"):
            samples.append((line, []))
        elif not line.endswith("(inlined)"):
            ip, name, dso = re.match(r"\t *([0-9a-f]+) (.*) \((.*)\)$",
                                     line).groups()
            samples[-1][1].append((ip, dso, name_of(dso, name, programs)))
    return samples


def kallsyms(folder, name, samples, path):
    """The kernel's symbols as the folder has them; else what perf's names say
    of where its functions begin. Return: the option for them, where there are
    any."""
    own = os.path.join(folder, "kallsyms.gz")
    if os.path.exists(own) and name not in OTHER_KERNEL:
        with gzip.open(own) as f, open(path, "wb") as to:
            to.write(f.read())
        return ["--kallsyms", path]
    found = set()
    for _, frames in samples:
        for ip, dso, text in frames:
            if text and "+0x" in text and dso.startswith("[kernel"):
                text, off = text.rsplit("+0x", 1)
                found.add("%x T %s\n" % (int(ip, 16) - int(off, 16), text))
    with open(path, "w", encoding="ascii") as f:
        f.writelines(sorted(found))
    return ["--kallsyms", path] if found else []


def order(sample):
    time = re.search(r"(\d+\.\d{6}): ", sample[0])
    tid = re.match(r".* +(\d+) ", sample[0].split(":")[0] if not time
                   else sample[0][:time.start()].rstrip() + " ")
    return (float(time[1]) if time else 0, tid and time and tid[1])


def is_cookie(frame):
    """An address that is none: a counter above, a CPU's number below."""
    ip, dso = int(frame[0], 16), frame[1]
    return dso == "[unknown]" and ip >> 32 and (ip & 0xffffffff) < 3


def fate(ours):
    last = ours[1][-1]
    if last[1] == "[seam]":
        return "missing"
    return "joined"


def compare(name, perf, seam, problems):
    cookies, forgotten = [], 0
    if len(perf) != len(seam):
        problems.append(f"{name}: {len(seam)} samples, not {len(perf)}")
    for theirs, ours in zip(perf, seam):
        if theirs == ours:
            continue
        if theirs[1] == ours[1] and theirs[0].startswith(":"):
            forgotten += 1
        elif theirs[1] and is_cookie(theirs[1][-1]) and \
                theirs[1][:-1] == ours[1][:len(theirs[1]) - 1]:
            cookies.append(ours)
        else:
            problems.append(f"{name}: perf {theirs} seam {ours}")
    return cookies, forgotten


def check(seam_exe, folder, name, problems):
    data = os.path.join(folder, name + ".data")
    with tempfile.TemporaryDirectory() as tmp:
        programs = put_programs(folder, tmp)
        with gzip.open(os.path.join(folder, name + ".script.gz"), "rt") as f:
            perf = sorted(parse(f.read(), programs), key=order)
        names = kallsyms(folder, name, perf, os.path.join(tmp, "kallsyms"))
        run = subprocess.run([seam_exe, "script", "--no-inline", *names, "-i",
                              data], check=True, capture_output=True,
                             text=True, env=dict(os.environ, HOME=tmp))
    seam = sorted(parse(run.stdout, programs), key=order)
    cookies, forgotten = compare(name, perf, seam, problems)
    fates = []
    for ours in cookies:
        fates.append(fate(ours))
        if fates[-1] == "missing":
            time = re.escape(ours[0])
            end = re.search(time + r"\n(?:\t.*\n)*\t +0 \[(\w+)\] \(\[seam\]\)",
                            run.stdout)
            fates[-1] = end[1] if end else "missing without a reason"
    if fates != COOKIES.get(name, []):
        problems.append(f"{name}: cookies became {fates}")
    if forgotten != FORGOTTEN.get(name, 0):
        problems.append(f"{name}: {forgotten} names differ")
    return len(seam)


def script(seam_exe, path):
    """The text, and what was said beside it without the file's name."""
    run = subprocess.run([seam_exe, "script", "--no-inline", "-i", path],
                         check=True, capture_output=True, text=True)
    return run.stdout, run.stderr.replace(path, "FILE")


def otherwise(seam_exe, folder, name):
    """Problems with the recording in the other byte order, or as a folder."""
    path = os.path.join(folder, name + ".data")
    # Nothing here swaps or splits a folder, or what lies beside an address.
    if os.path.isdir(path) or name.endswith("sides"):
        return
    wanted = script(seam_exe, path)
    with open(path, "rb") as f:
        data = f.read()
    with tempfile.TemporaryDirectory() as tmp:
        other = os.path.join(tmp, "big-endian")
        with open(other, "wb") as f:
            f.write(swap(data))
        yield "big-endian", script(seam_exe, other) == wanted
        # Without time the order of files would decide.
        if re.search("pipe|per-thread", name):
            return
        for what, whole in (("a folder", data),
                            ("a big-endian folder", swap(data))):
            path = os.path.join(tmp, what)
            split(whole, path)
            yield what, script(seam_exe, path) == wanted


def ends(seam_exe, data):
    """How many samples have each end code, of a recording's bytes, which come
    by a pipe: one of perf's own is read as a stream."""
    run = subprocess.run([seam_exe, "script", "--format", "json", "-i", "-"],
                         check=True, capture_output=True, input=data)
    return collections.Counter(json.loads(line).get("end")
                               for line in run.stdout.splitlines())


def cut_off(seam_exe, folder):
    """(what, how many of each end code, whether they are true)."""
    def read(name):
        with open(os.path.join(folder, name + ".data"), "rb") as f:
            data = f.read()
        return data, *struct.unpack_from("<QQ", data, 40)

    for name in ("threads-fp", "pipe"):
        data, at, size = read(name)
        if name == "pipe":
            at, size = 0, len(data)
        none = ends(seam_exe, data)
        yield name + " has all", none, not none["lost"] + none["pending"]
        found = collections.Counter()
        for part in range(1, 20):
            found += ends(seam_exe, data[:at + size * part // 20])
        yield name + ", cut off in its data", found, \
            found["lost"] and not found["pending"]
    data, at, size = read("pending")
    found = ends(seam_exe, data[:at + size + 20])
    yield "pending, cut off behind its data", found, \
        found["pending"] and not found["lost"]


def main():
    seam_exe, folder = sys.argv[1:]
    names = sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".data"))
    results = []
    for name in names:
        problems = []
        n = check(seam_exe, folder, name, problems)
        results.append((f"{name}, {n} samples", problems))
        for what, same in otherwise(seam_exe, folder, name):
            results.append((f"{name}, {what}",
                            [] if same else ["another text"]))
    if "pending" in names:
        for what, found, good in cut_off(seam_exe, folder):
            results.append((what, [] if good else [str(found)]))
    for i, (what, problems) in enumerate(results):
        print(f"{'not ' if problems else ''}ok {i + 1} - {what}")
        for problem in problems[:20]:
            print("#", problem[:2000])
    print(f"1..{len(results)}")
    sys.exit(1 if not names or any(p for _, p in results) else 0)


main()
