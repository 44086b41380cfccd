#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
#   bench/table-size.sh BUILD [CFLAG]...
#
# Compiles libseam's sources (-O2, and the flags given), assembles and links
# them by binutils of Debian sid, and compares the table that makes with the one
# that seam makes of the same file's .eh_frame, function by function. Fails if
# a function is larger. Without those binutils, which tools/peer-binutils.sh
# fetches: exit 77.
set -eu

build=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
bin=$("$here/../tools/peer-binutils.sh" --where sid)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM

# As the build compiles them, but to assembly, and with no sanitizer.
sources() {
	/usr/bin/python3 - "$build" <<'END'
import json, os, shlex, sys
for unit in json.load(open(os.path.join(sys.argv[1], "compile_commands.json"))):
    source = os.path.normpath(os.path.join(unit["directory"], unit["file"]))
    if "libseam_internal" in unit["output"] and source.endswith(".c"):
        print(source, *(flag for flag in shlex.split(unit["command"])
                        if flag[:2] in ("-I", "-D", "-s") or
                        flag.startswith("-fno-strict") or flag == "-fPIC"))
END
}

cd "$build"
sources >"$folder/sources"
while read -r source flags; do
	name=$folder/$(echo "$source" | tr / _)
	# shellcheck disable=SC2086 # they are several
	cc $flags -S -O2 "$@" "$source" -o "$name.s"
	"$bin/as" --gsframe "$name.s" -o "$name.o"
done <"$folder/sources"
"$bin/ld" -shared --eh-frame-hdr "$folder"/*.o -o "$folder/all.so"
"$here/../tests/golden/sframe/sizes.py" "$build/seam" --sums "$folder/all.so"
