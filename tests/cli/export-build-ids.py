# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Whether an export has the build-ids that the recording's mappings have.

export-build-ids.py FORMAT EXPORT RECORDING: of each file of the export the
build-id must be the recorded one, and at least one must be there.
export-build-ids.py FORMAT EXPORT PATH=ID...: those are all that it has.
"""
import gzip
import json
import os
import struct
import subprocess
import sys

MMAP2, BUILD_ID = 10, 1 << 14


def recorded(path):
    """{path: build-id} of a perf.data file's mappings."""
    with open(path, "rb") as f:
        data = f.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end, found = at + size, {}
    while at < end:
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        if kind == MMAP2 and misc & BUILD_ID:
            n = data[at + 40]
            name = data[at + 72:at + size].split(b"\0")[0].decode()
            found[name] = data[at + 44:at + 44 + n].hex()
        at += size
    return found


def of_pprof(path):
    proto = os.path.join(os.path.dirname(__file__),
                         "../../lib/export/profile.proto")
    with gzip.open(path) as f:
        text = subprocess.run(
            ["protoc", "--decode=seam.Profile", "-I", os.path.dirname(proto),
             proto], input=f.read(), capture_output=True, check=True).stdout
    strings, mappings = [], []
    for line in text.decode().splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "string_table":
            strings.append(value[1:-1])
        elif line == "mapping {":
            mappings.append({})
        elif name in ("filename", "build_id") and mappings and \
                line.startswith("  "):
            mappings[-1].setdefault(name, int(value))
    return {strings[m["filename"]]: strings[m["build_id"]] for m in mappings
            if m.get("build_id")}


def of_firefox(path):
    with open(path, encoding="utf-8") as f:
        return {lib["path"]: lib["codeId"] for lib in json.load(f)["libs"]
                if lib["codeId"]}


def of_chrome(path):
    with open(path, encoding="utf-8") as f:
        return {file["path"]: file["build_id"]
                for file in json.load(f)["otherData"]["files"]}


form, export, *wants = sys.argv[1:]
got = {"pprof": of_pprof, "firefox": of_firefox, "chrome": of_chrome}[form](
    export)
if "=" in wants[0]:
    # protoc shows bytes that are no ASCII in another way than JSON.
    found = sorted((os.path.basename(path)[0], i) for path, i in got.items())
    wanted = sorted((path, i) for path, _, i in (
        want.partition("=") for want in wants))
    assert found == wanted, (got, wants)
    sys.exit(0)
wanted = recorded(wants[0])
both = {path for path in got if path in wanted}
wrong = {path: got[path] for path in both if got[path] != wanted[path]}
assert both and not wrong, (wrong, got, wanted)
# Each file with frames; the kernel's own id is no mapping's.
assert all(path in wanted or path.startswith("[") for path in got), got
