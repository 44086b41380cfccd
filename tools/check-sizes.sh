#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: no function over 70 lines, no C file over 1,000; a file over
# 600 is named, to be split. A function's length is from its '{' to its '}',
# both alone in the first column, as the kernel's style has them.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

max_function=70
ask_file=600
max_file=1000

long=$(tree_files '*.c' '*.h' | while read -r file; do
	awk -v file="$file" -v max="$max_function" '
	/^\{/ { start = FNR; name = last }
	/^\}/ && start {
		if (FNR - start + 1 > max)
			print file ":" start ": " FNR - start + 1 \
				" lines: " name
		start = 0
	}
	/^[a-zA-Z_].*\(/ { last = $0 }' "$file"
done)
if [ -z "$long" ]; then
	ok "functions have at most $max_function lines"
else
	not_ok "functions have at most $max_function lines" "$long"
fi

sizes=$(tree_files '*.c' '*.h' '*.py' '*.sh' | while read -r file; do
	echo "$(wc -l <"$file") $file"
done)
big=$(echo "$sizes" | awk -v max="$max_file" '$1 > max')
if [ -z "$big" ]; then
	ok "files have at most $max_file lines"
else
	not_ok "files have at most $max_file lines" "$big"
fi
echo "$sizes" | awk -v ask="$ask_file" \
	'$1 > ask { print "# to be split: " $0 }'
tap_done
