#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runs `meson test`, counts test cases, explains what failed or skipped.

tools/run-tests.py BUILD [--asan BUILD] [--slow] [--suite S]...

Every test program either speaks TAP on its standard output (cmocka programs
are told to; shell and Python tests do it themselves) and counts as many
cases as it prints, or is one case by its exit status: 0, 77 for a skip whose
reason is the last line of output, anything else a failure.

The suites: `live` tests record real programs and run one at a time (their
meson.build says is_parallel: false), `slow` only with --slow. With --asan,
the suites that need no rights run in that second build too. --slow also sets
SEAM_TEST_ALL=1, for tests that have a short and a long form.

The last line is the count, and nothing else is on it:
    N passed, N failed, N skipped
If SEAM_SUMMARY is set, it goes to that file instead.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ASAN_SUITES = ["unit", "golden", "fuzz"]
CASE = re.compile(r"^(not )?ok\s+(\d+)\b\s*(?:-\s*)?(.*)$")
CMOCKA_SKIP = re.compile(r"^not ok\s+\d+\s+#\s*SKIP\s+(.*)$")
DIRECTIVE = re.compile(r"^(.*?)\s*#\s*SKIP\b\s*(.*)$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*SKIP\b\s*(.*))?$", re.I)


class Case:
    def __init__(self, result, name, detail=""):
        self.result, self.name, self.detail = result, name, detail


def read_tap(text):
    """The cases of one program, and how many its plans promised.

    cmocka's skip() takes no reason: what the test printed before it is one.
    """
    cases, planned, before = [], 0, []
    for line in text.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned += int(plan.group(1))
            if plan.group(1) == "0":
                cases.append(Case("skipped", "all", plan.group(2) or ""))
                planned += 1
            continue
        cmocka = CMOCKA_SKIP.match(line)
        if cmocka:
            cases.append(Case("skipped", cmocka.group(1), " ".join(before)))
            before = []
            continue
        case = CASE.match(line)
        if case:
            name, result, detail = case.group(3), "passed", ""
            directive = DIRECTIVE.match(name)
            if case.group(1):
                result = "failed"
            if directive:
                name, detail = directive.groups()
                result = "skipped"
            cases.append(Case(result, name, detail))
            before = []
        elif not line.startswith("# ok - "):
            before.append(line.lstrip("# ").strip())
    return cases, planned


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def read_test(test):
    """Meson's record of one test program -> its cases."""
    out, status = test.get("stdout") or "", test.get("returncode")
    both = out + (test.get("stderr") or "")
    cases, planned = read_tap(out)
    if not cases:
        if status == 0:
            return [Case("passed", "")]
        if status == 77:
            return [Case("skipped", "", last_line(both))]
        return [Case("failed", "", f"exit status {status}")]
    failed = any(case.result == "failed" for case in cases)
    if len(cases) < planned:
        cases.append(Case("failed", "plan", f"{planned} cases were planned, "
                          f"{len(cases)} ran; exit status {status}"))
    elif status == 77:
        cases.append(Case("skipped", "the rest", last_line(both)))
    elif status != 0 and not failed:
        cases.append(Case("failed", "exit", f"exit status {status}"))
    return cases


def suites_of(build):
    tests = json.loads(subprocess.run(
        ["meson", "introspect", "--tests", build],
        check=True, stdout=subprocess.PIPE).stdout)
    # Meson names a suite "project:suite".
    return {suite.split(":")[-1] for test in tests for suite in test["suite"]}


def run_meson(build, wanted, slow):
    """Runs the suites; returns Meson's record of every test program."""
    suites = sorted(suites_of(build) & wanted)
    if not suites:
        return []
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C.UTF-8")
    if slow:
        env["SEAM_TEST_ALL"] = "1"
    subprocess.run(
        ["meson", "test", "-C", build, "--no-rebuild",
         "--timeout-multiplier", "0",
         "--num-processes", str(len(os.sched_getaffinity(0)))]
        + [arg for suite in suites for arg in ("--suite", suite)]
        + ([] if slow else ["--no-suite", "slow"]),
        env=env, stdin=subprocess.DEVNULL)
    with open(log, encoding="utf-8", errors="replace") as lines:
        return [json.loads(line) for line in lines]


def show_failure(title, test, cases):
    print(f"\n=== {title} failed; its output:")
    for case in cases:
        if case.result == "failed" and case.name in ("", "plan", "exit"):
            print(f"--- {case.detail}")
    for stream in ("stdout", "stderr"):
        text = (test.get(stream) or "").strip("\n")
        if text:
            print(f"--- {stream}")
            print(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--asan")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--suite", action="append", default=[])
    args = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True, errors="replace")

    wanted = set(args.suite) or suites_of(args.build)
    runs = [("", run_meson(args.build, wanted, args.slow))]
    if args.asan:
        runs.append(("asan: ", run_meson(
            args.asan, wanted & set(ASAN_SUITES), args.slow)))

    count = {"passed": 0, "failed": 0, "skipped": 0}
    skips, failures = [], []
    for prefix, tests in runs:
        for test in tests:
            title = prefix + test["name"].split(" / ")[-1]
            cases = read_test(test)
            for case in cases:
                count[case.result] += 1
                name = f"{title}: {case.name}" if case.name else title
                if case.result == "skipped":
                    skips.append((name, case.detail.strip()))
                elif case.result == "failed":
                    failures.append(name)
            if any(case.result == "failed" for case in cases):
                show_failure(title, test, cases)

    for name, why in skips:
        print(f"skipped: {name}: {why or 'no reason given'}")
    for name in failures:
        print(f"FAILED: {name}")
    if not sum(count.values()):
        print("no test ran at all")
        count["failed"] = 1
    closing = ", ".join(f"{n} {what}" for what, n in count.items())
    summary = os.environ.get("SEAM_SUMMARY")
    if summary:
        with open(summary, "w", encoding="utf-8") as out:
            print(closing, file=out)
    else:
        print(closing)
    return 1 if count["failed"] else 0


sys.exit(main())
