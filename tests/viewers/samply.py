# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""samply: what its import makes of a recording, by addresses in files; and the
names that its own server, which the page in the browser asks, has for them."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

from missing import HERE, Missing

# Of a frame that has no file: the address is in the name.
NO_FILE = ""


def tool():
    """This machine's, else Debian sid's, which is fetched."""
    if shutil.which("samply"):
        return "samply"
    done = subprocess.run(
        [os.path.join(HERE, "..", "..", "tools", "peer-tool.sh"), "samply"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode == 77:
        raise Missing(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise OSError(done.stderr)
    return done.stdout.strip()


def imported(data, folder):
    """The path of the profile."""
    out = os.path.join(folder, "samply.json")
    subprocess.run([tool(), "import", "--save-only", "-o", out, data],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return out


def strings(profile, thread):
    return thread.get("stringArray") or profile["shared"]["stringArray"]


def frame_of(profile, thread, i):
    """(index of the file or None, address in it, its function's name); None
    for what is inlined."""
    frames, funcs = thread["frameTable"], thread["funcTable"]
    if frames["inlineDepth"][i]:
        return None
    func = frames["func"][i]
    resource, lib = funcs["resource"][func], None
    if resource is not None and resource >= 0:
        lib = thread["resourceTable"]["lib"][resource]
    return (lib, frames["address"][i],
            strings(profile, thread)[funcs["name"][func]])


def times(samples):
    if "time" in samples:
        return samples["time"]
    at, all_times = 0, []
    for delta in samples["timeDeltas"]:
        at += delta
        all_times.append(at)
    return all_times


def samples(profile):
    """(thread id, milliseconds, frames from the leaf) of each."""
    for thread in profile["threads"]:
        table = thread["stackTable"]
        frames = [frame_of(profile, thread, i)
                  for i in range(thread["frameTable"]["length"])]
        tid = int(str(thread["tid"]).split(".", maxsplit=1)[0])
        for stack, time in zip(thread["samples"]["stack"],
                               times(thread["samples"])):
            found = []
            while stack is not None:
                found.append(frames[table["frame"][stack]])
                stack = table["prefix"][stack]
            yield tid, time, [frame for frame in found if frame]


@contextlib.contextmanager
def server(path):
    """The address that the page asks for names."""
    with subprocess.Popen([tool(), "load", "--no-open", "--port", "3000+",
                           path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8",
                          stdin=subprocess.DEVNULL) as child:
        try:
            for line in child.stdout:
                found = re.search(r"symbolServer=(\S+)", line)
                if found:
                    yield urllib.parse.unquote(found[1])
                    break
            else:
                raise OSError("samply load said no address")
        finally:
            child.terminate()


def names(path, profile, wanted):
    """{(lib, address): name} of what is wanted, by samply's own server."""
    wanted = sorted(wanted)
    libs = sorted({lib for lib, _ in wanted})
    job = {"memoryMap": [[profile["libs"][lib]["debugName"],
                          profile["libs"][lib]["breakpadId"]] for lib in libs],
           "stacks": [[[libs.index(lib), address]
                       for lib, address in wanted]]}
    body = json.dumps({"jobs": [job]}).encode()
    with server(path) as address, urllib.request.urlopen(
            address + "/symbolicate/v5", body) as answer:
        stack = json.load(answer)["results"][0]["stacks"][0]
    return {place: frame.get("function", "")
            for place, frame in zip(wanted, stack)}


def stacks(data, folder):
    path = imported(data, folder)
    with open(path, encoding="utf-8") as text:
        profile = json.load(text)
    found = [frames for _, _, frames in samples(profile)]
    known = names(path, profile, {(lib, address) for frames in found
                                  for lib, address, _ in frames
                                  if lib is not None})
    for frames in found:
        yield [known.get((lib, address), name)
               for lib, address, name in reversed(frames)], 1
