#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: what the documents name is there: files of this tree that they
# put in `backquotes` or link to, and a row for each of the 23 demands.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

for document in $(tree_files '*.md' ':!tests/*'); do
	folder=$(dirname "$document")
	missing=
	for path in $(grep -oE '`(tests|tools|core|lib|bpf|cli|fuzz|include)/[a-zA-Z0-9_./+-]*`' \
			"$document" | tr -d '`' | sort -u); do
		# A folder that is filled later is no lie; a file is.
		case $path in
		*/ | *[A-Z][A-Z]*) continue ;;
		esac
		[ -e "$path" ] || missing="$missing $path"
	done
	for path in $(grep -oE '\]\([^)#:]*\)' "$document" |
			tr -d '()]' | sort -u); do
		[ -e "$folder/$path" ] || missing="$missing $path"
	done
	if [ -z "$missing" ]; then
		ok "$document names what is there"
	else
		not_ok "$document names what is there" "$missing"
	fi
done

numbers=$(sed -n 's/^| \([0-9]*\) |.*/\1/p' docs/origins.md | tr '\n' ' ')
check 'origins has a row for each demand' \
	test "$numbers" = "$(seq 23 | tr '\n' ' ')"
check 'each demand has a test or an issue' \
	sh -c '! grep -E "^\| [0-9]+ \|" docs/origins.md |
		grep -vE "(issue [2-9]|\`tests/)[^|]*\|\$"'
tap_done
