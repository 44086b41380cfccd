#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# 4 threads that map and unmap beside 4 that spin: mmap_lock is contended.
. "$(dirname "$0")/lib.sh"

prepare() {
	[ -x "$PROGS/alloc" ] || {
		echo "PROGS names no folder with the program alloc"
		exit 77
	}
}

load() {
	args "$PROGS/alloc" 4 4 3
}

load_main "$@"
