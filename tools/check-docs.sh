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

# run PATH: the test is there, and something runs it.
run() {
	name=$(basename "$1")
	[ -e "$1" ] && case $1 in
	*/*.h | tests/progs/ | tests/loads/) ;; # what several tests share
	tests/progs/*) [ -e "${1%.*}.expect" ] &&
		grep -q "'${name%.*}'" tests/progs/meson.build ;;
	tests/loads/*) grep -q "'${name%.*}'" tests/live/meson.build ;;
	*.py | *.sh) grep -q "'${name%.*}'\|'$name'" \
		"$(dirname "$1")/meson.build" ;;
	*.c) grep -q "'$name'" "$(dirname "$1")/meson.build" ;;
	*) [ -e "$1/meson.build" ] ;;
	esac
}

all_run() {
	for path in $(grep -oE '`(tests|examples)/[a-zA-Z0-9_./+-]*`' \
			docs/origins.md | tr -d '`' | sort -u); do
		case $path in
		examples/*) [ -e "$path" ] ;;
		*) run "$path" ;;
		esac || {
			echo "$path is not there, or nothing runs it"
			return 1
		}
	done
	# A test of a file is named before it.
	grep -oE '`[a-z_]+` in `tests/live/[a-z-]+\.py`' docs/origins.md |
		tr -d '`' | while read -r function in path; do
		grep -q "^def $function(" "$path" || {
			echo "there is no $function $in $path"
			exit 1
		}
	done
}

# commands_of COLUMN: of DESIGN.md's rows under Sub-commands that stand.
commands_of() {
	sed -n '/^## Sub-commands/,/^## Clients/p' DESIGN.md |
		grep '^| `' | grep "$@" 'planned' | cut -d'|' -f2 |
		grep -oE '[a-z]+' | sort
}

# What DESIGN.md says stands is a command, and what is planned is none.
commands_stand() {
	sed -n 's/^\t{"\([a-z]*\)", cmd_.*/\1/p' cli/main.c | sort >"$known"
	commands_of -v | diff "$known" - || return 1
	! commands_of -e | grep -xF -f "$known"
}

known=$(mktemp)
trap 'rm -f "$known"' EXIT
check 'DESIGN tells the commands that stand from those that are planned' \
	commands_stand
# Who reads them has no tracker to look in.
check 'no document sends to an issue by number' \
	sh -c '! grep -niE "issues? #?[0-9]" "$@"' sh \
	$(tree_files '*.md' '*.[1-8]' ':!tests/*')
numbers=$(sed -n 's/^| \([0-9]*\) |.*/\1/p' docs/origins.md | tr '\n' ' ')
check 'origins has a row for each demand' \
	test "$numbers" = "$(seq 23 | tr '\n' ' ')"
check 'each demand has a test' \
	sh -c '! grep -E "^\| [0-9]+ \|" docs/origins.md |
		grep -vE "\`tests/[^|]*\|\$"'
check 'each test that origins names is there, and runs' all_run
tap_done
