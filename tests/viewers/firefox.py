# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The Firefox Profiler's own reader, as its command line from npm has it: it
upgrades and checks a profile as the web page does."""

import json
import os
import re
import subprocess

from missing import Missing, installed, npm, program
from patience import tries


def ask(folder, *words):
    node = program("node", there=installed("nodejs"))
    tool = os.path.join(npm("@firefox-devtools/profiler-cli"),
                        "dist", "profiler-cli.js")
    env = dict(os.environ, PROFILER_CLI_SESSION_DIR=folder, HOME=folder)
    return subprocess.run([node, tool, *words], env=env, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)


def ask_json(folder, *words):
    done = ask(folder, *words, "--json")
    if done.returncode:
        raise OSError(done.stderr + done.stdout)
    return json.loads(done.stdout)


def load(path, folder):
    """It waits half a second for its server, which on a busy machine is there
    later, and then says which process that is."""
    done = ask(folder, "load", path)
    servers = re.findall(r"may still be running as pid (\d+)", done.stderr)
    if "SyntaxError" in done.stderr:
        raise Missing("profiler-cli wants a newer node")
    for _ in tries("profiler-cli's loading"):
        if not done.returncode or not servers or \
                not os.path.exists("/proc/" + servers[0]):
            break
        done = ask(folder, "profile", "info")
    if done.returncode:
        raise OSError(done.stderr + done.stdout)


def stacks(path, folder):
    folder = os.path.join(folder, "sessions")
    os.makedirs(folder, exist_ok=True)
    load(path, folder)
    try:
        threads = ask_json(folder, "thread", "list")["threads"]
        return [stack for thread in threads
                for stack in of_thread(folder, thread["threadHandle"])]
    finally:
        ask(folder, "stop", "--all")


def of_thread(folder, handle):
    tree = ask_json(folder, "thread", "samples-top-down", "--thread", handle,
                    "--max-lines", "100000", "--include-idle")
    # One whose samples have no weight has no tree.
    todo = [([], tree["regularCallTree"])]
    while todo:
        above, node = todo.pop()
        names = above + [node["name"]]
        yield names, node["selfSamples"]
        todo += [(names, child) for child in node.get("children", [])]
