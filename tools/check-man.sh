#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# Description: every sub-command in cli/main.c's table has a man page with the
# sections that a page has, that page and the command's help text name exactly
# the long options that the command takes, seam(1) names exactly the end codes
# of core/err.def and lists the commands, the calls of the public headers have
# pages of section 3,
# and the structures of tracer.h each field in one,
# no constant is named there or in a header's comments that no header defines,
# and mandoc has nothing to say against any page.
cd "$(dirname "$0")/.." || exit 1
. tools/tap.sh

SECTIONS='NAME SYNOPSIS DESCRIPTION OPTIONS FILES EXIT.STATUS EXAMPLES SEE.ALSO'

# The same words in both lists? Shows what only one of them has.
same() {
	same_a=$(printf '%s\n' $2 | sort -u)
	same_b=$(printf '%s\n' $4 | sort -u)
	[ "$same_a" = "$same_b" ] && return
	printf '%s\n' "$same_a" "$same_b" "$same_b" | sort | uniq -c |
		sed -n "s|^ *1 \(..*\)|only in $1: \1|p"
	printf '%s\n' "$same_b" "$same_a" "$same_a" | sort | uniq -c |
		sed -n "s|^ *1 \(..*\)|only in $3: \1|p"
	return 1
}

# { "input", required_argument, NULL, 'i' }
taken_options() {
	cat $1 | sed -n 's/^[ \t]*{ *"\([a-z-]*\)", *[a-z]*_argument,.*/\1/p'
}

# The words of its first constant string.
helped_options() {
	cat $1 | sed -n '/^static const char [a-z_]*\[\] *=/,/;$/p' |
		grep -o -e '--[a-z][a-z-]*' | sed 's/^--//'
}

paged_options() {
	grep '^\.It Fl' "$1" | grep -o 'Fl Fl [a-z-]*' | sed 's/Fl Fl //'
}

check_page() {
	for section in $SECTIONS; do
		check "$1 has $section" grep -q "^\.Sh $section\$" "$1"
	done
}

# What code has, since it compiles, is defined; comments may say anything.
constants() {
	grep -ow 'SEAM_[A-Z0-9_]*[A-Z0-9]'
}
headers=$(tree_files 'include/seam/*.h')
named=$(cat /dev/null $headers $(tree_files 'man/*.3') |
	grep -v '^\.Dt ' | constants)
coded=$(cat /dev/null $headers |
	sed 's|/\*.*\*/||; /\/\*/,/\*\//d' | constants)
check 'the constants that pages and comments name are those of the headers' \
	same 'comments or man/*.3' "$named" include/seam "$coded"

commands=$(sed -n 's/^[ \t]*{[ \t]*"\([a-z]*\)",.*/\1/p' cli/main.c)
pages=$(tree_files 'man/*.[1-8]')
if [ -z "$commands$pages" ]; then
	skip 'man pages' 'no sub-command stands yet'
	tap_done
fi
for name in $commands; do
	page=man/seam-$name.1
	code=cli/cmd-$name.c
	for file in "cli/$name"-*.c; do
		[ ! -f "$file" ] || code="$code $file"
	done
	! grep -qs INPUT_OPTIONS "cli/cmd-$name.c" || code="$code cli/input.h"
	check "seam $name has a man page" test -s "$page"
	[ -s "$page" ] || continue
	check "seam(1) points to seam-$name(1)" \
		grep -q "^\.Xr seam-$name 1" man/seam.1
	check_page "$page"
	check "$page names the options of $code" \
		same "$code" "$(taken_options "$code")" \
		"$page" "$(paged_options "$page")"
	check "seam $name --help names its options" \
		same "$code" "$(taken_options "$code")" \
		'the help text' "$(helped_options "$code")"
done

check_page man/seam.1
check 'seam(1) lists the commands' same cli/main.c "$commands" man/seam.1 \
	"$(sed -n '/^The commands are:/,/^\.El/s/^\.It Cm //p' man/seam.1)"
codes=$(sed -n 's/^X([A-Z_]*, \([0-9]*\), "\([a-z-]*\)",.*/\1 \2/p' \
	core/err.def | awk '$1 < 32 { print $2 }')
check 'seam(1) names the end codes of core/err.def' \
	same core/err.def "$codes" man/seam.1 \
	"$(sed -n '/^\.Ss End codes/,/^\.S[hs]/s/^\.It Cm //p' man/seam.1)"

# The fields that programs read: set_count(root, "events", ...)
fields=$(sed -n -e 's/^\tset_count(root, "\([a-z_]*\)".*/\1/p' \
	-e 's/^\tjson_object_set_new(root, "\([a-z_]*\)".*/\1/p' \
	-e 's/^\tCOUNT(\([a-z_]*\)),$/\1/p' cli/summary.c)
check 'seam-record(1) names the fields of the JSON summary' \
	same cli/summary.c "$fields" man/seam-record.1 \
	"$(sed -n '/^\.Ss As JSON/,/^\.S[hs]/s/^\.It Cm //p' \
		man/seam-record.1 | tr -d , )"
places=$(sed -n 's/^\tPLACE([a-z_.]*, "\([a-z]*\)".*/\1/p' cli/summary.c)
check 'seam-record(1) names the places of losses' \
	same cli/summary.c "$places" man/seam-record.1 \
	"$(sed -n '/^\.Ss Losses/,/^\.S[hs]/s/^\.It Cm //p' man/seam-record.1)"

# Pages of the library's calls.
for page in $(tree_files 'man/*.3'); do
	for section in NAME SYNOPSIS DESCRIPTION RETURN.VALUE EXAMPLES \
		SEE.ALSO; do
		check "$page has $section" grep -q "^\.Sh $section\$" "$page"
	done
done
check 'pages of section 3 name the calls of the headers' \
	same include/seam "$(cat $headers | sed -n '/^#\|^ \*/!p' |
		grep -o '\bseam_[a-z_]*(' | tr -d '(' |
		grep -v '^seam_lent_')" \
	'man/*.3' "$(cat man/*.3 | sed -n 's/^\.Fn \(seam_[a-z_]*\) .*/\1/p')"

# Of a structure of tracer.h, but sz.
fields() {
	sed -n "/^struct $1 {/,/^};/p" include/seam/tracer.h | tr '\n\t' '  ' |
		sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g; s/^[^{]*{//; s/}.*//' |
		tr ';' '\n' | sed 's/(\*\([a-z_]*\)).*/\1/' |
		grep -o '[a-z_0-9]*\(,\|$\)' | tr -d , | grep -vx sz
}
# What a page lists from the line that begins its part to the next part.
listed() {
	awk -v from="$2" '/^\.S[hs]/ { on = on && from == ".Sh DESCRIPTION" &&
			/^\.Ss/ || $0 == from }
		on && /^\.It Fa/' "$1" | sed 's/^\.It Fa//' | tr -d ,
}
while read -r name page from; do
	check "$page has the fields of struct $name" same tracer.h \
		"$(fields "$name")" "$page" "$(listed "$page" "$from")"
done <<'END'
seam_session_opts man/seam_session_open.3 .Ss The session
seam_client_opts man/seam_session_open.3 .Ss The client
seam_sample man/seam_sample.3 .Ss struct seam_sample
seam_user_stack man/seam_sample.3 .Ss struct seam_user_stack
seam_counts man/seam_counts.3 .Sh DESCRIPTION
END

for page in $pages; do
	check "$page is installed" grep -q "'${page#man/}'" man/meson.build
	if command -v mandoc >/dev/null; then
		check "mandoc accepts $page" mandoc -T lint -W warning "$page"
	else
		check "man accepts $page" sh -c \
			'test -z "$(LC_ALL=C.UTF-8 man -l --warnings "$1" 2>&1 >/dev/null)"' \
			sh "$page"
	fi
done
tap_done
