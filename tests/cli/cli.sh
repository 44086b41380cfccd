# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# What tests of the command share; source it: $seam is the test's first
# argument, $here this folder, $dir a folder that goes with the test.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/tap.sh"
seam=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# fails STATUS WORDS COMMAND...: nothing on stdout, one line on stderr.
fails() {
	wanted=$1 words=$2
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	[ "$status" = "$wanted" ] && [ ! -s "$dir/out" ] &&
		[ "$(wc -l <"$dir/err")" = 1 ] &&
		grep -q -- "$words" "$dir/err" && return
	echo "exit status $status, wanted $wanted and '$words'"
	cat "$dir/out" "$dir/err"
	return 1
}
