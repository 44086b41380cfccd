#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: with -i a recording has the tasks that were named, and nothing
that these start: no thread, no child, not behind an exec.
"""

import collections
import subprocess
import sys

import livetest

# Says its threads' tids, each once it runs. At a line of input both start
# another thread and a child.
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static volatile int go_on;
static void burn(long ms)
{
	struct timespec t;
	do {
		for (int i = 0; i < 20000; i++) sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}
static void say(const char *what)
{
	printf("%s %ld\n", what, (long)syscall(SYS_gettid));
	fflush(stdout);
}
static void *late(void *arg)
{
	say("late");
	burn(200);
	return arg;
}
static void start(void)
{
	pthread_t t;
	pthread_create(&t, NULL, late, NULL);
	if (fork() == 0) {
		say("child");
		burn(200);
		_exit(0);
	}
	pthread_join(t, NULL);
	wait(NULL);
}
static void *early(void *arg)
{
	say("early");
	while (!go_on)
		for (int i = 0; i < 20000; i++) sink += i;
	start();
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	say("first");
	pthread_create(&t, NULL, early, NULL);
	getchar();
	go_on = 1;
	burn(300);
	start();
	pthread_join(t, NULL);
	return argc > 1;
}
"""
OFTEN = ["-e", "cpu-clock", "-F", "1999"]


def programs(bench):
    return bench.compile(SOURCE, "starts", "-pthread")


def say_of(process, n):
    """What it said: the kind of each tid."""
    said = [process.stdout.readline().decode().split() for _ in range(n)]
    return {int(tid): what for what, tid in said}


def kinds(recording, tasks):
    return collections.Counter(tasks.get(s["tid"], "?") for s in
                               recording.samples())


def running(bench, option, want):
    """want: of which kinds there are samples."""
    process = bench.start([programs(bench)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    tasks = say_of(process, 2)
    of = {what: tid for tid, what in tasks.items()}
    recorder = bench.recorder(*OFTEN, "-i", option, str(
        process.pid if option == "-p" else of["early"])).ready()
    livetest.burn(0.3, process.pid, of["early"])
    process.stdin.write(b"\n")
    process.stdin.close()
    tasks.update(say_of(process, 4))
    process.wait()
    recording = recorder.wait()
    found = kinds(recording, tasks)
    bench.test("-i %s: %s" % (option, " and ".join(sorted(want))),
               recording.status == 0 and set(found) == want and
               min(found.values()) > 50, "%s\n%s" % (found, recording.log))


def process(bench):
    running(bench, "-p", {"first", "early"})


def thread(bench):
    running(bench, "-t", {"early"})


def command(bench):
    """Each of its execs is its first thread's still."""
    program = programs(bench)
    for options in [], ["-D", "100"]:
        recorder = bench.recorder(
            *OFTEN, "-i", *options, "--", "sh", "-c",
            "sleep 1; exec " + program, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, name="command%d.data" % len(options))
        recorder.ready()
        tasks = say_of(recorder.process, 2)
        recorder.process.stdin.write(b"\n")
        recorder.process.stdin.close()
        tasks.update(say_of(recorder.process, 4))
        recording = recorder.wait()
        found = kinds(recording, tasks)
        bench.test("%s-i COMMAND: its first thread" % "".join(
            option + " " for option in options), recording.status == 0 and
            set(found) == {"first"} and found["first"] > 200 / bench.args.slower,
            "%s\n%s" % (found, recording.log))


def nobody(bench):
    gone = bench.start(["true"])
    gone.wait()
    recording = bench.record("-i", "-p", str(gone.pid))
    bench.test("-i -p of no process says so", recording.status == 1 and
               "there is no process %d" % gone.pid in recording.log,
               recording.log)
    process = bench.start([programs(bench)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    early = [tid for tid, what in say_of(process, 2).items()
             if what == "early"][0]
    recording = bench.record("-i", "-p", str(early))
    bench.test("nor is a thread one", recording.status == 1 and
               "there is no process %d" % early in recording.log,
               recording.log)


if __name__ == "__main__":
    sys.exit(livetest.main(process, thread, command, nobody,
                           programs=programs))
