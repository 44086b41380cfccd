#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: libseam.so exports exactly the functions that include/seam/
# declares. tools/check-exports.sh LIBSEAM.SO
library=$(realpath "$1") || exit 1
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Comments go, directives go, what is left and is followed
# by a parenthesis is declared. Headers for BPF programs declare for those, and
# lend.h is compiled into the tool that includes it.
tree_files 'include/seam/*.h' ':!include/seam/*.bpf.h' ':!include/seam/lend.h' |
while read -r header; do
	gcc -fpreprocessed -dD -E -P "$header"
done | sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' -e '/^ *#/d' | tr '\n' ' ' |
	grep -oE '\bseam_[a-z0-9_]+ *\(' | tr -d ' (' |
	sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '$2 ~ /[TWBDR]/ { print $3 }' |
	sed 's/@.*//' | sort -u >"$work/exported"

check 'the library exports something' test -s "$work/exported"
check 'every declared function is exported, and nothing else' \
	diff -u "$work/declared" "$work/exported"
tap_done
