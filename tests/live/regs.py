#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a sample's stack is the one of its event, whatever happens to
the registers on the way back to user space.

Two programs make the kernel change them there: storms of signals, with
handlers on the thread's stack and on one of their own, and restartable
sequences that are aborted. Each stack is one of the program's own paths, and
a sample taken in user mode has its own ip for a leaf.
"""

import re
import sys

import livetest
import perffile

SIGNALS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile int done;
static int main_tid;

""" + livetest.CPU_MS + r"""
#ifdef ONE
#define ROUNDS 1
#else
#define ROUNDS 3000
#endif
void in_handler(void) { for (int i = 0; i < ROUNDS; i++) sink += i; }
void normal(int sig) { in_handler(); __asm__ volatile(""); }
void alternate(int sig) { in_handler(); __asm__ volatile(""); }
void spin_c(void) { for (int i = 0; i < 20000; i++) sink += i; }
void spin_b(int n)
{
	volatile char pad[n];
	pad[0] = 1;
	spin_c();
	__asm__ volatile("");
}
void spin_a(void) { spin_b(100 + (int)(sink & 63)); __asm__ volatile(""); }
void *storm(void *arg)
{
	while (!done) {
		syscall(SYS_tgkill, getpid(), main_tid, SIGUSR1);
		syscall(SYS_tgkill, getpid(), main_tid, SIGUSR2);
	}
	return NULL;
}
void to_self(void)
{
	syscall(SYS_tgkill, getpid(), main_tid, SIGUSR1);
	__asm__ volatile("");
}
void setup(void)
{
	struct itimerval it = {{0, 1000}, {0, 1000}};
	struct sigaction sa;
	stack_t ss;

	memset(&sa, 0, sizeof(sa));
	memset(&ss, 0, sizeof(ss));
	ss.ss_size = 65536;
	ss.ss_sp = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
	sa.sa_handler = normal;
	sa.sa_flags = SA_RESTART;
	main_tid = (int)syscall(SYS_gettid);
	sigaction(SIGUSR1, &sa, NULL);
#ifdef ONE
	return;
#endif
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = alternate;
	sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGUSR2, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}
int main(void)
{
	pthread_t t;

	setup();
#ifdef ONE
	while (cpu_ms() < 2000)
		for (int i = 0; i < 1000; i++)
			to_self();
	_exit(0);
#endif
	pthread_create(&t, NULL, storm, NULL);
	while (cpu_ms() < 1500)
		spin_a();
	done = 1;
	_exit(0);
}
"""

RSEQ = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink, aborts;

""" + livetest.CPU_MS + r"""
/* Other frames than the sequence's: what an abort goes to. */
void aborted(void)
{
	aborts++;
	for (int i = 0; i < 200000; i++) sink += i;
}
void sequence(struct rseq *rs)
{
	__asm__ goto volatile(
		".pushsection .data.rseq, \"aw\"\n"
		".balign 32\n"
		"3: .long 0, 0\n"
		".quad 1f, 2f - 1f, 4f\n"
		".popsection\n"
		"leaq 3b(%%rip), %%rax\n"
		"movq %%rax, %c[off](%[rs])\n"
		"1: movl $20000, %%ecx\n"
		"5: decl %%ecx\n"
		"jnz 5b\n"
		"2: jmp 6f\n"
		".byte 0x0f, 0xb9, 0x3d\n"
		".long 0x53053053\n"
		"4: jmp %l[abort]\n"
		"6:\n"
		: : [rs] "r"(rs), [off] "i"(__builtin_offsetof(struct rseq,
								rseq_cs))
		: "rax", "rcx", "memory", "cc" : abort);
	return;
abort:
	aborted();
	__asm__ volatile("");
}
void caller(struct rseq *rs) { sequence(rs); __asm__ volatile(""); }
void on_alarm(int sig) { for (int i = 0; i < 500; i++) sink += i; }
int main(void)
{
	struct itimerval it = {{0, 1000}, {0, 1000}};
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() +
					  __rseq_offset);
	struct sigaction sa;

	if (!__rseq_size)
		return 77;
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	while (cpu_ms() < 1500)
		caller(rs);
	dprintf(1, "%lu\n", aborts);
	_exit(0);
}
"""

START = r"_start __libc_start_main(_impl)? __libc_start_call_main main"
# Where a handler is entered and left; the kernel makes no other frames.
HANDLER = r"( __restore_rt( (normal|alternate)( in_handler)?)?)?"
# A handler of a signal may be interrupted by another before it has begun.
MAIN_PATH = re.compile(
    START + r"( spin_a( spin_b( spin_c)?)?| cpu_ms)?(" + HANDLER + r")*$|" + START + " (setup|_exit|pthread_create).*$")
STORM_PATH = re.compile(
    r"_*clone3? start_thread storm( (syscall|_*getpid))?(" + HANDLER +
    r")*$")
KILL = ["main", "to_self", "syscall"]
RSEQ_PATH = re.compile(
    START + r"( caller( sequence( aborted)?)?| cpu_ms|"
    r"( \S*(sigaction|timer\S*))+)?"
    r"( __restore_rt( on_alarm)?)?$|" + START + r" (dprintf|_exit)\b.*$")


def hold(bench, what, recording, allowed):
    if not bench.test(what + ": recorded", recording.status == 0 and
                      recording.summary, recording.log):
        return []
    events, samples = perffile.events_of(recording.data), recording.samples()
    wrong, other_ip, in_user, differ, inside = [], [], 0, 0, []
    for sample in samples:
        frames = livetest.user_frames(sample)
        ip, user = events.get((sample["time_ns"], sample["tid"]), (0, False))
        in_user += user
        if user and (not frames or int(frames[-1]["ip"], 16) != ip):
            other_ip.append("%x: %s" % (ip, livetest.show(sample)))
        path = " ".join(livetest.user_path(sample))
        if sample["end"] == "regs-differ":
            differ += 1
        elif "main" in path.split() or "storm" in path.split():
            inside.append(path)
            if sample["end"] != "outermost" or \
                    not any(form.match(path) for form in allowed):
                wrong.append(path + " | " + livetest.show(sample))
    bench.note("%s: %d samples, %d in user mode, %d moved, %d regs-differ" % (
        what, len(samples), in_user, recording.summary["moved"], differ))
    bench.test(what + ": every stack is a path of the program", not wrong,
               "%d wrong\n" % len(wrong) + "\n".join(wrong[:5]))
    # Handlers come and go, but the stack is the event's all the time.
    bench.test(what + ": hardly any says regs-differ",
               differ <= len(samples) / 1000,
               "%d of %d" % (differ, len(samples)))
    bench.test(what + ": the leaf is the event's own ip", not other_ip and
               in_user > 300, "%d of %d\n" % (len(other_ip), in_user) +
               "\n".join(other_ip[:5]))
    return inside


def storming(bench):
    return bench.compile(SIGNALS, "signals", "-pthread")


def killing(bench):
    return bench.compile(SIGNALS, "one-signal", "-pthread", "-DONE")


def aborting(bench):
    return bench.compile(RSEQ, "rseq")


def programs(bench):
    for compiled in storming, killing, aborting:
        compiled(bench)


def signals(bench):
    exe = storming(bench)
    recording = bench.record("-e", "cpu-clock", "-F", "9999", "-z", "0", "--",
                             exe)
    inside = hold(bench, "signals", recording, [MAIN_PATH, STORM_PATH])
    for name in ("spin_c", "normal", "alternate", "storm"):
        bench.test("signals: there are samples in " + name, sum(
            name in path.split() for path in inside) > 3)
    faults = bench.record("-e", "page-faults", "-e", "context-switches", "-c",
                          "1", "-z", "0", "--", exe)
    bench.test("signals, at switches: recorded", faults.status == 0,
               faults.log)
    wrong = [sample for sample in faults.samples()
             if "main" in livetest.user_path(sample) and
             "spin_a" in livetest.user_path(sample) and
             (sample["end"] != "outermost" or not MAIN_PATH.match(
                 " ".join(livetest.user_path(sample))))]
    bench.test("signals, at switches: every stack is a path of the program",
               not wrong, "\n".join(map(livetest.show, wrong[:5])))


def building(bench):
    """While the kernel builds a handler's frame, the registers are still
    those of what it interrupts, a kill of itself; at the return they are
    the handler's."""
    exe = killing(bench)
    recording = bench.record("-m", "16M", "-e", "cpu-clock", "-F", "9999", "--",
                             exe)
    bench.test("a handler's frame: recorded", recording.status == 0,
               recording.log)
    found, wrong = 0, []
    for sample in recording.samples():
        kernel = [f.get("sym", "") for f in livetest.kernel_frames(sample)]
        if not any("setup_rt_frame" in name for name in kernel):
            continue
        found += 1
        path = livetest.user_path(sample)[3:]
        # In the function itself the registers may have been set, all or some.
        begun = "setup_rt_frame" in kernel[0] and path == KILL + [
            "__restore_rt", "normal"]
        if sample["end"] != "regs-differ" and path != KILL and not begun:
            wrong.append(sample)
    bench.test("a handler's frame: the stack is of what it interrupts",
               found > 200 and not wrong, "%d of %d\n" % (
                   len(wrong), found) + "\n".join(
                       map(livetest.show, wrong[:3])))
    bench.note("%d samples in building a handler's frame, %d moved" % (
        found, recording.summary["moved"]))


def rseq(bench):
    exe = aborting(bench)
    with open(bench.path("aborts"), "w+") as out:
        recording = bench.record("-e", "cpu-clock", "-F", "9999", "-z", "0",
                                 "--", exe, stdout=out)
        out.seek(0)
        text = out.read()
    if recording.status == 77:
        return bench.skip("rseq", "the C library has registered none")
    bench.test("rseq: sequences were aborted", int(text or 0) > 300, text)
    inside = hold(bench, "rseq", recording, [RSEQ_PATH])
    for name in ("sequence", "aborted"):
        bench.test("rseq: there are samples in " + name, sum(
            path.split()[-1] == name for path in inside) > 20)


if __name__ == "__main__":
    sys.exit(livetest.main(signals, building, rseq, programs=programs,
                           of="deferred"))
