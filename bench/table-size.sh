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

cd "$here/.."
for source in lib/*.c lib/*/*.c; do
	name=$folder/$(echo "$source" | tr / _)
	cc -std=gnu17 -fPIC -D_GNU_SOURCE -DSEAM_VERSION='"0"' \
		-fno-strict-aliasing -I. -Iinclude -Ilib -I"$build/bpf" \
		-I/usr/include/capstone -S -O2 "$@" "$source" -o "$name.s"
	"$bin/as" --gsframe "$name.s" -o "$name.o"
done
"$bin/ld" -shared --eh-frame-hdr "$folder"/*.o -o "$folder/all.so"
"$here/../tests/golden/sframe/sizes.py" "$build/seam" --sums "$folder/all.so"
