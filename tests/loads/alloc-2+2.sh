#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# 2 threads that map and unmap beside 2 that spin: mmap_lock is contended.
. "$(dirname "$0")/lib.sh"

prepare() {
	[ -x "$PROGS/alloc" ] || {
		echo "PROGS names no folder with the program alloc"
		exit 77
	}
}

load() {
	args "$PROGS/alloc" 2 2 3
}

load_main "$@"
