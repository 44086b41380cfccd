#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: every sub-command in cli/main.c's table has a man page, and
# mandoc has nothing to say against any page.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

commands=$(sed -n 's/^[ \t]*{[ \t]*"\([a-z]*\)",.*/\1/p' cli/main.c)
for name in $commands; do
	check "seam $name has a man page" test -s "man/seam-$name.1"
done
for page in $(tree_files 'man/*.[1-8]'); do
	if command -v mandoc >/dev/null; then
		check "mandoc accepts $page" mandoc -T lint -W warning "$page"
	else
		skip "mandoc accepts $page" 'mandoc is missing'
	fi
done
[ "$tap_count" != 0 ] || skip 'man pages' 'no sub-command stands yet'
tap_done
