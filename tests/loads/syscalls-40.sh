#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# System calls from 40 frames deep, short and long ones.
. "$(dirname "$0")/lib.sh"

prepare() {
	for prog in "$PROGS"/syscalls-gcc-O2 "$PROGS"/syscalls-clang-O2; do
		[ -x "$prog" ] && ln -s "$prog" "$1/prog" && return
	done
	echo "PROGS names no folder with the program syscalls"
	exit 77
}

load() {
	args "$(readlink "$1/prog")" 2.5 40
}

load_main "$@"
