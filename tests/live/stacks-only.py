#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: --stacks-only records each stack once, with the times between
which it holds, and another tracer's events find theirs by those.

Who is right: the program of spelling.py, whose stacks spell a number that its
system calls have as an argument; bpftrace, and trace-cmd, tell that of each
call, and LTTng, in a tracepoint of the program's own.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import time

import livetest
import spelling

JOIN = os.path.join(livetest.HERE, "..", "..", "examples", "join-stacks.py")
# In a mount namespace of its own, which takes it away again. Where it is mounted
# there already, it cannot be once more.
TRACEFS = """grep -q '^[^ ]* /sys/kernel/tracing tracefs ' /proc/mounts ||
	mount -t tracefs nodev /sys/kernel/tracing || exit
"""
# It wants tracefs there, which is nobody else's to see.
BPFTRACE = TRACEFS + """
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs nodev /sys/kernel/debug
exec bpftrace -e 'tracepoint:raw_syscalls:sys_enter
/ pid == '$1' && args->id == 17 /
{ printf("%llu %d %lu\\n", nsecs, tid, args->args[3]); }' """
# trace-cmd resets function tracing before all else, and gives up where that is
# not to be had: it gets a file that is nobody's in place of what it may not
# write, and no debugfs, where it would look first. It leaves tracing off.
TRACE_CMD = "umount -l /sys/kernel/debug 2>/dev/null\n" + TRACEFS + """
cd /sys/kernel/tracing || exit
was=$(cat tracing_on)
: >"$1.none"
for file in set_ftrace_* set_graph_*; do
	[ ! -e $file ] || (: 3<>$file) || mount --bind "$1.none" $file
done 2>/dev/null
cd /proc/sys/kernel
(cat ftrace_enabled >ftrace_enabled) 2>/dev/null ||
	mount --bind "$1.none" ftrace_enabled
"$2" record -C mono -e raw_syscalls:sys_enter \
	-f 'id == 17 && comm == "spell"' -o "$1" sh -c 'echo begun; read line'
status=$?
echo $was >/sys/kernel/tracing/tracing_on
exit $status"""
# Its daemon, its sockets and the memory that it shares with programs are in a
# mount namespace of their own. Kernel modules of its own it has none here.
LTTNG = """for at in /run /dev/shm; do
	mount -t tmpfs nodev $at || exit
done
export LTTNG_HOME="$1.home" HOME="$1.home"
mkdir "$HOME"
trap ready=1 USR1
setpriv --pdeathsig TERM lttng-sessiond --no-kernel --sig-parent >&2 &
daemon=$!
until [ "$ready" ] || ! kill -0 $daemon; do sleep .1; done
lttng() { command lttng --no-sessiond "$@" >&2; }
lttng create spell --output="$1" && lttng enable-event -u spell:call &&
	lttng add-context -u -t vtid && lttng start || exit
exec 3<&0
"$2" "$1.log" 1 wait <&3 &
echo $!
wait $!
lttng destroy spell
status=$?
kill $daemon
wait $daemon
exit $status"""
PROVIDER = r"""
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER spell
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "spell-lttng.h"
#if !defined(SPELL_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SPELL_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(spell, call, LTTNG_UST_TP_ARGS(unsigned, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(unsigned, number, n)))
#endif
#include <lttng/tracepoint-event.h>
"""
PROBE = "lttng_ust__event_probe__spell___call"
PEER_TOOL = os.path.join(livetest.HERE, "..", "..", "tools", "peer-tool.sh")
# What each prints of a call, and pread's place in the file there.
EVENTS = {
    "bpftrace": (r"\d+ \d+ (?P<number>\d+)$", 10),
    # comm-123 [000] 12.000000345: sys_enter: NR 17 (3, 7f12, 8, 2a, 0, 0)
    "trace-cmd": (r".* NR 17 \((?:\w+, ){3}(?P<number>[0-9a-f]+),", 16),
    "lttng": (r".* spell:call: .*number = 0x(?P<number>[0-9A-F]+) ", 16),
}


def alone(bench):
    spelling.build(bench, "spell", 2, 40, 6000)
    recording = bench.record(
        "--stacks-only", "-F", "2000", "-e", "raw_syscalls:sys_enter,"
        "raw_syscalls:sys_exit,cpu-clock", "--", bench.path("spell"),
        bench.path("log"), "1")
    if not bench.test("recorded", recording.status == 0 and recording.summary,
                      recording.log):
        return
    summary, samples = recording.summary, recording.samples()
    stays = collections.defaultdict(list)
    for sample in samples:
        stays[sample.get("cookie")].append(sample)
    none = stays.pop(None, [])
    bench.note("%d samples, %d stays, %d without, %d left out" % (
        len(samples), len(stays), len(none), summary["left_out"]))
    more = [s for s in samples
            if livetest.kernel_frames(s) or "payload" in s]
    bench.test("the kernel's half and payloads are not there",
               len(stays) > 1000 and not more,
               "\n".join(map(livetest.show, more[:3])))
    # One that interrupts another comes first, and both are there.
    several = [v for v in stays.values() if len(v) > 1]
    bench.test("a stack has one sample, but for interrupted ones",
               len(several) < len(stays) / 10 and
               all(len(v) == 2 and v[1]["event"] == "cpu-clock"
                   for v in several),
               "\n".join(livetest.show(s) for v in several[:3] for s in v))
    early = [s for v in stays.values() for s in v
             if s["end"] != "lost" and s["stack_ns"] <= s["time_ns"]]
    bench.test("each stack is taken after it was asked for", not early,
               "\n".join(map(livetest.show, early[:3])))
    bench.test("what is left out is counted",
               summary["left_out"] > 1000 and
               summary["samples"] == len(samples) and
               summary["samples"] + summary["left_out"] ==
               sum(summary["end"].values()) and
               "%d more left out" % summary["left_out"] in recording.log,
               recording.log)
    wrong = [s for s in none if s["end"] in ("outermost", "no-user")]
    bench.test("without a stack are those alone that want one", not wrong,
               "\n".join(map(livetest.show, wrong[:3])))


def refused(bench):
    recording = bench.record("--stacks-only", "-e",
                             "cpu-clock/kernel-callchains/", "--", "true")
    bench.test("an event without user stacks is refused",
               recording.status != 0 and "user stacks" in recording.log,
               recording.log)
    recording = bench.record("--stacks-only", "--engine", "dump", "--", "true")
    bench.test("and an engine that has a stack for each event",
               recording.status != 0 and "engine deferred" in recording.log,
               recording.log)


def joined(bench, tool, text, recording):
    """Events, their stacks (functions, root first), and what the example says
    of them all."""
    done = subprocess.run(
        [JOIN, "--from", tool, "--seam", bench.seam, recording.data],
        input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", env=bench.env)
    pattern, base = EVENTS[tool]
    events = []
    for line in done.stdout.splitlines():
        event = re.match(pattern, line)
        if line.startswith("\t"):
            events[-1][1].insert(0, line.split(maxsplit=1)[-1])
        elif event:
            events.append((int(event["number"], base), []))
    return events, done.stderr


def check_joined(bench, tool, text, recording):
    events, count = joined(bench, tool, text, recording)
    bench.note(count)
    spelt = [(number, spelling.bits_of(path)) for number, path in events]
    whole = [(n, bits) for n, bits in spelt if len(bits) == spelling.BITS]
    wrong = [(n, bits) for n, bits in whole if int(bits, 2) != n]
    bench.test("a stack is of the call that %s tells of" % tool,
               len(whole) > 100 and not wrong,
               "%d of %d wrong: %s" % (len(wrong), len(whole), wrong[:5]))
    bench.test("nearly every event of %s has its stack" % tool,
               len(whole) > len(events) * 0.9,
               "%d of %d\n%s%s" % (len(whole), len(events), count,
                                   recording.log))


def traced_twice(bench, script, *args):
    """The program's recording, and the other tracer, which has a shell's script
    to run in, a mount namespace of its own and the program's pid as last
    argument, and its first line. Tables are there before, as in
    spelling.record."""
    spelling.build(bench, "spell", 2, 40, 6000)
    program = bench.start([bench.path("spell"), bench.path("log"), "1",
                           "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0)
    recorder = bench.recorder("--stacks-only", "-m", "64M", "-e",
                              "raw_syscalls:sys_enter", "-p",
                              str(program.pid)).ready()
    program.stdin.write(b"\n")
    program.stdout.readline()
    recorder.settle()
    tracer = bench.start(["unshare", "-m", "sh", "-c", script, "sh", *args,
                          str(program.pid)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=subprocess.PIPE, encoding="utf-8")
    first = tracer.stdout.readline()
    program.stdin.close()
    program.wait()
    return recorder.wait(), tracer, first


def bpftrace(bench):
    if not shutil.which("bpftrace"):
        bench.skip("bpftrace's events find their stacks",
                   "there is no bpftrace")
        return
    recording, tracer, first = traced_twice(bench, BPFTRACE)
    tracer.terminate()
    text, said = tracer.communicate()
    if not first.startswith("Attaching") or not text.strip():
        bench.skip("bpftrace's events find their stacks",
                   "bpftrace does not trace here: " + said.strip()[:200])
        return
    check_joined(bench, "bpftrace", text, recording)


def await_names():
    """Until the kernel's names stay as they are, for a second: trace-cmd reads
    them twice as it ends, and fails where programs of BPF are just going, which
    the kernel lets go when it likes."""
    def names():
        time.sleep(0.2)
        with open("/proc/kallsyms", "rb") as f:
            return f.read()
    was, same = None, 0
    while same < 5:
        now = names()
        was, same = now, same + 1 if now == was else 0


def trace_cmd(bench):
    fetched = subprocess.run([PEER_TOOL, "--where", "trace-cmd"],
                             encoding="utf-8", stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    if fetched.returncode:
        bench.skip("trace-cmd's events find their stacks",
                   fetched.stderr.strip())
        return
    tool, trace = fetched.stdout.strip(), bench.path("trace.dat")
    recording, tracer, first = traced_twice(bench, TRACE_CMD, trace, tool)
    await_names()
    said = tracer.communicate()
    if first != "begun\n":
        bench.skip("trace-cmd's events find their stacks",
                   "trace-cmd does not trace here: " + said[1].strip()[-200:])
        return
    report = subprocess.run([tool, "report", "-t", "-i", trace],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            encoding="utf-8")
    bench.test("trace-cmd has recorded", tracer.returncode == 0 and
               report.returncode == 0, "".join(said) + report.stderr)
    check_joined(bench, "trace-cmd", report.stdout, recording)


def told_to_lttng(bench):
    """The program of spelling.py that passes a tracepoint in each call."""
    with open(bench.path("spell-lttng.h"), "w", encoding="utf-8") as f:
        f.write(PROVIDER)
    leaf = "void leaf(unsigned n)\n{\n"
    source = """#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "spell-lttng.h"
""" + spelling.SOURCE.replace(
    leaf, leaf + "\tlttng_ust_tracepoint(spell, call, n);\n")
    return bench.compile(
        source, "spell-lttng", "-pthread", "-DBITS=%d" % spelling.BITS,
        "-DLANES=2", "-DCALLS=40", "-DMOST=6000", "-llttng-ust", "-ldl",
        paths=["-I" + os.path.dirname(bench.path("spell-lttng.h"))])


def lttng(bench):
    what = "LTTng's events find their stacks"
    missing = [tool for tool in ("lttng", "lttng-sessiond", "babeltrace2",
                                 "setpriv") if not shutil.which(tool)]
    if subprocess.run(["pkg-config", "--exists", "lttng-ust"]).returncode:
        missing.append("liblttng-ust-dev")
    if missing:
        bench.skip(what, "there is no " + ", ".join(missing))
        return
    exe, trace = told_to_lttng(bench), bench.path("lttng")
    tracer = bench.start(["unshare", "-m", "sh", "-c", LTTNG, "sh", trace, exe],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, encoding="utf-8")
    pid = tracer.stdout.readline().strip()
    if not pid:
        bench.skip(what, "LTTng does not trace here: " +
                   tracer.communicate()[1].strip()[-200:])
        return
    recorder = bench.recorder("--stacks-only", "-m", "64M", "-p", pid, "-e",
                              "uprobe:%s:%s" % (exe, PROBE)).ready()
    tracer.stdin.write("\n")
    tracer.stdin.flush()
    tracer.stdout.readline()
    recorder.settle()
    said = tracer.communicate()[1]
    recording = recorder.wait()
    printed = subprocess.run(["babeltrace2", "--clock-cycles", trace],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8")
    bench.test("LTTng has recorded", tracer.returncode == 0 and
               printed.returncode == 0, said + printed.stderr)
    check_joined(bench, "lttng", printed.stdout, recording)


if __name__ == "__main__":
    sys.exit(livetest.main(alone, refused, bpftrace, trace_cmd, lttng))
