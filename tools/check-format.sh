#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: .clang-format is the arbiter of layout. --fix applies it.
# Another release of clang-format would lay some lines out otherwise.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

if ! command -v clang-format-14 >/dev/null; then
	echo 'clang-format-14 is missing'
	exit 77
fi
if [ "${1:-}" = --fix ]; then
	tree_files '*.c' '*.h' | tr '\n' '\0' |
		xargs -0 -r clang-format-14 -i
	exit
fi
bad=$(tree_files '*.c' '*.h' | tr '\n' '\0' |
	xargs -0 -r clang-format-14 --dry-run 2>&1 |
	sed -n 's/^\([^ :]*\):\([0-9]*\):[0-9]*: warning: .*/\1:\2/p' |
	sort -u -t: -k1,1)
if [ -z "$bad" ]; then
	ok 'every C file is laid out by .clang-format'
else
	not_ok 'every C file is laid out by .clang-format' \
		"first line of each file; 'make format' mends them:" "$bad"
fi
tap_done
