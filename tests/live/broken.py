#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: whatever goes wrong, record says why in one line, fails, and
keeps what was recorded before.

Killed at any moment, a full disk, a file size limit, no rights, targets that
are not there, commands that cannot run, unknown events, an ELF file whose
CFI lies, and a table cache full of rubbish.
"""

import collections
import os
import random
import shutil
import struct
import subprocess
import sys
import time

import livetest

KILLS = 20 if os.environ.get("SEAM_TEST_ALL") else 8
FLUSH_NS = 700000000
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
SPIN = "int main(void) { for (volatile long i = 0;; i++); }"


def one_line(log, *words):
    """One line of complaint and no more, that has the words."""
    lines = [line for line in log.splitlines() if line.strip()]
    return len(lines) == 1 and lines[0].startswith("seam: ") and \
        all(word in lines[0] for word in words)


def killed(bench):
    rng = random.Random(6)
    exe = bench.compile(SPIN, "spin")
    target = bench.start([exe])
    perf = subprocess.run([os.path.join(livetest.HERE, "..", "..", "tools",
                                        "peers.sh"), "--where"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8").stdout.strip()
    missing, late, unread, perf_fails = [], [], [], []
    # Its table is there from the start.
    bench.record(*CLOCK, "-p", str(target.pid), "--duration", "1")
    for i in range(KILLS):
        recorder = bench.recorder(*CLOCK, "-p", str(target.pid),
                                  name="killed.data").ready()
        began = time.monotonic_ns()
        time.sleep(rng.uniform(0, 1.2))
        at = time.monotonic_ns()
        recorder.process.kill()
        recording = recorder.wait()
        if not os.path.exists(recording.data) or \
                not os.path.getsize(recording.data):
            if at - began > FLUSH_NS:
                late.append("%d: no file after %d ms" % (
                    i, (at - began) // 1000000))
            continue
        try:
            samples = recording.samples()
        except RuntimeError as error:
            unread.append("%d after %d ms: %s" % (
                i, (at - began) // 1000000, error))
            continue
        last = max([s["time_ns"] for s in samples] or [began])
        whole = [s for s in samples if s["end"] == "outermost"]
        if at - last > FLUSH_NS:
            late.append("killed after %d ms, last sample %d ms before" % (
                (at - began) // 1000000, (at - last) // 1000000))
        if len(whole) < 0.99 * len(samples) - 1:
            missing.append("killed after %d ms, %d of %d whole" % (
                (at - began) // 1000000, len(whole), len(samples)))
        if perf:
            done = subprocess.run(
                [perf, "script", "-i", recording.data, "-F", "time,ip"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                encoding="utf-8")
            seen = sum(line.rstrip().endswith(":")
                       for line in done.stdout.splitlines())
            if done.returncode or seen != len(samples):
                perf_fails.append("%d of %d: %s" % (seen, len(samples),
                                                    done.stderr))
    target.kill()
    bench.test("killed %d times: every file can be read" % KILLS, not unread,
               "\n".join(unread))
    bench.test("killed: what is there is whole", not missing,
               "\n".join(missing))
    bench.timely("killed: all but the last 0.7 s is there", not late,
                 "\n".join(late))
    if perf:
        bench.test("killed: perf reads as many samples", not perf_fails,
                   "\n".join(perf_fails))
    else:
        bench.skip("killed: perf reads as many samples", "no newer perf")


# Seconds after which a recording would end that does not see its disk full.
DURATION = 120


def full_disk(bench):
    """A tmpfs of 1 MiB in a mount namespace, which ends with it: so what
    was recorded is copied out before."""
    folder = bench.path("tiny")
    os.mkdir(folder)
    out = bench.path("out")
    os.mkdir(out)
    spin = bench.compile(SPIN, "spin")
    script = ("mount -t tmpfs -o size=1m tiny {0} || exit 99\n"
              "{1} record -z 0 -q -e cpu-clock -F 3000 --duration {4} "
              "-o {0}/perf.data -- {3} 2>{2}/log; echo $? >{2}/status\n"
              "cp {0}/perf.data {2}/perf.data\n").format(
                  folder, bench.seam, out, spin, DURATION)
    began = time.monotonic()
    done = subprocess.run(["unshare", "-m", "sh", "-c", script],
                          env=bench.env)
    took = time.monotonic() - began
    if done.returncode == 99:
        return bench.skip("a full disk", "no tmpfs can be mounted")
    status = int(open(out + "/status").read())
    log = open(out + "/log").read()
    bench.test("a full disk: fails at once, with the reason in one line",
               status == 1 and took < DURATION and
               one_line(log, "No space left on device", "make room"),
               "status %d after %.1f s: %s" % (status, took, log))
    readable(bench, "a full disk", out + "/perf.data")


def readable(bench, what, path):
    recording = livetest.Recording(bench, path, 0, "", None)
    try:
        samples = recording.samples()
    except RuntimeError as error:
        samples = []
        recording.complaint = str(error)
    bench.test(what + ": what was recorded before can be read",
               len(samples) > 100, "%d samples; %s" % (
                   len(samples), recording.complaint))


def size_limit(bench):
    spin = bench.compile(SPIN, "spin")
    log = bench.path("limit.log")
    status = subprocess.run(
        ["sh", "-c", "ulimit -f 2000; exec %s record -z 0 -q -e cpu-clock -F "
         "3000 --duration 30 -o %s -- %s 2>%s" % (
             bench.seam, bench.path("limit.data"), spin, log)],
        env=bench.env).returncode
    text = open(log).read()
    bench.test("a file size limit: fails with the reason in one line",
               status == 1 and one_line(text, "File too large", "ulimit"),
               "status %d: %s" % (status, text))
    readable(bench, "a file size limit", bench.path("limit.data"))


def old_file(bench):
    first = bench.record(*CLOCK, "--", "true", name="same.data")
    with open(first.data, "rb") as f:
        before = f.read()
    second = bench.record(*CLOCK, "--", "true", name="same.data")
    with open(first.data + ".old", "rb") as f:
        bench.test("a file that is there is kept as .old",
                   second.status == 0 and f.read() == before, second.log)


def odd_outputs(bench):
    """Nodes of our own, as the machine's are not to be tried."""
    spin = bench.compile(SPIN, "spin")
    for what, name, make, words in (
            ("a device that keeps nothing", "null", ["c", "1", "3"], None),
            ("a full device", "full", ["c", "1", "7"],
             ["No space left on device"]),
            ("a disk", "disk", ["b", "7", "200"], ["no regular file", "-o -"]),
            ("a pipe", "fifo", ["p"], ["no regular file", "-o -"]),
            ("a folder", "dir", None, ["a folder", "-o"])):
        path = bench.path(name)
        if make is None:
            os.mkdir(path)
        elif subprocess.run(["mknod", path, *make]).returncode:
            bench.skip(what, "no such node can be made here")
            continue
        before = os.lstat(path)
        done = subprocess.run(
            [bench.seam, "record", *CLOCK, "--duration", "0.2", "-o", path,
             "--", spin], env=bench.env, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8")
        after = os.lstat(path)
        refused = words and done.returncode == 1 and not done.stdout and \
            one_line(done.stderr, name, *words)
        bench.test("an output that is %s: %s, and left as it is" % (
            what, "refused in one line" if words else "written to"),
                   (refused or not words and done.returncode in (0, 143)) and
                   (before.st_ino, before.st_mode, before.st_rdev) ==
                   (after.st_ino, after.st_mode, after.st_rdev) and
                   not os.path.exists(path + ".old"),
                   "status %d: %s" % (done.returncode, done.stderr))


def refusals(bench):
    """Each: what, options, the status, words in the one line."""
    not_elf = bench.path("text")
    with open(not_elf, "w") as f:
        f.write("no program\n")
    gone = bench.start(["true"])
    gone.wait()
    cases = [
        ("no such process", ["-p", str(gone.pid)], 1,
         [str(gone.pid), "ps -e "]),
        ("no such thread", ["-t", str(gone.pid)], 1,
         [str(gone.pid), "ps -eL"]),
        ("a number that is none", ["-p", "x"], 2, ["x", "want numbers"]),
        ("an unknown event", ["-e", "no-such", "--", "true"], 1,
         ["no-such", "seam record --help"]),
        ("an unknown tracepoint", ["-e", "sched:no_such", "-c", "1", "--",
                                   "true"], 1,
         ["sched:no_such", "tracing/events"]),
        ("a frequency out of range", ["-F", "0", "--", "true"], 2,
         ["-F '0'", "want 1 to"]),
        ("no such command", ["--", "no-such-command"], 127,
         ["no-such-command", "PATH"]),
        ("no such path", ["--", "/no/such/command"], 127,
         ["/no/such/command", "is the path right?"]),
        ("a file that is no program", ["--", not_elf], 126,
         [not_elf, "chmod +x"]),
        ("a folder for a command", ["--", "/"], 126, ["/", "a program"]),
        ("nothing to record", [], 2, ["give a command, -p, -t or -a"]),
        ("an output that cannot be made", ["--", "true"], 1,
         ["/no/such/folder", "-o"]),
    ]
    for what, options, status, words in cases:
        output = "/no/such/folder/x" if "output" in what else \
            bench.path("refused.data")
        done = subprocess.run(
            [bench.seam, "record", "-o", output, *options], env=bench.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        bench.test(what + ": a reason in one line, status %d" % status,
                   done.returncode == status and not done.stdout and
                   one_line(done.stderr, *words),
                   "status %d: %s" % (done.returncode, done.stderr))
    bench.test("what is refused leaves no file behind",
               not os.path.exists(bench.path("refused.data")))


def no_rights(bench):
    folder = bench.path("nobody")
    os.mkdir(folder)
    os.chmod(bench.folder, 0o755)
    os.chmod(folder, 0o777)
    seam = os.path.join(folder, "seam")
    shutil.copy(bench.seam, seam)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
         "--inh-caps=-all", seam, "record", "--engine", "deferred", "-o",
         folder + "/perf.data", "--", "true"], env=dict(os.environ, XDG_CACHE_HOME=folder),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    bench.test("no rights: a reason in one line, and what to do",
               done.returncode == 1 and one_line(done.stderr) and
               ("root" in done.stderr or "CAP_" in done.stderr),
               "status %d: %s" % (done.returncode, done.stderr))


def old_kernel(bench):
    """A kernel's description of itself without the function that makes all
    this possible, in a mount namespace of its own."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        btf = f.read()
    name, none = b"bpf_task_work_schedule_", b"bpf_task_rest_schedule_"
    with open(bench.path("btf"), "wb") as f:
        f.write(btf.replace(name, none))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount --bind %s /sys/kernel/btf/vmlinux"
         " || exit 99; exec %s record --engine deferred -o %s -- true" % (
             bench.path("btf"), bench.seam, bench.path("old.data"))],
        env=bench.env, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode == 99:
        return bench.skip("no task work", "cannot mount: " + done.stderr)
    bench.test("no task work: a reason in one line, and what to do",
               name in btf and done.returncode == 1 and
               one_line(done.stderr, "task work", "6.18") and
               not os.path.exists(bench.path("old.data")),
               "status %d: %s" % (done.returncode, done.stderr))


def container(bench):
    """A pid namespace of its own: other engines record there, and the reason
    why not the best one is said, with all of its words."""
    advice = "or with the host's (docker run --pid=host)"
    data = bench.path("container.data")
    for what, engine, words in (
            ("refused in one line", "deferred", advice),
            ("recorded with copies, and why", "auto",
             "engine dump (this is a pid namespace (a container?)")):
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", bench.seam,
             "record", *CLOCK, "-m", "32M", "--engine", engine, "-o", data,
             "--", "/usr/bin/python3", "-c", "for i in range(10000000): pass"],
            env=bench.env, stderr=subprocess.PIPE, encoding="utf-8")
        if "unshare:" in done.stderr:
            return bench.skip("a pid namespace", done.stderr.strip())
        good = engine == "auto" or \
            done.returncode == 1 and one_line(done.stderr)
        bench.test("a pid namespace: " + what, good and words in done.stderr
                   and advice in done.stderr, "status %d: %s" % (
                       done.returncode, done.stderr))
    samples = livetest.Recording(bench, data, 0, "", None).samples()
    ends = collections.Counter(s["end"] for s in samples)
    unsaid = set(ends) - {"outermost", "lost", *livetest.MAY_END["dump"]}
    bench.test("a pid namespace: stacks are whole there", not unsaid and
               ends["outermost"] > 0.7 * len(samples) > 0.7 * 50, ends)


def no_cache(bench):
    """Tables cannot be kept: a cache folder that is a file, is of a full
    disk, or is of no file system that can be written to."""
    exe = bench.compile(LIAR, "liar")
    with open(bench.path("file"), "w"):
        pass
    script = ("mount -t tmpfs -o size=8k tiny {0} || exit 99; "
              "head -c 100000 /dev/zero >{0}/full; exec \"$@\"")
    os.mkdir(bench.path("full-disk"))
    for what, home, wrap in (
            ("a file", bench.path("file"), []),
            ("a full disk", bench.path("full-disk"),
             ["unshare", "-m", "sh", "-c",
              script.format(bench.path("full-disk")), "sh"]),
            ("/proc", "/proc", [])):
        data = bench.path("nocache.data")
        done = subprocess.run(
            [*wrap, bench.seam, "record", *CLOCK, "-o", data, "--", exe],
            env=dict(bench.env, XDG_CACHE_HOME=home), stderr=subprocess.PIPE,
            encoding="utf-8")
        if done.returncode == 99:
            bench.skip("a cache in %s" % what, "no tmpfs can be mounted")
            continue
        samples = livetest.Recording(bench, data, 0, "", None).samples() \
            if done.returncode == 0 else []
        wrong = [s for s in samples if s["end"] != "outermost"]
        bench.test("a cache in %s: all is recorded, whole" % what,
                   len(samples) > 20 and not wrong,
                   "status %d: %s\n%s" % (
                       done.returncode, done.stderr,
                       "\n".join(map(livetest.show, wrong[:3]))))


def dies_at_once(bench):
    for i in range(10):
        target = bench.start(["sleep", "0.%d" % (i % 4)])
        recorder = bench.recorder(*CLOCK, "-p", str(target.pid),
                                  name="dying.data")
        target.kill()
        target.wait()
        recording = recorder.wait()
        good = recording.status == 0 or recording.status == 1 and \
            one_line(recording.log, str(target.pid))
        if not good:
            break
    bench.test("targets that die as the recording starts", good,
               "status %d: %s" % (recording.status, recording.log))
    recording = bench.record(*CLOCK, "--", "true")
    bench.test("a command that ends at once", recording.status == 0,
               recording.log)


def unreadable(bench):
    """Its mappings are closed even to us: kept by a security module, or in a
    user namespace that is not ours. Which those are differs; the first process
    of a container often is one."""
    closed = [pid for pid in os.listdir("/proc") if pid.isdigit() and
              cannot_read("/proc/%s/maps" % pid)]
    if not closed:
        bench.skip("a target that may not be read", "each may be read here")
        return
    recording = bench.record(*CLOCK, "-p", closed[0], "--duration", "1",
                             name="unreadable.data")
    bench.test("a target that may not be read", recording.status == 1 and
               one_line(recording.log, "process %s: its mappings may not be "
                        "read (Permission denied)" % closed[0]),
               "status %d: %s" % (recording.status, recording.log))


def cannot_read(path):
    try:
        with open(path) as f:
            f.read(1)
        return False
    except PermissionError:
        return True
    except OSError:
        return False


LIAR = r"""
#include <stdlib.h>
static volatile unsigned long sink;
void leaf(void) { for (int i = 0; i < 100000; i++) sink += i; }
void middle(int n)
{
	volatile char pad[n];
	pad[0] = 1;
	leaf();
}
int compare(const void *a, const void *b) { middle(40); return sink & 1; }
int main(void)
{
	int v[64] = {0};
	for (int i = 0; i < 8; i++)
		qsort(v, 64, sizeof(*v), compare);
	_Exit(0);
}
"""


def section(data, wanted):
    """Offset and size of an ELF section."""
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * size)
               for i in range(count)]
    base = headers[names][4]
    for header in headers:
        end = data.index(b"\0", base + header[0])
        if data[base + header[0]:end].decode() == wanted:
            return header[4], header[5]
    raise KeyError(wanted)


def liars(bench):
    """CFI with bytes at random; the code is right and the run must not be
    harmed, nor the tables of others."""
    rng = random.Random(12)
    exe = bench.compile(LIAR, "liar")
    with open(exe, "rb") as f:
        data = f.read()
    at, size = section(data, ".eh_frame")
    bad, ends, others = [], {}, 0
    for i in range(12):
        lie = bytearray(data)
        for _ in range((1, 4, 30)[i % 3]):
            lie[at + rng.randrange(size)] = rng.randrange(256)
        if i == 10:
            lie[at:at + size] = bytes(size)
        if i == 11:
            lie[at:at + 4] = b"\xff\xff\xff\x7f"
        path = bench.path("liar%d" % i)
        with open(path, "wb") as f:
            f.write(lie)
        os.chmod(path, 0o755)
        recording = bench.record(*CLOCK, "--", path, name="liar.data")
        if recording.status or not recording.summary:
            bad.append("lie %d: status %d: %s" % (i, recording.status,
                                                  recording.log))
            continue
        for sample in recording.samples():
            ends[sample["end"]] = ends.get(sample["end"], 0) + 1
            leaf = livetest.user_frames(sample)[-1:]
            if leaf and "ld-linux" in leaf[0].get("dso", ""):
                others += 1
                if sample["end"] != "outermost":
                    bad.append("lie %d: %s" % (i, livetest.show(sample)))
    bench.note("ends: %s; %d samples in other files" % (ends, others))
    bench.test("CFI that lies: every recording ends well, and other files "
               "are whole", not bad and others > 3, "\n".join(bad[:5]))
    bench.test("CFI that lies: each end is one that says so",
               set(ends) <= {"outermost", "no-table", "no-rule", "bad-cfa",
                             "unreadable", "copy-short", "max-stack",
                             "unproven"} and
               len(ends) > 1, ends)


def refused(bench):
    """A file that lies is named, with what is wrong and where; one that does
    not never is."""
    exe = bench.compile(LIAR, "honest", "-static")
    with open(exe, "rb") as f:
        data = f.read()
    at, size = section(data, ".eh_frame")
    first = 4 + struct.unpack_from("<I", data, at)[0]
    def_cfa = data.index(b"\x0c\x07\x08", at, at + size)
    clean = bench.record(*CLOCK, "--", exe, name="refused.data")
    bench.test("no file that is well is refused",
               clean.summary["files_refused"] == 0 and
               clean.summary["refused_files"] == [] and
               "seam: refused" not in clean.log, clean.log)
    lies = [
        ("the class of its header", 4, b"\1", 0, "ELF header", 4),
        ("its section headers, which lie outside, but are not needed", 40,
         struct.pack("<Q", 1 << 40), None, None, None),
        ("its section headers, which lie in its code", 40,
         struct.pack("<Q", 0x1000), None, None, None),
        ("its first CIE's length", at, b"\xff\xff\xff\x7f", 1,
         ".eh_frame", 4),
        ("an FDE's CIE", at + first + 4, b"\xff\xff\xff\x7f", 1,
         ".eh_frame", first),
        # Said where FDEs are run: of all for a table, of a copy's frames.
        ("what its CIEs say first", def_cfa, b"\x3f", None, ".eh_frame",
         def_cfa - at),
    ]
    for engine in ("deferred", "dump"):
        for what, where, lie, parts, part, offset in lies:
            name = bench.path("lies")
            with open(name, "wb") as f:
                f.write(data[:where] + lie + data[where + len(lie):])
            os.chmod(name, 0o755)
            recording = bench.record(*CLOCK, "--engine", engine, "--", name,
                                     name="refused.data")
            files = recording.summary["refused_files"]
            lines = [line for line in recording.log.splitlines()
                     if line.startswith("seam: refused: ")]
            # The last says what it means, and where to read what to do.
            advice = lines.pop() if lines else ""
            good = len(files) == len(lines) == 1 and \
                "no-table or no-rule ('man seam-record'" in advice and \
                files[0]["file"] == name and (
                    files[0]["parts"] == parts or
                    parts is None and files[0]["parts"] > 0) and \
                part in files[0]["where"] and files[0]["reason"] and \
                offset in (None, files[0]["offset"]) and \
                name in lines[0] and files[0]["reason"] in lines[0] \
                if part is not None else not files and not lines and not advice
            bench.test("a file that lies about %s: %s, with %s" % (
                what, "said" if part is not None else "nothing is refused",
                engine), recording.status == 0 and good,
                       "%s\n%s" % (files, recording.log))
            os.unlink(name)


def bad_cache(bench):
    """Every file of the table cache is damaged in another way."""
    rng = random.Random(3)
    exe = bench.compile(LIAR, "liar")
    first = bench.record(*CLOCK, "--", exe)
    files = [os.path.join(folder, name) for folder, _, names in
             os.walk(bench.path("cache")) for name in names]
    good = {}
    for path in files:
        with open(path, "rb") as f:
            good[path] = f.read()
    for turn in range(5):
        for path in files:
            data = bytearray(good[path])
            if turn == 0:
                data = data[:len(data) // 2]
            elif turn == 1:
                data = bytearray(b"")
            elif turn == 2:
                data = bytearray(rng.randbytes(len(data)))
            elif data:
                for _ in range(turn * 3):
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            with open(path, "wb") as f:
                f.write(data)
        recording = bench.record(*CLOCK, "--", exe)
        samples = recording.samples() if recording.status == 0 else []
        wrong = [s for s in samples if s["end"] != "outermost"]
        if recording.status or wrong or not samples:
            break
    bench.test("a table cache of rubbish is not believed", first.status == 0
               and files and samples and not wrong,
               "turn %d, %d files, status %d: %s\n%s" % (
                   turn, len(files), recording.status, recording.log,
                   "\n".join(map(livetest.show, wrong[:3]))))


if __name__ == "__main__":
    sys.exit(livetest.main(killed, full_disk, size_limit, old_file,
                           odd_outputs, refusals,
                           no_rights, old_kernel, container, no_cache,
                           dies_at_once, unreadable, liars, refused,
                           bad_cache))
