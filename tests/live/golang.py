#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Description: a program of Go, made by Go's own compiler, has whole stacks.

Its linker writes no CFI for unwinders and its code keeps frame pointers, so that
all its frames are found by these. Goroutines, and main's, run through known
functions: each sample of these has the path from where its goroutine began.
"""

import collections
import glob
import shutil
import subprocess
import sys

import livetest

GOROUTINES = 3
SOURCE = r"""
package main

import "time"

var sink [%d]uint64

//go:noinline
func third(id int, n int) {
	for i := 0; i < n; i++ {
		sink[id] += uint64(i)
	}
}

//go:noinline
func second(id int, n int) { third(id, n); sink[id]++ }

//go:noinline
func first(id int, n int) { second(id, n); sink[id]++ }

func work(id int, until time.Time, done chan bool) {
	for time.Now().Before(until) {
		for i := 0; i < 50; i++ {
			first(id, 20000)
		}
	}
	done <- true
}

func main() {
	until := time.Now().Add(1500 * time.Millisecond)
	done := make(chan bool, %d)
	for i := 1; i <= %d; i++ {
		go work(i, until, done)
	}
	work(0, until, done)
	for i := 0; i <= %d; i++ {
		<-done
	}
}
""" % (GOROUTINES + 1, GOROUTINES + 1, GOROUTINES, GOROUTINES)

OF_MAIN = ["runtime.goexit", "runtime.main", "main.main"]
# Some compilers wrap what `go` calls.
OF_OTHERS = ["runtime.goexit"]
WRAPPED = OF_OTHERS + ["main.main.func1"]
CHAIN = ["main.work", "main.first", "main.second", "main.third"]


def compiler():
    found = sorted(glob.glob("/usr/lib/go-*/bin/go"))
    return shutil.which("go") or (found[-1] if found else None)


def build(bench, go):
    """Without cgo: no code of C, and so no CFI of its compiler."""
    source, exe = bench.path("prog.go"), bench.path("prog")
    with open(source, "w") as f:
        f.write(SOURCE)
    subprocess.run([go, "build", "-o", exe, source], check=True, env=dict(
        bench.env, CGO_ENABLED="0", GO111MODULE="off", HOME=bench.folder,
        GOCACHE=bench.path("gocache"), GOPATH=bench.path("gopath"),
        GOFLAGS="", GOTOOLCHAIN="local"))
    return exe


def names_of(sample):
    """As Go spells them in source: .abi0 is how assembly is called."""
    return [f.get("sym", "?").split("+")[0].removesuffix(".abi0")
            for f in livetest.user_frames(sample)]


def judge(bench, what, recording):
    """Samples that the known functions run: each path begins where its
    goroutine did, and its end says how that is known."""
    seen, wrong = collections.Counter(), []
    for sample in recording.kept(recording.samples()):
        names = names_of(sample)
        if not names or names[-1] not in CHAIN:
            continue
        chain = CHAIN[:CHAIN.index(names[-1]) + 1]
        root = "?"
        if names == OF_MAIN + chain:
            root = "main"
        elif names in (OF_OTHERS + chain, WRAPPED + chain):
            root = "another"
        seen[root, sample["end"]] += 1
        if root == "?" or sample["end"] not in ("unproven", "outermost"):
            wrong.append(livetest.show(sample))
    bench.note("%s: %s" % (what, dict(seen)))
    bench.test("%s: every stack is whole, to where its goroutine began" % what,
               not wrong and sum(seen.values()) > 300,
               "%d of %d\n%s" % (len(wrong), sum(seen.values()),
                                 "\n".join(wrong[:4])))
    bench.test("%s: main's goroutine and others are among them" % what,
               all(sum(n for (root, _), n in seen.items() if root == wanted) >
                   50 for wanted in ("main", "another")), seen)


def goroutines(bench):
    go = compiler()
    if not go:
        bench.skip("a program of Go", "no Go compiler")
        return
    exe = build(bench, go)
    sections = subprocess.run(["readelf", "-SW", exe], stdout=subprocess.PIPE,
                              encoding="utf-8", check=True).stdout
    bench.test("it has no CFI for unwinders, as Go's linker makes it",
               ".eh_frame" not in sections and ".gopclntab" in sections,
               sections)
    for engine in ("deferred", "dump"):
        recording = bench.record("-e", "cpu-clock", "-F", "999", "--engine",
                                 engine, "--", exe)
        if bench.test("%s: recorded" % engine, recording.status == 0 and
                      recording.summary, recording.log):
            judge(bench, engine, recording)


if __name__ == "__main__":
    sys.exit(livetest.main(goroutines))
