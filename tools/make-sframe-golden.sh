#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Makes tests/golden/sframe anew: tables of real assemblers and linkers, and
# what objdump says they hold. Needs the network once, for the binutils of
# three suites of Debian (tools/peer-binutils.sh); the tests need none.
#
#   v1         binutils 2.40 (bookworm)   v2  2.44 (trixie)   v3  sid
#   v2-pcrel   what 2.45 wrote, made of v2 by pcrel.py
#
# NAME.o is assembled from src/NAME.s; NAME-be.o for big-endian aarch64. The
# linked files are named after their sources: NAME.so, NAME.exe, and NAME.r.o
# of ld -r. Beside each lies NAME.dump, by objdump of the same suite (v2-pcrel:
# sid's). Only sid's ld -r is asked: 2.40 and 2.44 put relocations of the second
# file and later ones where no function descriptor is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../tests/golden/sframe
cd "$golden"

# One page of padding at most between segments, and nothing that varies.
link='-z max-page-size=4096 -z noseparate-code --build-id=none
	--hash-style=gnu --eh-frame-hdr'

folder_of() {
	"$here/peer-binutils.sh" "$1"
}

# assemble NAME OUT [OPTION]...: with the suite's assembler for the source.
assemble() {
	name=$1 out=$2
	shift 2
	case $name in
	amd64-*) tool=as ;;
	*) tool=${name%%-*}-linux-gnu-as ;;
	esac
	"$bin/$tool" --gsframe "$@" "src/$name.s" -o "$out" 2>>"$log" || {
		grep -q 'not supported for target' "$log" && return 1
		cat "$log" >&2
		exit 1
	}
}

link_amd64() {
	"$bin/ld" $link -shared "$1/amd64-so.o" -o "$1/amd64-so.so"
	"$bin/ld" $link -shared -z ibtplt -z lazy "$1/amd64-so.o" \
		-o "$1/amd64-ibt.so"
	"$bin/ld" $link -pie --no-dynamic-linker "$1/amd64-plain.o" \
		"$1/amd64-outermost.o" -o "$1/amd64-pie.exe"
	"$bin/ld" $link "$1/amd64-plain.o" "$1/amd64-signal.o" \
		-o "$1/amd64-static.exe"
	[ "$1" != v3 ] || "$bin/ld" -r "$1/amd64-plain.o" \
		"$1/amd64-outermost.o" -o "$1/amd64-r.r.o"
}

link_others() {
	"$bin/aarch64-linux-gnu-ld" $link "$1/aarch64-plain.o" \
		"$1/aarch64-pac.o" -o "$1/aarch64-static.exe"
	"$bin/aarch64-linux-gnu-ld" -EB $link "$1/aarch64-plain-be.o" \
		"$1/aarch64-pac-be.o" -o "$1/aarch64-static-be.exe"
	[ ! -f "$1/s390x-so.o" ] || "$bin/s390x-linux-gnu-ld" $link -shared \
		"$1/s390x-so.o" -o "$1/s390x-so.so"
}

dump_all() {
	for file in "$2"/*.o "$2"/*.so "$2"/*.exe; do
		name=$(basename "$file")
		case $name in
		amd64-*) tool=objdump ;;
		*) tool=${name%%-*}-linux-gnu-objdump ;;
		esac
		(cd "$2" && "$1/$tool" --sframe "$name") >"$file.dump"
	done
}

# make_all SUITE FOLDER
make_all() {
	bin=$(folder_of "$1")
	log=$2.log
	rm -rf "$2"
	mkdir "$2"
	for source in src/*.s; do
		name=$(basename "$source" .s)
		: >"$log"
		assemble "$name" "$2/$name.o" || continue
		case $name in
		aarch64-*) assemble "$name" "$2/$name-be.o" -EB ;;
		esac
	done
	link_amd64 "$2"
	link_others "$2"
	rm -f "$log"
	echo "$1: $("$bin/as" --version | sed -n 1p)" >>VERSIONS.new
}

: >VERSIONS.new
make_all bookworm v1
make_all trixie v2
make_all sid v3
rm -rf v2-pcrel
mkdir v2-pcrel
for file in v2/*.o v2/*.so v2/*.exe; do
	python3 pcrel.py "$file" "v2-pcrel/$(basename "$file")"
done
dump_all "$(folder_of bookworm)" v1
dump_all "$(folder_of trixie)" v2
dump_all "$(folder_of sid)" v2-pcrel
dump_all "$(folder_of sid)" v3
mv VERSIONS.new VERSIONS
