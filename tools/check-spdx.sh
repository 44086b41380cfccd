#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: every file says its licence in its first three lines (a
# script's first line is its #!). Test data and licence texts cannot.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

line='SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause'
bad=$(tree_files ':!LICENSES/*' ':!tests/golden/*' ':!fuzz/corpus/*' \
		':!*.exact' ':!*/data/*' |
	while read -r file; do
		# Binary files have no lines to say it in.
		[ -s "$file" ] && ! grep -Iq . "$file" && continue
		head -n 3 "$file" | grep -qF "$line" || echo "$file"
	done)
if [ -z "$bad" ]; then
	ok 'every file has its SPDX line'
else
	not_ok 'every file has its SPDX line' "$bad"
fi

for text in LGPL-2.1-only BSD-2-Clause; do
	check "LICENSES has $text" test -s "LICENSES/$text.txt"
done
tap_done
