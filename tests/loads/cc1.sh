#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# gcc's cc1 on the largest C file of this repository, of those that include
# nothing that is made, over and over.
. "$(dirname "$0")/lib.sh"

prepare() {
	need gcc
	root=$here/../..
	largest=$(find "$root/lib" "$root/cli" "$root/core" -name '*.c' \
		-exec grep -L 'kernel-priv\.h\|\.skel\.h' {} + |
		xargs -d '\n' ls -S | sed -n 1p)
	gcc -std=gnu17 -D_GNU_SOURCE -DSEAM_VERSION='"0"' -E -I"$root" \
		-I"$root/include" -I"$root/lib" -o "$1/largest.i" "$largest"
}

# cc1 takes a fraction of a second a time. Its table takes as long to make, on slow
# machines twice that; until then some of its stacks are too deep to copy.
load() {
	args sh -c 'for i in $(seq '"${CC1_ROUNDS:-40}"'); do
		"$0" -quiet -O3 -fpreprocessed "$1" -o /dev/null || exit 1
	done' "$(gcc -print-prog-name=cc1)" "$1/largest.i"
}

load_main "$@"
